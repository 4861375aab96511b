"""The cases that a run asks: a split of some languages of a suite, or a sample of it that holds something of everything."""

import hashlib
from itertools import zip_longest
from pathlib import Path

from sghatecheck_metric.reading import fingerprint
from sghc.suite import folder
from sghc.suite.cases import ALL

COLUMNS = ["case_id", "text", "label", "language", "functionality"]


def cases_of(suite: Path, split: str, configs: list[str] | None = None, limit: int | None = None) -> tuple[list[tuple[str, str]], dict]:
    """((case_id, text) of each case, and what the record says of them).

    Args:
        configs: languages; by default all that the suite has.
        limit: how many cases to take, spread evenly over languages and functionalities, always the same ones.

    Raises:
        InputError: as `folder.read`.
    """
    about = folder.describe(suite)
    configs = folder.wanted_languages(about, None if not configs or ALL in configs else configs)
    rows = folder.read(about, split, configs, COLUMNS).to_pylist()
    if limit is not None and limit >= len(rows):
        limit = None  # it leaves nothing out
    if limit is not None:
        rows = spread(rows, limit)
    data = fingerprint(*([row[name] for row in rows] for name in ("case_id", "label", "text")))
    asked = {"suite": about.name, "split": split, "configs": list(configs), "limit": limit, "n": len(rows), "data": data}
    return [(row["case_id"], row["text"]) for row in rows], asked


def spread(rows: list[dict], limit: int) -> list[dict]:
    """`limit` rows, languages and functionalities taking turns, each in an order of its own; returned in the suite's order."""
    groups: dict[tuple, list[dict]] = {}
    for row in sorted(rows, key=lambda row: hashlib.sha256(row["case_id"].encode()).digest()):
        groups.setdefault((row["functionality"], row["language"]), []).append(row)
    turns = [row for turn in zip_longest(*groups.values()) for row in turn if row]
    kept = {row["case_id"] for row in turns[:limit]}
    return [row for row in rows if row["case_id"] in kept]
