"""Rates with their intervals: the values, their replicates, and which of three intervals each can bear.

1. Percentiles of the cluster bootstrap, wherever they mean something.
2. Wilson's interval over the number of clusters, for a proportion at 0 or 1 or from few clusters, where replicates say too little.
3. For a mean of values of which one needs Wilson's: the values' intervals combined (MOVER), so that the interval belongs to the same estimator.

Everything else has none, and a reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .counting import Layout, average, average_all, count, measure, tally
from .resampling import FEW, Units, of_mean, percentiles, replicate, wilson

PROPORTIONS = ("accuracy", "accuracy_hateful", "accuracy_non_hateful")
BOUNDED = (*PROPORTIONS, "macro_f1")  # the rates that get an interval
CI_MODES = ("bootstrap", "wilson", "none")
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
    n_units                 units with a scored case, (S,), by rate: those of either gold label, hateful, non-hateful
    """

    layout: Layout
    design: Design
    within: dict[str, np.ndarray]
    across: dict[str, np.ndarray]
    drawn_within: dict[str, np.ndarray] | None
    drawn_across: dict[str, np.ndarray] | None
    n_units: dict[str, np.ndarray]


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
        return Estimates(layout, design, within, across, None, None, {})
    n_units = len(design.units.stratum)
    per_unit = count(layout, answers, gold, design.units.of_case, n_units)
    scored = tally(per_unit, invalid)[0] > 0
    present = {"accuracy": scored.any(axis=-1), "accuracy_hateful": scored[..., 1], "accuracy_non_hateful": scored[..., 0]}
    found = {rate: units.sum(axis=0) for rate, units in present.items()}
    found["macro_f1"] = found["accuracy"]
    if design.mode == "wilson":
        return Estimates(layout, design, within, across, None, None, found)
    drawn = measure(replicate(per_unit, blocks(layout, per_unit), design.units.stratum, design.n_resamples, design.seed), invalid)
    drawn = {rate: drawn[rate].astype(np.float32) for rate in BOUNDED}
    return Estimates(layout, design, within, across, drawn, {rate: average_all(values, layout.parent, size) for rate, values in drawn.items()}, found)


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
    drawn = np.full((2, len(values)), np.nan) if found.drawn_within is None else percentiles(found.drawn_within[rate], confidence)
    few, edge, flat = units < FEW, (values == 0) | (values == 1), np.isnan(drawn[0])
    why = np.select([edge, few, flat], ["the value is at its edge", f"fewer than {FEW} clusters", FLAT], "")
    if found.drawn_within is None:
        why = np.full(len(values), "ci='wilson'")
    if rate in PROPORTIONS:
        limits = np.where(why == "", drawn, wilson(values, units, confidence))
        words = [f"Wilson's interval over {n} clusters ({word})" if word else "" for word, n in zip(why.tolist(), units.tolist(), strict=True)]
    else:
        limits, words = np.where(why == "", drawn, np.nan), why.tolist()
    return Limits(np.where(np.isnan(values), np.nan, limits), words)


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
