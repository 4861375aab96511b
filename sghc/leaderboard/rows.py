"""The rows of a submission, `predictions.parquet`: a case's id, and what was answered. Nothing else may stand in it, and no text of a case."""

from __future__ import annotations

import hashlib
import io
import json
from typing import NamedTuple

import numpy as np

from sghatecheck_metric.reading import MISSING, REJECTED, read_output
from sghc.errors import InputError, first_few, plain
from sghc.leaderboard import arrow
from sghc.leaderboard.bounded import read_parquet
from sghc.leaderboard.ground import Ground

MAX_OUTPUT = 32  # characters of an output
MAX_ID = 128  # bytes of a case id
NONE = -9  # no prediction in a row
REDACTED = "rejected"


class Rows(NamedTuple):
    """m answers, in the order of their case ids.

    place       int64 (m,): the case in the ground
    prediction  int8 (m,): 0, 1, or NONE where there is an output
    output      m texts, None where there is a prediction
    score, mass float64 (m,), NaN where there is none
    """

    place: np.ndarray
    prediction: np.ndarray
    output: list[str | None]
    score: np.ndarray
    mass: np.ndarray


def schema():
    import pyarrow as pa

    fields = {"case_id": pa.string(), "prediction": pa.int8(), "output": pa.string(), "score": pa.float64(), "mass": pa.float64()}
    return pa.schema(list(fields.items()))


def answers(rows: Rows, n: int) -> np.ndarray:
    """int8 (n,): the answer to each case of the ground: 0, 1, REJECTED, or MISSING where there is no row."""
    found = np.full(n, MISSING, np.int8)
    read = {text: read_output(text) for text in {*rows.output} - {None}}
    said = np.array([REJECTED if text is None else read[text] for text in rows.output], np.int8)
    found[rows.place] = np.where(rows.prediction == NONE, said, rows.prediction)
    return found


def digest(rows: Rows, ids: list[str]) -> str:
    """SHA-256 of the rows, whatever their order and however Parquet packs them. `ids` are the ground's case ids."""
    content = json.dumps([[ids[place] for place in rows.place.tolist()], rows.output]).encode()
    numbers = (rows.prediction, rows.score.astype("<f8"), rows.mass.astype("<f8"))
    return hashlib.sha256(content + b"".join(one.tobytes() for one in numbers)).hexdigest()


