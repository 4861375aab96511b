"""The resumable run: whatever ends it, the next one goes on, and the file is the one that an uninterrupted run would have written."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest

from sghc import cli
from sghc.errors import InputError
from sghc.models import record, run
from sghc.models.asked import cases_of, spread
from sghc.models.callables import CallableDetector, from_spec
from sghc.models.detector import Answer
from sghc.suite import folder

CASES = [(f"ms-g{number}", f"tea number {number}") for number in range(50)]
MANY = [(f"ms-g{number}", f"rain number {number}") for number in range(300)]
ASKED = {"suite": "toy", "data": "d", "split": "test", "configs": ["malay"], "limit": None, "n": 50}


def parity(texts):
    return [int(text.split()[-1]) % 2 for text in texts]


def detector(function=parity, batch_size=7):
    return CallableDetector("toy:parity", function, batch_size)


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_run_writes_each_answer_and_a_record(tmp_path):
    out = tmp_path / "p.jsonl"
    told = []
    run.predict(detector(), CASES, ASKED, out, told.append)
    assert rows(out) == [{"case_id": case_id, "prediction": number % 2} for number, (case_id, _) in enumerate(CASES)]
    assert sum(told) == 50
    kept = json.loads((tmp_path / "p.run.json").read_text())
    assert kept["counts"] == {"asked": 50, "answered": 50, "rejected": 0, "failed": 0, "cut": 0}
    assert kept["identity"] == {"kind": "callable", "model": "toy:parity", "reading": "last-character"}
    assert (kept["asked"], kept["partial"]) == (ASKED, False)
    assert kept["versions"]["python"].startswith("3.")
    assert kept["started"] <= kept["finished"]


def test_a_finished_run_asks_nothing_again(tmp_path):
    run.predict(detector(), CASES, ASKED, tmp_path / "p.jsonl")
    before = (tmp_path / "p.jsonl").read_bytes()
    run.predict(detector(lambda texts: pytest.fail("asked again")), CASES, ASKED, tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == before


@pytest.mark.parametrize("ending", ["an exception", "an interrupt", "a cut line", "a full disk"])
def test_a_run_goes_on_where_it_stopped(tmp_path, ending, monkeypatch):
    whole, out, asked = tmp_path / "whole.jsonl", tmp_path / "p.jsonl", Counter()
    run.predict(detector(), CASES, ASKED, whole)

    def failing(texts):
        asked.update(texts)
        if len(asked) > 20 and ending in ("an exception", "an interrupt"):
            raise KeyboardInterrupt if ending == "an interrupt" else RuntimeError("broken")
        return parity(texts)

    if ending == "a full disk":
        real = os.fsync
        calls = []

        def fsync(handle):
            calls.append(handle)
            if len(calls) == 3:
                raise OSError(28, "No space left on device")
            real(handle)

        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(InputError, match=r"No space left.*run the same command again"):
            run.predict(detector(), CASES, ASKED, out)
        assert len(rows(out)) == 14  # two whole batches: what the full disk cut off is taken back
    elif ending == "a cut line":
        run.predict(detector(), CASES[:21], ASKED, out)
        with out.open("ab") as file:
            file.write(b'{"case_id": "ms-g21", "predic')
    else:
        with pytest.raises((InputError, KeyboardInterrupt)):
            run.predict(detector(failing), CASES, ASKED, out)
        assert len(rows(out)) in (14, 21)
    run.predict(detector(), CASES, ASKED, out)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("room", [1, 333, 700])
def test_a_file_that_is_cut_in_the_middle_of_a_line_is_taken_back_for_good(tmp_path, room):
    """A real limit on the file's size, as of a disk that is full: a write goes in by half, and there is room again before the file is closed."""
    whole, out = tmp_path / "whole.jsonl", tmp_path / "p.jsonl"
    run.predict(detector(), CASES, ASKED, whole)
    run.predict(detector(), CASES[:7], ASKED, out)
    before, limits = out.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    usual = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def filling(texts):
        resource.setrlimit(resource.RLIMIT_FSIZE, (before + room, limits[1]))
        return parity(texts)

    try:
        with pytest.raises(InputError, match="cannot be written"):
            run.predict(detector(filling, 40), CASES, ASKED, out)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, usual)
    assert out.stat().st_size == before
    run.predict(detector(), CASES, ASKED, out)
    assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("damage", [b"", b"[1]", b'{"x": 1}', b"\x00\x00", b'{"case_id": ["a"]}', b'{"case_id": "ms-g1", \xff}', b"[" * 5000])
