"""`sghatecheck compare`: two predictions files or more against the same suite, what is printed, and the exit status."""

import io
import json
import shutil
from pathlib import Path

import pytest
from command import run
from rich.console import Console

from sghc.leaderboard import compare_tables, compared
from sghc.suite import folder, release
from sghc.suite.sources import card_of, official

MORE = 12  # templates that singlish has besides the toy's two


@pytest.fixture
def place(toy, tmp_path, monkeypatch):
    """A folder with the toy suite built in it, singlish with clusters enough for a verdict, as the working directory."""
    for number in range(MORE):
        toy.add("ss", 10 + number, f"{{ID}} like tea number {number}", "derog_neg_emote_h", values=["bakers", "tailors"], votes=("hateful",) * 3)
    suite = official(release.local_copy(toy.write()))
    folder.write(suite, card_of(suite, "official"), tmp_path / "sghatecheck")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(place, name, wrong=(), leave_out=(), **fixed):
    """Writes a file that answers each case right, but for those whose id starts with one of `wrong`."""
    cases = folder.read(place / "sghatecheck", "test", None, ["case_id", "label"]).to_pylist()
    rows = []
    for case in cases:
        if not case["case_id"].startswith(tuple(leave_out)):
            gold = case["label"]
            rows.append({"case_id": case["case_id"], "prediction": 1 - gold if case["case_id"].startswith(tuple(wrong)) else gold} | fixed)
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_two_files(place, capsys):
    answer(place, "good.jsonl")
    answer(place, "poor.jsonl", wrong=["ss"])
    status, out, err = run(capsys, "compare", "good.jsonl", "poor.jsonl", "--json", "out.json")
    assert (status, err) == (0, "")
    result = json.loads((place / "out.json").read_text())
    assert (result["a"], result["b"]) == ("good", "poor")
    assert result["overall"]["accuracy"]["difference"] == pytest.approx(-1 / 4)
    assert result["language"]["singlish"]["accuracy"] | {"p": 0, "difference_ci": 0} == {"a": 1, "b": 0, "difference": -1, "difference_ci": 0, "p": 0}
    assert {name: entry["verdict"] for name, entry in result["language"].items()} == {
        "singlish": "worse",
        "malay": "undecided",
        "mandarin": "undecided",
        "tamil": "undecided",
    }
    assert result["overall"]["mcnemar"]["only_a"] == 2 * MORE + 3
    assert result["signature"].startswith("sghatecheck-altered-compare|v:1.0.0|data:")
    assert "A = good\nB = poor" in out
    assert "Functionalities: B is 0 better, 1 worse, 1 undecided" in out
    assert "profanity_nh" not in out  # cannot be told
    assert result["signature"] in out.replace("\n", "")
    assert "profanity_nh" in run(capsys, "compare", "good.jsonl", "poor.jsonl", "--all")[1]


def test_a_gate_names_what_is_worse(place, capsys):
    answer(place, "good.jsonl")
    answer(place, "poor.jsonl", wrong=["ss"])
    status, out, err = run(capsys, "compare", "good.jsonl", "poor.jsonl", "--fail-if-worse", "--json", "out.json")
    assert status == 1
    assert "Accuracy, overall and by language" in out  # the tables are shown all the same
    assert (place / "out.json").exists()
    first, *lines = err.splitlines()
    assert first == "sghatecheck: poor is worse than good:"
    names = [line.split(":")[0] for line in lines]
    assert names == ["overall", "language singlish", "functionality derog_neg_emote_h", "target Women", "target Seniors"]
    assert "accuracy 0.0000 against 1.0000 (-1.0000, Holm's p = 0.0005)" in lines[1]
    assert run(capsys, "compare", "poor.jsonl", "good.jsonl", "--fail-if-worse")[0] == 0  # better is no fault
    answer(place, "slip.jsonl", wrong=["ms-0"])
    assert run(capsys, "compare", "good.jsonl", "slip.jsonl", "--fail-if-worse")[0] == 0  # worse, but that may be chance


def test_the_same_file_twice(place, capsys):
    answer(place, "one.jsonl")
    status, out, _ = run(capsys, "compare", "one.jsonl", "one.jsonl", "--json", "out.json", "--fail-if-worse")
    result = json.loads((place / "out.json").read_text())
    assert (status, result["a"], result["b"]) == (0, "one.jsonl (1)", "one.jsonl (2)")
    assert (result["overall"]["accuracy"]["p"], result["overall"]["verdict"]) == (1, "undecided")
    assert "equally well" in result["notes"]["overall.accuracy.difference_ci"]
    assert "p = 1.000" in out


def test_wrong_usage_is_two(place, capsys):
    answer(place, "one.jsonl")
    assert run(capsys, "compare", "one.jsonl")[0] == 2
    assert run(capsys, "compare", "one.jsonl", "one.jsonl", "one.jsonl", "--fail-if-worse")[0] == 2


