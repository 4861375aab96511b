"""Arrow arrays to and from NumPy by their buffers. `pa.array` and `to_numpy` do the same and import pandas, which takes longer than all the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow


def numbers(values: np.ndarray, valid: np.ndarray, kind: pyarrow.DataType) -> pyarrow.Array:
    """Numbers (n,) of the NumPy type that `kind` stands for; null where they are not valid (n,)."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [bits(valid), pa.py_buffer(np.ascontiguousarray(values))])


def texts(values: list[str | None]) -> pyarrow.Array:
    """Texts, null for None. UnicodeEncodeError for half of a surrogate pair, which JSON can write and UTF-8 cannot."""
    import pyarrow as pa

    encoded = [b"" if value is None else value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    valid = np.array([value is not None for value in values], bool)
    return pa.Array.from_buffers(pa.string(), len(values), [bits(valid), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))])


def repeated(values: list[str | None], places: np.ndarray) -> pyarrow.Array:
    """The texts at `places` (n,) of a few that stand there many times."""
    import pyarrow as pa

    indices = numbers(places.astype(np.int32), np.ones(len(places), bool), pa.int32())
    return pa.DictionaryArray.from_arrays(indices, texts(values)).dictionary_decode()


def to_numpy(array: pyarrow.Array) -> tuple[np.ndarray, np.ndarray]:
    """(an array's numbers (n,), whatever where there is a null; whether there is a number (n,))."""
    n, start = len(array), array.offset
    valid, values = array.buffers()
    kind = {"int8": np.int8, "int32": np.int32, "double": np.float64}[str(array.type)]
    has = np.ones(n, bool) if valid is None else np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")[start : start + n].astype(bool)
    return np.frombuffer(values or b"", kind, n + start if n else 0)[start:], has


def bits(valid: np.ndarray) -> pyarrow.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(valid, bitorder="little"))
