"""Several workers on one run: however they start, stop and finish, the joined file is that of a run without shards."""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sghc import cli
from sghc.errors import InputError
from sghc.models import record, run, shards
from sghc.models.callables import CallableDetector
from sghc.models.detector import Answer
from sghc.models.shards import Shard, parse

CASES = [(f"ms-g{number}", f"tea number {number}") for number in range(50)]
ASKED = {"suite": "toy", "data": "d", "split": "test", "configs": ["malay"], "limit": None, "n": 50}


def parity(texts):
    return [(int(text.split()[-1]) % 2, 0.25) for text in texts]


def nothing(texts):
    pytest.fail("asked again")


def ask(out, number, of=3, function=parity, asked=ASKED, model="toy:parity"):
    return shards.predict(CallableDetector(model, function, 4), CASES, asked, out, Shard(number, of))


@pytest.fixture
def whole(tmp_path) -> bytes:
    """What a run without shards writes."""
    run.predict(CallableDetector("toy:parity", parity, 7), CASES, ASKED, tmp_path / "whole.jsonl")
    return (tmp_path / "whole.jsonl").read_bytes()


def test_the_last_worker_joins(tmp_path, whole):
    out = tmp_path / "shared" / "p.jsonl"
    first, third, second = ask(out, 1), ask(out, 3), ask(out, 2)
    assert (first.waiting, first.joined) == ("shards 2 and 3 of 3 are not there yet", None)
    assert (third.waiting, third.joined) == ("shard 2 of 3 is not there yet", None)
    assert second.waiting == ""
    assert out.read_bytes() == whole
    assert sorted(path.name for path in out.parent.iterdir()) == sorted(
        ["p.jsonl", "p.run.json", *(f"p.{number}-of-3.{ending}" for number in (1, 2, 3) for ending in ("jsonl", "run.json"))]
    )
    joined, alone = record.read(out), record.read(tmp_path / "whole.jsonl")
    assert joined == second.joined
    assert joined.model_dump(exclude={"started", "finished"}) == alone.model_dump(exclude={"started", "finished"})
    assert joined.started <= joined.finished


def test_every_shard_has_the_same_mix_and_says_which_it_is(tmp_path):
    out = tmp_path / "p.jsonl"
    done = ask(out, 2)
    rows = [json.loads(line) for line in (tmp_path / "p.2-of-3.jsonl").read_text().splitlines()]
    assert [row["case_id"] for row in rows] == [f"ms-g{number}" for number in range(1, 50, 3)]
    assert done.own.asked == {**ASKED, "shard": "2/3"}
    assert (done.own.partial, done.own.counts["asked"], done.own.counts["answered"]) == (True, 17, 17)
    assert sum(len(Shard(number, 4).of_cases(CASES)) for number in (1, 2, 3, 4)) == 50


def test_a_joined_file_is_recognised(tmp_path, whole):
    out = tmp_path / "p.jsonl"
    for number in (1, 2, 3):
        ask(out, number)
    for path in tmp_path.glob("p.*-of-3.*"):
        path.unlink()
    again = ask(out, 2, function=nothing)
    assert (again.own, again.waiting) == (None, "")
    assert again.joined == record.read(out)
    assert "already joined: 50 of 50 cases answered" in shards.summary(again, Shard(2, 3), out)
    with pytest.raises(InputError, match=r"p\.jsonl: holds a run with model 'toy:parity', and this one has 'toy:other'"):
        ask(out, 2, model="toy:other")
    run.predict(CallableDetector("toy:parity", nothing), CASES, ASKED, out)  # a run without shards takes it as its own, finished
    assert out.read_bytes() == whole


def test_files_copied_together_are_joined_by_any_worker(tmp_path, whole):
    machines = [tmp_path / f"machine{number}" / "p.jsonl" for number in (1, 2, 3)]
    for number, out in enumerate(machines, 1):
        assert "are not there yet" in ask(out, number).waiting
    for out in machines[1:]:
        for path in out.parent.glob("p.*-of-3.*"):
            path.rename(machines[0].parent / path.name)
    assert ask(machines[0], 3, function=nothing).joined
    assert machines[0].read_bytes() == whole


