"""A run: every case asked once, answers written as they come, in a file that survives whatever ends the run.

Whole lines are appended and synced batch by batch. The next run with the same settings reads what is there, drops a line that was cut off, and
goes on; at its end the file is put in the order of the cases, so that it is the same however often it was interrupted.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from sghatecheck_metric.reading import REJECTED, read_output
from sghc.errors import InputError, first_few
from sghc.files import write_whole
from sghc.models import record
from sghc.models.detector import Answer, Detector

Case = tuple[str, str]  # case_id, text


def predict(detector: Detector, cases: Sequence[Case], asked: dict, out: Path, progress=None) -> record.RunRecord:
    """Asks a detector for every case that `out` has no answer to yet.

    Args:
        cases: (case_id, text), in the order of the finished file.
        asked: what the cases are, for the record: suite, data, split, configs, limit, n.
        out: a JSONL file, new or of the same run.
        progress: is told how many cases are answered, after each batch.

    Returns:
        the record, as it stands in `<name>.run.json`; its counts say how many cases have no answer.

    Raises:
        InputError: the file is of another run, or in use by one; the detector cannot work; the disk is full. What was written stays usable.
    """
    check_out(out)
    run = record.new(detector.identity, asked)
    try:
        with owned(out):
            if done := resume(run, out, cases):
                run.started = record.read(out).started
            record.write(run, out)
            left = [case for case in cases if case[0] not in done]
            if progress:
                progress(len(cases) - len(left))
            failed = append_answers(detector, left, out, progress)
            finish(run, cases, out, failed)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error}); run the same command again once it can") from None
    return run


def check_out(out: Path) -> None:
    """Raises InputError unless `out` is named as a file to which lines are appended."""
    if out.suffix != ".jsonl":
        raise InputError(f"{out}: answers are appended line by line, expected a file that ends in .jsonl")


@contextlib.contextmanager
def owned(out: Path) -> Iterator[None]:
    """Keeps a second run out of a file."""
    import fcntl

    out.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(out, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise InputError(f"{out}: another run is writing it") from None
    finally:
        os.close(handle)


def resume(run: record.RunRecord, out: Path, cases: Sequence[Case]) -> set[str]:
    """The ids that `out` has answers to; a last line that was cut off is taken away. InputError where they are another run's."""
    if not out.stat().st_size:
        return set()
    record.check_same(record.read(out), run, out)
    whole = out.read_bytes()
    kept = whole[: whole.rfind(b"\n") + 1]
    if len(kept) < len(whole):
        os.truncate(out, len(kept))
    done = rows_of(kept, out).keys()
    if strangers := done - {case_id for case_id, _ in cases}:
        raise InputError(f"{out}: holds answers to cases that were not asked: {first_few(sorted(strangers))}")
    return set(done)


def rows_of(content: bytes, out: Path) -> dict[str, tuple[dict, bytes]]:
    """case_id -> its row and line, the last one where there are more. InputError for a line that no run writes."""
    rows = {}
    for number, text in enumerate(content.split(b"\n")[:-1], 1):
        try:
            row = json.loads(text)
            rows[row["case_id"]] = row, text + b"\n"
        except (ValueError, TypeError, KeyError, RecursionError):
            raise InputError(f"{out}: line {number:,} is no answer that a run wrote; mend or remove it, and run the same command again") from None
    return rows


def append_answers(detector: Detector, left: Sequence[Case], out: Path, progress) -> int:
    """Asks batch by batch and appends each batch's answers as whole lines; returns how many cases have none."""
    failed, size = 0, max(1, detector.batch_size)
    with out.open("ab", buffering=0) as file:  # nothing is kept back that would be written once there is room again
        for start in range(0, len(left), size):
            batch = left[start : start + size]
            answers = detector.answer([text for _, text in batch])
            lines = [line(case_id, answer) for (case_id, _), answer in zip(batch, answers, strict=True) if answer.error is None]
            failed += len(batch) - len(lines)
            append(file, "".join(lines).encode())
            if progress:
                progress(len(lines))
    return failed


def append(file, lines: bytes) -> None:
    """All of it or nothing: what a full disk cuts off is taken back."""
    before, rest = os.fstat(file.fileno()).st_size, memoryview(lines)
    try:
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        with contextlib.suppress(OSError):
            os.truncate(file.fileno(), before)
        raise


def line(case_id: str, answer: Answer) -> str:
    """A row of the predictions file, of which `score` will read the answer that the run read.

    That is the `output` as it came, where its last character says the same; else the prediction (or an empty output, which is rejected), and what
    came beside it as `raw`: an echo that ends in a digit is no answer, and `unsafe` is one.
    """
    code = REJECTED if answer.prediction is None else answer.prediction
    if answer.output is not None and read_output(answer.output) == code:
        row = {"output": answer.output}
    else:
        row = {"output": ""} if code == REJECTED else {"prediction": code}
        row |= {} if answer.output is None else {"raw": answer.output}
    row |= {name: round(value, 6) for name, value in (("score", answer.score), ("mass", answer.mass)) if value is not None}
    row |= {"cut": True} if answer.cut else {}
    return json.dumps({"case_id": case_id, **row}, ensure_ascii=False) + "\n"


def finish(run: record.RunRecord, cases: Sequence[Case], out: Path, failed: int) -> None:
    """Puts the rows in the order of the cases, and completes the record."""
    rows = rows_of(out.read_bytes(), out)
    ordered = b"".join(rows[case_id][1] for case_id, _ in cases if case_id in rows)
    if ordered != out.read_bytes():
        write_whole(out, ordered)
    rejected = sum("output" in row and read_output(row["output"]) == REJECTED for row, _ in rows.values())
    cut = sum(row.get("cut", False) for row, _ in rows.values())
    run.counts = {"asked": len(cases), "answered": len(rows), "rejected": rejected, "failed": failed, "cut": cut}
    run.partial = len(rows) < len(cases) or run.asked.get("limit") is not None or "shard" in run.asked
    run.finished = record.now()
    record.write(run, out)


def summary(run: record.RunRecord, out: Path) -> str:
    """One line for a person: how many are answered, what was rejected, failed or cut, and what to do about it."""
    counts = run.counts
    parts = [f"{counts['answered']:,} of {counts['asked']:,} cases answered"]
    parts += [f"{counts[name]:,} {name}" for name in ("rejected", "cut") if counts[name]]
    if counts["failed"]:
        parts.append(f"{counts['failed']:,} failed (run the same command again)")
    if run.partial:
        parts.append("a partial run")
    return f"{', '.join(parts)}; written to {out}"