def test_files_that_do_not_answer_the_same_cases(place, capsys):
    answer(place, "all.jsonl")
    answer(place, "two.jsonl", leave_out=["zh", "ta"])
    answer(place, "short.jsonl", leave_out=["ss-1", "ms-0"])
    status, out, err = run(capsys, "compare", "all.jsonl", "two.jsonl")
    assert (status, out) == (1, "")
    assert "all.jsonl answers singlish, malay, mandarin, tamil and two.jsonl singlish, malay: expected the same languages" in err
    status, _, err = run(capsys, "compare", "all.jsonl", "short.jsonl")
    assert status == 1
    assert "short.jsonl" in err
    assert "cases have no answer" in err
    status, out, _ = run(capsys, "compare", "all.jsonl", "short.jsonl", "--allow-partial", "--json", "out.json")
    overall = json.loads((place / "out.json").read_text())["overall"]
    assert (status, overall["accuracy"]["a"], overall["accuracy"]["difference"]) == (0, 1, 0)
    assert f"{overall['n_left_out']} cases are left out for both" in out
    answer(place, "only.jsonl", leave_out=["ss", "ms-1", "ms-2", "zh", "ta"])
    answer(place, "rest.jsonl", leave_out=["ss", "ms-0", "zh", "ta"])
    assert "no case is left that only, rest all answer" in run(capsys, "compare", "only.jsonl", "rest.jsonl", "--allow-partial")[2]


def test_bad_input_is_one_message_that_names_the_file(place, capsys):
    answer(place, "all.jsonl")
    (place / "bad.jsonl").write_text('{"case_id": "ss-0", "prediction": 7}\n')
    assert "no such file" in run(capsys, "compare", "all.jsonl", "absent.jsonl")[2]
    assert "bad.jsonl" in run(capsys, "compare", "all.jsonl", "bad.jsonl")[2]
    assert "invalid" in run(capsys, "compare", "all.jsonl", "all.jsonl", "--invalid", "perhaps")[2]
    cases = folder.read(place / "sghatecheck", "test", None, ["case_id"])["case_id"].to_pylist()
    (place / "words.jsonl").write_text("".join(json.dumps({"case_id": case_id, "output": "tea"}) + "\n" for case_id in cases))
    status, _, err = run(capsys, "compare", "all.jsonl", "words.jsonl", "--invalid", "error")
    assert status == 1
    assert "answers of words:" in err
    assert "tea" not in err


def test_several_files_are_ranked(place, capsys):
    answer(place, "good.jsonl")
    answer(place, "poor.jsonl", wrong=["ss"])
    answer(place, "slip.jsonl", wrong=["ms-0"])
    status, out, _ = run(capsys, "compare", "poor.jsonl", "slip.jsonl", "good.jsonl", "--json", "out.json")
    result = json.loads((place / "out.json").read_text())
    assert (status, [entry["name"] for entry in result["systems"]]) == (0, ["good", "slip", "poor"])
    assert result["systems"][0]["tied_with_next"]
    assert "3 systems by overall macro F1" in out
    assert "tied" in out


def test_names_are_all_different():
    paths = {
        ("a/x.jsonl", "b/y.jsonl"): ["x", "y"],
        ("x.jsonl", "x.csv"): ["x.jsonl", "x.csv"],
        ("a/x.jsonl", "b/x.jsonl"): ["a/x.jsonl", "b/x.jsonl"],
        ("a/c/x.jsonl", "b/c/x.jsonl"): ["a/c/x.jsonl", "b/c/x.jsonl"],
        ("x.jsonl", "x.jsonl"): ["x.jsonl (1)", "x.jsonl (2)"],
    }
    for given, names in paths.items():
        assert compared.names_of([Path(path) for path in given]) == names


def test_tables_fit_into_eighty_columns(place):
    answer(place, "good.jsonl")
    answer(place, "a-rather-long-name-of-a-model-with-its-settings-and-date.jsonl", wrong=["ss", "ms-0"])
    answer(place, "slip.jsonl", wrong=["ms-0"])
    paths = [place / name for name in ("good.jsonl", "a-rather-long-name-of-a-model-with-its-settings-and-date.jsonl", "slip.jsonl")]
    two, three = compared.compare_files(paths[:2], place / "sghatecheck"), compared.compare_files(paths, place / "sghatecheck")
    for parts in (compare_tables.render(two, True), compare_tables.render_ranking(three)):
        console = Console(file=io.StringIO(), width=80, highlight=False)
        for part in parts:
            console.print(part)
        shown = console.file.getvalue()
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= 80


def test_a_starter_comparison_says_that_it_is_not_for_reporting(starter, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(starter, tmp_path / "sghatecheck")
    answer(tmp_path, "a.jsonl", prediction=1)
    answer(tmp_path, "b.jsonl", prediction=0)
    status, out, _ = run(capsys, "compare", "a.jsonl", "b.jsonl", "--json", "out.json")
    result = json.loads((tmp_path / "out.json").read_text())
    assert status == 0
    assert "not for reporting" in out
    assert "not for reporting" in result["notes"]["suite"]
    assert result["signature"].startswith("sghatecheck-starter-compare|")
    assert result["overall"]["accuracy_hateful"]["difference"] == -1