def test_a_file_that_was_not_copied_whole(tmp_path, whole):
    out = tmp_path / "p.jsonl"
    for number in (1, 2):
        ask(out, number)
    part = tmp_path / "p.1-of-3.jsonl"
    content = part.read_bytes()
    for damaged in (content[:-20], content[: content.rfind(b"\n", 0, -1) + 1], b"", content.replace(b"ms-g3", b"ms-g4"), content + content):
        part.write_bytes(damaged)
        with pytest.raises(InputError, match=r"p\.1-of-3\.jsonl: does not hold what its record says"):
            ask(out, 3)
        assert not out.exists()
    part.unlink()
    assert ask(out, 3, function=nothing).waiting == "shard 1 of 3 is not there yet"
    part.write_bytes(content[:-20])
    assert ask(out, 1).joined
    assert out.read_bytes() == whole


def test_shards_of_other_runs_are_not_mixed(tmp_path):
    out = tmp_path / "p.jsonl"
    ask(out, 1)
    for options, message in (
        ({"of": 4}, r"p\.1-of-3\.jsonl: is one of 3 shards, and this run has 4; give every worker the same N"),
        ({"model": "toy:other"}, r"p\.1-of-3\.jsonl: holds a run with model 'toy:parity', and this one has 'toy:other'"),
        ({"asked": {**ASKED, "data": "e"}}, r"p\.1-of-3\.jsonl: holds a run with data 'd', and this one has 'e'"),
        ({"asked": {**ASKED, "limit": 50}}, r"p\.1-of-3\.jsonl: holds a run with limit None, and this one has 50"),
    ):
        with pytest.raises(InputError, match=message):
            ask(out, 2, function=nothing, **options)
    assert not list(tmp_path.glob("p.2-of-*"))


def test_a_worker_that_started_before_it_could_be_seen(tmp_path):
    """Two workers of different settings start at once; whoever finishes last refuses to join."""
    out = tmp_path / "p.jsonl"

    (tmp_path / "elsewhere").mkdir()
    run.predict(CallableDetector("toy:other", parity), CASES[::2], {**ASKED, "shard": "1/2"}, tmp_path / "elsewhere" / "p.1-of-2.jsonl")

    def copied(texts):
        for path in (tmp_path / "elsewhere").iterdir():
            path.rename(tmp_path / path.name)
        return parity(texts)

    with pytest.raises(InputError, match=r"p\.1-of-2\.jsonl: holds a run with model 'toy:other'"):
        ask(out, 2, of=2, function=copied)
    assert not out.exists()


def test_a_run_without_shards_is_not_written_over(tmp_path, whole):
    out = tmp_path / "p.jsonl"
    with pytest.raises(InputError):
        run.predict(CallableDetector("toy:parity", lambda texts: parity(texts) if "tea number 9" not in texts else 1 / 0, 4), CASES, ASKED, out)
    before = out.read_bytes()
    with pytest.raises(InputError, match=r"p\.jsonl: holds a run without shards that is not finished; go on with it without --shard"):
        ask(out, 1, function=nothing)
    assert out.read_bytes() == before


def test_calls_that_fail_hold_up_the_join(tmp_path, whole):
    out = tmp_path / "p.jsonl"

    class Failing(CallableDetector):
        def answer(self, texts):
            return [Answer(error="timed out") if "4" in text else one for text, one in zip(texts, super().answer(texts), strict=True)]

    for number in (1, 2):
        done = shards.predict(Failing("toy:parity", parity), CASES, ASKED, out, Shard(number, 3))
        assert done.own.counts["failed"] > 0
    assert ask(out, 3).waiting == "shards 1 and 2 of 3 have cases without an answer, run them again"
    assert ask(out, 1).waiting == "shard 2 of 3 has cases without an answer, run it again"
    assert ask(out, 2).joined
    assert out.read_bytes() == whole


