"""The difference between two systems that answered the same cases, in every slice at once: its interval and its p-value.

A difference is B's rate less A's. Counts per cluster add up, so both come from one matrix product each, over counts per cluster, and `measure`
turns the counts that result into rates:

interval   weights @ counts: each replicate draws the same clusters for both systems, so what is hard for both cancels out (resampling.py).
p          signs @ (A - B): swapping the systems' answers in the clusters whose sign s is -1 leaves A with (T + sD) / 2 and B with (T - sD) / 2,
           where T = ΣA + ΣB and D = A - B in each cluster (significance.py).

The interval is about the net difference over a fixed list of functionalities. The sign flips ask more of the data: whether the answers could have
changed places in each cluster. Where gains in one functionality undo losses in another, p may be above 0.05 while the interval leaves out 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .counting import Layout, average, average_all, count, measure, tally
from .intervals import BOUNDED, FEW_ERRORS, FLAT, SAME, Design, Limits, blocks, extents
from .resampling import CHUNK, FEW, FEW_F1, draw, percentiles, student
from .significance import TIE, p_values, signs
from .sparse import EXACT, exact_p, sparse_limits

ALIKE = "both systems do equally well in every cluster"
SINGLE = "one of its values comes from single clusters, which say nothing of their spread"


@dataclass(frozen=True)
class Ground:
    """What systems are held against each other on: gold (n,), the cases' slices, how clusters are drawn, and what rejected outputs are."""

    gold: np.ndarray
    layout: Layout
    design: Design
    invalid: str


@dataclass(frozen=True)
class Differences:
    """A rate in m slices: values of both systems (2, m), A's first; the difference's interval and p (m,). NaN where there is none."""

    values: np.ndarray
    limits: Limits
    p: np.ndarray


def differences(ground: Ground, answers: np.ndarray) -> tuple[dict[str, Differences], dict[str, Differences], np.ndarray]:
    """Answers (2, n), which lack the same cases -> each rate in the S within-language slices and in the P spanning ones; units in the former (S,)."""
    strata, invalid = ground.design.units.stratum, ground.invalid
    per_unit = np.stack([count(ground.layout, one, ground.gold, ground.design.units.of_case, len(strata)) for one in answers], axis=2)
    languages = blocks(ground.layout, per_unit[:, :, 0])
    rates, drawn, flipped = measure(per_unit.sum(axis=0), invalid), _replicates(ground, per_unit, languages), _flips(ground, per_unit, languages)
    _, units, df = extents(tally(per_unit[:, :, 0], invalid)[0], strata)
    df["macro_f1"] = df["accuracy"]
    both = {rate: _of_rate(ground, rate, rates[rate].T, drawn[rate], flipped[rate], df[rate]) for rate in BOUNDED}
    for rate, moves in _moves(per_unit, invalid).items():
        both[rate] = _with_few(ground.layout, both[rate], moves, units[rate], ground.design.confidence)
    return {rate: inner for rate, (inner, _) in both.items()}, {rate: outer for rate, (_, outer) in both.items()}, units["accuracy"]


def _of_rate(
    ground: Ground, rate: str, values: np.ndarray, drawn: np.ndarray, flipped: np.ndarray, df: np.ndarray
) -> tuple[Differences, Differences]:
    """One rate within languages and across them: values (2, S), draws (B, S) of their difference by either kind, degrees of freedom (S,)."""
    layout, confidence, least = ground.layout, ground.design.confidence, FEW_F1 if rate == "macro_f1" else 1
    gap, size = values[1] - values[0], len(layout.across)
    inner = Differences(values, _limits(gap, drawn, df, least, confidence), p_values(gap, flipped))
    means = np.stack([average(one, layout.parent, size) for one in values])
    df = _satterthwaite(layout, drawn.var(axis=0, dtype=float), np.where(np.isnan(gap), np.nan, df))
    drawn, flipped, gap = average_all(drawn, layout.parent, size), average_all(flipped, layout.parent, size), means[1] - means[0]
    return inner, Differences(means, _limits(gap, drawn, df, least, confidence), p_values(gap, flipped))


def _moves(per_unit: np.ndarray, invalid: str) -> dict[str, np.ndarray]:
    """What each unit adds to the difference of a proportion in each slice, (K, S) by rate, from counts (K, S, 2 systems, 2, 4)."""
    scored = tally(per_unit[:, :, 0], invalid)[0].sum(axis=0)
    gained = {label: (per_unit[:, :, 1, label, label] - per_unit[:, :, 0, label, label]).astype(float) for label in (0, 1)}
    parts = {"accuracy": (gained[0] + gained[1], scored.sum(axis=-1)), "accuracy_hateful": (gained[1], scored[:, 1])}
    parts["accuracy_non_hateful"] = gained[0], scored[:, 0]
    return {rate: moved / np.maximum(cases, 1) for rate, (moved, cases) in parts.items()}


