"""`sghatecheck score`: predictions files of every form are read strictly, held against the suite and scored."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import run

from sghc.leaderboard import tables
from sghc.suite import folder, release
from sghc.suite.sources import card_of, official

CASES = [f"{code}-{number}" for code in ("ss", "ms", "zh", "ta") for number in range(3)]  # gold of each language: 1, 1, 0
ANSWERS = [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1]  # singlish all right, malay 2 of 3, mandarin 1 of 3, tamil 2 of 3


@pytest.fixture
def place(toy, tmp_path, monkeypatch):
    """A folder with the toy suite built in it, as the working directory."""
    suite = official(release.local_copy(toy.write()))
    folder.write(suite, card_of(suite, "official"), tmp_path / "sghatecheck")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(place, rows, name="predictions.jsonl"):
    (place / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return place / name


def rows(answers=ANSWERS, cases=CASES):
    return [{"case_id": case_id, "prediction": answer} for case_id, answer in zip(cases, answers, strict=True)]


def test_scores_worked_out_by_hand(place, capsys):
    write(place, rows())
    status, out, _ = run(capsys, "score", "predictions.jsonl", "--json", "results.json")
    assert status == 0
    result = json.loads((place / "results.json").read_text())
    accuracies = {name: values["accuracy"] for name, values in result["language"].items()}
    assert accuracies == pytest.approx({"singlish": 1, "malay": 2 / 3, "mandarin": 1 / 3, "tamil": 2 / 3})
    assert result["overall"]["accuracy"] == pytest.approx((1 + 2 / 3 + 1 / 3 + 2 / 3) / 4)
    # F1 of (hateful, non-hateful): singlish 1 and 1; malay 2/3 and 2/3; mandarin 0 and 1/2; tamil 4/5 and 0
    assert result["overall"]["macro_f1"] == pytest.approx((1 + 2 / 3 + 1 / 4 + 2 / 5) / 4)
    assert result["functionality"]["profanity_nh"]["accuracy"] == pytest.approx(3 / 4)
    assert result["target"]["Seniors"]["accuracy"] == pytest.approx(2 / 4)
    assert (result["overall"]["n"], result["overall"]["n_clusters"], result["overall"]["n_templates"]) == (12, 8, 8)
    assert ".667" in out
    assert "profanity_nh" in out
    assert result["signature"] in out.replace("\n", "")
    assert result["signature"].startswith("sghatecheck-altered|v:1.0.0|data:")  # the toy release is not the pinned one
    assert "|subset:test|invalid:wrong|" in result["signature"]


def test_every_form_of_the_same_predictions_scores_alike(place, capsys):
    names = ["non-hateful", "hateful"]
    table = {"case_id": CASES, "prediction": ANSWERS}
    write(place, rows(), "ints.jsonl")
    write(place, rows([names[answer] for answer in ANSWERS]), "names.jsonl")
    write(place, [{"case_id": one["case_id"], "output": f"the label is {one['prediction']}\n"} for one in rows()], "outputs.jsonl")
    write(place, [{**one, "score": 0.5, "note": "x"} for one in reversed(rows())], "more.jsonl")
    (place / "ints.csv").write_text("prediction,case_id,score\n" + "".join(f"{one['prediction']},{one['case_id']},\n" for one in rows()))
    (place / "outputs.csv").write_text("case_id,output\n" + "".join(f'{one["case_id"]}," {one["prediction"]}"\n' for one in rows()))
    pq.write_table(pa.table(table), place / "ints.parquet")
    pq.write_table(pa.table({**table, "prediction": [names[answer] for answer in ANSWERS]}), place / "names.parquet")
    pq.write_table(pa.table({**table, "prediction": [float(answer) for answer in ANSWERS]}), place / "floats.parquet")
    pq.write_table(pa.table({**table, "prediction": pa.array(ANSWERS).cast("string").dictionary_encode()}), place / "categories.parquet")
    write(place, rows([bool(answer) for answer in ANSWERS]), "bools.jsonl")
    (place / "floats.CSV").write_text("case_id,prediction\n" + "".join(f"{one['case_id']},{one['prediction']}.0\n" for one in rows()))
    (place / "bools.csv").write_text("case_id,prediction,output\r\n" + "".join(f"{one['case_id']},{bool(one['prediction'])},\r\n" for one in rows()))
    found = {}
    for path in sorted(place.glob("*.*")):
        if path.suffix.lower() in (".jsonl", ".csv", ".parquet"):
            assert run(capsys, "score", path, "--json", "out.json")[0] == 0
            found[path.name] = json.loads((place / "out.json").read_text())
            assert ("thresholds" in found[path.name]) == (path.name == "more.jsonl")  # the one file with scores
            found[path.name].pop("thresholds", None)
            found[path.name] = {part: values for part, values in found[path.name].items() if part not in ("bias", "notes")}  # AUCs, too
    assert len(found) == 13
    assert all(result == found["ints.jsonl"] for result in found.values())


def test_a_rejected_output_is_wrong_and_lowers_coverage(place, capsys):
    given = [{"case_id": case_id, "output": str(answer)} for case_id, answer in zip(CASES, ANSWERS, strict=True)]
    for output in ("", "hateful", "１", "1.", "1.0", "p = 0.1"):  # each names neither label by its last character
        given[0]["output"] = output
        write(place, given)
        assert run(capsys, "score", "predictions.jsonl", "--json", "out.json")[0] == 0
        singlish = json.loads((place / "out.json").read_text())["language"]["singlish"]
        assert (singlish["accuracy"], singlish["coverage"], singlish["n_rejected"]) == pytest.approx((2 / 3, 2 / 3, 1))
    assert run(capsys, "score", "predictions.jsonl", "--json", "out.json", "--invalid", "drop")[0] == 0
    assert json.loads((place / "out.json").read_text())["language"]["singlish"]["accuracy"] == 1
    status, _, err = run(capsys, "score", "predictions.jsonl", "--invalid", "error")
    assert status == 1
    assert "predictions.jsonl" in err


def test_only_the_languages_in_the_file_are_asked_unless_config_says_otherwise(place, capsys):
    write(place, [one for one in rows() if one["case_id"].startswith("ms")])
    status, _, _ = run(capsys, "score", "predictions.jsonl", "--json", "out.json")
    assert status == 0
    assert list(json.loads((place / "out.json").read_text())["language"]) == ["malay"]
    status, _, err = run(capsys, "score", "predictions.jsonl", "--config", "malay", "--config", "tamil")
    assert status == 1
    assert "3 of 6 cases have no answer: ta-0, ta-1, ta-2" in err
    status, _, err = run(capsys, "score", "predictions.jsonl", "--config", "tamil")
    assert status == 1
    assert "ms-0 in line 1 (config malay, split test)" in err


def test_partial_predictions_are_an_error_unless_allowed_and_then_counted(place, capsys):
    given = rows()
    del given[5]
    given[0] = {"case_id": "ss-0", "prediction": None}  # a call that failed
    write(place, given)
    status, _, err = run(capsys, "score", "predictions.jsonl")
    assert status == 1
    assert "2 of 12 cases have no answer: ss-0, ms-2; --allow-partial" in err
    assert run(capsys, "score", "predictions.jsonl", "--allow-partial", "--json", "out.json")[0] == 0
    result = json.loads((place / "out.json").read_text())
    assert (result["overall"]["n"], result["overall"]["n_missing"]) == (10, 2)
    assert result["language"]["singlish"]["accuracy"] == 1
    assert "partial" in result["signature"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["no predictions"]),
        ("[1, 2]\n", ["line 1", "list", "case_id"]),
        ('{"case_id": "ss-0", "prediction": 1}\n{"case_id": "ss-1", "pred', ["line 2", "not JSON"]),
        ('{"case_id": "ss-0"}\n', ["neither a column prediction nor a column output"]),
        ('{"id": "ss-0", "prediction": 1}\n', ["line 1", "case_id is None"]),
        ('{"case_id": 0, "prediction": 1}\n', ["line 1", "case_id is 0"]),
        ('{"case_id": "ss-0", "prediction": 2}\n', ["line 1", "prediction is 2", "expected 0, 1"]),
        ('{"case_id": "ss-0", "prediction": 1, "prediction": 0}\n', ["line 1", "twice"]),
        ('{"case_id": "ss-0", "prediction": ' + "[" * 100_000 + "\n", ["line 1"]),
        ('{"case_id": "ss-0", "prediction": 1, "score": 1' + "0" * 400 + "}\n", ["line 1", "score is 1000"]),
        ('{"case_id": "It rains today", "prediction": 1}\n', ["a text of 14 characters in line 1"]),
        ('{"case_id": "ss-0", "prediction": "It rains today"}\n', ["line 1", "a text of 14 characters"]),
        ('{"case_id": "ss-0", "prediction": 1, "score": "It rains today"}\n', ["line 1", "a text of 14 characters"]),
        ('{"case_id": "ss-0", "prediction": 0.7}\n', ["line 1", "0.7"]),
        ('{"case_id": "ss-0", "prediction": "Hate"}\n', ["line 1", "'Hate'"]),
        ('{"case_id": "ss-0", "prediction": 1, "output": "0"}\n', ["line 1", "both prediction and output"]),
        ('{"case_id": "ss-0", "output": 1}\n', ["line 1", "output is a int"]),
        ('{"case_id": "ss-0", "prediction": 1, "score": 1.5}\n', ["line 1", "score is 1.5"]),
        ('{"case_id": "ss-0", "prediction": 1}\n' * 2, ["repeated case_id", "'ss-0' in line 2 and line 1"]),
        ('{"case_id": "ss-0", "prediction": 1}\n{"case_id": "ss-0", "prediction": 0}\n', ["contradictory case_id", "'ss-0' in line 2 and line 1"]),
        ('{"case_id": "xx-9", "prediction": 1}\n', ["1 case ids are not in split test", "xx-9 in line 1 (in no split"]),
        ('{"case_id": "ss-g1", "prediction": 1}\n', ["ss-g1 in line 1 (config singlish, split generated)"]),
        ('{"case_id": "ss-0", "prediction": null}\n', ["not one of the 3 cases asked has an answer"]),
        ("".join(f'{{"case_id": "ss-{n}", "prediction": 7}}\n' for n in range(9)), ["line 1", "line 5", "and 4 more"]),
    ],
)
def test_a_faulty_file_is_refused_by_row(place, capsys, text, words):
    (place / "predictions.jsonl").write_text(text)
    (place / "results.json").write_text("old")
    status, out, err = run(capsys, "score", "predictions.jsonl", "--json", "results.json")
    assert (status, out) == (1, "")
    assert all(word in err for word in ["predictions.jsonl", *words])
    assert "rains" not in err  # whatever stands in a column may be the text of a case
    assert (place / "results.json").read_text() == "old"


@pytest.mark.parametrize("name", ["p.jsonl", "p.csv", "p.parquet"])
def test_a_file_that_is_no_text(place, capsys, name):
    (place / name).write_bytes(b"\x89PNG\r\n\x1a\n\0\0\xff\xfe")
    status, _, err = run(capsys, "score", name)
    assert status == 1
    assert name in err
    (place / name).unlink()
    assert "no such file" in run(capsys, "score", name)[2]


@pytest.mark.parametrize("position", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_damaged_parquet_file(place, capsys, position):
    pq.write_table(pa.table({"case_id": CASES, "prediction": ANSWERS}), place / "p.parquet")
    raw = bytearray((place / "p.parquet").read_bytes())
    raw[int(len(raw) * position)] ^= 0xFF
    (place / "p.parquet").write_bytes(raw)
    status, _, err = run(capsys, "score", "p.parquet")
    assert (status, err) == (0, "") or (status == 1 and "p.parquet" in err)  # a flipped bit may fall where nothing is read


def test_a_failed_call_may_stand_on_the_first_line(place, capsys):
    write(place, [{"case_id": "ss-0", "error": "timed out"}, *rows()[1:]])
    assert run(capsys, "score", "predictions.jsonl", "--allow-partial", "--json", "out.json")[0] == 0
    assert json.loads((place / "out.json").read_text())["overall"]["n_missing"] == 1


def test_results_go_where_they_can(place, capsys):
    path = write(place, rows())
    before = path.read_bytes()
    for target in ("predictions.jsonl", ".", "/", "nowhere/out.json"):
        status, _, err = run(capsys, "score", path, "--json", target)
        assert (status, err.startswith("sghatecheck: ")) == (1, True)
    assert path.read_bytes() == before
    (place / "link.json").symlink_to("real.json")
    assert run(capsys, "score", path, "--json", "link.json")[0] == 0
    assert (place / "link.json").is_symlink()
    assert json.loads((place / "real.json").read_text())["overall"]["n"] == 12


def test_all_languages_may_be_named_by_their_config(place, capsys):
    write(place, rows())
    assert run(capsys, "score", "predictions.jsonl", "--config", "all")[0] == 0


def test_an_unknown_ending_and_an_absent_suite(place, capsys):
    (place / "p.txt").write_text("x")
    assert "ends in .jsonl, .csv, .parquet" in run(capsys, "score", "p.txt")[2]
    write(place, rows())
    assert "sghatecheck build" in run(capsys, "score", "predictions.jsonl", "--suite", "elsewhere")[2]
    status, _, err = run(capsys, "score", "predictions.jsonl", "--split", "train")
    assert (status, "no split 'train'" in err) == (1, True)


def test_a_gate_says_which_minimum_was_missed(place, capsys):
    write(place, rows())
    gate = place / "gate.yaml"
    gate.write_text("overall: {accuracy: 0.6}\nlanguage.singlish.macro_f1: 1.0\nlanguage_functionality: {malay/profanity_nh: {accuracy: 1}}\n")
    assert run(capsys, "score", "predictions.jsonl", "--fail-under", gate)[0] == 0
    gate.write_text("overall: {accuracy: 0.7}\nlanguage.mandarin.accuracy: 0.5\nlanguage.singlish.accuracy: 0.5\n")
    status, out, err = run(capsys, "score", "predictions.jsonl", "--fail-under", gate)
    assert status == 1
    assert "Overall" in out  # the scores are shown all the same
    assert "overall.accuracy is 0.6667, below 0.7" in err
    assert "language.mandarin.accuracy is 0.3333, below 0.5" in err
    assert "singlish" not in err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no minimums"),
        ("- 1\n", "no minimums"),
        ("overall: [", "YAML"),
        ("overall: {accuracy: high}\n", "'high'"),
        ("overall: {}\n", "overall is a list"),
        ("overall: {accuracy: 0.9}\noverall.accuracy: 0.1\n", "overall.accuracy stands twice"),
        ("overall.accuracy: 0.9\noverall.accuracy: 0.1\n", "overall.accuracy stands twice"),
        ("a: &a {b: 1}\nc: *a\n", "aliases"),
        ("overall.accuracy: 2024-13-45\n", "expected a number"),
        ("overall.accuracy: !!python/object:os.system x\n", "expected a number"),
        ("overall.acuracy: 0.5\n", "overall.acuracy"),
        ("functionality.profanity_nh.macro_f1: 0.5\n", "one gold label"),
    ],
)
def test_a_faulty_gate(place, capsys, content, words):
    write(place, rows())
    (place / "gate.yaml").write_text(content)
    status, _, err = run(capsys, "score", "predictions.jsonl", "--fail-under", "gate.yaml")
    assert status == 1
    assert "gate.yaml" in err
    assert words in err


def test_a_starter_score_says_that_it_is_not_for_reporting(starter, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = folder.read(starter, "test", None, ["case_id"])["case_id"].to_pylist()
    write(tmp_path, [{"case_id": case_id, "prediction": 1} for case_id in ids])
    status, out, _ = run(capsys, "score", "predictions.jsonl", "--suite", starter, "--json", "out.json")
    result = json.loads((tmp_path / "out.json").read_text())
    assert status == 0
    assert "not for reporting" in out
    assert "not for reporting" in result["notes"]["suite"]
    assert result["signature"].startswith("sghatecheck-starter|")
    assert result["overall"]["accuracy_hateful"] == 1
    assert result["overall"]["accuracy_non_hateful"] == 0


def test_always_non_hateful_on_the_released_suite(shared_data, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "build", "--source", shared_data / "sghatecheck")[0] == 0
    cases = folder.read(tmp_path / "sghatecheck", "test", None, ["case_id"])["case_id"].to_pylist()
    write(tmp_path, [{"case_id": case_id, "prediction": 0} for case_id in cases])
    assert run(capsys, "score", "predictions.jsonl", "--json", "out.json")[0] == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["overall"]["n"] == 10388
    assert result["language"]["tamil"]["accuracy"] == pytest.approx(788 / 2476)
    assert result["language"]["malay"]["n"] == 2207
    assert {name: values["n_clusters"] for name, values in result["language_target"].items() if values["n_clusters"] == 0} == {}


# --- scores and thresholds ---


def with_scores(scores, answers=ANSWERS):
    return [{**row, "score": score} for row, score in zip(rows(answers), scores, strict=True)]


def test_operating_points_by_hand(place, capsys):
    # malay: hateful .9 and .3, harmless .4
    write(place, [row for row in with_scores([0.9, 0.3, 0.4] * 4) if row["case_id"].startswith("ms")])
    assert run(capsys, "score", "predictions.jsonl", "--json", "out.json")[0] == 0
    found = json.loads((place / "out.json").read_text())["thresholds"]
    points = {point["threshold"]: (point["miss_rate"], point["false_alarm_rate"]) for point in found["points"]}
    assert len(points) == 101
    assert [points[one] for one in (0.0, 0.3, 0.31, 0.4, 0.41, 0.9, 0.91, 1.0)] == [
        (0, 1),
        (0, 1),
        (0.5, 1),
        (0.5, 1),
        (0.5, 0),
        (0.5, 0),
        (1, 0),
        (1, 0),
    ]
    assert "not a result" in found["note"]
    assert found["n"] == 3


def test_operating_points_are_the_mean_over_languages(place, capsys):
    write(place, with_scores([0.9, 0.9, 0.1] * 2 + [0.1, 0.1, 0.9] * 2))
    assert run(capsys, "score", "predictions.jsonl", "--json", "out.json")[0] == 0
    points = json.loads((place / "out.json").read_text())["thresholds"]["points"]
    assert (points[50]["miss_rate"], points[50]["false_alarm_rate"]) == (0.5, 0.5)


def test_a_threshold_reads_the_answers_again(place, capsys):
    write(place, with_scores([0.9, 0.3, 0.4] * 4, answers=[0] * 12))
    accuracies = {}
    for threshold in (0.2, 0.5, 0.95):
        assert run(capsys, "score", "predictions.jsonl", "--threshold", threshold, "--json", "out.json")[0] == 0
        result = json.loads((place / "out.json").read_text())
        accuracies[threshold] = result["overall"]["accuracy"]
        assert f"threshold:{threshold}" in result["signature"]
    assert accuracies == pytest.approx({0.2: 2 / 3, 0.5: 2 / 3, 0.95: 1 / 3})


def test_a_rejected_output_stays_rejected_at_any_threshold(place, capsys):
    given = [{"case_id": case_id, "output": "1", "score": 0.9} for case_id in CASES]
    given[0]["output"] = "neither"
    write(place, given)
    assert run(capsys, "score", "predictions.jsonl", "--threshold", 0.5, "--json", "out.json")[0] == 0
    assert json.loads((place / "out.json").read_text())["overall"]["n_rejected"] == 1


def test_a_threshold_needs_scores(place, capsys):
    write(place, rows())
    status, _, err = run(capsys, "score", "predictions.jsonl", "--threshold", 0.5)
    assert (status, "12 have none: ss-0" in err) == (1, True)
    write(place, with_scores([0.5] * 12))
    status, _, err = run(capsys, "score", "predictions.jsonl", "--threshold", 1.5)
    assert (status, "between 0 and 1" in err) == (1, True)


def test_faulty_interval_options(place, capsys):
    write(place, rows())
    for option, value in (("--ci", "jackknife"), ("--n-resamples", 3), ("--seed", -1), ("--invalid", "skip"), ("--weakest", -1)):
        assert run(capsys, "score", "predictions.jsonl", option, value)[0] == 2


def test_what_is_within_noise_is_dim():
    overall = {"accuracy": 0.6, "accuracy_ci": [0.55, 0.65]}
    near = tables.number({"accuracy": 0.5, "accuracy_ci": [0.35, 0.7]}, "accuracy", beside=overall)
    far = tables.number({"accuracy": 0.3, "accuracy_ci": [0.2, 0.4]}, "accuracy", beside=overall)
    assert (near.plain, str(near.style)) == (".500 .35–.70", "dim")
    assert (far.plain, str(far.style)) == (".300 .20–.40", "red")
    assert tables.number({"accuracy": None}, "accuracy").plain == "–"
    assert tables.number({"macro_f1": 1.0, "macro_f1_ci": None}, "macro_f1").plain == "1.000 no interval"
