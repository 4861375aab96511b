"""A predictions file: JSONL, CSV or Parquet, one row a case, the same for a classifier and a language model.

Columns: `case_id`; `prediction` (0, 1, `non-hateful`, `hateful`) or `output` (what a language model wrote, new text only, read by its last
character); optional `score` (probability of hateful). A row with neither prediction nor output is a call that failed: no answer, so a missing case.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from sghatecheck_metric.reading import MISSING, read_output
from sghc.errors import InputError, first_few, shown
from sghc.suite.catalogue import LABELS
from sghc.suite.csvfile import LINE, read_rows

# as labels are written, by people and by libraries: a column of 0 and 1 with a gap in it becomes one of floats in pandas
CODES = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "False": 0, "True": 1, "false": 0, "true": 1} | {label: code for code, label in enumerate(LABELS)}
ANSWERS = ("prediction", "output")


class Prediction(NamedTuple):
    answer: int  # 0, 1, or the metric's REJECTED or MISSING
    score: float | None  # probability of hateful
    place: str  # "line 7" or "row 7", for error messages


def read(path: Path) -> dict[str, Prediction]:
    """The predictions of a file by case id, in the file's order.

    Raises:
        InputError: no such file, an ending other than .jsonl, .csv and .parquet, a file that is no text or is empty, a value out of range, a case id
            that stands twice. It names the first rows at fault and how many more there are.
    """
    if (kind := path.suffix.lower()) not in READERS:
        raise InputError(f"{path}: a predictions file ends in {first_few(READERS)}, not in {path.suffix!r}")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    found: dict[str, Prediction] = {}
    faults: dict[str, list[str]] = defaultdict(list)
    columns: set[str] = set()
    for place, row in READERS[kind](path):
        columns.update(row)
        case_id = row.get("case_id")
        try:
            prediction = Prediction(answer_of(row), score_of(row), place)
            if not isinstance(case_id, str) or not case_id:
                raise ValueError(f"case_id is {shown(case_id)}, expected text such as 'ms-406'")
        except ValueError as error:
            faults["not a prediction"].append(f"{place}: {error}")
            continue
        if (earlier := found.setdefault(case_id, prediction)) is not prediction:
            kind = "repeated" if earlier.answer == prediction.answer else "contradictory"
            faults[f"{kind} case_id"].append(f"{shown(case_id)} in {place} and {earlier.place}")
    if columns and not columns & {*ANSWERS}:
        raise InputError(f"{path}: neither a column prediction nor a column output")
    if faults:
        raise InputError("\n".join(f"{path}: {kind}: {first_few(rows)}" for kind, rows in faults.items()))
    if not found:
        raise InputError(f"{path}: no predictions in it")
    return found


def answer_of(row: dict) -> int:
    """The answer that a row gives. ValueError where it gives two, or one that is out of range."""
    prediction, output = row.get("prediction"), row.get("output")
    if is_given(prediction):
        if output:
            raise ValueError("both prediction and output, expected one of them")
        if (code := CODES.get(str(prediction))) is None:
            raise ValueError(f"prediction is {shown(prediction)}, expected 0, 1, non-hateful or hateful")
        return code
    if output is None:
        return MISSING
    if not isinstance(output, str):
        raise ValueError(f"output is a {type(output).__name__}, expected text")
    return read_output(output)


def is_given(value) -> bool:
    """Whether a cell holds something: None, an empty text and NaN are how formats write that it does not."""
    return value is not None and value != "" and value == value


def score_of(row: dict) -> float | None:
    """The probability of hateful, or None. ValueError where it is none."""
    score = row.get("score")
    if not is_given(score):
        return None
    try:
        value = float(score)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0 <= value <= 1 or isinstance(score, bool):
        raise ValueError(f"score is {shown(score)}, expected a probability between 0 and 1")
    return value


# --- the three formats: (place, row as a dict) for each row ---


def jsonl_rows(path: Path) -> Iterator[tuple[str, dict]]:
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start:,} cannot be decoded)") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, object_pairs_hook=without_repeats)
        except (ValueError, RecursionError):
            raise InputError(f"{path}: line {number} is not JSON on a line of its own, or names a key twice") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}: line {number} is a JSON {type(row).__name__}, expected an object with case_id and prediction or output")
        yield f"line {number}", row


def without_repeats(pairs: list[tuple]) -> dict:
    """A JSON object; ValueError where it names a key twice, of which json would keep the last."""
    if len(row := dict(pairs)) < len(pairs):
        raise ValueError
    return row


def csv_rows(path: Path) -> Iterator[tuple[str, dict]]:
    for row in read_rows(path, ("case_id",)):
        yield f"line {row[LINE]}", row


def parquet_rows(path: Path) -> Iterator[tuple[str, dict]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
        wanted = [name for name in ("case_id", *ANSWERS, "score", "mass") if name in names]
        if "case_id" not in wanted:
            raise InputError(f"{path}: no column case_id")
        rows = pq.read_table(path, columns=wanted).to_pylist()
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # a damaged file raises any of these, by where the damage is
        raise InputError(f"{path}: not readable as Parquet ({type(error).__name__})") from None
    for number, row in enumerate(rows, 1):
        yield f"row {number}", row


READERS: dict[str, Callable[[Path], Iterator[tuple[str, dict]]]] = {".jsonl": jsonl_rows, ".csv": csv_rows, ".parquet": parquet_rows}