def _with_few(layout: Layout, both: tuple, moves: np.ndarray, units: np.ndarray, confidence: float) -> tuple[Differences, Differences]:
    """Both kinds of slices of a proportion, with exact p where few clusters differ, and with bounds where hardly any do."""
    inner, outer = both
    differ = (np.abs(moves) > TIE).sum(axis=0)
    there = ~np.isnan(inner.p)
    bounds = sparse_limits(moves, units, confidence)
    sparse = there & (differ > 0) & ((differ < FEW_ERRORS) | np.isnan(inner.limits.limits[0]))  # the latter: all differ alike, and nothing varies
    for place in np.flatnonzero(there & (differ > 0) & (differ <= EXACT)):
        inner.p[place] = exact_p(moves[:, place])
    _bound(inner.limits, sparse, bounds, [f"bounded by the {n} clusters of {k} that differ" for n, k in zip(differ, units, strict=True)])

    children = [np.flatnonzero((layout.parent == place) & there) for place in range(len(layout.across))]
    limits, some = np.full((2, len(children)), np.nan), np.zeros(len(children), bool)
    for place, slices in enumerate(children):
        if not differ[slices].any():
            continue
        if differ[slices].sum() <= EXACT:
            outer.p[place] = exact_p(moves[:, slices].ravel() / len(slices))
        own = np.where(np.isnan(inner.limits.limits[:, slices]), bounds[:, slices], inner.limits.limits[:, slices])
        some[place] = (sparse[slices] | (len(slices) > 1) & (differ[slices] == 0)).any()
        gaps = moves[:, slices].sum(axis=0)
        limits[:, place] = gaps.mean() + np.array([-1, 1]) * np.sqrt(((own - gaps) ** 2).sum(axis=1)) / len(slices)
    _bound(outer.limits, some, np.clip(limits, -1, 1), ["combined from bounds, since in a language hardly any cluster differs"] * len(children))
    return inner, outer


def _bound(limits: Limits, where: np.ndarray, bounds: np.ndarray, words: list[str]) -> None:
    """Writes bounds and their words in the place of some intervals."""
    limits.limits[:, where] = bounds[:, where]
    for place in np.flatnonzero(where):
        limits.words[place] = words[place]


def _satterthwaite(layout: Layout, variance: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Degrees of freedom (P,) of plain means of independent values, whose variances and degrees (S,) are given, NaN degrees where there is no value.

    Welch's (1947) and Satterthwaite's (1946) approximation. 0 where one of the values comes from single clusters, which say nothing of their spread.
    """
    size, there = len(layout.across), ~np.isnan(df)
    parent, variance, df = layout.parent[there], variance[there], df[there]
    whole, parts = np.bincount(parent, variance, size), np.bincount(parent, variance**2 / np.maximum(df, 1), size)
    found = np.divide(whole**2, parts, out=np.bincount(parent, df, size).astype(float), where=parts > 0)
    return np.where(np.bincount(parent, df == 0, size) > 0, 0, found)


def _replicates(ground: Ground, per_unit: np.ndarray, languages: list[tuple]) -> dict[str, np.ndarray]:
    """Replicates (B, S) of each rate's difference, the same clusters drawn for both systems."""
    design, rng = ground.design, np.random.default_rng(ground.design.seed)
    counts = products(lambda rows: draw(design.units.stratum, rows, rng), design.n_resamples, per_unit, languages)
    rates = measure(counts, ground.invalid)
    return {rate: rates[rate][..., 1] - rates[rate][..., 0] for rate in BOUNDED}


def _flips(ground: Ground, per_unit: np.ndarray, languages: list[tuple]) -> dict[str, np.ndarray]:
    """Draws (B, S) of each rate's difference, the systems' answers swapped in half of the clusters."""
    n, rng = ground.design.n_resamples, np.random.default_rng((ground.design.seed, 1))
    swapped = per_unit[:, :, 0] - per_unit[:, :, 1]
    moved = products(lambda rows: signs(rows, len(per_unit), rng), n, swapped, languages)
    moved = moved.astype(np.float64)  # whole numbers until here, and so exact
    both = per_unit.sum(axis=(0, 2))
    a, b = (measure((both + part) / 2, ground.invalid) for part in (moved, -moved))
    return {rate: b[rate] - a[rate] for rate in BOUNDED}


def products(draw_rows: Callable, n_rows: int, per_unit: np.ndarray, blocks: list[tuple]) -> np.ndarray:
    """Drawn rows (n_rows, K) @ counts per unit (K, S, ...) -> float32 (n_rows, S, ...), whose memory holds the rows last: summing is then fast.

    draw_rows: a number of rows -> that many of them, as rows do not all fit at once.
    blocks: pairs of indices (units, slices), one a language, as in resampling.replicate.
    """
    out = np.zeros((*per_unit.shape[1:], n_rows), np.float32)
    parts = [per_unit[np.ix_(units, slices)].reshape(len(units), -1).astype(np.float32) for units, slices in blocks]
    step = max(1, CHUNK // max(1, len(per_unit)))
    for first in range(0, n_rows, step):
        rows = draw_rows(min(step, n_rows - first))
        for (units, slices), counts in zip(blocks, parts, strict=True):
            out[slices, ..., first : first + step] = (counts.T @ rows[:, units].T).reshape(len(slices), *per_unit.shape[2:], -1)
    return np.moveaxis(out, -1, 0)


def _limits(gap: np.ndarray, drawn: np.ndarray, df: np.ndarray, least: int, confidence: float) -> Limits:
    """Intervals of differences (m,) from replicates (B, m) with degrees of freedom (m,), of which `least` are needed.

    Percentiles; with fewer than FEW degrees, where these lie too close together, Student's t on the replicates' standard deviation.
    """
    limits, variance = percentiles(drawn, confidence), drawn.var(axis=0, dtype=float)
    half, few = student(df, confidence) * np.sqrt(variance), df < FEW
    limits = np.where(few, np.clip([gap - half, gap + half], -1, 1), limits)
    flat = ~few & np.isnan(limits[0]) | few & ~(variance >= SAME)
    missing = [flat & (gap == 0), flat, df < 1, df < least]
    words = np.select(missing, [ALIKE, FLAT, SINGLE, f"fewer than {least} degrees of freedom"], "").astype(object)
    words[np.isnan(gap)] = ""
    limits[:, words != ""] = np.nan
    by_t = few & (words == "") & ~np.isnan(gap)
    words[by_t] = [f"Student's t with {one:.1f} degrees of freedom" for one in df[by_t].tolist()]
    return Limits(np.where(np.isnan(gap), np.nan, limits), words.tolist())
