"""Scoring on small tables whose numbers are worked out by hand in the comments, then on random ones against scikit-learn and pandas."""

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score, recall_score

from sghatecheck_metric import counting, scoring
from sghatecheck_metric.scoring import MISSING, REJECTED, fingerprint, flatten, read_answers, read_gold

ROOT = Path(__file__).parents[1]
score = partial(scoring.score, ci="none")  # the numbers themselves; their intervals have tests of their own
PARTS = ["overall", "shared", "language", "functionality", "target", "protected_group", "language_functionality", "language_target"]
FIELDS = ["n", "n_templates", "n_clusters", "accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1", "coverage", "n_rejected", "n_missing"]

# three hateful cases: found, missed, rejected; three others: left alone, flagged, left alone
ANSWERS = [1, 0, REJECTED, 0, 1, 0]
GOLD = [1, 1, 1, 0, 0, 0]

# two languages; b_nh is the only functionality that both have
#     language  functionality  target   gold  answer
TABLE = [
    ("malay", "a_h", "Women", 1, 1),
    ("malay", "a_h", "Women", 1, 1),
    ("malay", "a_h", "Hindu", 1, 0),
    ("malay", "b_nh", None, 0, 0),
    ("tamil", "b_nh", "Women", 0, 1),
    ("tamil", "b_nh", None, 0, 0),
    ("tamil", "c_h", "Women", 1, 1),
    ("tamil", "c_h", "Women", 1, REJECTED),
]


def table(**options):
    language, functionality, target, gold, answers = (list(column) for column in zip(*TABLE, strict=True))
    return score(answers, gold, language=language, functionality=functionality, target=target, **options)


def entries(result):
    """Every (path, numbers) of a result."""
    for part, values in result.items():
        if part in ("overall", "shared"):
            yield (part,), values
        elif part not in ("contrast", "consistency", "bias", "notes", "signature"):
            yield from (((part, name), numbers) for name, numbers in values.items())


def random_table(seed, n=600):
    """Columns of a random table, among them rejected outputs, cases of no group, and slices of one gold label."""
    rng = np.random.default_rng(seed)
    answers = rng.choice([0, 1, REJECTED], n, p=[0.4, 0.5, 0.1])
    pick = lambda names: [names[i] for i in rng.integers(0, len(names), n)]  # noqa: E731
    columns = {
        "language": pick(["malay", "tamil", "singlish"]),
        "functionality": pick(["a_h", "b_nh", "c_h", None, ""]),
        "target": pick(["Women", "Hindu", "mentally ill", None]),
        "protected_group": pick(["Gender", "Religion", None]),
        "cluster": pick([f"t{i}" for i in range(40)]),
        "template": pick([f"t{i}-{j}" for i in range(40) for j in range(3)]),
    }
    gold = np.array([{"a_h": 1, "b_nh": 0}.get(name, int(rng.random() < 0.6)) for name in columns["functionality"]])
    return answers, gold, columns


# ---- reading


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ([0, 1, True, False, np.int64(1), np.bool_(True), 1.0, 0.0, np.float32(1)], [0, 1, 1, 0, 1, 1, 1, 0, 1]),
        (["hateful", "non-hateful", "Hateful", "hateful "], [1, 0, REJECTED, REJECTED]),
        (["1", "0", "the label is 1", "label: 0\n\n", "1\u3000", "10"], [1, 0, 1, 0, 1, 0]),
        (["0.1", "1.0", "p = 0.01", "0,1", "1.0\n"], [REJECTED] * 5),  # a decimal number is no label
        (["", " \n", "2", "1.", "yes", "１", "०", "²", "one"], [REJECTED] * 9),
        ([None, float("nan"), np.nan, 1], [MISSING, MISSING, MISSING, 1]),
        (np.array([0, 1, 1]), [0, 1, 1]),
        (np.array(["1", "no"]), [1, REJECTED]),
        (np.array([True, False]), [1, 0]),
        (pd.Series([1.0, None], index=[7, 3]), [1, MISSING]),
        ((1, "1", "hateful", None), [1, 1, 1, MISSING]),
        ([], []),
    ],
)
def test_answers_are_read(given, read):
    codes = read_answers(given)
    assert codes.dtype == np.int8
    assert codes.tolist() == read


