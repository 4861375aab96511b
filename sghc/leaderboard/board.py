"""Entries put in order: who leads, by how much, and who cannot be told apart; and the two files' shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sghatecheck_metric.intervals import BOUNDED
from sghatecheck_metric.resampling import FEW_F1
from sghc.leaderboard import arrow
from sghc.leaderboard.gathering import Verified
from sghc.leaderboard.ground import CONFIDENCE, Ground
from sghc.leaderboard.standing import COUNTS, FIELDS, Standing, better, degrees, slices_of
from sghc.leaderboard.submission import FOLDER, Submission, marks

if TYPE_CHECKING:
    import pyarrow

FORMAT = "sghatecheck-leaderboard-1"
BY = "macro_f1"
F1 = FIELDS.index(BY)
VERIFIED = (
    "the suite's labels are public, so a score proves nothing about how it was reached: "
    "a row is verified only where a maintainer has run the model again"
)
NOTES = {
    "rank": "by macro F1, averaged over the suite's languages, of the submissions that answer every case; scored from their answers alone",
    "ties": f"rank_best to rank_worst: the places that a row could hold, each pair compared at {CONFIDENCE:.0%} on the same resampled clusters",
    "verified": VERIFIED,
    "partial": "answers some languages, or not every case: not ranked",
    "baseline": "the paper's runs: in its own frame, which leaves rejected outputs out, or as printed; not ranked",
    "marks": "in what a row was asked otherwise than in the paper: such numbers do not compare as they stand",
    "macro_f1": "null where one gold label stands alone, as in most functional classes: their value is accuracy",
}


class Entry(NamedTuple):
    """A row to be: a submission's or a baseline's. `standing` is None where only printed figures are known, which are then in `printed`."""

    id: str
    kind: str  # submission or baseline
    submission: Submission | None
    digest: str | None
    standing: Standing | None
    verified: Verified | None
    ground: Ground
    title: str = ""
    frame: str = ""  # of a baseline
    printed: dict | None = None
    remarks: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every case of the ground has an answer."""
        return self.kind == "submission" and not self.standing.values[1 : 1 + len(self.ground.languages), COUNTS.index("n_missing")].any()


def board(ground: Ground, entries: list[Entry], aside: dict[str, str], head: dict) -> dict:
    """The leaderboard in JSON-ready dicts: `rows` in order, then `partial` and `baselines`, what was set aside, and what it all is of."""
    ranked = sorted((one for one in entries if one.complete), key=lambda one: (-one.standing.values[0, F1], one.id))
    partial = sorted((one for one in entries if one.kind == "submission" and not one.complete), key=lambda one: one.id)
    rows = [row_of(one) for one in ranked]
    for place, part in enumerate(("", *ground.languages)):
        write_ranks(rows, ranked, place, part, degrees(ground)[place])
    return {
        "format": FORMAT,
        **head,
        "suite": {"name": ground.name, "caution": ground.caution, "data": ground.fingerprint(ground.languages), "languages": ground.languages},
        "signature": ground.signature,
        "by": BY,
        "rows": rows,
        "partial": [row_of(one) for one in partial],
        "baselines": [row_of(one) for one in entries if one.kind == "baseline"],
        "set_aside": [{"path": path, "reason": why} for path, why in sorted(aside.items())],
        "notes": NOTES,
    }


def write_ranks(rows: list[dict], ranked: list[Entry], place: int, language: str, df: float) -> None:
    """Writes into each row what place it holds, overall (`place` 0) or in a language, and what places it could hold."""
    if not ranked:
        return
    values = np.array([one.standing.values[place, F1] for one in ranked])
    told, half = better(values, np.stack([one.standing.replicates[place] for one in ranked]), df)
    order = np.argsort(-values, kind="stable")
    best, worst = 1 + told.sum(axis=0), len(ranked) - told.sum(axis=1)
    standing = 1 + (values[:, None] < values).sum(axis=1)
    for at, row in enumerate(rows):
        entry = row if not language else row["language"][language]
        entry |= {"rank": int(standing[at]), "rank_best": int(best[at]), "rank_worst": int(worst[at])}
        entry["tied_with_first"] = not told[order[0], at]
    if language:
        return
    for at, row in enumerate(rows):
        row["tied_with_next"] = None if at + 1 == len(rows) else not told[at, at + 1]
        row["next"] = None
        if at + 1 < len(rows):
            gap, width = values[at] - values[at + 1], half[at, at + 1]
            interval = [gap - width, gap + width] if df >= FEW_F1 and width == width else None
            row["next"] = {"id": rows[at + 1]["id"], "difference": gap, "difference_ci": interval}


