"""One run by several workers: worker K of N asks every N-th case into a file of its own, and whoever finishes last joins the files.

The workers may be processes or machines on one folder; or their files are copied into one folder, and any worker's command is run again. Each shard
is a run as in run.py: it resumes, and its record says which shard it is. The joined file is the one that a run without shards gives, byte for byte
as far as the detector's answers do not hang on what else stands in a batch; it is written once, and never over another.
"""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, shown
from sghc.files import write_whole
from sghc.models import record, run
from sghc.models.detector import Detector
from sghc.models.record import RunRecord


class Shard(NamedTuple):
    """Shard `number` of `of`, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def of_cases(self, cases: Sequence[run.Case]) -> Sequence[run.Case]:
        """Every N-th case, so that each shard has the same mix of languages and functionalities."""
        return cases[self.number - 1 :: self.of]

    def file(self, out: Path) -> Path:
        return out.with_name(f"{out.stem}.{self.number}-of-{self.of}.jsonl")

    def record_of(self, whole: RunRecord) -> RunRecord:
        """The whole run's record, as this shard's says it."""
        return whole.model_copy(update={"asked": {**whole.asked, "shard": str(self)}})


class Outcome(NamedTuple):
    own: RunRecord | None  # of the shard; None where the joined file was there already
    joined: RunRecord | None
    waiting: str  # why the shards are not joined yet, or ""


def parse(text: str, n_cases: int) -> Shard:
    """The shard that `K/N` names. InputError where it names none, or more shards than there are cases."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    shard = Shard(*map(int, found.groups())) if found else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= n_cases:
        raise InputError(f"shard is {shown(text)}, expected K/N such as 1/4, with K from 1 to N and N up to the number of cases ({n_cases:,})")
    return shard


def predict(detector: Detector, cases: Sequence[run.Case], asked: dict, out: Path, shard: Shard, progress=None) -> Outcome:
    """Asks one shard's cases as run.predict asks all, and joins the shards once all are whole.

    Args:
        cases, asked, out, progress: those of the whole run.

    Raises:
        InputError: as run.predict; the files of other shards, or `out`, are of another run or of another number of shards.
    """
    run.check_out(out)
    whole = record.new(detector.identity, asked)
    if there := joined_before(whole, cases, out):
        return Outcome(None, there, "")
    records_beside(whole, out, shard.of)
    own = run.predict(detector, shard.of_cases(cases), shard.record_of(whole).asked, shard.file(out), progress)
    try:
        with alone(out) as lock:
            waiting = missing(records_beside(whole, out, shard.of), shard.of)
            joined = None if waiting else joined_before(whole, cases, out) or join(whole, cases, out, shard.of)
            if joined:
                lock.unlink(missing_ok=True)  # whoever still waits for it finds everything done
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); run the same command again once it can") from None
    return Outcome(own, joined, waiting)


def joined_before(whole: RunRecord, cases: Sequence[run.Case], out: Path) -> RunRecord | None:
    """The record of `out` where it holds this run already; None where there is no such file. InputError where it holds anything else."""
    if not out.exists() or not out.stat().st_size:
        return None
    old = record.read(out)
    record.check_same(old, whole, out)
    if not old.finished or out.read_bytes().count(b"\n") < len(cases):
        raise InputError(f"{out}: holds a run without shards that is not finished; go on with it without --shard, or name another file with --out")
    return old


def records_beside(whole: RunRecord, out: Path, of: int) -> dict[int, RunRecord]:
    """The records of the shards of `out` that are there, by number. InputError where one is of another run, or of another number of shards."""
    found = {}
    for path in out.parent.iterdir() if out.parent.is_dir() else ():
        if not (name := re.fullmatch(rf"{re.escape(out.stem)}\.(\d+)-of-(\d+)\.run\.json", path.name)):
            continue
        shard = Shard(*map(int, name.groups()))
        file = shard.file(out)
        if shard.of != of:
            raise InputError(
                f"{file}: is one of {shard.of} shards, and this run has {of}; give every worker the same N, or name another file with --out"
            )
        if file.exists():
            found[shard.number] = record.read(file)
            record.check_same(found[shard.number], shard.record_of(whole), file)
    return found


def missing(records: dict[int, RunRecord], of: int) -> str:
    """What the join waits for, in words; "" for nothing."""
    numbers = range(1, of + 1)
    absent = [number for number in numbers if number not in records]
    unfinished = [number for number, one in records.items() if not one.finished]
    unanswered = [number for number, one in records.items() if one.finished and one.counts["answered"] < one.counts["asked"]]
    parts = (
        named(absent, of, "is not there yet", "are not there yet"),
        named(unfinished, of, "is not finished", "are not finished"),
        named(unanswered, of, "has cases without an answer, run it again", "have cases without an answer, run them again"),
    )
    return "; ".join(filter(None, parts))


def named(numbers: list[int], of: int, one: str, more: str) -> str:
    *before, last = map(str, sorted(numbers)) if numbers else [""]
    return f"shards {', '.join(before)} and {last} of {of} {more}" if before else f"shard {last} of {of} {one}" if last else ""


@contextlib.contextmanager
def alone(out: Path) -> Iterator[Path]:
    """Lets one worker at a time look at the shards and join them; gives the file that is locked."""
    import fcntl

    place = out.with_name(f".{out.name}.lock")
    with place.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield place


def join(whole: RunRecord, cases: Sequence[run.Case], out: Path, of: int) -> RunRecord:
    """Writes the joined file, in the order of the cases, and before it its record: a kill in between leaves a run that is joined again."""
    shards = [Shard(number, of) for number in range(1, of + 1)]
    records = [record.read(shard.file(out)) for shard in shards]
    rows = {case_id: row for shard in shards for case_id, row in rows_of(shard.file(out), shard.of_cases(cases)).items()}
    joined = whole.model_copy(
        update={
            "partial": whole.asked.get("limit") is not None,
            "counts": {name: sum(one.counts[name] for one in records) for name in records[0].counts},
            "versions": {name: ", ".join(sorted({one.versions[name] for one in records if name in one.versions})) for name in names(records)},
            "started": min(one.started for one in records),
            "finished": max(one.finished for one in records),
        }
    )
    record.write(joined, out)
    write_whole(out, b"".join(rows[case_id] for case_id, _ in cases))
    return joined


def names(records: list[RunRecord]) -> list[str]:
    """The libraries that any of the workers had."""
    return list(dict.fromkeys(name for one in records for name in one.versions))


def rows_of(file: Path, cases: Sequence[run.Case]) -> dict[str, bytes]:
    """A shard's lines by case id. InputError unless they are those of its cases, each once and whole."""
    content = file.read_bytes()
    lines = content.splitlines(keepends=True)
    try:
        rows = {json.loads(line)["case_id"]: line for line in lines}
    except (ValueError, KeyError, TypeError):
        rows = {}
    if len(lines) != len(rows) or set(rows) != {case_id for case_id, _ in cases} or not content.endswith(b"\n"):
        raise InputError(f"{file}: does not hold what its record says; copy it again, or run its shard again")
    return rows


def summary(done: Outcome, shard: Shard, out: Path) -> str:
    """What was asked, what was joined, and what is missing, each on a line."""
    lines = [run.summary(done.own, shard.file(out))] if done.own else []
    if done.joined:
        lines.append(f"{shard.of} shards joined: {run.summary(done.joined, out)}" if done.own else f"already joined: {run.summary(done.joined, out)}")
    if done.waiting:
        lines.append(f"not joined into {out} yet: {done.waiting}")
    return "\n".join(lines)
