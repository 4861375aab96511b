"""The metric as users meet it: through evaluate.load, from its README, and on its page. Numbers are worked out by hand in the comments."""

import contextlib
import doctest
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sghatecheck_metric
from sghatecheck_metric.scoring import fingerprint, read_answers, read_gold, score

datasets = pytest.importorskip("datasets")
evaluate = pytest.importorskip("evaluate")

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "sghatecheck_metric"

# malay 3 of 4 right, tamil 1 of 2, the wrong one rejected
PREDICTIONS = [1, "the label is 0", "hateful", 0, "cannot say", "0"]
REFERENCES = ["hateful", 1, 1, 0, 0, "non-hateful"]
COLUMNS = {
    "language": ["malay"] * 4 + ["tamil"] * 2,
    "functionality": ["a_h", "a_h", "a_h", "b_nh", "b_nh", "b_nh"],
    "target": [None, "Women", "Hindu", "Women", "", "Women"],
    "cluster": ["m1", "m1", "m2", "m3", "t1", "t1"],
    "template": ["m1-a", "m1-a", "m2-a", "m3-a", "t1-a", "t1-b"],
    "protected_group": [None, "Gender", "Religion", "Gender", None, "Gender"],
}
# the same cases as rows of the dataset: `template` is a text there, `template_id` tells templates apart
ROWS = [
    {
        "case_id": f"case-{row}",
        "text": f"It rains {row} times",
        "label": label,
        "template": "It rains",
        "template_id": COLUMNS["template"][row],
        **{name: COLUMNS[name][row] or None for name in ("language", "functionality", "target", "cluster", "protected_group")},
    }
    for row, label in enumerate([1, 1, 1, 0, 0, 0])
]


@pytest.fixture
def metric():
    return evaluate.load(str(FOLDER))


@pytest.fixture(scope="module")
def expected():
    return score(read_answers(PREDICTIONS), read_gold(REFERENCES), **COLUMNS)


def as_dataset(rows=ROWS):
    """The rows with the features that the dataset has: a ClassLabel, strings, nulls."""
    features = {name: datasets.Value("string") for name in rows[0]} | {"label": datasets.ClassLabel(names=["non-hateful", "hateful"])}
    return datasets.Dataset.from_list(rows, features=datasets.Features(features))


def numbers(result):
    return {name: part for name, part in result.items() if name != "signature"}


# ---- loading


def test_it_loads_from_beside_the_folder(monkeypatch, expected):
    monkeypatch.chdir(ROOT)
    assert evaluate.load("sghatecheck_metric").compute(predictions=PREDICTIONS, references=REFERENCES, **COLUMNS) == expected


@pytest.mark.parametrize("path", [str(FOLDER), str(FOLDER / "sghatecheck_metric.py"), sghatecheck_metric.__path__[0]])
def test_it_loads_by_path_from_anywhere(monkeypatch, tmp_path, expected, path):
    monkeypatch.chdir(tmp_path)
    assert evaluate.load(path).compute(predictions=PREDICTIONS, references=REFERENCES, **COLUMNS) == expected


def test_it_loads_offline_in_a_process_of_its_own_without_the_checkout_on_the_path(tmp_path):
    program = f"import evaluate; print(evaluate.load({str(FOLDER)!r}).compute(predictions=[1, 0], references=[1, 1])['overall']['accuracy'])"
    env = os.environ | {"HF_EVALUATE_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    env.pop("PYTHONPATH", None)
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    assert run.stdout == "0.5\n"


def test_the_package_imports_nothing_and_scoring_needs_numpy_alone():
    program = "import sys, sghatecheck_metric.scoring; print(sorted({'evaluate', 'datasets', 'pandas', 'sghc', 'pyarrow'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_it_describes_itself(metric):
    assert metric.name == "sghatecheck_metric"
    assert "functional tests" in metric.description
    assert "2405.01842" in metric.citation
    assert metric.inputs_description.strip() in metric.compute.__doc__


# ---- what goes in


def test_it_returns_what_scoring_returns(metric, expected):
    result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, **COLUMNS)
    assert result == expected
    assert (result["language"]["malay"]["accuracy"], result["language"]["tamil"]["accuracy"]) == (0.75, 0.5)
    assert result["overall"]["accuracy"] == 0.625
    assert json.loads(json.dumps(result, allow_nan=False)) == result