def row_of(one: Entry) -> dict:
    """An entry as a row: who it is, how it was asked, and its numbers overall and by language."""
    about = one.submission
    told = {} if about is None else about.model_dump(include={"revision", "parameters", "base", "training_data", "contact", "licence", "reading"})
    return {
        "id": one.id,
        "kind": one.kind,
        "model": about.model if about else one.title,
        **told,
        "prompt": about.prompt.name if about and about.prompt else None,
        "marks": marks(about) if about else [one.frame],
        "remarks": list(one.remarks),
        "digest": one.digest,
        "path": f"{FOLDER}/{one.id}" if about else None,
        "verified": one.verified is not None,
        "verification": one.verified.model_dump() if one.verified else None,
        **(numbers(one, 0) if one.standing else one.printed["overall"]),
        "language": one.printed["language"] if one.standing is None else {name: numbers(one, 1 + at) for at, name in enumerate(one.ground.languages)},
    }


def numbers(one: Entry, place: int) -> dict:
    """FIELDS of a slice with its intervals; None where there is none."""
    values, limits = one.standing.values[place].tolist(), one.standing.limits[place].tolist()
    found = {name: int(value) if name in COUNTS else none(value) for name, value in zip(FIELDS, values, strict=True)}
    return found | {f"{rate}_ci": None if low != low else [low, high] for rate, (low, high) in zip(BOUNDED, limits, strict=True)}


def none(value: float) -> float | None:
    return None if value != value else value


def results_table(entries: list[Entry]) -> pyarrow.Table:
    """Every slice of every entry that was scored: id, kind, level (overall, language, functional_class, target), language and group (null where it
    spans them), FIELDS, and limits `<rate>_low`, `<rate>_high` of the whole and the languages."""
    import pyarrow as pa

    schema = pa.schema(
        [(name, pa.string()) for name in ("id", "kind", "level", "language", "group")]
        + [(name, pa.int32() if name in COUNTS else pa.float64()) for name in FIELDS]
        + [(f"{rate}_{side}", pa.float64()) for rate in BOUNDED for side in ("low", "high")]
    )
    scored = [one for one in entries if one.standing]
    parts = [[one for one in scored if one.kind == kind] for kind in dict.fromkeys(one.kind for one in scored)]
    if not parts:
        return schema.empty_table()
    return pa.concat_tables(pa.Table.from_arrays(columns_of(part), schema=schema) for part in parts)


def columns_of(entries: list[Entry]) -> list[pyarrow.Array]:
    """The columns of entries of one ground, one entry after the other."""
    import pyarrow as pa

    slices, n = slices_of(entries[0].ground), len(entries)
    limits = np.full((n, len(slices), len(BOUNDED), 2), np.nan)
    limits[:, : entries[0].standing.limits.shape[0]] = np.stack([one.standing.limits for one in entries])
    values = np.stack([one.standing.values for one in entries])
    entry, part = np.divmod(np.arange(n * len(slices)), len(slices))
    names = [arrow.repeated([getattr(one, name) for one in entries], entry) for name in ("id", "kind")]
    names += [arrow.repeated([getattr(one, name) for one in slices], part) for name in ("level", "language", "group")]
    fields = [values[..., at].ravel() for at in range(len(FIELDS))] + [limits[..., at, side].ravel() for at in range(len(BOUNDED)) for side in (0, 1)]
    whole = [arrow.numbers(one.astype(np.int32), np.ones(len(one), bool), pa.int32()) for one in fields[: len(COUNTS)]]
    return [*names, *whole, *(arrow.numbers(one, ~np.isnan(one), pa.float64()) for one in fields[len(COUNTS) :])]
