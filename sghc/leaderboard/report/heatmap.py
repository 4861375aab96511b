"""The map of a result: a functionality in each row, a language in each column, an accuracy with its interval in each cell."""

from itertools import groupby
from typing import NamedTuple

from sghc.leaderboard.report.values import Number, below, difference, number, side, title_of
from sghc.suite.catalogue import FUNCTIONALITIES, Functionality

FEW = 10  # clusters; with fewer a cell is hatched. From ten on an interval is narrow enough to tell good from bad
STEPS = 10  # colours on either side of the middle, and the middle, are steps 0 to STEPS
OTHERS = "Other functionalities"


class Cell(NamedTuple):
    number: Number
    n: int
    n_clusters: int | None
    step: int | None  # of the colours; None without a value
    few: bool
    below: bool = False  # its interval lies wholly below the accuracy of its column
    sides: tuple[Number, Number] | None = None  # A and B, in a comparison


class Row(NamedTuple):
    name: str
    known: Functionality | None
    hateful: bool | None  # what its cases are; None where they are both
    cells: list[Cell | None]


class Group(NamedTuple):
    title: str
    rows: list[Row]


class HeatMap(NamedTuple):
    columns: list[str]
    groups: list[Group]


def heat_map(result: dict) -> HeatMap | None:
    """The accuracies of a score's result: their mean over languages first, where there are several. None without functionalities."""
    if not result.get("functionality"):
        return None
    languages = list(result["language"])
    return HeatMap(columns(languages), grouped([row(result, name, languages) for name in result["functionality"]]))


def columns(languages: list[str]) -> list[str]:
    """The languages' titles, their mean before them where there are several."""
    return ["Mean"] * (len(languages) > 1) + [*map(title_of, languages)]


def row(result: dict, name: str, languages: list[str]) -> Row:
    whole = result["functionality"][name]
    cells = [cell(result, ("language_functionality", f"{one}/{name}"), ("language", one)) for one in languages]
    if len(languages) > 1:
        cells.insert(0, cell(result, ("functionality", name), ("overall",)))
    return Row(name, FUNCTIONALITIES.get(name), is_hateful(whole["accuracy_hateful"], whole["accuracy_non_hateful"]), cells)


def cell(result: dict, place: tuple, column: tuple) -> Cell | None:
    """The accuracy at a place of the result; None where the language has no such case."""
    part, name = place
    if (entry := result[part].get(name)) is None:
        return None
    found = number(result, *place, "accuracy")
    few, lower = is_few(entry["n_clusters"]), below(found, number(result, *column, "accuracy"))
    return Cell(found, entry["n"], entry["n_clusters"], step(found.value), few, lower)


def difference_map(result: dict, cells: dict) -> HeatMap | None:
    """B - A of a comparison: `result` has the functionalities, `cells` is the same comparison by `language/functionality`."""
    if not result.get("functionality"):
        return None
    languages = list(result["language"])
    rows = []
    for name, whole in result["functionality"].items():
        own = [difference_cell(cells, f"{one}/{name}") for one in languages]
        if len(languages) > 1:
            own.insert(0, difference_cell(result, name))
        hateful = is_hateful(whole["accuracy_hateful"]["a"], whole["accuracy_non_hateful"]["a"])
        rows.append(Row(name, FUNCTIONALITIES.get(name), hateful, own))
    return HeatMap(columns(languages), grouped(rows))


def difference_cell(result: dict, name: str) -> Cell | None:
    if (entry := result["functionality"].get(name)) is None:
        return None
    path = ("functionality", name, "accuracy")
    found, sides = difference(result, *path), (side(result, "a", *path), side(result, "b", *path))
    middle = None if found.value is None else step(0.5 + found.value)  # half the way from 0 to 1 is as far as the colours go
    return Cell(found, entry["n"], entry["n_clusters"], middle, is_few(entry["n_clusters"]), sides=sides)


def is_hateful(found: float | None, left_alone: float | None) -> bool | None:
    """Which side a functionality's cases are on, by the accuracy that it has."""
    return None if (found is None) == (left_alone is None) else found is not None


def is_few(n_clusters: int | None) -> bool:
    return n_clusters is not None and n_clusters < FEW


def step(value: float | None) -> int | None:
    """The colour of a share, 0 to STEPS; what lies beyond 0 and 1 has the last."""
    return None if value is None else min(max(round(value * STEPS), 0), STEPS)


def grouped(rows: list[Row]) -> list[Group]:
    """The rows by functional class, in the catalogue's order; those that it does not know last, in their own."""
    order = {name: place for place, name in enumerate(FUNCTIONALITIES)}
    rows = sorted(rows, key=lambda one: order.get(one.name, len(order)))
    return [Group(title, list(some)) for title, some in groupby(rows, key=lambda one: one.known.functional_class if one.known else OTHERS)]
