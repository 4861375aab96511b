"""What `sghatecheck rank` wrote, read back: leaderboard.json and the results.parquet that it names, from a folder or a repository on the Hub.

Both are held against their shape, so that what shows them meets nothing it does not expect; every text in them may still be a stranger's.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from sghc.errors import InputError
from sghc.leaderboard import hub
from sghc.leaderboard.board import FORMAT
from sghc.leaderboard.bounded import parse_json, read_bytes
from sghc.leaderboard.gathering import ADDRESS, NAME
from sghc.leaderboard.hub import MAX_RANKED
from sghc.leaderboard.ranking import BOARD, RESULTS
from sghc.leaderboard.standing import FIELDS
from sghc.leaderboard.submission import validated

if TYPE_CHECKING:
    import pyarrow

Interval = tuple[float, float] | None


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow", allow_inf_nan=False)


class Numbers(Loose):
    """A slice: FIELDS and intervals, as far as they are known."""

    n: int | None
    n_rejected: int | None
    n_missing: int | None
    macro_f1: float | None
    macro_f1_ci: Interval = None
    accuracy: float | None
    accuracy_ci: Interval = None
    accuracy_hateful: float | None
    accuracy_hateful_ci: Interval = None
    accuracy_non_hateful: float | None
    accuracy_non_hateful_ci: Interval = None
    coverage: float | None
    coverage_ci: Interval = None
    rank: int | None = None
    rank_best: int | None = None
    rank_worst: int | None = None


class Row(Numbers):
    id: str
    kind: Literal["submission", "baseline"]
    model: str
    marks: list[str]
    remarks: list[str]
    verified: bool
    verification: dict[str, str | None] | None
    language: dict[str, Numbers]


class Aside(Loose):
    path: str
    reason: str


class Suite(Loose):
    name: str
    caution: str
    languages: list[str]


class Notes(Loose):
    verified: str
    baseline: str


class Results(Loose):
    file: Literal["results.parquet"]
    sha256: str


class Board(Loose):
    format: Literal["sghatecheck-leaderboard-1"]
    source: str
    revision: str | None
    suite: Suite
    signature: str
    rows: list[Row]
    partial: list[Row]
    baselines: list[Row]
    set_aside: list[Aside]
    notes: Notes
    results: Results


class Published(NamedTuple):
    """`board` is leaderboard.json; `results` the table of results.parquet (board.results_table); `folder` holds them and the submissions, and
    `within` is the folder that its links may lead to."""

    board: dict
    results: pyarrow.Table
    folder: Path
    within: Path

    @property
    def submissions(self) -> dict[str, dict]:
        """The rows that can be opened, by id."""
        return {row["id"]: row for part in ("rows", "partial") for row in self.board[part]}

    def groups(self, level: str) -> list[str]:
        """The functional classes, or the targets, that there are numbers of."""
        import pyarrow.compute as pc

        return pc.unique(self.results.filter(pc.equal(self.results["level"], level))["group"]).to_pylist()

    def slice(self, level: str, group: str, language: str | None) -> dict[str, dict]:
        """FIELDS of each row that was scored, by id, in a functional class or a target; over all languages or in one."""
        import pyarrow.compute as pc

        table = self.results
        own = pc.is_null(table["language"]) if language is None else pc.equal(table["language"], language)
        picked = pc.and_(pc.and_(pc.equal(table["level"], level), pc.equal(table["group"], group)), pc.fill_null(own, False))
        return {row.pop("id"): row for row in table.filter(picked).select(["id", *FIELDS]).to_pylist()}


def open_published(name: str, revision: str | None = None) -> Published:
    """What rank wrote into a local folder, or what lies in a dataset repository ORG/NAME.

    Raises:
        InputError: neither is there, rank has not written to it, or its two files are not what they should be or do not belong together.
    """
    if (folder := Path(name)).is_dir():
        if revision:
            raise InputError(f"{name}: a folder has no revisions; --revision goes with a repository on the Hub")
        return read_published(folder.resolve(), folder.resolve(), name)
    if not hub.REPO.fullmatch(name):
        raise InputError(f"{name}: no such folder, and no dataset repository ORG/NAME")
    found = hub.fetch(name, revision, (BOARD, RESULTS))
    if why := [f"{path} is {found.left[path]}" for path in (BOARD, RESULTS) if path in found.left]:
        raise InputError(f"{name}: {why[0]}, which is the most that is read")
    return read_published(found.folder, found.within.resolve(), name)


def read_published(folder: Path, within: Path, name: str = "") -> Published:
    """The two files of a folder. InputError as open_published; `name` is what its messages call the folder."""
    name = name or str(folder)
    if lacking := [one for one in (BOARD, RESULTS) if not (folder / one).exists()]:
        raise InputError(f"{name}: no {lacking[0]} in it, which `sghatecheck rank {name}` writes")
    board = parse_json(read_bytes(folder / BOARD, MAX_RANKED, within), f"{name}: {BOARD}")
    if board.get("format") != FORMAT:
        raise InputError(f"{name}: {BOARD} is not of the format {FORMAT}; `sghatecheck rank {name}` writes it anew")
    validated(Board, board, f"{name}: {BOARD}")
    check_ids(board, f"{name}: {BOARD}")
    content = read_bytes(folder / RESULTS, MAX_RANKED, within)
    if (found := hashlib.sha256(content).hexdigest()) != (expected := board["results"]["sha256"]):
        said = f"{RESULTS} has the SHA-256 {found[:12]}…, and {BOARD} names {expected[:12]}…"
        raise InputError(f"{name}: {said}: one of them was changed after the ranking; `sghatecheck rank {name}` writes both anew")
    return Published(board, read_results(content, f"{name}: {RESULTS}"), folder, within)


def check_ids(board: dict, name: str) -> None:
    """Raises InputError where a submission's id is no name of a folder, or stands twice: ids lead to files."""
    ids = [row["id"] for part in ("rows", "partial") for row in board[part]]
    for id in ids:
        model, _, digest = id.partition("/")
        if not NAME.fullmatch(model) or not ADDRESS.fullmatch(digest):
            raise InputError(f"{name}: a row has an id that is no submission's, ORG__NAME/DIGEST")
    if len(set(ids)) < len(ids):
        raise InputError(f"{name}: an id stands twice")


def read_results(content: bytes, name: str) -> pyarrow.Table:
    """The columns of results.parquet that are shown. InputError where it is not such a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(io.BytesIO(content)).read(columns=["id", "level", "language", "group", *FIELDS])
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise InputError(f"{name}: not readable as what rank writes ({type(error).__name__})") from None
