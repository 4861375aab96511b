"""Rates with their intervals: the values, their replicates, and which of three intervals each can bear.

1. Percentiles of the cluster bootstrap, wherever there are clusters enough.
2. Wilson's interval for a proportion from few clusters, over the effective number of cases that the bootstrap's variance tells; over the number of
   clusters where the proportion is 0 or 1, and the replicates say nothing.
3. For a mean of values of which one has Wilson's: the values' intervals combined (MOVER), so that the interval belongs to the same estimator.

Everything else has none, and a reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .counting import Layout, average, average_all, count, measure, tally
from .resampling import FEW, FEW_F1, Units, effective, of_mean, percentiles, replicate, wilson

PROPORTIONS = ("accuracy", "accuracy_hateful", "accuracy_non_hateful")
BOUNDED = (*PROPORTIONS, "macro_f1")  # the rates that get an interval
CI_MODES = ("bootstrap", "wilson", "none")
FEW_ERRORS = 5  # clusters that hold an error (or a right answer), below which their variance says little
EDGE = 10  # the same as a proportion times clusters: nearer to 0 or 1 percentiles lie too close together
SAME = 1e-10  # a variance below this is that of equal values, summed in float32 in another order
FLAT = "the replicates do not vary, or too few of them have a value"


@dataclass(frozen=True)
class Design:
    """How intervals are made: the mode, the size and seed of the bootstrap, and the units that are drawn."""

    mode: str
    n_resamples: int
    confidence: float
    seed: int
    units: Units


@dataclass(frozen=True)
class Estimates:
    """Rates of S within-language slices and P spanning ones, each {rate: array}, and how they vary.

    within, across          values (S,), (P,)
    drawn_within, _across   replicates (B, S), (B, P); None unless the mode is bootstrap
    n_cases, n_units, df    scored cases, units that hold them, and these less their strata, (S,), by rate: of either gold label, hateful, non-hateful
    n_lone                  units that hold an error, or a right answer, whichever are fewer, (S,), by rate
    """

    layout: Layout
    design: Design
    within: dict[str, np.ndarray]
    across: dict[str, np.ndarray]
    drawn_within: dict[str, np.ndarray] | None
    drawn_across: dict[str, np.ndarray] | None
    n_cases: dict[str, np.ndarray]
    n_units: dict[str, np.ndarray]
    df: dict[str, np.ndarray]
    n_lone: dict[str, np.ndarray]


@dataclass(frozen=True)
class Limits:
    """The intervals (2, m) of m values, NaN where there is none, and for each a word on how it was made or why it is missing ("" for percentiles)."""

    limits: np.ndarray
    words: list[str]


def estimate(layout: Layout, counts: np.ndarray, answers, gold, invalid: str, design: Design) -> Estimates:
    """Rates of a layout's slices from its counts (S, 2, 4), with replicates where the design asks for them."""
    size = len(layout.across)
    within = measure(counts, invalid)
    across = {rate: average(values, layout.parent, size) for rate, values in within.items()}
    if design.mode == "none":
        return Estimates(layout, design, within, across, None, None, {}, {}, {}, {})
    per_unit = count(layout, answers, gold, design.units.of_case, len(design.units.stratum))
    scored = tally(per_unit, invalid)[0]
    sizes = *extents(scored, design.units.stratum), rarer(per_unit, scored)
    if design.mode == "wilson":
        return Estimates(layout, design, within, across, None, None, *sizes)
    drawn = measure(replicate(per_unit, blocks(layout, per_unit), design.units.stratum, design.n_resamples, design.seed), invalid)
    drawn = {rate: drawn[rate].astype(np.float32) for rate in BOUNDED}
    means = {rate: average_all(values, layout.parent, size) for rate, values in drawn.items()}
    return Estimates(layout, design, within, across, drawn, means, *sizes)


def extents(scored: np.ndarray, stratum: np.ndarray) -> tuple[dict, dict, dict]:
    """Cases, units and degrees of freedom (units less strata) of each slice by rate, from scored cases per unit, slice and gold label (K, S, 2)."""
    starts = np.flatnonzero(np.diff(stratum, prepend=-1))
    cases, units, df = {}, {}, {}
    for rate, held in (("accuracy", scored.sum(axis=-1)), ("accuracy_hateful", scored[..., 1]), ("accuracy_non_hateful", scored[..., 0])):
        cases[rate], units[rate] = held.sum(axis=0), (held > 0).sum(axis=0)
        strata = (np.add.reduceat(held, starts, axis=0) > 0).sum(axis=0) if len(starts) else units[rate]
        df[rate] = units[rate] - strata
    units["macro_f1"] = units["accuracy"]
    return cases, units, df