@pytest.mark.parametrize("given", [2, -1, -2, 0.7, 2.0, float("inf"), [1], {"label": 1}, b"1", object(), 1 + 0j])
def test_a_value_that_is_no_answer_is_refused_with_its_row(given):
    with pytest.raises(ValueError, match=r"^predictions: row 2 \(counted from 0\) holds .*; 1 more rows like it$"):
        read_answers([1, "1", given, 0, given])


def test_an_error_shows_numbers_shortened_and_no_text():
    with pytest.raises(ValueError, match=r"holds 9{40},"):
        read_answers([int("9" * 60)])
    for read, given in ((read_answers, [["secret"]]), (read_answers, "secret"), (read_gold, ["secret"]), (read_gold, [{"text": "secret"}])):
        with pytest.raises(ValueError, match=r"row 0|expected one value per case") as error:
            read(given)
        assert "secret" not in str(error.value)


@pytest.mark.parametrize("given", ["101", b"101", 1, None, {"a": 1}, {0, 1}])
def test_what_is_no_sequence_is_refused(given):
    with pytest.raises(ValueError, match="predictions: expected one value per case"):
        read_answers(given)


def test_gold_is_read():
    assert read_gold([0, 1, True, "hateful", "non-hateful", np.int8(1), 1.0]).tolist() == [0, 1, 1, 1, 0, 1, 1]


@pytest.mark.parametrize("given", [None, "1", "hate", "", 2, -1, 0.5, float("nan"), [1]])
def test_a_value_that_is_no_gold_is_refused_with_its_row(given):
    with pytest.raises(ValueError, match=r"^references: row 1 \(counted from 0\) holds .*'non-hateful' or 'hateful'$"):
        read_gold([1, given])


# ---- one slice


def test_a_rejected_output_is_wrong_for_its_gold_and_no_answer_of_the_other_label():
    overall = score(ANSWERS, GOLD)["overall"]
    # 3 of 6 right. hateful: 1 right, answered 2 times, gold 3 times: F1 = 2*1 / (2+3) = 2/5.
    # non-hateful: 2 right, answered 3 times (not 4: the rejected output is no answer of it), gold 3 times: F1 = 4/6 = 2/3.
    # macro F1 = (2/5 + 2/3) / 2 = 8/15. 5 of 6 answers are valid.
    assert list(overall) == FIELDS
    assert overall["n"] == 6
    assert overall["accuracy"] == 3 / 6
    assert overall["accuracy_hateful"] == 1 / 3
    assert overall["accuracy_non_hateful"] == 2 / 3
    assert overall["macro_f1"] == pytest.approx(float(Fraction(8, 15)), abs=1e-15)
    assert overall["coverage"] == 5 / 6
    assert (overall["n_rejected"], overall["n_missing"]) == (1, 0)


def test_drop_leaves_rejected_outputs_out_of_the_numbers_and_counts_them():
    overall = score(ANSWERS, GOLD, invalid="drop")["overall"]
    # 3 of 5 right. hateful: 1 right, answered 2, gold 2: F1 = 2/4. non-hateful as before 2/3. macro F1 = 7/12. Coverage does not change.
    assert (overall["n"], overall["accuracy"], overall["accuracy_hateful"]) == (5, 3 / 5, 1 / 2)
    assert overall["macro_f1"] == pytest.approx(float(Fraction(7, 12)), abs=1e-15)
    assert (overall["coverage"], overall["n_rejected"]) == (5 / 6, 1)


def test_error_refuses_rejected_outputs_and_names_rows():
    with pytest.raises(ValueError, match=r"7 of 8 outputs name neither label: rows 1, 2, 3, 4, 5 and 2 more \(counted from 0\)"):
        score([1] + [REJECTED] * 7, [1] * 8, invalid="error")
    assert score([1, 0], [1, 0], invalid="error")["overall"] == score([1, 0], [1, 0])["overall"]


