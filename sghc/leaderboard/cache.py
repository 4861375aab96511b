"""Scores that were computed before, by what they hang on: only what is new is scored. One file for each ground, replaced whole; safe to delete.

It lies in the user's own cache and never in a leaderboard's folder, where a pull request could bring a forged one.
"""

import hashlib
import os
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sghatecheck_metric.scoring import VERSION
from sghc import __version__
from sghc.files import write_whole
from sghc.leaderboard.ground import Ground
from sghc.leaderboard.standing import Standing, slices_of

FORM = 1  # of what is kept


class Known(NamedTuple):
    rows: str  # their digest
    standing: Standing


def default_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sghatecheck" / "leaderboard"


def place_of(folder: Path, ground: Ground) -> Path:
    """The file of a ground: of its cases, slices, weights, and of this version of the checks."""
    parts = (FORM, __version__, VERSION, ground.signature, slices_of(ground), ground.cases["cluster"], ground.cases["functionality"])
    return folder / f"{hashlib.sha256(repr((parts, ground.fingerprint(ground.languages))).encode()).hexdigest()[:32]}.npz"


def load(place: Path) -> dict[str, Known]:
    """What is known, by key; nothing where the file is not there or is damaged: then all is scored again."""
    try:
        with np.load(place, allow_pickle=False) as file:
            parts = [file[name] for name in ("keys", "rows", *Standing._fields)]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {}
    if len({len(part) for part in parts}) != 1:
        return {}
    keys, rows, *arrays = parts
    return {key: Known(row, Standing(*one)) for key, row, *one in zip(keys.tolist(), rows.tolist(), *arrays, strict=True)}


def save(place: Path, known: dict[str, Known]) -> None:
    """Replaces the file. A cache that cannot be written is none, and no fault of the input."""
    import io

    content = io.BytesIO()
    arrays = {name: np.stack([getattr(one.standing, name) for one in known.values()]) for name in Standing._fields}
    np.savez(content, keys=np.array(list(known), "U64"), rows=np.array([one.rows for one in known.values()], "U64"), **arrays)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, content.getvalue())
    except OSError:
        return
