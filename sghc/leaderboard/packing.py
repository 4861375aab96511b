"""A predictions file as a submission: rows without what is not to be published, the run's record without what is private, and who sends it."""

import contextlib
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sghatecheck_metric.reading import MISSING, REJECTED
from sghc.errors import InputError, first_few, plain
from sghc.leaderboard import bounded, rows, submission
from sghc.leaderboard.checks import SHORT, Checked, check
from sghc.leaderboard.ground import SPLIT, Ground
from sghc.models import predictions, record
from sghc.models.local import shown_name
from sghc.suite.cases import ALL

MAX_FILE = 1 << 26  # bytes of a predictions file
MAX_LINES = 500_000
KEPT = {"case_id", *predictions.ANSWERS, "score", "mass"}


class Packed(NamedTuple):
    """What is sent: two files in a folder that is named by what was answered."""

    submission: submission.Submission
    checked: Checked
    files: dict[str, bytes]  # by path in the repository
    notes: list[str]  # what of the predictions file is not in them

    @property
    def folder(self) -> str:
        return folder_of(self.submission, self.checked.digest)


def folder_of(one: submission.Submission, digest: str) -> str:
    return f"{one.folder}/{digest[:SHORT]}"


def pack(path: Path, about: dict, ground: Ground, configs: list[str] | None = None, redact: bool = False) -> Packed:
    """Packs a predictions file and checks what came of it.

    Args:
        path: JSONL, CSV or Parquet, with its `<name>.run.json` beside it where a run wrote it.
        about: fields of submission.About.
        configs: the languages that were asked; by default those that the file has a case of.
        redact: outputs that may not be published become `rejected`, or the label that was read from them.

    Raises:
        InputError: the file is no predictions file of the ground, an output may not be published, or the run's record is of another run or model.
    """
    found, notes = read(path, ground, redact)
    languages = languages_of(found, ground, configs)
    asked = {"name": ground.name, "split": SPLIT, "configs": languages, "data": ground.fingerprint(languages)}
    run = run_of(path)
    values = {**with_run(about, run, path), "suite": asked, "run": run and public(run)}
    one = submission.validated(submission.Submission, values, path)
    content = rows.to_bytes(found, ground.cases["case_id"])
    one = submission.parse(submission.to_bytes(one), path)  # what the leaderboard will read
    checked = check(one, content, path, ground)
    place = folder_of(one, checked.digest)
    files = {f"{place}/submission.json": submission.to_bytes(one), f"{place}/predictions.parquet": content}
    return Packed(one, checked, files, notes)


def languages_of(found: rows.Rows, ground: Ground, configs: list[str] | None) -> list[str]:
    codes, languages = ground.language
    if configs and ALL in configs:
        return languages
    return list(dict.fromkeys(configs or (languages[code] for code in np.unique(codes[found.place]).tolist())))


# --- the rows ---


def read(path: Path, ground: Ground, redact: bool) -> tuple[rows.Rows, list[str]]:
    """The rows of a predictions file that has an answer, and what was left out or replaced."""
    columns = check_size(path)
    with bounded.readable(path) if columns else contextlib.nullcontext():
        given = predictions.read(path)
    place_of = dict(zip(ground.cases["case_id"], range(len(ground.gold)), strict=True))
    if unknown := [f"{plain(case_id)} in {one.place}" for case_id, one in given.items() if case_id not in place_of]:
        raise InputError(f"{path}: {len(unknown):,} case ids are not in split {SPLIT} of the suite: {first_few(unknown)}")
    found: dict[int, tuple] = {}
    private, seen, missing = [], {*columns}, 0
    for where, row in predictions.READERS[path.suffix.lower()](path):
        seen.update(row)
        place, answer = place_of[row["case_id"]], given[row["case_id"]].answer
        if answer == MISSING:
            missing += 1
            continue
        output = None if predictions.is_given(row.get("prediction")) else row["output"]
        if why := rows.private(output, place, ground):
            private.append(f"{where}: {why}")
            output = rows.REDACTED if answer == REJECTED else None
        found[place] = (rows.NONE if output is not None else answer, output, given[row["case_id"]].score, mass_of(row, where, path))
    if private and not redact:
        raise InputError(f"{path}: {len(private):,} outputs may not be published: {first_few(private)}; --redact replaces them")
    if not found:
        raise InputError(f"{path}: no row has an answer")
    places = sorted(found, key=ground.order.__getitem__)
    prediction, output, score, mass = zip(*(found[place] for place in places), strict=True)
    table = rows.Rows(np.array(places), np.array(prediction, np.int8), list(output), np.array(score, float), np.array(mass, float))
    return table, notes_of(seen, missing, len(private))