def rarer(per_unit: np.ndarray, scored: np.ndarray) -> dict[str, np.ndarray]:
    """How many units hold an error, or a right answer, whichever are fewer, in each slice by rate; per_unit (K, S, 2, 4), scored (K, S, 2)."""
    right = np.stack([per_unit[..., 0, 0], per_unit[..., 1, 1]], axis=-1)
    sides = {"accuracy": (right.sum(axis=-1), scored.sum(axis=-1)), "accuracy_hateful": (right[..., 1], scored[..., 1])}
    sides["accuracy_non_hateful"] = right[..., 0], scored[..., 0]
    return {rate: np.minimum((one > 0).sum(axis=0), (one < all_).sum(axis=0)) for rate, (one, all_) in sides.items()}


def blocks(layout: Layout, per_unit: np.ndarray) -> list[tuple]:
    """(units, slices) of each language: slices of one language hold nothing of another's units."""
    pairs = []
    for code in np.unique(layout.language):
        slices = np.flatnonzero(layout.language == code)
        pairs.append((np.flatnonzero(per_unit[:, slices].any(axis=(1, 2, 3))), slices))
    return pairs


def limits_within(found: Estimates, rate: str) -> Limits:
    """The intervals of a rate in the S within-language slices."""
    values, units, confidence = found.within[rate], found.n_units[rate], found.design.confidence
    if found.drawn_within is None:
        limits, words = by_clusters(values, units, confidence, "ci='wilson'") if rate in PROPORTIONS else (np.full((2, len(values)), np.nan), None)
        return Limits(np.where(np.isnan(values), np.nan, limits), words or ["ci='wilson' is for proportions"] * len(values))
    drawn, df = found.drawn_within[rate], found.df["accuracy" if rate == "macro_f1" else rate]
    limits, words = np.full((2, len(values)), np.nan), np.full(len(values), "", object)
    if rate not in PROPORTIONS:
        few = df < FEW_F1
        limits[:, ~few] = percentiles(drawn[:, ~few], confidence)
        words[np.isnan(limits[0])] = FLAT
        words[few] = f"fewer than {FEW_F1} clusters beyond the first of each stratum"
        return Limits(limits, words.tolist())
    lone = found.n_lone[rate]  # clusters that hold an error, or a right answer, whichever is rarer
    few = (df < FEW) | (lone < FEW_ERRORS) | (units * np.minimum(values, 1 - values) < EDGE)
    limits[:, ~few] = percentiles(drawn[:, ~few], confidence)
    size, fixed = np.zeros(len(values)), np.isnan(limits[0])
    variance = drawn[:, few].astype(float).var(axis=0)
    size[few], fixed[few] = effective(values[few], variance, found.n_cases[rate][few], df[few], confidence), variance < SAME
    few &= ~fixed
    size[lone < FEW_ERRORS] = np.minimum(size, units)[lone < FEW_ERRORS]  # a variance from so few errors is not to be trusted
    limits[:, few] = wilson(values[few], size[few], confidence)
    words[few] = [f"Wilson's interval over an effective {one:.1f} cases in {n} clusters" for one, n in zip(size[few], units[few], strict=True)]
    limits[:, fixed], words[fixed] = by_clusters(values[fixed], units[fixed], confidence, "the replicates do not vary")
    return Limits(np.where(np.isnan(values), np.nan, limits), words.tolist())


def by_clusters(values: np.ndarray, units: np.ndarray, confidence: float, why: str) -> tuple[np.ndarray, list[str]]:
    """Wilson's interval as if each cluster were one case: too wide rather than too short."""
    return wilson(values, units, confidence), [f"Wilson's interval over {n} clusters ({why})" for n in units.tolist()]


def limits_across(found: Estimates, rate: str, inner: Limits) -> Limits:
    """The intervals of a rate in the P spanning slices, each the plain mean of slices whose intervals are given."""
    members = [np.flatnonzero(found.layout.parent == place) for place in range(len(found.layout.across))]
    outer = None
    if found.drawn_across is not None:
        outer = percentiles(found.drawn_across[rate], found.design.confidence)
    limits, words = np.full((2, len(members)), np.nan), []
    for place, slices in enumerate(members):
        slices = slices[~np.isnan(found.within[rate][slices])]
        drawn = None if outer is None else outer[:, place]
        limits[:, place], word = mean_limits(found.within[rate][slices], inner, slices, drawn)
        words.append(word)
    return Limits(limits, words)


def mean_limits(values: np.ndarray, inner: Limits, slices: np.ndarray, drawn: np.ndarray | None) -> tuple[np.ndarray, str]:
    """((2,) limits, word) of the plain mean of the values (k,) of `slices`: the percentiles `drawn` of its replicates where each value has such."""
    own = [inner.words[place] for place in slices]
    if len(slices) == 1:
        return inner.limits[:, slices[0]], own[0]
    if drawn is not None and not any(own) and not np.isnan(drawn).any():
        return drawn, ""
    if not len(slices) or np.isnan(inner.limits[:, slices]).any():
        return np.full(2, np.nan), next((f"one of its values has no interval: {word}" for word in own if word), "")
    return of_mean(values, inner.limits[:, slices]), "combined from the intervals of its values, of which not all are of the bootstrap"