def test_a_missing_answer_is_refused_unless_it_may_be_left_out():
    with pytest.raises(ValueError, match=r"2 of 4 cases have no answer: rows 1, 3 \(counted from 0\); allow_partial=True"):
        score([1, MISSING, 0, MISSING], [1, 1, 1, 0])
    result = score([1, MISSING, 0, MISSING], [1, 1, 1, 0], allow_partial=True)
    # two cases are left, one right; two of four asked were answered
    assert [result["overall"][name] for name in ("n", "accuracy", "coverage", "n_missing")] == [2, 0.5, 0.5, 2]
    assert result["signature"].endswith("|ci:none|partial:yes")
    assert score([1], [1], allow_partial=True)["signature"].endswith("|ci:none")


@pytest.mark.parametrize(("gold", "name", "other"), [(1, "hateful", "non_hateful"), (0, "non-hateful", "hateful")])
def test_macro_f1_is_null_where_a_slice_holds_one_gold_label(gold, name, other):
    result = score([1, 0], [gold, gold])
    assert result["overall"]["macro_f1"] is None
    assert result["overall"][f"accuracy_{other}"] is None
    assert result["notes"]["overall.macro_f1"] == f"one gold label only ({name})"
    assert result["notes"][f"overall.accuracy_{other}"] == f"no {other.replace('_', '-')} case"


def test_labels_that_are_left_only_in_dropped_cases_do_not_count_as_present():
    result = score([1, REJECTED], [1, 0], invalid="drop")
    assert result["overall"]["macro_f1"] is None
    assert score([1, REJECTED], [1, 0])["overall"]["macro_f1"] == 0.5  # hateful 1, non-hateful 0


@pytest.mark.parametrize("answer", [0, 1])
def test_constant_answers_score_without_warnings(answer):
    overall = score([answer] * 4, [1, 1, 1, 0])["overall"]
    # always hateful: F1 = 6/7 and 0; never hateful: F1 = 0 and 2/5
    assert overall["macro_f1"] == pytest.approx([1 / 5, 3 / 7][answer], abs=1e-15)


def test_rejected_outputs_only_give_zero_and_dropped_ones_a_reason():
    assert score([REJECTED] * 2, [1, 0])["overall"]["macro_f1"] == 0.0
    result = score([REJECTED] * 2, [1, 0], invalid="drop")
    assert (result["overall"]["n"], result["overall"]["accuracy"], result["overall"]["coverage"]) == (0, None, 0.0)
    assert result["notes"]["overall.accuracy"] == "no case left: every answer is missing or rejected"


def test_no_case_at_all_gives_nulls_with_a_reason():
    result = score([], [])
    assert result["overall"]["n"] == 0
    assert result["overall"]["coverage"] is None
    assert result["notes"]["overall.coverage"] == "no case"


# ---- several slices


def test_overall_is_the_plain_mean_of_the_languages():
    result = table()
    # malay 3 of 4 right, tamil 2 of 4 (one rejected): mean 5/8
    assert (result["language"]["malay"]["accuracy"], result["language"]["tamil"]["accuracy"]) == (0.75, 0.5)
    assert result["overall"]["accuracy"] == 0.625
    # malay: hateful 2 right, answered 2, gold 3: 4/5; non-hateful 1 right, answered 2, gold 1: 2/3; macro 11/15
    # tamil: hateful 1 right, answered 2, gold 2: 2/4; non-hateful 1 right, answered 1, gold 2: 2/3; macro 7/12
    assert result["language"]["malay"]["macro_f1"] == pytest.approx(11 / 15, abs=1e-15)
    assert result["language"]["tamil"]["macro_f1"] == pytest.approx(7 / 12, abs=1e-15)
    assert result["overall"]["macro_f1"] == pytest.approx((11 / 15 + 7 / 12) / 2, abs=1e-15)
    assert (result["overall"]["n"], result["overall"]["n_rejected"]) == (8, 1)
    assert result["overall"]["coverage"] == (1 + 3 / 4) / 2