def test_a_damaged_file_is_named_with_its_line(tmp_path, damage):
    out = tmp_path / "p.jsonl"
    run.predict(detector(), CASES, ASKED, out)
    lines = out.read_bytes().splitlines()
    out.write_bytes(b"\n".join([*lines[:3], damage, *lines[4:]]) + b"\n")
    damaged = out.read_bytes()
    with pytest.raises(InputError, match=r"p\.jsonl: line 4 is no answer that a run wrote"):
        run.predict(detector(), CASES, ASKED, out)
    assert out.read_bytes() == damaged


KILLED = """
import os, random, signal, sys, time
from sghc.models import run
from sghc.models.callables import CallableDetector
from test_run import ASKED, MANY, parity
def slow(texts):
    time.sleep(0.004)
    return parity(texts)
run.predict(CallableDetector("toy:parity", slow, 3), MANY, ASKED, __import__("pathlib").Path(sys.argv[1]))
"""


def test_a_run_killed_at_random_points_gives_the_same_file(tmp_path):
    whole, out = tmp_path / "whole.jsonl", tmp_path / "p.jsonl"
    run.predict(detector(batch_size=3), MANY, ASKED, whole)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}  # noqa: PTH120
    chance = random.Random(4)
    killed = 0
    for _ in range(60):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(out)], env=environment)
        known = out.stat().st_size if out.exists() else 0
        while process.poll() is None and (not out.exists() or out.stat().st_size == known):
            time.sleep(0.0005)  # until it has started to write
        time.sleep(chance.random() * 0.006)
        if process.poll() is None:
            process.kill()
            killed += 1
        process.wait()
        if killed == 20 or process.returncode == 0:
            break
    assert killed == 20
    run.predict(detector(batch_size=3), MANY, ASKED, out)
    assert out.read_bytes() == whole.read_bytes()


def test_runs_of_other_settings_are_not_mixed(tmp_path):
    out = tmp_path / "p.jsonl"
    run.predict(detector(), CASES[:10], ASKED, out)
    other = CallableDetector("toy:other", parity)
    with pytest.raises(InputError, match=r"model 'toy:parity', and this one has 'toy:other'"):
        run.predict(other, CASES, ASKED, out)
    with pytest.raises(InputError, match="split 'test', and this one has 'annotated'"):
        run.predict(detector(), CASES, {**ASKED, "split": "annotated"}, out)
    assert len(rows(out)) == 10
    (tmp_path / "p.run.json").unlink()
    with pytest.raises(InputError, match=r"without its record p\.run\.json"):
        run.predict(detector(), CASES, ASKED, out)
    (tmp_path / "p.run.json").write_text('{"identity": 7}')
    with pytest.raises(InputError, match="not a record"):
        run.predict(detector(), CASES, ASKED, out)


def test_two_runs_do_not_share_a_file(tmp_path):
    out = tmp_path / "p.jsonl"

    def meanwhile(texts):
        with pytest.raises(InputError, match="another run"):
            run.predict(detector(), CASES, ASKED, out)
        return parity(texts)

    run.predict(detector(meanwhile, 50), CASES, ASKED, out)


def test_a_call_that_fails_stays_missing_and_is_asked_again(tmp_path):
    class Failing(CallableDetector):
        def answer(self, texts):
            return [Answer(error="timed out") if text.endswith("3") else Answer(1) for text in texts]

    out = tmp_path / "p.jsonl"
    done = run.predict(Failing("toy:parity", parity, 8), CASES, ASKED, out)
    assert (done.counts["answered"], done.counts["failed"], done.partial) == (45, 5, True)
    done = run.predict(detector(lambda texts: [0] * len(texts)), CASES, ASKED, out)
    assert (done.counts["answered"], done.counts["failed"], done.partial) == (50, 0, False)
    assert [row["prediction"] for row in rows(out)] == [int(not text.endswith("3")) for _, text in CASES]  # in the order of the cases


