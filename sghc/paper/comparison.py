"""Computed against printed, cell by cell, by a rule stated for each table."""

from dataclasses import dataclass, field
from typing import NamedTuple

from sghc.paper.causes import NO_CASE, cause_of
from sghc.paper.cells import Cell, Lacks, Number, Unknown, in_print

Path = tuple[str, ...]  # row and column keys below a table: ("F1", "Singlish|LL")


class Rule(NamedTuple):
    """How a table prints a number."""

    digits: int
    cut: bool = False

    def __str__(self) -> str:
        if not self.digits:
            return "whole"
        return f"{self.digits} decimal{'s' * (self.digits > 1)}{', cut' * self.cut}"


WHOLE, ROUND, CUT, AVERAGE = Rule(0), Rule(3), Rule(3, cut=True), Rule(1)
RULES = {
    "table1": WHOLE,
    "table2": ROUND,
    "table3": CUT,
    "table4": ROUND,
    "table5": ROUND,
    "table6": ROUND,
    "table7": WHOLE,
    "table8": CUT,
    "table9": WHOLE,
    "D2": WHOLE,
    "totals": WHOLE,
}
EXCEPTIONS = {  # cells that a table prints otherwise than its other cells
    ("table6", "F19", "SHCM"): CUT,
    ("table6", "Overall F1", "MHCM"): CUT,
    ("table6", "Overall F1", "SHCM"): CUT,
    ("totals", "avg_words"): AVERAGE,
    ("totals", "avg_chars"): AVERAGE,
}


class Difference(NamedTuple):
    path: Path
    printed: int | float | str
    computed: Cell  # at full precision
    cause: str


class Gap(NamedTuple):
    """A printed cell that could not be computed: `wants` names the files or options it lacks, or `reason` says why nothing would help."""

    path: Path
    wants: tuple[str, ...] = ()
    reason: str = ""


@dataclass
class TableReport:
    """How one table compares. Only its numbers are counted as cells; `labels` lists those of its labels (such as gold labels) that differ."""

    rule: str
    printed: int = 0
    equal: int = 0
    differing: list[Difference] = field(default_factory=list)
    lacking: list[Gap] = field(default_factory=list)
    unknown: list[Gap] = field(default_factory=list)
    labels: list[Difference] = field(default_factory=list)

    @property
    def recomputed(self) -> int:
        return self.equal + len(self.differing)


def rule_of(table: str, path: Path) -> Rule:
    return EXCEPTIONS.get((table, *path), RULES[table])


def shown(table: str, path: Path, value: Number) -> int | float:
    """A computed number as its table would print it."""
    return in_print(value, *rule_of(table, path))


def compare(computed: dict, printed: dict) -> dict[str, TableReport]:
    """Compares every printed number, table by table.

    Args:
        computed: {table: {row: {column: cell}}}, nested as `printed`; a `Lacks` or `Unknown` may stand in the place of a whole row or table.
        printed: the paper's figures, as `printed.json` holds them. None stands where nothing is printed or it is lost.
    """
    return {name: compare_table(name, computed.get(name), table) for name, table in printed.items()}


def compare_table(name: str, computed: dict | Cell, printed: dict) -> TableReport:
    report = TableReport(rule_text(name))
    for path, value, found in leaves(printed, computed):
        if isinstance(value, str):
            if isinstance(found, str) and found != value:
                report.labels.append(Difference(path, value, found, cause_of((name, *path), found)))
            continue
        report.printed += 1
        if isinstance(found, Lacks):
            report.lacking.append(Gap(path, wants=found.wants))
        elif isinstance(found, Unknown):
            report.unknown.append(Gap(path, reason=found.reason))
        elif found is None:
            report.differing.append(Difference(path, value, None, NO_CASE))
        elif (here := shown(name, path, found)) == value:
            report.equal += 1
        else:
            report.differing.append(Difference(path, value, found, cause_of((name, *path), here)))
    return report


def leaves(printed: dict, computed: dict | Cell, path: Path = ()):
    """(path, printed value, computed cell) for every figure and label that is printed."""
    for key, value in printed.items():
        found = computed.get(key) if isinstance(computed, dict) else computed
        if isinstance(value, dict):
            yield from leaves(value, found, (*path, key))
        elif value is not None:
            yield (*path, key), value, found


def rule_text(name: str) -> str:
    """The table's rule, with the number of cells that are printed by another."""
    others = [rule for path, rule in EXCEPTIONS.items() if path[0] == name]
    return f"{RULES[name]}; {len(others)} {'cut' if others[0].cut else f'with {others[0]}'}" if others else str(RULES[name])
