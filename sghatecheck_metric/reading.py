"""What was answered, and for which case: predictions, labels and columns of any accepted form become small integer codes.

Every error names the column and the row, counted from 0, and never shows a string: it may be the text of a case.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from numbers import Real

import numpy as np

LABELS = ("non-hateful", "hateful")
REJECTED = -1  # model output that names neither label
MISSING = -2  # no answer at all

_BAD = -9  # a value that cannot be read; never leaves this file
_DECIMAL = re.compile(r"[0-9][.,][0-9]+$")
_SHOWN = 5  # rows named in an error


def read_answers(predictions) -> np.ndarray:
    """Predictions of any accepted form -> int8 array (n,) of 0, 1, REJECTED and MISSING.

    Ints, bools and whole floats 0/1 and the label names are answers. Any other string is model output, read by its last character once
    trailing white space is off ("the label is 1" -> 1); only ASCII "0" and "1" count, everything else is REJECTED, the empty string too.
    None and NaN are MISSING. Anything else raises ValueError with row and value.
    """
    return _read(predictions, _read_answer, "predictions", "0, 1, a label name, model output as text, or None for no answer")


def read_gold(references) -> np.ndarray:
    """Gold labels, 0/1 or label names -> int8 array (n,) of 0 and 1. Anything else, None too, raises ValueError with the row."""
    return _read(references, _read_label, "references", "0, 1, 'non-hateful' or 'hateful'")


def _read_label(value) -> int:
    if isinstance(value, str):
        return LABELS.index(value) if value in LABELS else _BAD
    if isinstance(value, (Real, np.bool_)) and value in (0, 1):  # True and 1.0 equal 1; NaN and 0.7 equal neither
        return int(value)
    return _BAD


def _read_answer(value) -> int:
    if value is None or (isinstance(value, Real) and value != value):
        return MISSING
    code = _read_label(value)
    if code == _BAD and isinstance(value, str):
        return read_output(value)
    return code


def read_output(text: str) -> int:
    """Model output -> 0, 1 or REJECTED, by its last character once trailing white space is off (the paper's appendix D.1).

    A decimal number at the end is no label: the 1 of "0.1" and the 0 of "1.0" would say the opposite of what is meant.
    """
    text = text.rstrip()
    return REJECTED if _DECIMAL.search(text) else {"0": 0, "1": 1}.get(text[-1:], REJECTED)


def _read(values, read_one, column: str, expected: str) -> np.ndarray:
    values = as_list(values, column)
    if all(issubclass(kind, (str, Real, np.bool_, type(None))) for kind in set(map(type, values))):
        table = {value: read_one(value) for value in set(values)}  # a suite has few distinct answers: each is read once
        codes = np.fromiter(map(table.__getitem__, values), np.int8, len(values))
    else:  # something that no form accepts, perhaps unhashable or equal to 1 (1+0j): reading one by one finds its row
        codes = np.array([read_one(value) for value in values], np.int8)
    bad = np.flatnonzero(codes == _BAD)
    if len(bad):
        more = f"; {len(bad) - 1} more rows like it" if len(bad) > 1 else ""
        raise ValueError(f"{column}: row {bad[0]} (counted from 0) holds {shown(values[bad[0]])}, expected {expected}{more}")
    return codes


def as_list(values, column: str) -> list:
    """Any sequence (list, tuple, array, tensor, Series, dataset column) -> list of Python values. ValueError where it is none."""
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, (str, bytes, dict, set, frozenset)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{column}: expected one value per case (a list or an array), got {shown(values)}")
    return list(values)


def check_lengths(columns: dict) -> None:
    """ValueError naming the columns unless all that are given (not None) are equally long."""
    lengths = {name: len(values) for name, values in columns.items() if values is not None}
    if len(set(lengths.values())) > 1:
        raise ValueError("columns differ in length: " + ", ".join(f"{name} {length}" for name, length in lengths.items()))


def shown(value) -> str:
    """A value as an error may show it: numbers as they are, of anything else the kind only, since it may hold the text of a case."""
    if value is None or isinstance(value, (Real, np.bool_)):
        return repr(value)[:40]
    return f"a string of {len(value)} characters" if isinstance(value, str) else f"a value of type {type(value).__name__}"


def rows_text(rows) -> str:
    """Row numbers as an error names them: the first few and how many more."""
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"row{'s' * (len(rows) > 1)} {', '.join(str(row) for row in rows[:_SHOWN])}{more} (counted from 0)"


def number(values: list) -> tuple[np.ndarray, list]:
    """Hashable values -> (codes int64 (n,), distinct values), numbered by first appearance: no order hangs on hashing."""
    index = defaultdict()
    index.default_factory = index.__len__  # a value not met before gets the next number
    return np.fromiter(map(index.__getitem__, values), np.int64, len(values)), list(index)


def code_column(values, column: str, n: int) -> tuple[np.ndarray, list] | None:
    """A column of names -> (codes (n,), names); None where it is absent or holds no value at all.

    None, "" and NaN are no value: code -1 in the group columns, an error in language, cluster and template, where every case needs one.
    """
    if values is None:
        return None
    values = as_list(values, column)
    check_lengths({"references": range(n), column: values})
    try:
        codes, names = number(values)
    except TypeError:
        raise ValueError(f"{column}: holds values that are no names (lists or dicts); expected one string per case") from None
    filled = np.array([not (name is None or name == "" or name != name) for name in names], bool)  # NaN is not equal to itself
    if not filled.any():
        return None
    _check_names(column, codes, names, filled)
    codes = np.where(filled, np.cumsum(filled) - 1, -1)[codes]
    return codes, [name for name, keep in zip(names, filled, strict=True) if keep]


def _check_names(column, codes, names, filled) -> None:
    if column in ("language", "cluster", "template") and not filled.all():
        rows = rows_text(np.flatnonzero(~filled[codes]))
        raise ValueError(f"{column}: no value in {rows}; every case needs one, or leave the column out")
    if column in ("cluster", "template"):  # only counted, so ids may be numbers
        return
    for code in np.flatnonzero(filled):
        if not isinstance(names[code], str):
            raise ValueError(f"{column}: row {np.argmax(codes == code)} (counted from 0) holds {shown(names[code])}, expected a string")
        if column == "language" and (
            "/" in names[code] or names[code] == "overall"
        ):  # the slash joins names in the result, where `overall` stands too
            raise ValueError(f"language: row {np.argmax(codes == code)} (counted from 0) holds a name with '/', or 'overall'")


def case_lines(case_ids, labels, texts) -> list[str]:
    """One line a case, `case_id<TAB>label<TAB>sha256(text)`, what the fingerprint is made of. Labels may be None."""
    check_lengths({"case_id": case_ids, "label": labels, "text": texts})
    return [_case_line(row, *case) for row, case in enumerate(zip(case_ids, labels, texts, strict=True))]


def _case_line(row: int, case_id, label, text) -> str:
    code = _read_label(label)
    if label is not None and code == _BAD:
        raise ValueError(f"label: row {row} (counted from 0) holds {shown(label)}, expected 0, 1, a label name or None")
    for column, value in (("case_id", case_id), ("text", text)):
        if not isinstance(value, str):
            raise ValueError(f"{column}: row {row} (counted from 0) holds {shown(value)}, expected a string")
    return f"{case_id}\t{'' if label is None else LABELS[code]}\t{hashlib.sha256(text.encode()).hexdigest()}"


def fingerprint_lines(lines) -> str:
    """SHA-256 (hex) over the sorted lines, so that the order of the rows does not matter."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def fingerprint(case_ids, labels, texts) -> str:
    """SHA-256 (hex) of a suite: which cases, which labels, which texts, in any order."""
    return fingerprint_lines(case_lines(case_ids, labels, texts))
