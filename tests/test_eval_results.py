"""A score as a model's repository on the Hub shows it: read back by the Hub's own library, with what it is worth, and whole or not at all."""

import boards
import pytest
import yaml
from huggingface_hub import ModelCard
from huggingface_hub import parse_eval_result_entries as parse

from sghc.leaderboard import scored
from sghc.models import record
from sghc.suite import folder

DATASET = "org/sghatecheck"
MACRO_F1 = (2 * 57 / 138 + 2 * 39 / 102) / 2  # worked out in test_submission.py


def score(capsys, suite, place, rows, *more):
    path = boards.write(place / "predictions.jsonl", rows)
    return boards.run(capsys, "score", path, "--suite", suite, "--n-resamples", 100, *more)


def hub_files(place, *more):
    return ["--eval-results", place / "results.yaml", "--model-index", place / "index.yaml", "--dataset", DATASET, "--model", "org/detector", *more]


def entries(place):
    return parse(yaml.safe_load((place / "results.yaml").read_text(encoding="utf-8")))


def card(place):
    return ModelCard(f"---\n{(place / 'index.yaml').read_text(encoding='utf-8')}---\n").data


def test_each_language_is_a_task_of_the_benchmark_with_the_scored_value(suite, tmp_path, capsys):
    status, _, err = score(capsys, suite, tmp_path, boards.answers(suite, wrong=5), *hub_files(tmp_path))
    assert (status, err) == (0, "")
    expected = scored.score_file(tmp_path / "predictions.jsonl", suite, n_resamples=100)
    found = entries(tmp_path)
    benchmark = yaml.safe_load((suite / "eval.yaml").read_text(encoding="utf-8"))
    assert [one.task_id for one in found] == [one["id"] for one in benchmark["tasks"]] == [*boards.LANGUAGES]
    for one in found:
        assert one.dataset_id == DATASET
        assert one.value == expected["language"][one.task_id]["macro_f1"] == pytest.approx(MACRO_F1)
        low, high = (f"{limit:.3f}".lstrip("0") for limit in expected["language"][one.task_id]["macro_f1_ci"])
        assert f"macro F1 [{low}, {high}], accuracy .800; coverage 1.000, 0 of 120 outputs rejected" in one.notes
        assert one.notes.endswith(expected["signature"])
        assert one.date is None


def test_an_older_card_gets_the_same_numbers(suite, tmp_path, capsys):
    score(capsys, suite, tmp_path, boards.answers(suite, wrong=5), *hub_files(tmp_path))
    data = card(tmp_path)
    assert data.model_name == "org/detector"
    told = {(one.dataset_config, one.metric_type): one for one in data.eval_results}
    assert {*told} == {(language, kind) for language in boards.LANGUAGES for kind in ("f1", "accuracy")}
    for entry in entries(tmp_path):
        f1, accuracy = told[entry.task_id, "f1"], told[entry.task_id, "accuracy"]
        assert (f1.metric_value, f1.metric_args["notes"]) == (entry.value, entry.notes)
        assert accuracy.metric_value == pytest.approx(0.8)
        assert (f1.dataset_type, f1.dataset_split, f1.task_type, f1.verified) == (DATASET, "test", "text-classification", None)


def test_rejected_outputs_are_told_and_counted_as_wrong(suite, tmp_path, capsys):
    """6 of 72 hateful cases rejected, all else right: F1 of hateful 2*66/138, of non-hateful 1."""
    rows = boards.answers(suite, languages=["malay"])
    for row in rows[:6]:
        del row["prediction"]
        row["output"] = "I cannot say"
    assert score(capsys, suite, tmp_path, rows, *hub_files(tmp_path))[0] == 0
    (one,) = entries(tmp_path)
    assert (one.task_id, one.value) == ("malay", pytest.approx((2 * 66 / 138 + 1) / 2))
    assert "coverage .950, 6 of 120 outputs rejected, counted as wrong" in one.notes


def test_a_suite_that_is_not_for_reporting_says_so_first(suite, tmp_path, capsys):
    score(capsys, suite, tmp_path, boards.answers(suite), *hub_files(tmp_path))
    caution = folder.describe(suite).caution
    assert "not for reporting" in caution
    assert all(one.notes.startswith(caution) for one in entries(tmp_path))