def test_the_mean_weighs_languages_and_not_cases():
    result = score([1] * 9 + [0], [1] * 10, language=["malay"] * 9 + ["tamil"])
    assert result["overall"]["accuracy"] == 0.5  # 9 of 9 and 0 of 1, not 9 of 10


def test_shared_is_over_the_functionalities_that_all_languages_have():
    shared = table()["shared"]
    # b_nh alone: malay 1 of 1, tamil 1 of 2
    assert (shared["n"], shared["accuracy"], shared["accuracy_hateful"], shared["macro_f1"]) == (3, 0.75, None, None)


def test_shared_without_a_common_functionality_says_so():
    result = score([1, 1], [1, 1], language=["malay", "tamil"], functionality=["a_h", "b_h"])
    assert (result["shared"]["n"], result["shared"]["accuracy"]) == (0, None)
    assert result["notes"]["shared.accuracy"] == "no case"


def test_what_spans_languages_is_the_mean_of_its_languages_with_nulls_skipped():
    result = table()
    # a_h is in malay only: 2 of 3. b_nh: 1 of 1 and 1 of 2. Women: malay 2 of 2, tamil 1 of 3
    assert result["functionality"]["a_h"]["accuracy"] == 2 / 3
    assert result["functionality"]["b_nh"]["accuracy"] == 0.75
    assert result["target"]["Women"]["accuracy"] == (1 + 1 / 3) / 2
    assert result["target"]["Women"]["n"] == 5
    # of Women, malay has hateful cases only, so macro F1 is tamil's: hateful 2*1/(2+2), non-hateful 0/(0+1)
    assert result["language_target"]["malay/Women"]["macro_f1"] is None
    assert result["target"]["Women"]["macro_f1"] == result["language_target"]["tamil/Women"]["macro_f1"] == 0.25


def test_macro_f1_that_no_single_language_has_is_null_with_that_reason():
    result = score([1, 0], [1, 0], language=["malay", "tamil"], target=["Women", "Women"])
    assert result["target"]["Women"]["macro_f1"] is None
    assert result["notes"]["target.Women.macro_f1"] == "one gold label only in each language"
    assert result["notes"]["language_target.malay/Women.macro_f1"] == "one gold label only (hateful)"


def test_a_case_that_names_no_group_belongs_to_none():
    result = score([1, 0, 0, 1], [1] * 4, target=["Women", None, "", float("nan")], functionality=[None, "a_h", "a_h", ""])
    assert {name: entry["n"] for name, entry in result["target"].items()} == {"Women": 1}
    assert {name: entry["n"] for name, entry in result["functionality"].items()} == {"a_h": 2}
    assert result["overall"]["n"] == 4


def test_names_keep_the_order_of_first_appearance():
    result = table(protected_group=["z", "y", "x", "z", None, "w", "", "a"], cluster=list("abcdefgh"))
    assert list(result) == [*PARTS, "contrast", "notes", "signature"]
    assert list(result["language"]) == ["malay", "tamil"]
    assert list(result["functionality"]) == ["a_h", "b_nh", "c_h"]
    assert list(result["target"]) == ["Women", "Hindu"]
    assert list(result["protected_group"]) == ["z", "y", "x", "w", "a"]
    assert list(result["language_functionality"]) == ["malay/a_h", "malay/b_nh", "tamil/b_nh", "tamil/c_h"]
    assert list(result["language_target"]) == ["malay/Women", "malay/Hindu", "tamil/Women"]


def test_the_result_does_not_hang_on_hashing():
    program = "import json; from tests.test_scoring import random_table, score; a, g, c = random_table(1); print(json.dumps(score(a, g, **c)))"
    runs = [
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]