def test_columns_may_come_in_any_order_and_any_may_be_absent(metric, expected):
    reversed_columns = dict(reversed(COLUMNS.items()))
    assert metric.compute(**reversed_columns, references=REFERENCES, predictions=PREDICTIONS) == expected
    for name in COLUMNS:
        result = metric.compute(predictions=PREDICTIONS, references=REFERENCES, **{name: COLUMNS[name]})
        assert result == score(read_answers(PREDICTIONS), read_gold(REFERENCES), **{name: COLUMNS[name]})
    assert list(metric.compute(predictions=PREDICTIONS, references=REFERENCES)) == ["overall", "notes", "signature"]


@pytest.mark.parametrize(
    "predictions",
    [[1, 0, 0], ["1", "0", "0"], [True, False, False], ["hateful", "non-hateful", "label 0"], np.array([1, 0, 0]), [1.0, 0.0, "0"], (1, "0", 0)],
)
def test_predictions_of_every_form_are_the_same_answers(metric, predictions):
    overall = metric.compute(predictions=predictions, references=[1, 1, 0])["overall"]
    # hateful: 1 right, answered 1, gold 2: 2/3; non-hateful: 1 right, answered 2, gold 1: 2/3
    assert (overall["accuracy"], overall["macro_f1"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


def test_none_in_the_first_row_is_a_missing_answer_or_no_group(metric):
    result = metric.compute(predictions=[None, 1], references=[1, 1], target=[None, "Women"], allow_partial=True)
    assert (result["overall"]["n"], result["overall"]["n_missing"], result["target"]["Women"]["n"]) == (1, 1, 1)
    assert result["signature"].endswith("|partial:yes")


def test_options_reach_scoring(metric):
    given = {"predictions": [1, "?"], "references": [1, 1]}
    assert metric.compute(**given)["overall"]["accuracy"] == 0.5
    assert metric.compute(**given, invalid="drop")["overall"]["accuracy"] == 1.0
    with pytest.raises(ValueError, match="1 of 2 outputs name neither label: row 1"):
        metric.compute(**given, invalid="error")


def test_no_case_at_all_gives_nulls_with_a_reason(metric):
    result = metric.compute(predictions=[], references=[])
    assert result["notes"]["overall.accuracy"] == "no case"


def test_batches_and_single_cases_add_up(metric, expected):
    batch = lambda rows: {name: values[rows] for name, values in COLUMNS.items()}  # noqa: E731
    metric.add_batch(predictions=PREDICTIONS[:2], references=REFERENCES[:2], **batch(slice(0, 2)))
    metric.add(prediction=PREDICTIONS[2], reference=REFERENCES[2], **batch(2))
    metric.add_batch(predictions=[], references=[])
    metric.add_batch(predictions=PREDICTIONS[3:5], references=REFERENCES[3:5], **batch(slice(3, 5)))
    assert metric.compute(predictions=PREDICTIONS[5:], references=REFERENCES[5:], **batch(slice(5, 6))) == expected
    metric.add_batch(predictions=[1], references=[1])
    assert metric.compute()["overall"]["n"] == 1  # nothing is left of the cases before


def test_it_works_in_memory_too(expected):
    metric = evaluate.load(str(FOLDER), keep_in_memory=True)
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES, **COLUMNS)
    assert metric.compute() == expected


def test_combine_computes_it_beside_others(metric):
    combined = evaluate.combine([metric, evaluate.load(str(FOLDER))], force_prefix=True)
    result = combined.compute(predictions=[1, 0], references=[1, 1])
    assert result["sghatecheck_metric_0_overall"]["accuracy"] == 0.5


# ---- rows of the dataset


@pytest.mark.parametrize(
    "references",
    [
        pytest.param(lambda: as_dataset(), id="dataset"),
        pytest.param(lambda: as_dataset().with_format("numpy"), id="formatted dataset"),
        pytest.param(lambda: as_dataset().to_iterable_dataset(), id="streamed dataset"),
        pytest.param(lambda: as_dataset().select_columns(sorted(ROWS[0], reverse=True)), id="other column order"),
        pytest.param(lambda: as_dataset()[:], id="dict of columns"),
        pytest.param(lambda: ROWS, id="list of dicts"),
        pytest.param(lambda: tuple({**row, "label": ["non-hateful", "hateful"][row["label"]], "other": 1} for row in ROWS), id="label names"),
    ],
)
def test_rows_of_the_dataset_bring_their_columns_and_their_fingerprint(metric, expected, references):
    result = metric.compute(predictions=PREDICTIONS, references=references())
    assert numbers(result) == numbers(expected)
    full = fingerprint([row["case_id"] for row in ROWS], [row["label"] for row in ROWS], [row["text"] for row in ROWS])
    assert result["signature"] == f"sghatecheck|v:1.0.0|data:{full[:8]}|subset:given|invalid:wrong|ci:cluster-bootstrap-2000|seed:12345"


def test_rows_may_come_in_batches_and_in_any_order(metric, expected):
    metric.add_batch(predictions=PREDICTIONS[3:], references=as_dataset(ROWS[3:]))
    for row in (2, 0):
        metric.add(prediction=PREDICTIONS[row], reference=ROWS[row])
    result = metric.compute(predictions=PREDICTIONS[1:2], references=ROWS[1:2])
    assert result["overall"] == expected["overall"]
    assert result["signature"] == metric.compute(predictions=PREDICTIONS, references=ROWS)["signature"]


def test_rows_without_case_ids_or_texts_have_no_fingerprint(metric, expected):
    rows = [{name: value for name, value in row.items() if name != "text"} for row in ROWS]
    assert metric.compute(predictions=PREDICTIONS, references=rows) == expected


def test_a_column_that_is_null_in_every_row_is_absent(metric):
    rows = [{**row, "target": None, "cluster": None} for row in ROWS]
    result = metric.compute(predictions=PREDICTIONS, references=rows)
    assert "target" not in result
    assert result["overall"]["n_clusters"] == result["overall"]["n_templates"] == 5


def test_no_text_is_written_to_disk(metric):
    metric.add_batch(predictions=["I think it is a 1", *PREDICTIONS[1:]], references=ROWS)
    metric.writer.finalize()
    stored = Path(metric.cache_file_name).read_bytes()
    assert b"case-3" in stored
    assert b"It rains" not in stored
    assert b"I think" not in stored


# ---- bad input


def bad(match, predictions=(1, 0), references=(1, 0), **given):
    return pytest.param(match, {"predictions": predictions, "references": references, **given}, id=match[:50])


@pytest.mark.parametrize(
    ("match", "given"),
    [
        bad(r"columns differ in length: predictions 3, references 2", predictions=[1, 0, 1]),
        bad(r"columns differ in length: predictions 2, references 2, target 1", target=["Women"]),
        bad(r"predictions: row 1 \(counted from 0\) holds 2\.7", predictions=[1, 2.7]),
        bad(r"predictions: row 0 \(counted from 0\) holds 2, expected", predictions=[2, 0]),
        bad(r"predictions: row 0 \(counted from 0\) holds a value of type dict", predictions=[{"label": "LABEL_1", "score": 0.9}, 0]),
        bad(r"predictions: row 0 \(counted from 0\) holds a value of type list", predictions=np.array([[0.1, 0.9], [0.8, 0.2]])),
        bad(r"predictions: expected one value per case", predictions="10"),
        bad(r"predictions: 1 of 2 cases have no answer: row 1", predictions=[1, None]),
        bad(r"predictions are missing", predictions=None),
        bad(r"predictions are missing", predictions=None, references=None, language=["malay"]),
        bad(r"references are missing", references=None),
        bad(r"references: row 1 \(counted from 0\) holds None", references=[1, None]),
        bad(r"references: row 0 \(counted from 0\) holds a string of 7 characters", references=["texts 1", 0]),
        bad(r"references: expected one value per case", references=1),
        bad(r"references: a DatasetDict holds several splits, give one of test", references=datasets.DatasetDict(test=as_dataset())),
        bad(r"references: rows without a column 'label'", references=[{"gold": 1}, {"gold": 0}]),
        bad(r"references: row 1 \(counted from 0\) has no 'label'", references=[{"label": 1}, {"gold": 0}]),
        bad(r"references: row 0 \(counted from 0\) has no 'target'", references=[{"label": 1}, {"label": 0, "target": "Women"}]),
        bad(r"references: row 1 \(counted from 0\) holds 0, expected a dict", references=[{"label": 1}, 0]),
        bad(r"references: row 1 \(counted from 0\) holds None", references=[{"label": 1}, {"label": None}]),
        bad(r"rows, which bring their own columns: leave out language", references=ROWS[2:4], language=["malay", "malay"]),
        bad(r"references: 1 repeated case_ids, the first is 'case-0'", references=[ROWS[0]] * 2),
        bad(r"text: row 1 \(counted from 0\) holds None", references=[ROWS[0], {**ROWS[1], "text": None}]),
        bad(r"unknown inputs functionalities; besides predictions and references there are", functionalities=["a", "b"]),
        bad(r"functionality: row 1 \(counted from 0\) holds 5, expected a string", functionality=["a", 5]),
        bad(r"target: row 0 \(counted from 0\) holds a value of type list", target=[["Women"], "Hindu"]),
        bad(r"language: no value in row 0 \(counted from 0\)", language=[None, "malay"]),
        bad(r"cluster: row 0 \(counted from 0\) holds 1\.5", cluster=[1.5, "b"]),
        bad(r"invalid: expected one of", invalid="skip"),
        bad(r"allow_partial: expected True or False", allow_partial=1),
    ],
)
def test_bad_input_is_one_clear_error_and_leaves_the_metric_usable(metric, match, given):
    before = set(Path(metric.data_dir).glob("*.arrow"))
    with pytest.raises(ValueError, match=match) as error:
        metric.compute(**given)
    assert "It rains" not in str(error.value)
    assert "\n" not in str(error.value)
    assert metric.compute(predictions=[1, 0], references=[1, 1])["overall"]["accuracy"] == 0.5
    assert set(Path(metric.data_dir).glob("*.arrow")) <= before


def test_batches_with_other_columns_are_refused(metric):
    metric.add_batch(predictions=[1], references=[1], language=["malay"])
    metric.add_batch(predictions=[1], references=[1])
    with pytest.raises(ValueError, match="language: given for 1 of 2 cases; every batch must bring the same columns"):
        metric.compute()
    assert metric.compute(predictions=[1], references=[1])["overall"]["n"] == 1


def test_a_wrong_option_costs_no_stored_case(metric):
    metric.add_batch(predictions=[1], references=[1])
    with pytest.raises(ValueError, match="invalid: expected one of"):
        metric.compute(invalid="skip")
    assert metric.compute()["overall"]["n"] == 1


def test_a_failed_metric_leaves_the_files_of_another_alone(metric):
    metric.compute(predictions=[1], references=[1])
    other = evaluate.load(str(FOLDER))
    other.add_batch(predictions=[1], references=[1])
    with pytest.raises(ValueError, match="1 of 1 cases have no answer"):
        metric.compute(predictions=[None], references=[1])
    with pytest.raises(ValueError, match="nothing to score"):
        metric.compute()
    assert other.compute()["overall"]["n"] == 1


# ---- documentation that runs


def test_the_examples_of_the_inputs_description_run(monkeypatch, metric):
    monkeypatch.chdir(ROOT)
    test = doctest.DocTestParser().get_doctest(metric.inputs_description, {}, "inputs", None, None)
    assert len(test.examples) >= 8
    assert doctest.DocTestRunner().run(test).failed == 0


def snippets():
    """Python blocks of the README with the output block that follows, empty where none does."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", text, re.DOTALL)


@pytest.mark.parametrize("number", range(len(snippets())))
def test_the_snippets_of_the_readme_run_as_written(monkeypatch, number):
    monkeypatch.chdir(ROOT)
    code, printed = snippets()[number]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})
    assert out.getvalue() == printed


def test_the_readme_has_the_head_of_a_space():
    yaml = pytest.importorskip("yaml")
    head = yaml.safe_load((FOLDER / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    assert (head["sdk"], head["app_file"], head["license"], head["pinned"]) == ("gradio", "app.py", "apache-2.0", False)
    assert head["tags"] == ["evaluate", "metric"]
    assert "git+" not in (FOLDER / "requirements.txt").read_text(encoding="utf-8")


# ---- the page


@pytest.fixture(scope="module")
def app():
    pytest.importorskip("gradio")
    from sghatecheck_metric import app

    return app


def test_the_page_shows_the_tables_of_a_csv(app):
    message, overall, functionality, target, whole = app.show(app.SAMPLE, None, "wrong", False)
    # malay 3 of 4, tamil 2 of 4, of which one is rejected: mean .625, coverage (1 + 3/4) / 2
    assert message.startswith("### Accuracy 0.625 · macro F1 0.567 · coverage 0.875")
    assert "invalid:wrong" in message
    assert [row[0] for row in overall["value"]] == ["overall", "shared", "malay", "tamil"]
    assert overall["value"][3] == ["tamil", "4", "0.500", "0.000", "1.000", "0.400", "0.750", "1", "0"]
    assert functionality["value"][0][:6] == ["derog_neg_emote_h", "4", "0.500", "0.500", "–", "–"]
    assert [row[0] for row in target["value"]] == ["Women", "Muslim", "Hindu"]
    assert json.loads(whole["value"])["overall"]["accuracy"] == 0.625


def test_the_page_takes_an_upload_first_and_reads_numbers_as_numbers(app):
    upload = "\ufeffreference,prediction,text\r\n1.0,1.0,x\r\n0,1,\r\n".encode()  # "1.0" ends in 0, and means 1
    message, overall, functionality, *_ = app.show("no table", upload, "wrong", False)
    assert message.startswith("### Accuracy 0.500")
    assert len(overall["value"]) == 1
    assert functionality["visible"] is False


def test_the_page_leaves_out_empty_answers_only_when_asked(app):
    text = "prediction,reference\n1,1\n,1\n"
    assert "1 of 2 cases have no answer" in app.show(text, None, "wrong", False)[0]
    assert app.show(text, None, "wrong", True)[0].startswith("### Accuracy 1.000 · macro F1 – · coverage 0.500")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "the first line must name the columns"),
        ("secret,1\nsecret,0\n", "missing: prediction, reference"),
        ("prediction;reference\n1;1\n", "separated by commas; missing: prediction, reference"),
        ("prediction,reference\n", "no row below the first line"),
        ("prediction,reference\n1,1\n1\n", "line 3 has 1 fields, the first line has 2"),
        ("prediction,prediction,reference\n1,1,1\n", "names a column twice: prediction"),
        ('prediction,reference\n1,"secret\n', "is no CSV"),
        ("prediction,reference\n0.7,1\n", "holds 0.7"),
        ("prediction,reference\n1,secret\n", "references: row 0"),
        ("prediction,reference,language\n1,1,\n1,1,malay\n", "language: no value in row 0"),
        (b"\xff\xfe1,1", "no text in UTF-8"),
    ],
)
def test_the_page_says_why_a_table_cannot_be_scored(app, text, match):
    given = ("", text) if isinstance(text, bytes) else (text, None)
    message, *tables = app.show(*given, "wrong", False)
    assert message.startswith("### This table cannot be scored")
    assert match in message
    assert "secret" not in message
    assert not any(table["visible"] for table in tables)


def test_the_page_builds_without_analytics(app):
    assert app.build().analytics_enabled is False