def test_the_runs_record_gives_date_and_model(suite, tmp_path, capsys):
    path = tmp_path / "predictions.jsonl"
    run = record.new({"kind": "causal", "model": "org/named", "revision": boards.COMMIT}, {"split": "test"})
    run.finished = "2026-11-02T03:04:05+00:00"
    record.write(run, path)
    options = ["--eval-results", tmp_path / "results.yaml", "--model-index", tmp_path / "index.yaml", "--dataset", DATASET]
    assert score(capsys, suite, tmp_path, boards.answers(suite), *options)[0] == 0
    assert {one.date for one in entries(tmp_path)} == {run.finished}
    assert card(tmp_path).model_name == "org/named"
    record.path_of(path).unlink()
    status, _, err = score(capsys, suite, tmp_path, boards.answers(suite), *options)
    assert status == 1
    assert "--model ORG/NAME" in err


@pytest.mark.parametrize(
    ("rows", "more", "says"),
    [
        (lambda suite: boards.answers(suite)[:-3], ["--allow-partial"], "3 cases of malay have no answer; a partial run"),
        (boards.answers, ["--invalid", "drop"], "--invalid drop"),
        (boards.answers, ["--dataset", "no-org"], "expected a dataset repository ORG/NAME"),
        (boards.answers, ["--model", "no-org"], "expected ORG/NAME"),
    ],
)
def test_what_is_no_score_of_a_task_is_refused_and_nothing_is_written(suite, tmp_path, capsys, rows, more, says):
    status, _, err = score(capsys, suite, tmp_path, rows(suite), "--json", tmp_path / "out.json", *hub_files(tmp_path, *more))
    assert status == 1
    assert err.count("\n") == 1
    assert says in err
    assert [one.name for one in tmp_path.iterdir()] == ["predictions.jsonl"]


def test_another_split_is_refused(suite, tmp_path, capsys):
    rows = [{"case_id": one["case_id"], "prediction": 1} for one in folder.read(suite, "generated").to_pylist()]
    status, _, err = score(capsys, suite, tmp_path, rows, "--split", "generated", *hub_files(tmp_path))
    assert status == 1
    assert "split generated" in err


def test_a_language_of_one_gold_label_has_no_value(tmp_path, capsys):
    source = tmp_path / "own"
    source.mkdir()
    (source / "templates.csv").write_text("language,functionality,gold,template\nmalay,ident_neutral_nh,non-hateful,The {ID} have a boat\n")
    (source / "placeholders.csv").write_text("language,placeholder,target,value\nmalay,{ID},Women,bakers\nmalay,{ID},Seniors,tailors\n")
    suite = tmp_path / "sghatecheck"
    assert boards.run(capsys, "build", source, "--out", suite)[0] == 0
    status, _, err = score(capsys, suite, tmp_path, boards.answers(suite, languages=["malay"]), *hub_files(tmp_path))
    assert status == 1
    assert "malay has no macro F1: one gold label only" in err


def test_the_options_need_each_other(suite, tmp_path, capsys):
    rows = boards.answers(suite)
    assert score(capsys, suite, tmp_path, rows, "--eval-results", tmp_path / "results.yaml")[0] == 2
    assert score(capsys, suite, tmp_path, rows, "--dataset", DATASET)[0] == 2


def test_what_is_read_and_what_was_just_written_is_not_written_over(suite, tmp_path, capsys):
    rows, before = boards.answers(suite), (suite / "eval.yaml").read_bytes()
    for name in (suite / "eval.yaml", tmp_path / "predictions.jsonl"):
        status, _, err = score(capsys, suite, tmp_path, rows, "--eval-results", name, "--dataset", DATASET)
        assert status == 1
        assert "is read" in err
    assert (suite / "eval.yaml").read_bytes() == before
    assert score(capsys, suite, tmp_path, rows, "--json", tmp_path / "results.yaml", *hub_files(tmp_path))[0] == 1
    assert len(entries(tmp_path)) == 2
