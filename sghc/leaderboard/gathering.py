"""The submissions of a repository's folder, each read within limits; whatever is no submission is set aside with its reason and stops nothing."""

import hashlib
import os
import re
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError, first_few, plain
from sghc.leaderboard.bounded import MAX_DOCUMENT, MAX_PARQUET, leaves, parse_yaml, read_bytes
from sghc.leaderboard.checks import SHORT
from sghc.leaderboard.hub import LIMITS, VERIFIED
from sghc.leaderboard.submission import FOLDER, Line, Strict, Submission, Text, parse, validated

MAX_ENTRIES = 100_000  # of a folder that are looked at
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
ADDRESS = re.compile(rf"[0-9a-f]{{{SHORT}}}")
DIGEST = re.compile(r"[0-9a-f]{64}")


class Found(NamedTuple):
    """A submission whose description holds; its predictions are bytes that nobody has read yet."""

    id: str  # ORG__NAME/DIGEST, its folder
    submission: Submission
    predictions: bytes
    key: str  # SHA-256 of all that its score hangs on


class Verified(Strict):
    """Which maintainer has run a submission's model again, and when."""

    by: Line
    on: Line
    note: Text | None = None


def gather(folder: Path, within: Path, aside: dict[str, str]) -> list[Path]:
    """The folder of each submission in `folder`/submissions, sorted. What is named otherwise goes into `aside`, by path, with the reason.

    Args:
        within: the folder that links may lead to, without links in its own path.
    """
    return [place for model in entries(folder / FOLDER, within, NAME, aside) for place in entries(model, within, ADDRESS, aside)]


def entries(folder: Path, within: Path, name: re.Pattern, aside: dict[str, str]) -> list[Path]:
    """The folders in a folder that are named as they should be, sorted."""
    found = []
    try:
        if leaves(folder, within):
            raise OSError(0, "a link that leads out of the repository")
        with os.scandir(folder) as listed:
            for count, one in enumerate(listed):
                path = f"{FOLDER}/{'' if folder.name == FOLDER else folder.name + '/'}{plain(one.name)}"
                if count >= MAX_ENTRIES:
                    aside[path] = f"one of more than {MAX_ENTRIES:,} entries of a folder, which is the most that is looked at"
                    break
                if not name.fullmatch(one.name):
                    aside[path] = "not the name of a submission's folder"
                elif not one.is_dir() or (one.is_symlink() and leaves(folder / one.name, within)):
                    aside[path] = "not a folder, or a link that leads out of the repository"
                else:
                    found.append(folder / one.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        aside[folder.name] = f"cannot be read ({error.strerror})"
    return sorted(found)


def id_of(place: Path) -> str:
    return f"{place.parent.name}/{place.name}"


def read_one(place: Path, within: Path) -> Found:
    """A submission's two files. InputError where there are others, or they are not what they should be."""
    names = sorted(one.name for one in islice(place.iterdir(), len(LIMITS) + 5))
    if names != sorted(LIMITS):
        raise InputError(f"{place}: holds {first_few(map(plain, names)) or 'nothing'}, expected {first_few(LIMITS)}")
    document = read_bytes(place / "submission.json", MAX_DOCUMENT, within)
    one = parse(document, place / "submission.json")
    if f"{FOLDER}/{place.parent.name}" != one.folder:
        raise InputError(f"{place}: lies in the folder of another model than {one.model}")
    predictions = read_bytes(place / "predictions.parquet", MAX_PARQUET, within)
    return Found(id_of(place), one, predictions, key_of(one, predictions))


def key_of(one: Submission, predictions: bytes) -> str:
    parts = (hashlib.sha256(predictions).hexdigest(), one.suite.data, *sorted(one.suite.configs))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def reason(error: InputError, place: Path) -> str:
    """An error without the path of this machine."""
    return str(error).replace(f"{place}{os.sep}", "").replace(f"{place}: ", "")


def read_verified(folder: Path, within: Path) -> dict[str, Verified]:
    """What maintainers have run again themselves, by digest: `verified.yaml` in the repository's root, a mapping of digests to {by, on, note}.

    Raises:
        InputError: it is not such a file. It is the maintainers' own, so nothing is passed over.
    """
    path = folder / VERIFIED
    if not path.exists() and not path.is_symlink():
        return {}
    found = parse_yaml(read_bytes(path, 16 * MAX_DOCUMENT, within), path) or {}
    if not isinstance(found, dict):
        raise InputError(f"{path}: expected a mapping of digests, each with `by` and `on`")
    verified = {}
    for digest, said in found.items():
        if not DIGEST.fullmatch(digest):
            raise InputError(f"{path}: {plain(digest)}: expected the 64 digits of a submission's digest")
        verified[digest] = validated(Verified, said, f"{path}: {digest[:SHORT]}")
    return verified
