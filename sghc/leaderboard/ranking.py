"""The leaderboard: every merged submission checked and scored from its answers, put in order, with who is tied, beside the paper's own runs.

`leaderboard.json` has one row a submission and all that a table needs; `results.parquet` every slice of every row, to filter by.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sghc.errors import InputError
from sghc.files import write_whole
from sghc.leaderboard import cache, checks, hub
from sghc.leaderboard.board import Entry, board, results_table
from sghc.leaderboard.cache import Known
from sghc.leaderboard.gathering import Found, Verified, gather, id_of, read_one, read_verified, reason
from sghc.leaderboard.ground import Ground
from sghc.leaderboard.rows import digest, read
from sghc.leaderboard.standing import standing
from sghc.leaderboard.submission import FOLDER, digest_of
from sghc.terminal import progress

RESULTS, BOARD = "results.parquet", "leaderboard.json"


class Place(NamedTuple):
    """Where submissions are read from: a folder, what its links may lead to, the Hub's commit of it, and what is set aside already."""

    folder: Path
    within: Path
    source: str
    revision: str | None
    aside: dict[str, str]


class Ranked(NamedTuple):
    """`board` is JSON-ready (board.board), `scored` how many submissions were not known before. The same submissions give the same board."""

    board: dict
    entries: list[Entry]
    scored: int


def open_place(name: str, revision: str | None) -> Place:
    """A local folder, or a dataset repository on the Hub. InputError where it is neither."""
    folder = Path(name)
    if folder.is_dir():
        if revision:
            raise InputError(f"{name}: a folder has no revisions; --revision goes with a repository on the Hub")
        if not (folder / FOLDER).is_dir():
            raise InputError(f"{name}: no folder {FOLDER} in it, where a leaderboard has its submissions")
        return Place(folder, folder.resolve(), folder.resolve().name, None, {})
    if not hub.REPO.fullmatch(name):
        raise InputError(f"{name}: no such folder, and no dataset repository ORG/NAME")
    found = hub.fetch(name, revision)
    return Place(found.folder, found.within.resolve(), name, found.revision, dict(found.left))


def rank(place: Place, ground: Ground, baselines: Iterable[Entry], known_in: Path | None = None) -> Ranked:
    """Every submission of a place on the ground.

    Args:
        baselines: entries that are shown and not ranked.
        known_in: the folder of the cache; by default the user's.

    Raises:
        InputError: verified.yaml is not what it should be. A submission at fault is set aside instead.
    """
    verified = read_verified(place.folder, place.within)
    aside, entries = dict(place.aside), []
    kept = cache.place_of(known_in or cache.default_folder(), ground)
    known = cache.load(kept)
    before = len(known)
    listed = gather(place.folder, place.within, aside)
    with progress(len(listed), "checked") as told:
        for one in listed:
            try:
                entries.append(enter(read_one(one, place.within), ground, known, verified))
            except InputError as error:
                aside[f"{FOLDER}/{id_of(one)}"] = reason(error, one)
            except Exception as error:  # a file made to break its reader may raise anything, and must not stop the others
                aside[f"{FOLDER}/{id_of(one)}"] = f"cannot be read ({type(error).__name__})"
            told(1)
    if len(known) > before:
        cache.save(kept, known)
    entries += baselines
    return Ranked(board(ground, entries, aside, {"source": place.source, "revision": place.revision}), entries, len(known) - before)


def enter(found: Found, ground: Ground, known: dict[str, Known], verified: dict[str, Verified]) -> Entry:
    """A submission on the ground: scored, unless its answers are known. InputError where it may not stand there."""
    name = "predictions.parquet"
    checks.check_suite(found.submission, "submission.json", ground)
    if (one := known.get(found.key)) is None:
        rows = read(found.predictions, name, ground)
        answers = checks.check_asked(found.submission, rows, name, ground)
        one = Known(digest(rows, ground.cases["case_id"]), standing(ground, answers))
    full = digest_of(found.submission, one.rows)
    checks.check_address(full, found.id)
    known[found.key] = one
    return Entry(found.id, "submission", found.submission, full, one.standing, verified.get(full), ground)


def write(ranked: Ranked, out: Path) -> None:
    """Writes results.parquet and, last, leaderboard.json, which names its SHA-256; each is whole or not there. InputError where that fails."""
    import io

    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(results_table(ranked.entries), file, compression="zstd")
    leaderboard = {**ranked.board, "results": {"file": RESULTS, "sha256": hashlib.sha256(file.getvalue()).hexdigest()}}
    text = json.dumps(leaderboard, ensure_ascii=False, allow_nan=False) + "\n"  # an indented one takes ten times as long
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_whole(out / RESULTS, file.getvalue())
        write_whole(out / BOARD, text.encode())
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from None