@pytest.mark.parametrize(
    ("answer", "row"),
    [
        (Answer(1), {"prediction": 1}),
        (Answer(0, score=0.25), {"prediction": 0, "score": 0.25}),
        (Answer(1, "1"), {"output": "1"}),
        (Answer(None, "I cannot say"), {"output": "I cannot say"}),
        (Answer(None, "route 1"), {"output": "", "raw": "route 1"}),  # an echo: its last character is no answer
        (Answer(1, "unsafe\nS10"), {"prediction": 1, "raw": "unsafe\nS10"}),
        (Answer(None, "S1"), {"output": "", "raw": "S1"}),
        (Answer(None, ""), {"output": ""}),
        (Answer(0, "0", 0.125, 0.5, cut=True), {"output": "0", "score": 0.125, "mass": 0.5, "cut": True}),
    ],
)
def test_what_is_written_is_read_again_as_it_was_read(answer, row):
    from sghatecheck_metric.reading import REJECTED
    from sghc.models.predictions import answer_of

    written = json.loads(run.line("ms-1", answer))
    assert written == {"case_id": "ms-1", **row}
    assert answer_of(written) == (REJECTED if answer.prediction is None else answer.prediction)


# --- functions ---


def test_every_form_of_a_functions_answer():
    given = [1, 0, "hateful", "non-hateful", "the label is 1", "no idea", (1, 0.9), ("hateful", 0.75), None, True]
    answers = CallableDetector("m:f", lambda texts: given).answer(["tea"] * len(given))
    assert [one.prediction for one in answers] == [1, 0, 1, 0, 1, None, 1, 1, None, 1]
    assert [one.output for one in answers] == [None, None, None, None, "the label is 1", "no idea", None, None, None, None]
    assert [one.score for one in answers] == [None] * 6 + [0.9, 0.75, None, None]
    assert [one.error is not None for one in answers] == [False] * 8 + [True, False]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([1], "1 answers for 2 texts"),
        ([1, 2], "an answer is 2"),
        ([1, 0.5], "an answer is 0.5"),
        ([(1, 1.5), 1], "a score is 1.5"),
        ([(1, "tea"), 1], "an answer is a tuple that cannot be read"),
        (np.zeros((2, 2)), "an answer is a ndarray that cannot be read"),
        (["\ud83d 1", 1], "an answer is a str that cannot be read"),
        ([[1], 1], "an answer is "),
    ],
)
def test_a_faulty_function(given, match):
    with pytest.raises(InputError, match=match):
        CallableDetector("m:f", lambda texts: given).answer(["tea", "rain"])


def test_a_function_that_raises_is_told_by_place_alone():
    def generator(texts):
        yield 1
        raise ValueError(texts[1])

    with pytest.raises(InputError, match=r"m:f: raised ValueError in .*test_run\.py, line \d+$"):
        CallableDetector("m:f", generator).answer(["tea", "rain"])


