"""CSV files from outside, read strictly: by column name, every row whole, and each row's line kept for error messages."""

import csv
from collections.abc import Iterator
from pathlib import Path

from sghc.errors import InputError, first_few, plain

LINE = "__line__"  # the key under which a row keeps its line number


def read_rows(path: Path, columns: tuple[str, ...]) -> Iterator[dict]:
    """Yields each row of a CSV file as {column: value, LINE: line number}, values untouched.

    Args:
        path: a UTF-8 file, with or without byte order mark.
        columns: those that must be there, in any order and beside any others (the released files hold junk index columns).

    Raises:
        InputError: no such file, not UTF-8, a missing or repeated column, a row with too few or too many values, an unfinished quote.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start:,} cannot be decoded); save the file as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{path}: not a text file (it holds NUL bytes)")
    # split at \n alone, so that a \r or a Unicode line separator inside a text stays what it is
    reader = csv.reader((line + "\n" for line in text.removesuffix("\n").split("\n")), strict=True)
    try:
        header = next(reader, [])
        check_header(path, header, columns)
        for values in filter(None, reader):  # a blank line is no row
            if len(values) != len(header):
                raise InputError(f"{path}: line {reader.line_num} has {len(values)} values where {len(header)} are expected; is the file cut off?")
            yield {**dict(zip(header, values, strict=True)), LINE: reader.line_num}
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num} is not readable as CSV ({error}); is the file cut off?") from None


def check_header(path: Path, header: list[str], columns: tuple[str, ...]) -> None:
    """Raises InputError where a column that is needed is missing or stands twice."""
    if missing := [name for name in columns if name not in header]:
        found = first_few(map(plain, header), 30) or "an empty file"
        raise InputError(f"{path}: no column {first_few(missing)} (columns are separated by commas); found {found}")
    if repeated := [name for name in columns if header.count(name) > 1]:
        raise InputError(f"{path}: column {first_few(repeated)} stands more than once")