def test_a_kill_or_a_full_disk_between_record_and_rows_is_mended(tmp_path, whole, monkeypatch):
    out = tmp_path / "p.jsonl"
    ask(out, 1, of=2)

    def full(place, content):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shards, "write_whole", full)
        with pytest.raises(InputError, match=r"p\.jsonl: cannot be written \(No space left on device\); run the same command again"):
            ask(out, 2, of=2)
    assert not out.exists()
    assert ask(out, 1, of=2, function=nothing).joined
    assert out.read_bytes() == whole


def test_workers_that_finish_at_the_same_moment(tmp_path, whole):
    for attempt in range(6):
        out = tmp_path / str(attempt) / "p.jsonl"
        gate, outcomes = threading.Barrier(4), []

        def work(number, out=out, gate=gate, outcomes=outcomes):
            gate.wait()
            outcomes.append(ask(out, number, of=4))

        workers = [threading.Thread(target=work, args=(number,)) for number in (1, 2, 3, 4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert len(outcomes) == 4
        assert any(outcome.joined for outcome in outcomes)
        assert out.read_bytes() == whole


def test_a_sample_stays_one_when_it_is_joined(tmp_path):
    sample = {**ASKED, "limit": 50}
    assert [ask(tmp_path / "p.jsonl", number, of=2, asked=sample).joined is None for number in (1, 2)] == [True, False]
    assert record.read(tmp_path / "p.jsonl").partial


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "1/0", "1/51", "-1/3", "a/b", "1/3/5", "1,3", "١/٣", ""])
def test_what_is_no_shard(text):
    with pytest.raises(InputError, match="expected K/N such as 1/4"):
        parse(text, 50)
    assert parse("2/3", 50) == Shard(2, 3)
    assert parse("50/50", 50) == Shard(50, 50)


# --- the command ---

SLOW = """
import time
def detect(texts):
    time.sleep(0.05)
    return [(len(text) % 2, len(text) / 1000) for text in texts]
"""


def test_three_processes_at_once_one_killed_in_the_middle(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.py").write_text(SLOW)
    arguments = ["predict", "--model", "slow:detect", "--suite", str(starter), "--limit", "480", "--batch-size", "8"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def start(number):
        command = [sys.executable, "-m", "sghc.cli", *arguments, "--out", "p.jsonl", "--shard", f"{number}/3"]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    workers = {number: start(number) for number in (1, 2, 3)}
    killed, part = workers[2], tmp_path / "p.2-of-3.jsonl"
    while killed.poll() is None and (not part.exists() or part.read_bytes().count(b"\n") < 40):
        time.sleep(0.01)
    killed.kill()
    killed.communicate()
    left = part.read_bytes().count(b"\n")
    assert 40 <= left < 160
    told = [workers[number].communicate() for number in (1, 3)]
    assert [workers[number].returncode for number in (1, 3)] == [0, 0], told
    assert any("not joined into p.jsonl yet: shard 2 of 3 is not finished" in out for out, _ in told)
    assert not Path("p.jsonl").exists()

    resumed = start(2)
    out, err = resumed.communicate()
    assert resumed.returncode == 0, err
    assert "160 of 160 cases answered" in out
    assert "3 shards joined: 480 of 480 cases answered, a partial run; written to p.jsonl" in out
    assert not list(tmp_path.glob(".p*"))

    monkeypatch.setattr("sys.argv", ["sghatecheck", *arguments, "--out", "whole.jsonl"])
    with pytest.raises(SystemExit):
        cli.main()
    assert Path("p.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert record.read(Path("p.jsonl")).asked == record.read(Path("whole.jsonl")).asked


def test_the_command_refuses_what_is_no_shard(starter, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "sys.argv", ["sghatecheck", "predict", "--model", "json:loads", "--suite", str(starter), "--out", "p.jsonl", "--shard", "5/4"]
    )
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 1
    assert "shard is '5/4', expected K/N" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
