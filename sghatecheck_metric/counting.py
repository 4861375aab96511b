"""Counts and what they are worth: whole arrays in, whole arrays out.

A case belongs to a few *slices* of its language (the whole language, its functionality, its target, …), at most one per *level*. One bincount
over (slice, gold, answer) counts them all, and every rate is arithmetic on these counts. What spans languages is the plain mean of its
languages' values. `tally` and `measure` take counts with any leading axes: resampled counts go through the same lines as the counts themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .reading import MISSING, REJECTED, number

RATES = ("accuracy", "accuracy_hateful", "accuracy_non_hateful", "macro_f1", "coverage")
MAX_TABLE = 1 << 22  # entries of a lookup table; beyond that, sorting takes less memory


class Level(NamedTuple):
    """A partition of the cases: `codes` (n,) index `names`, -1 where a case belongs to none."""

    name: str
    codes: np.ndarray
    names: list


class Slice(NamedTuple):
    """What a slice is of; `language` is None in those that span languages, and where there is no language column."""

    level: str
    language: str | None
    group: str | None


@dataclass(frozen=True)
class Layout:
    """Which slices a case counts in, and which slices make up what spans languages. S slices lie within one language, P span the languages.

    member    int64 (levels, n): each case's slice per level, -1 where it has none
    parent    int64 (S,): the spanning slice that a within-language slice is averaged into
    language  int64 (S,): the code of each slice's language
    within    S names of slices, across P names
    """

    member: np.ndarray
    parent: np.ndarray
    language: np.ndarray
    within: list[Slice]
    across: list[Slice]


def lay_out(levels: list[Level], language: np.ndarray, languages: list) -> Layout:
    """Levels, and each case's language -> the slices of n cases, in order of first appearance."""
    member, parent, spoken, within, across = [], [], [], [], []
    for level in levels:
        slices, pairs = _pair(language, level.codes, len(level.names))
        member.append(np.where(slices < 0, -1, slices + len(within)))
        parent += [len(across) + group for _, group in pairs]
        spoken += [code for code, _ in pairs]
        within += [Slice(level.name, languages[code], level.names[group]) for code, group in pairs]
        across += [Slice(level.name, None, name) for name in level.names]
    return Layout(np.array(member), np.array(parent, np.int64), np.array(spoken, np.int64), within, across)


def shared(language: np.ndarray, languages: list, functionality: np.ndarray, functionalities: list) -> np.ndarray:
    """0 for the cases of functionalities that every language present has, else -1."""
    seen = np.zeros((len(languages), len(functionalities) + 1), bool)
    seen[language, functionality] = True
    seen[:, -1] = False  # the last column is code -1: no functionality
    return np.where(seen.all(axis=0)[functionality], 0, -1)


def _pair(language, group, n_groups: int) -> tuple[np.ndarray, list]:
    """(slice of each case, -1 where group is -1; the (language, group) of each slice), slices numbered by first appearance."""
    rows = np.flatnonzero(group >= 0)
    codes, keys = number_ints(language[rows] * n_groups + group[rows])
    slices = np.full(len(group), -1)
    slices[rows] = codes
    return slices, [divmod(key, n_groups) for key in keys]


def number_ints(keys) -> tuple[np.ndarray, list]:
    """What number does, for non-negative ints: by a table of the row where each first appears, as long as that table is small."""
    n, size = len(keys), int(keys.max(initial=0)) + 1
    if size > MAX_TABLE:
        return number(keys.tolist())
    first = np.full(size, n)
    np.minimum.at(first, keys, np.arange(n))
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < n)]
    codes = np.empty(size, np.int64)
    codes[order] = np.arange(len(order))
    return codes[keys], order.tolist()