def test_an_absent_column_gives_no_breakdown():
    assert list(score(ANSWERS, GOLD)) == ["overall", "notes", "signature"]
    assert list(score(ANSWERS, GOLD, language=["malay"] * 6)) == ["overall", "language", "notes", "signature"]
    assert list(score(ANSWERS, GOLD, target=["Women"] * 6)) == ["overall", "target", "notes", "signature"]
    assert list(score(ANSWERS, GOLD, target=[None] * 6, language=[""] * 6)) == ["overall", "notes", "signature"]
    assert "shared" in score(ANSWERS, GOLD, language=["malay"] * 6, functionality=["a"] * 6)


def test_templates_and_clusters_are_counted_within_each_language_among_scored_cases():
    columns = {"language": ["malay"] * 3 + ["tamil"] * 3, "cluster": [1, 1, 2, 1, 1, 3], "template": list("aabccd")}
    overall = score([1, 0, 1, 1, 0, REJECTED], [1] * 6, **columns)["overall"]
    assert (overall["n_clusters"], overall["n_templates"]) == (4, 4)  # malay 1, 2 and a, b; tamil 1, 3 and c, d
    overall = score([1, 0, 1, 1, 0, REJECTED], [1] * 6, invalid="drop", **columns)["overall"]
    assert (overall["n_clusters"], overall["n_templates"]) == (3, 3)  # tamil's cluster 3, template d, is no longer scored
    overall = score([1, 0, MISSING, 1, 0, 1], [1] * 6, allow_partial=True, **columns)["overall"]
    assert (overall["n_clusters"], overall["n_templates"]) == (3, 3)


def test_the_template_is_the_cluster_where_there_is_no_other():
    overall = score([1, 0, 1], [1, 1, 1], template=["a", "a", "b"])["overall"]
    assert (overall["n_clusters"], overall["n_templates"]) == (2, 2)
    result = score([1, 0, 1], [1, 1, 1], cluster=["a", "a", "b"])
    assert (result["overall"]["n_clusters"], result["overall"]["n_templates"]) == (2, None)
    assert result["notes"]["overall.n_templates"] == "no template column"
    assert score([1], [1])["notes"]["overall.n_clusters"] == "no cluster or template column"


def test_large_tables_are_counted_without_lookup_tables(monkeypatch):
    answers, gold, columns = random_table(3)
    marked = score(answers, gold, **columns)
    monkeypatch.setattr(counting, "MAX_TABLE", 0)
    assert score(answers, gold, **columns) == marked


# ---- against other libraries


def oracle(gold, answers, rows):
    """scikit-learn's numbers of one slice, the rows of a mask."""
    gold, answers = gold[rows], answers[rows]
    recall = recall_score(gold, answers, labels=[0, 1], average=None, zero_division=np.nan)
    f1 = f1_score(gold, answers, labels=[0, 1], average="macro") if len(set(gold)) == 2 else np.nan
    return [accuracy_score(gold, answers), recall[1], recall[0], f1, np.mean(answers != REJECTED)]


@pytest.mark.parametrize("seed", range(6))
def test_random_tables_agree_with_scikit_learn(seed):
    answers, gold, columns = random_table(seed)
    result = score(answers, gold, **columns)
    frame = pd.DataFrame(columns).replace({"": None})
    rates = FIELDS[3:8]
    for column in ("functionality", "target", "protected_group"):
        for name, rows in frame.groupby(column).groups.items():
            within = {lang: oracle(gold, answers, rows[frame["language"][rows] == lang]) for lang in frame["language"][rows].unique()}
            for language, numbers in within.items() if column != "protected_group" else ():
                check(result[f"language_{column}"][f"{language}/{name}"], rates, numbers)
            check(result[column][name], rates, pd.DataFrame(within).mean(axis=1))
    languages = {name: oracle(gold, answers, rows) for name, rows in frame.groupby("language").groups.items()}
    for name, numbers in languages.items():
        check(result["language"][name], rates, numbers)
        rows = frame["language"] == name
        assert result["language"][name]["n_clusters"] == frame["cluster"][rows].nunique()
        assert result["language"][name]["n_templates"] == frame["template"][rows].nunique()
    check(result["overall"], rates, pd.DataFrame(languages).mean(axis=1))


