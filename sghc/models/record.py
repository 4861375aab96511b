"""The record beside a predictions file, `<name>.run.json`: what was run, on what, with what; never a key."""

import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sghc.errors import InputError
from sghc.files import write_whole

LIBRARIES = ("sghatecheck", "torch", "transformers", "peft", "accelerate", "vllm", "openai", "numpy")


class RunRecord(BaseModel):
    """One run. Two runs may go into one file only if `identity`, of the detector, and `asked`, of the cases, are the same."""

    model_config = ConfigDict(extra="forbid")

    identity: dict
    asked: dict  # suite, data (its fingerprint), split, configs, limit, n (of the whole run), and shard (2/4) where there are shards
    partial: bool  # a sample or a shard of the cases, or a run that is not finished
    counts: dict[str, int] = {}  # answered, rejected, failed, cut
    versions: dict[str, str]
    started: str
    finished: str | None = None


def path_of(predictions: Path) -> Path:
    return predictions.with_name(f"{predictions.stem}.run.json")


def new(identity: dict, asked: dict) -> RunRecord:
    return RunRecord(identity=identity, asked=asked, partial=True, versions=versions(), started=now())


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Python's version and those of the libraries that may decide an answer, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def write(record: RunRecord, predictions: Path) -> None:
    """Puts the record beside its predictions file."""
    write_whole(path_of(predictions), (record.model_dump_json(indent=2) + "\n").encode())


def read(predictions: Path) -> RunRecord:
    """The record of a predictions file. InputError where there is none, or it is none."""
    place = path_of(predictions)
    try:
        return RunRecord.model_validate_json(place.read_bytes())
    except OSError:
        raise InputError(f"{predictions}: exists without its record {place.name}, so nobody can tell what run it is of; name another file") from None
    except ValidationError as error:
        raise InputError(f"{place}: not a record of a run ({error.error_count()} faults); name another file") from None


def check_same(old: RunRecord, new: RunRecord, predictions: Path) -> None:
    """Raises InputError where a file holds answers of another run, and names what differs."""
    for name in ("identity", "asked"):
        before, after = getattr(old, name), getattr(new, name)
        if differs := [key for key in {**before, **after} if before.get(key) != after.get(key)]:
            key = differs[0]
            raise InputError(
                f"{predictions}: holds a run with {key} {before.get(key)!r}, and this one has {after.get(key)!r}; name another file with --out"
            )