@pytest.mark.parametrize("content", ["raise ValueError('tea')", "def f(:", "import sys; sys.exit(5)", "object().nothing"])
def test_a_module_that_breaks_as_it_is_imported(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    name = f"breaks_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content)
    with pytest.raises(InputError, match=rf"{name}:f: the module cannot be imported"):
        from_spec(f"{name}:f")


@pytest.mark.parametrize(
    ("spec", "match"), [("nowhere_at_all:f", "cannot be imported"), ("json:nothing", "json has no nothing"), ("json:__name__", "is a str")]
)
def test_a_function_that_is_not_there(spec, match):
    with pytest.raises(InputError, match=match):
        from_spec(spec)


# --- the command ---


def command(*arguments) -> int:
    sys.argv = ["sghatecheck", *map(str, arguments)]
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code or 0


def test_predict_then_score(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("def detect(texts):\n    return [(1, 0.75) for text in texts]\n")
    assert command("predict", "--model", "mine:detect", "--suite", starter, "--config", "malay", "--out", "p.jsonl") == 0
    out, err = capsys.readouterr()
    assert "735" in out
    assert "735 of 735" in err
    assert command("score", "p.jsonl", "--suite", starter, "--json", "r.json") == 0
    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["overall"]["n"], result["overall"]["accuracy_hateful"]) == (735, 1)
    assert record.read(tmp_path / "p.jsonl").asked["configs"] == ["malay"]


def test_a_limit_takes_something_of_everything_and_marks_the_run(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine2.py").write_text("def detect(texts):\n    return [0 for text in texts]\n")
    assert command("predict", "--model", "mine2:detect", "--suite", starter, "--limit", 192, "--out", "p.jsonl") == 0
    assert "partial" in capsys.readouterr().out
    cases, asked = cases_of(starter, "test", None, 192)
    assert (len(cases), asked["n"], record.read(tmp_path / "p.jsonl").partial) == (192, 192, True)
    known = {row["case_id"]: row for row in folder.read(starter, "test", None, ["case_id", "language", "functionality"]).to_pylist()}
    counts = Counter((known[case_id]["language"], known[case_id]["functionality"]) for case_id, _ in cases)
    assert len(counts) == 96  # every functionality of every language
    assert max(counts.values()) - min(counts.values()) <= 1
    assert cases_of(starter, "test", None, 192)[0] == cases
    assert {case_id for case_id, _ in cases_of(starter, "test", None, 100)[0]} <= {case_id for case_id, _ in cases}


def test_a_limit_that_leaves_nothing_out_is_none(starter):
    assert cases_of(starter, "test", ["malay"], 10_000)[1]["limit"] is None


def test_a_language_named_twice_is_asked_once(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine3.py").write_text("def detect(texts):\n    return [1 for text in texts]\n")
    twice = ["--suite", starter, "--config", "malay", "--config", "malay"]
    assert command("predict", "--model", "mine3:detect", *twice, "--out", "p.jsonl") == 0
    assert len(rows(tmp_path / "p.jsonl")) == 735
    for name, arguments in (("one.json", ["--suite", starter, "--config", "malay"]), ("two.json", twice)):
        assert command("score", "p.jsonl", *arguments, "--ci", "none", "--json", name) == 0
    assert (tmp_path / "one.json").read_text() == (tmp_path / "two.json").read_text()


def test_results_never_overwrite_what_is_read(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine4.py").write_text("def detect(texts):\n    return [1 for text in texts]\n")
    assert command("predict", "--model", "mine4:detect", "--suite", starter, "--config", "malay", "--out", "p.jsonl") == 0
    before = (starter / "README.md").read_bytes()
    for target in ("p.jsonl", "p.run.json", starter / "README.md", starter / "data" / "results.json"):
        assert command("score", "p.jsonl", "--suite", starter, "--ci", "none", "--json", target) == 1
        assert "name another file" in capsys.readouterr().err
    assert (starter / "README.md").read_bytes() == before
    assert not (starter / "data" / "results.json").exists()


def test_a_sample_is_never_larger_than_the_suite():
    assert len(spread([{"case_id": str(n), "language": "x", "functionality": None} for n in range(3)], 10)) == 3


def test_predict_refuses_what_cannot_work(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments, words in (
        (["--model", "nowhere_at_all:f", "--out", "p.jsonl"], "cannot be imported"),
        (["--model", "json:loads", "--out", "p.csv"], "that ends in .jsonl"),
        (["--model", "json:loads", "--config", "klingon", "--out", "p.jsonl"], "no config klingon"),
        (["--model", "json:loads", "--split", "train", "--out", "p.jsonl"], "no split 'train'"),
    ):
        assert command("predict", "--suite", starter, *arguments) == 1
        assert words in capsys.readouterr().err
    assert not list(tmp_path.glob("p.*"))
