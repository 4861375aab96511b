"""What one cell of a table may be, and the paper's own arithmetic, in exact fractions so that no border of rounding is a matter of float noise."""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

Confusion = list[list[int]]  # [gold][prediction], both 0 (non-hateful) or 1 (hateful)


class Lacks(NamedTuple):
    """The cell cannot be computed until these files or options are there."""

    wants: tuple[str, ...]


class Unknown(NamedTuple):
    """The cell cannot be computed from anything that was released."""

    reason: str


Number = Fraction | int | float
Cell = Number | str | Lacks | Unknown | None  # a string is a label such as H; None: no case, and nothing to print


def accuracy(confusion: Confusion, gold: int | None = None) -> Fraction | None:
    """Share of right answers, among the cases of one gold label where `gold` is given; None without a case."""
    rows = range(2) if gold is None else (gold,)
    cases = sum(sum(confusion[row]) for row in rows)
    return Fraction(sum(confusion[row][row] for row in rows), cases) if cases else None


def macro_f1(confusion: Confusion) -> Fraction | None:
    """The paper's F1: the plain mean of F1 over the labels that occur as gold label or as prediction; None without a case.

    That is scikit-learn's f1_score(average="macro", zero_division=0). A label that occurs on neither side has no part in it, so that inside one
    functionality a run without a mistake gives 1.0, and one with a single mistake half of what it gives for its gold label.
    """
    scores = []
    for label in range(2):
        right = confusion[label][label]
        wrong = confusion[label][1 - label] + confusion[1 - label][label]
        if right or wrong:
            scores.append(Fraction(2 * right, 2 * right + wrong))
    return sum(scores) / len(scores) if scores else None


def mean(cells: Iterable[Cell]) -> Cell:
    """The plain mean of numbers. It lacks what any of them lacks, since a mean over fewer is another figure; None where one of them is None."""
    cells = list(cells)
    if wants := [want for cell in cells if isinstance(cell, Lacks) for want in cell.wants]:
        return Lacks(tuple(dict.fromkeys(wants)))
    if not cells or None in cells:
        return None
    return sum(cells) / len(cells)


def in_print(value: Number, digits: int, cut: bool = False) -> int | float:
    """A number as a table prints it: rounded to `digits` decimals, exact halves to the even digit as NumPy and Python do, or cut off there."""
    units = Fraction(value) * 10**digits
    whole = math.trunc(units) if cut else round(units)
    return whole / 10**digits if digits else whole
