"""What a build made, as tables for a terminal: cases by language and split, annotation outcomes and agreement, and what the repairs touched."""

from collections import Counter
from pathlib import Path

from rich.table import Table
from rich.text import Text

from sghc.suite import votes
from sghc.suite.cases import SPLITS
from sghc.suite.suite import Suite
from sghc.terminal import titled


def render(suite: Suite, out: Path):
    """The tables of a build, as things that a `rich` console prints."""
    for remark in (suite.caution, *suite.remarks):
        if remark:
            yield Text(f"{suite.name}: {remark}", style="bold yellow" if remark == suite.caution else "")
    yield sizes(suite)
    if any(split == "annotated" for _, split in suite.tables):
        yield outcomes(suite)
    if suite.counts:
        yield repaired(suite)
    yield Text(f"written to {out}")


def sizes(suite: Suite) -> Table:
    splits = [split for split in SPLITS if any(found == split for _, found in suite.tables)]
    table = titled(f"Cases of suite {suite.name}", "language", *splits)
    for language in suite.languages:
        table.add_row(language, *(f"{len(suite.tables[language, split]):,}" for split in splits))
    table.add_row("all", *(f"{sum(len(suite.tables[language, split]) for language in suite.languages):,}" for split in splits))
    return table


def outcomes(suite: Suite) -> Table:
    """Statuses of the annotated cases, and Krippendorff's nominal alpha over their votes."""
    table = titled("Annotated cases", "language", *votes.STATUSES[:4], "nominal alpha")
    for language in suite.languages:
        annotated = suite.tables[language, "annotated"]
        counts = Counter(annotated["status"].to_pylist())
        alpha = votes.alpha(annotated["votes"].to_pylist())
        table.add_row(language, *(f"{counts[status]:,}" for status in votes.STATUSES[:4]), "–" if alpha is None else f"{alpha:.3f}")
    return table


def repaired(suite: Suite) -> Table:
    """Rows that each repair touched (see the rules' docstrings in repairs.py)."""
    table = titled("Repairs of the released files, rows touched", "rule", *suite.languages)
    for rule in dict.fromkeys(rule for rule, _ in suite.counts):
        table.add_row(rule, *(f"{suite.counts[rule, language]:,}" if suite.counts[rule, language] else "" for language in suite.languages))
    return table