def count(layout: Layout, answers, gold, unit=None, n_units: int = 1) -> np.ndarray:
    """int64 (S, 2, 4): cases per within-language slice, gold label and answer, whose code (0, 1, REJECTED, MISSING) is its index.

    With `unit`, each case's unit (n,), the same for each of n_units units: (n_units, S, 2, 4).
    """
    outcome = gold.astype(np.int64) * 4 + answers % 4  # REJECTED, -1, is the last column and MISSING, -2, the one before
    size = len(layout.within) * 8
    offset = 0 if unit is None else unit * size
    key = (layout.member * 8 + outcome + offset)[layout.member >= 0]
    counts = np.bincount(key, minlength=size * n_units)
    shape = (len(layout.within), 2, 4)
    return counts.reshape(shape if unit is None else (n_units, *shape))


def count_distinct(layout: Layout, scored, coded) -> np.ndarray | None:
    """int64 (S,): different codes (clusters, templates) among the scored cases of each slice. None without the column."""
    if coded is None:
        return None
    codes, names = coded
    key = (layout.member * len(names) + codes)[(layout.member >= 0) & scored]
    size = len(layout.within) * len(names)
    if size > MAX_TABLE:
        key = np.sort(key)
        return np.bincount(key[np.diff(key, prepend=-1) > 0] // len(names), minlength=len(layout.within))
    marks = np.zeros(size, bool)
    marks[key] = True
    return marks.reshape(len(layout.within), -1).sum(axis=1)


def tally(counts, invalid: str) -> tuple:
    """Counts (..., 2, 4) -> scored per gold label (..., 2), rejected, missing and asked (...). The numbers stand on what is scored."""
    valid, rejected, missing = counts[..., 0] + counts[..., 1], counts[..., REJECTED], counts[..., MISSING]
    scored = valid if invalid == "drop" else valid + rejected
    return scored, _either(rejected), _either(missing), _either(valid + rejected + missing)


def measure(counts, invalid: str) -> dict[str, np.ndarray]:
    """Counts (..., 2, 4) -> {rate: float array (...)}, NaN where a rate is not defined.

    F1 of a label is 2TP / (2TP + FP + FN), and 2TP + FP + FN is how often the label was answered plus how often it is gold. A rejected
    output is no answer of either label: it costs recall (it stays in gold) and no precision. Macro F1 is the mean of both labels' F1 and
    defined where both labels are gold.
    """
    scored, *_, asked = tally(counts, invalid)
    right = np.stack([counts[..., 0, 0], counts[..., 1, 1]], axis=-1)
    answered = counts[..., 0, :2] + counts[..., 1, :2]
    recall, f1 = _ratio(right, scored), _ratio(2 * right, answered + scored)
    return {
        "accuracy": _ratio(_either(right), _either(scored)),
        "accuracy_hateful": recall[..., 1],
        "accuracy_non_hateful": recall[..., 0],
        "macro_f1": np.where((scored[..., 0] > 0) & (scored[..., 1] > 0), _either(f1) / 2, np.nan),
        "coverage": _ratio(_either(answered), asked),
    }


def _either(values):
    """Sums over a last axis of two; numpy's own sum over so short an axis takes ten times as long."""
    return values[..., 0] + values[..., 1]


def _ratio(part, whole) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)


def average(values, parent, size: int) -> np.ndarray:
    """Plain mean (size,) of the within-language values (S,) of each spanning slice; NaN values are skipped, no value at all gives NaN."""
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # added by size, NaN last: the order of the rows changes no digit
    return _ratio(np.bincount(parent[order], values[order], size), np.bincount(parent[order], minlength=size))


def average_all(values, parent, size: int) -> np.ndarray:
    """What `average` does, for many replicates at once: (B, S) -> (B, size). A replicate that lacks one of the values has no mean."""
    belongs = np.zeros((len(parent), size), values.dtype)
    defined = ~np.isnan(values).all(axis=0)  # a slice without a value in any replicate has none in the mean itself either
    belongs[np.flatnonzero(defined), parent[defined]] = 1
    means = np.where(defined, values, 0) @ belongs
    return _ratio(means, np.broadcast_to(belongs.sum(axis=0), means.shape))


def total(values, parent, size: int) -> np.ndarray:
    """Sums (size, ...) of integer counts (S, ...) over the slices of each spanning slice."""
    sums = np.zeros((size, *values.shape[1:]), np.int64)
    np.add.at(sums, parent, values)
    return sums