@pytest.mark.parametrize("seed", range(3))
def test_drop_equals_scoring_only_the_valid_answers(seed):
    answers, gold, columns = random_table(seed)
    valid = answers != REJECTED
    dropped = score(answers, gold, invalid="drop", **columns)
    only = score(answers[valid], gold[valid], **{name: np.array(values, object)[valid] for name, values in columns.items()})
    compared = [field for field in FIELDS if field not in ("coverage", "n_rejected")]
    for (part, name), entry in entries({part: only[part] for part in PARTS[2:]}):
        assert [dropped[part][name][field] for field in compared] == [entry[field] for field in compared]


def test_the_order_of_the_rows_changes_no_digit():
    answers, gold, columns = random_table(4)
    order = np.random.default_rng(0).permutation(len(gold))
    shuffled = score(answers[order], gold[order], **{name: np.array(values, object)[order] for name, values in columns.items()})
    assert flatten(shuffled) == flatten(score(answers, gold, **columns))


def check(entry, fields, expected):
    found = [np.nan if entry[field] is None else entry[field] for field in fields]
    np.testing.assert_allclose(found, np.asarray(expected, float), rtol=0, atol=1e-12)


def test_the_benchmark_compares_equal_numbers(monkeypatch):
    spec = importlib.util.spec_from_file_location("scoring_benchmark", ROOT / "benchmarks" / "scoring.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    monkeypatch.setattr(benchmark, "SIZES", {"malay": 400, "tamil": 300})
    cases = benchmark.make_cases()
    answers, gold = read_answers(cases.pop("output")), read_gold(cases.pop("label"))
    frame = pd.DataFrame({**cases, "gold": gold, "answer": answers})
    assert benchmark.check_equal(score(answers, gold, **cases), benchmark.with_pandas(frame)) > 500


def test_resampled_counts_go_through_the_same_arithmetic():
    answers, gold, columns = random_table(5)
    coded = {name: scoring.code_column(values, name, len(gold)) for name, values in columns.items()}
    language, languages = coded["language"]
    layout = counting.lay_out([counting.Level(name, *coded[name]) for name in ("functionality", "target")], language, languages)
    counts = counting.count(layout, answers, gold)
    # counts per cluster, then clusters drawn by weight, are one matrix product: weights of one give the counts back, of two the same rates
    clusters, names = coded["cluster"]
    per_cluster = []
    for cluster in range(len(names)):
        rows = clusters == cluster
        own = replace(layout, member=layout.member[:, rows])
        per_cluster.append(counting.count(own, answers[rows], gold[rows]).ravel())
    drawn = (np.array([[1.0] * len(names), [2.0] * len(names)]) @ np.array(per_cluster)).reshape(2, *counts.shape)
    assert (drawn[0] == counts).all()
    for name, values in counting.measure(drawn, "wrong").items():
        np.testing.assert_array_equal(values, np.stack([counting.measure(counts, "wrong")[name]] * 2))


# ---- the result as a whole


@pytest.mark.parametrize("invalid", ["wrong", "drop"])
def test_the_result_is_json_and_every_null_has_a_note(invalid):
    answers, gold, columns = random_table(2)
    answers[::7] = MISSING
    for given in (columns, {}, {"target": columns["target"]}):
        result = score(answers, gold, invalid=invalid, allow_partial=True, **given)
        assert json.loads(json.dumps(result, allow_nan=False)) == result
        nulls = {".".join((*path, field)) for path, numbers in entries(result) for field, value in numbers.items() if value is None}
        assert {path for path in result["notes"] if path.split(".")[0] not in ("consistency", "bias")} == nulls
        assert all(list(numbers) == FIELDS for _, numbers in entries(result))
        assert {type(value) for _, numbers in entries(result) for value in numbers.values()} <= {int, float, type(None)}


def test_the_signature_says_what_the_score_is_of():
    assert score([1], [1])["signature"] == "sghatecheck|v:1.0.0|data:none|subset:given|invalid:wrong|ci:none"
    full = fingerprint(["ms-1"], [1], ["It rains"])
    line = score([1], [1], data=full, subset="test", invalid="drop", suite="starter")["signature"]
    assert line == f"starter|v:1.0.0|data:{full[:8]}|subset:test|invalid:drop|ci:none"
    with pytest.raises(ValueError, match="may not hold"):
        score([1], [1], subset="a|b")


def test_flatten_gives_every_number_its_path():
    result = table()
    flat = flatten(result)
    assert flat["language.malay.macro_f1"] == result["language"]["malay"]["macro_f1"]
    assert flat["language_functionality.tamil/c_h.accuracy"] == 0.5
    assert flat["overall.n"] == 8
    assert not set(flat) & set(result["notes"])
    assert len(flat) + len(result["notes"]) == sum(len(numbers) for _, numbers in entries(result))


# ---- bad input


def bad(match, answers=(1, 0), gold=(1, 0), **options):
    return pytest.param(match, answers, gold, options, id=match[:40])


@pytest.mark.parametrize(
    ("match", "answers", "gold", "options"),
    [
        bad(r"columns differ in length: predictions 2, references 1", gold=[1]),
        bad(r"columns differ in length: references 2, target 3", target=["a", "b", "c"]),
        bad(r"predictions: row 1 \(counted from 0\) holds the code 5", answers=[1, 5]),
        bad(r"references: row 0 \(counted from 0\) holds the code -1", gold=[-1, 1]),
        bad(r"predictions: expected a flat array of codes.*float64", answers=[0.5, 1.0]),
        bad(r"predictions: expected a flat array of codes.*shape \(2, 1\)", answers=[[1], [0]]),
        bad(r"invalid: expected one of wrong, drop, error, got 'skip'", invalid="skip"),
        bad(r"allow_partial: expected True or False, got a string", allow_partial="no"),
        bad(r"language: no value in row 1 \(counted from 0\)", language=["malay", None]),
        bad(r"cluster: no value in row 0 \(counted from 0\)", cluster=[None, "a"]),
        bad(r"template: no value in row 0 \(counted from 0\)", template=["", "a"]),
        bad(r"language: row 1 \(counted from 0\) holds a name with '/'", language=["malay", "a/b"]),
        bad(r"target: row 1 \(counted from 0\) holds 3, expected a string", target=["a", 3]),
        bad(r"functionality: holds values that are no names", functionality=[["a"], ["b"]]),
        bad(r"target: expected one value per case", target="ab"),
    ],
)
def test_bad_input_is_one_clear_error(match, answers, gold, options):
    with pytest.raises(ValueError, match=match):
        score(answers, gold, **options)


# ---- the fingerprint


def test_the_fingerprint_is_of_the_sorted_lines():
    texts = {"茶": hashlib.sha256("茶".encode()).hexdigest(), "tea": hashlib.sha256(b"tea").hexdigest()}
    expected = hashlib.sha256(f"a\t\t{texts['tea']}\nb\thateful\t{texts['茶']}".encode()).hexdigest()
    assert fingerprint(["b", "a"], [1, None], ["茶", "tea"]) == expected
    assert fingerprint(["a", "b"], [None, "hateful"], ["tea", "茶"]) == expected
    assert fingerprint(["a", "b"], [None, "hateful"], ["tea ", "茶"]) != expected


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ((["a"], [2], ["x"]), "label: row 0"),
        ((["a"], [1], [None]), "text: row 0"),
        (([7], [1], ["x"]), "case_id: row 0"),
        ((["a"], [1], ["x", "y"]), "columns differ in length: case_id 1, label 1, text 2"),
    ],
)
def test_a_fingerprint_of_bad_rows_is_refused(columns, match):
    with pytest.raises(ValueError, match=match):
        fingerprint(*columns)