def check_size(path: Path) -> list[str]:
    """The columns of a Parquet file, none of another. InputError where a predictions file is far larger than any suite, before it is read whole."""
    import pyarrow.parquet as pq

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if path.stat().st_size > MAX_FILE:
        raise InputError(f"{path}: larger than {MAX_FILE:,} bytes, which is the most that is read")
    if path.suffix.lower() == ".parquet":
        with bounded.readable(path):
            bounded.check_size(pq.read_metadata(path), path, MAX_LINES, 4 * bounded.MAX_DECODED)
            return pq.read_schema(path).names
    with path.open("rb") as file:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    if lines > MAX_LINES:
        raise InputError(f"{path}: {lines:,} lines, expected at most {MAX_LINES:,}")
    return []


def mass_of(row: dict, where: str, path: Path) -> float | None:
    """The probability of both labels together, or None. InputError where it is none."""
    try:
        return predictions.score_of({"score": row.get("mass")})
    except ValueError as error:
        raise InputError(f"{path}: {where}: {str(error).replace('score', 'mass', 1)}") from None


def notes_of(seen: set[str], missing: int, redacted: int) -> list[str]:
    notes = []
    if left := [plain(column) for column in sorted(seen - KEPT) if not column.startswith("__")]:
        notes.append(f"not sent: column {first_few(left)}")
    if missing:
        notes.append(f"not sent: {missing:,} rows without an answer")
    if redacted:
        notes.append(f"redacted: {redacted:,} outputs, which read as before")
    return notes


# --- the record of the run ---


def run_of(path: Path) -> record.RunRecord | None:
    """The record beside a predictions file, where there is one."""
    return record.read(path) if record.path_of(path).is_file() else None


def named(run: record.RunRecord) -> dict:
    """Model and revision as a record has them from the Hub; nothing where the model was a folder, which has no commit, and any name."""
    model, revision = ("adapter", "adapter_revision") if run.identity.get("adapter") else ("model", "revision")
    return {"model": run.identity[model], "revision": run.identity[revision]} if run.identity.get(revision) else {}


def with_run(about: dict, run: record.RunRecord | None, path: Path) -> dict:
    """The fields of About with prompt and reading from the run's record. InputError where it is of another model, revision, prompt or reading."""
    if run is None:
        return about
    asked = {name: run.identity[name] for name in ("prompt", "reading") if run.identity.get(name) is not None}
    for name, value in {**named(run), **asked}.items():
        if about.get(name) not in (None, value):
            raise InputError(f"{record.path_of(path)}: the run was of {name} {plain(str(value))}, not of {plain(str(about[name]))}")
    base = run.identity.get("model")
    base = {"base": base} if run.identity.get("adapter") and submission.MODEL.fullmatch(str(base)) else {}
    return {**base, **about, **asked}


def public(run: record.RunRecord) -> record.RunRecord:
    """A record as it may be published: without the address of an endpoint, and of a path on somebody's machine its last part alone."""
    identity = {name: value for name, value in run.identity.items() if name != "base_url"}
    for name in ("model", "adapter"):
        if isinstance(identity.get(name), str):
            identity[name] = shown_name(identity[name])
            if not submission.MODEL.fullmatch(identity[name]):
                identity[name] = re.split(r"[/\\]", identity[name].rstrip("/\\"))[-1]
    return run.model_copy(update={"identity": identity})
