"""Files from strangers, read within limits: size, depth, rows, and what they become in memory. What is beyond them is refused before it is built.

A file of a few bytes can name itself a gigabyte: a nest of brackets, YAML's aliases, a Parquet dictionary whose one long text every row repeats.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sghc.errors import InputError, first_few, plain, shown
from sghc.models.predictions import without_repeats

if TYPE_CHECKING:
    import pyarrow

MAX_DOCUMENT = 1 << 16  # bytes of a JSON or YAML file
MAX_DEPTH = 8  # of objects and lists in one
MAX_PARQUET = 1 << 23  # bytes of a Parquet file; 10,388 answers with scores take 60 kB
MAX_DECODED = 1 << 26  # bytes that its columns say they hold, decompressed
MAX_GROUPS = 64  # row groups of a file
MAX_MEMORY = 1 << 29  # bytes that reading one may take beyond what is in use, whatever it says


def read_bytes(path: Path, limit: int, within: Path | None = None) -> bytes:
    """A file's content.

    Args:
        limit: bytes that it may have.
        within: the folder, without links in its own path, that it must lie in where it is a link.

    Raises:
        InputError: no regular file there, one that is too large, or one that a link takes from elsewhere.
    """
    try:
        if within is not None and leaves(path, within):
            raise InputError(f"{path}: a link that leads out of {within}")
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: not a regular file")
        with path.open("rb") as file:
            content = file.read(min(os.fstat(file.fileno()).st_size, limit) + 1)  # a buffer of the whole limit would take longer to fill
    except (OSError, RuntimeError) as error:  # the latter: links in a circle
        raise InputError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or type(error).__name__})") from None
    if len(content) > limit:
        raise InputError(f"{path}: larger than {limit:,} bytes, which is the most that is read")
    return content


def leaves(path: Path, within: Path) -> bool:
    """Whether a path is a link to something outside of a folder. OSError where it leads nowhere, RuntimeError in a circle."""
    return path.is_symlink() and not path.resolve(strict=True).is_relative_to(within)


def parse_json(content: bytes, name) -> dict:
    """A JSON object. InputError where it is none, nests deeper than MAX_DEPTH, names a key twice, or holds NaN or an infinity."""
    try:
        found = json.loads(content.decode(), object_pairs_hook=without_repeats, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not readable as JSON ({type(error).__name__}; no key twice, no NaN, UTF-8)") from None
    if not isinstance(found, dict):
        raise InputError(f"{name}: holds {shown(found)}, expected an object")
    if depth(found) > MAX_DEPTH:
        raise InputError(f"{name}: nests deeper than {MAX_DEPTH} levels")
    return found


def refuse(constant: str) -> None:
    raise ValueError(constant)


def depth(value) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def parse_yaml(content: bytes, name):
    """A YAML document as dicts, lists and texts: nothing is guessed from a value's looks, so that `no` and `1e5` stay what was written.

    Raises:
        InputError: it is none, holds anchors, aliases or tags, nests deeper than MAX_DEPTH, or names a key twice.
    """
    import yaml

    try:
        text = content.decode("utf-8-sig")
        level = 0
        for event in yaml.parse(text, yaml.SafeLoader):  # one by one, so that no bomb is built before it is refused
            level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if level > MAX_DEPTH:
                raise InputError(f"{name}: nests deeper than {MAX_DEPTH} levels")
            if getattr(event, "anchor", None) is not None or getattr(event, "tag", None) is not None:
                raise InputError(f"{name}: line {event.start_mark.line + 1}: YAML anchors, aliases and tags have no place here")
        return of_node(yaml.compose(text, yaml.SafeLoader), name)
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{name}: not readable as YAML ({type(error).__name__})") from None


def of_node(node, name):
    """A YAML node as dicts, lists and texts; an empty value as None."""
    if node is None:
        return None
    if node.id == "sequence":
        return [of_node(one, name) for one in node.value]
    if node.id == "scalar":
        return node.value if node.value or node.style else None
    found = {}
    for key, value in node.value:
        if key.id != "scalar" or key.value in found:
            raise InputError(f"{name}: line {key.start_mark.line + 1}: {plain(str(key.value))} stands twice, or is no name")
        found[key.value] = of_node(value, name)
    return found


# --- Parquet ---


@contextlib.contextmanager
def capped_memory(most: int) -> Iterator[None]:
    """While this lasts the process may take so many bytes more, as far as the system keeps to it (Linux does): then an allocation fails cleanly."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    try:
        in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (in_use + most if soft == resource.RLIM_INFINITY else min(soft, in_use + most), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def readable(name) -> Iterator[None]:
    """Turns whatever a damaged or hostile Parquet file raises into one clear error."""
    import pyarrow as pa

    try:
        with capped_memory(MAX_MEMORY):
            yield
    except InputError:
        raise
    except (pa.ArrowException, OSError, MemoryError, ValueError, RuntimeError) as error:
        raise InputError(f"{name}: not readable as Parquet ({type(error).__name__})") from None


def read_parquet(content: bytes, name, schema: "pyarrow.Schema", max_rows: int) -> "pyarrow.Table":
    """A table of some columns of `schema`, its texts encoded by dictionaries, so that a text that every row repeats is held once.

    Raises:
        InputError: no Parquet, other columns or types, more rows than `max_rows`, metadata of other kinds, or more bytes than MAX_DECODED.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    with readable(name):
        metadata = pq.read_metadata(pa.BufferReader(content))
        check_size(metadata, name, max_rows)
        check_columns(metadata, name, schema)
        texts = [one for one in metadata.schema.names if schema.field(one).type == pa.string()]
        table = pq.ParquetFile(pa.BufferReader(content), metadata=metadata, read_dictionary=texts, pre_buffer=False).read(use_threads=False)
    if len(table) != metadata.num_rows:
        raise InputError(f"{name}: says that it has {metadata.num_rows:,} rows, and has {len(table):,}")
    return table


def check_size(metadata, name, max_rows: int, max_decoded: int = MAX_DECODED) -> None:
    """Raises InputError where a file says that it holds too much."""
    if metadata.num_rows > max_rows:
        raise InputError(f"{name}: {metadata.num_rows:,} rows, expected at most {max_rows:,}")
    if metadata.num_row_groups > MAX_GROUPS:
        raise InputError(f"{name}: {metadata.num_row_groups:,} row groups, expected at most {MAX_GROUPS}")
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]
    decoded = sum(group.column(place).total_uncompressed_size for group in groups for place in range(group.num_columns))
    if not 0 <= decoded <= max_decoded:
        raise InputError(f"{name}: says that it holds {decoded:,} bytes, expected at most {max_decoded:,}")


def check_columns(metadata, name, schema: "pyarrow.Schema") -> None:
    """Raises InputError where a file has other columns than `schema`, other types, or metadata of its own, in which anything may stand."""
    import pyarrow as pa

    found = metadata.schema.to_arrow_schema()
    if others := [one for one in found.names if one not in schema.names] or sorted({one for one in found.names if found.names.count(one) > 1}):
        raise InputError(f"{name}: column {first_few(map(plain, others))}, expected only {first_few(schema.names, 9)}, each once")
    for field in found:
        wanted = schema.field(field.name).type
        if field.type not in (wanted, pa.dictionary(pa.int32(), pa.string()) if wanted == pa.string() else wanted):
            raise InputError(f"{name}: column {field.name} is of type {plain(str(field.type))}, expected {wanted}")
    if others := sorted(set(metadata.metadata or {}) - {b"ARROW:schema"}):
        raise InputError(f"{name}: {len(others)} entries of metadata in it, expected none; write the file with `sghatecheck submit`")