def to_bytes(rows: Rows, ids: list[str]) -> bytes:
    """The rows as a Parquet file; the same rows give the same bytes under the same pyarrow."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns = [
            arrow.texts([ids[place] for place in rows.place.tolist()]),
            arrow.numbers(rows.prediction, rows.prediction != NONE, pa.int8()),
            arrow.texts(rows.output),
            *(arrow.numbers(values, ~np.isnan(values), pa.float64()) for values in (rows.score, rows.mass)),
        ]
    except UnicodeEncodeError:
        raise InputError("an output is no Unicode text; --redact replaces it") from None
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, schema=schema()), file, compression="zstd")
    return file.getvalue()


def read(content: bytes, name, ground: Ground) -> Rows:
    """The rows of a submission's Parquet file.

    Raises:
        InputError: as `read_parquet`; an id that the suite does not have or that stands twice, a value out of range, a row with no answer or with
            two, an output that may not be published. It names the first rows at fault.
    """
    table = read_parquet(content, name, schema(), len(ground.gold))
    if "case_id" not in table.column_names or not {"prediction", "output"} & {*table.column_names}:
        raise InputError(f"{name}: expected a column case_id, and prediction or output")
    place = places(table, name, ground)
    prediction, has = values(table, "prediction")
    check(name, ~has | np.isin(prediction, (0, 1)), "a prediction that is neither 0 nor 1")
    output = texts(table, name)
    check(name, has ^ np.array([one is not None for one in output], bool), "neither prediction nor output, or both of them")
    score, mass = (probabilities(table, name, column) for column in ("score", "mass"))
    refuse_texts(name, output, place, ground)
    order = np.argsort(ground.order[place])
    prediction = np.where(has, prediction, NONE).astype(np.int8)
    return Rows(place[order], prediction[order], [output[row] for row in order.tolist()], score[order], mass[order])


def check(name, right: np.ndarray, what: str) -> None:
    """Raises InputError with the rows, counted from 1, that are not right."""
    if not right.all():
        bad = (np.flatnonzero(~right) + 1).tolist()
        raise InputError(f"{name}: {what}, in row {first_few(bad)}")


def places(table, name, ground: Ground) -> np.ndarray:
    """The case of each row. InputError where one is unknown, or stands twice."""
    import pyarrow.compute as pc

    refuse_long(table, name, "case_id", MAX_ID)
    ids = decoded(table, "case_id", name)
    found, known = arrow.to_numpy(pc.index_in(ids, value_set=ground.ids))
    found = np.where(known, found, -1).astype(np.int64)
    if (unknown := np.flatnonzero(found < 0)).size:
        rows = [f"{plain(str(ids[row].as_py()))} in row {row + 1}" for row in unknown[:5].tolist()] + [""] * (unknown.size - 5)
        raise InputError(f"{name}: {unknown.size:,} case ids are not in split test of the suite: {first_few(rows)}")
    if (repeated := np.flatnonzero(np.bincount(found, minlength=1) > 1)).size:
        raise InputError(f"{name}: repeated case_id: {first_few(map(plain, (ground.cases['case_id'][one] for one in repeated)))}")
    return found


def values(table, column: str) -> tuple[np.ndarray, np.ndarray]:
    """(float64 of a column, NaN where there is no value; whether there is one), of a column that may be absent."""
    if column not in table.column_names:
        return np.full(len(table), np.nan), np.zeros(len(table), bool)
    found, has = arrow.to_numpy(table[column].combine_chunks())
    return np.where(has, found, np.nan), has


def probabilities(table, name, column: str) -> np.ndarray:
    """A column of probabilities, NaN where there is none. InputError for a value that is not one, NaN too."""
    found, has = values(table, column)
    check(name, ~has | ((found >= 0) & (found <= 1)), f"a {column} that is no probability between 0 and 1")
    return found


def texts(table, name) -> list[str | None]:
    if "output" not in table.column_names:
        return [None] * len(table)
    refuse_long(table, name, "output", 4 * MAX_OUTPUT)
    return decoded(table, "output", name).to_pylist()


def refuse_long(table, name, column: str, most: int) -> None:
    """Raises InputError for texts of more bytes than `most`, before any is repeated in memory; also for one that stands in the file and in no row."""
    import pyarrow.compute as pc

    start = 0
    for chunk in table[column].chunks:
        lengths, there = arrow.to_numpy(pc.binary_length(chunk.dictionary))
        long = np.flatnonzero(there & (lengths > most))
        if long.size:
            places, has = arrow.to_numpy(chunk.indices)
            rows = np.flatnonzero(has & np.isin(places, long)) + start + 1
            where = f"row {first_few(rows.tolist())}" if rows.size else "no row, yet in the file"
            raise InputError(f"{name}: column {column}: a text of more than {most} bytes, in {where}; expected at most {most}")
        start += len(chunk)


def decoded(table, column: str, name):
    """A column of texts. InputError where one is not UTF-8."""
    import pyarrow as pa

    try:
        found = table[column].cast(pa.string()).combine_chunks()
        found.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(f"{name}: column {column}: not UTF-8 text") from None
    return found


def refuse_texts(name, output: list[str | None], place: np.ndarray, ground: Ground) -> None:
    """Raises InputError for outputs that may not be published."""
    bad = [(row, why) for row, (text, case) in enumerate(zip(output, place.tolist(), strict=True), 1) if (why := private(text, case, ground))]
    if bad:
        listed = first_few(f"row {row}: {why}" for row, why in bad)
        raise InputError(f"{name}: {len(bad):,} outputs may not be published: {listed}; `sghatecheck submit --redact` replaces them")


def private(text: str | None, place: int | None, ground: Ground) -> str:
    """Why an output may not be published, or "": a submission holds new text only, and no case's."""
    if text is None or len(text) < 2:
        return ""
    if len(text) > MAX_OUTPUT:
        return f"an output of {len(text):,} characters, at most {MAX_OUTPUT} are published"
    return "an output that holds text of a case" if ground.echoes(text, place) else ""
