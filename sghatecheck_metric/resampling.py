"""How far a number can be trusted: intervals that know that cases share templates.

The unit that is drawn is a *cluster* of cases within a *stratum*, language x functionality, which is a fixed list of tests and no sample.
Each replicate draws m - 1 of a stratum's m clusters with replacement and weighs them by m / (m - 1): Rao and Wu's (1988) rescaled bootstrap,
whose variance is the unbiased one however few clusters a stratum has. A stratum of one cluster says nothing about its own spread and is kept.

All replicates of all breakdowns come from one matrix product, weights x counts per cluster; counting.measure turns counts into rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

# Clusters less strata. From fewer the percentiles of a proportion lie too close together (see README.md): Wilson's interval takes their place.
FEW = 50
FEW_F1 = 10  # the same for macro F1, for which there is no such interval: from fewer it has none
DEFINED = 0.95  # the share of replicates that must have a value, else there is no interval
CHUNK = 1 << 24  # weights held at a time


@dataclass(frozen=True)
class Units:
    """The K clusters that are drawn, sorted by stratum and name, so that the order of the rows does not matter.

    of_case  int64 (n,): each case's unit
    stratum  int64 (K,): each unit's stratum, non-decreasing
    """

    of_case: np.ndarray
    stratum: np.ndarray


def make_units(n: int, strata: list[tuple], clusters: tuple | None) -> Units:
    """Units of n cases from coded columns (codes (n,), names): those that make up a stratum, and the clusters; without these each case is its own."""
    stratum = np.zeros(n, np.int64)
    for codes, names in strata:
        stratum = stratum * (len(names) + 1) + _ranks(names)[codes]
    _, stratum = np.unique(stratum, return_inverse=True)
    cluster, size = (np.arange(n), n) if clusters is None else (_ranks(clusters[1])[clusters[0]], len(clusters[1]))
    units, of_case = np.unique(stratum * size + cluster, return_inverse=True)
    return Units(of_case, units // max(size, 1))


def _ranks(names: list) -> np.ndarray:
    """The place of each name among the sorted ones; the last entry, code -1, is for no name."""
    ranks = np.empty(len(names) + 1, np.int64)
    ranks[sorted(range(len(names)), key=lambda code: str(names[code]))] = np.arange(len(names))
    ranks[-1] = len(names)
    return ranks


def draw(stratum: np.ndarray, n_resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Weights float32 (n_resamples, K) of the units, whose strata (K,) are given; within a stratum of m units they sum to m."""
    sizes = np.bincount(stratum)
    starts = np.cumsum(sizes) - sizes
    drawn = np.repeat(np.arange(len(sizes)), sizes - 1)  # the stratum of each single draw
    picks = (rng.random((n_resamples, len(drawn))) * sizes[drawn]).astype(np.int64)
    picks += starts[drawn] + np.arange(n_resamples)[:, None] * len(stratum)
    weights = np.bincount(picks.ravel(), minlength=n_resamples * len(stratum)).reshape(n_resamples, -1)
    single = sizes[stratum] == 1
    scale = sizes / np.maximum(sizes - 1, 1)
    return np.where(single, np.float32(1), weights.astype(np.float32) * scale[stratum].astype(np.float32))


def replicate(per_unit: np.ndarray, blocks: list[tuple], stratum: np.ndarray, n_resamples: int, seed: int) -> np.ndarray:
    """Resampled counts float32 (n_resamples, S, ...) from counts per unit (K, S, ...).

    blocks: pairs of indices (units, slices), one a language: its slices hold its own units alone, which spares most of the product.
    """
    rng = np.random.default_rng(seed)
    resampled = np.zeros((n_resamples, *per_unit.shape[1:]), np.float32)
    counts = [per_unit[np.ix_(units, slices)].reshape(len(units), -1).astype(np.float32) for units, slices in blocks]
    rows = max(1, CHUNK // max(1, len(stratum)))
    for first in range(0, n_resamples, rows):
        weights = draw(stratum, min(rows, n_resamples - first), rng)
        for (units, slices), count in zip(blocks, counts, strict=True):
            part = weights[:, units] @ count
            resampled[first : first + rows, slices] = part.reshape(len(part), len(slices), *per_unit.shape[2:])
    return resampled


def percentiles(replicates: np.ndarray, confidence: float) -> np.ndarray:
    """(2, ...) percentile limits of replicates (B, ...); NaN where fewer than DEFINED of them have a value, or where all values are one."""
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    missing = np.isnan(replicates).mean(axis=0)
    limits = np.full((2, *replicates.shape[1:]), np.nan)
    whole, some = missing == 0, (missing > 0) & (missing <= 1 - DEFINED)
    limits[:, whole] = _quantiles(replicates[:, whole], tails)
    if some.any():
        limits[:, some] = np.nanquantile(replicates[:, some], tails, axis=0)
    return np.where(limits[1] - limits[0] > 1e-6, limits, np.nan)  # float32 sums of the same counts differ in the last digits


def _quantiles(values: np.ndarray, shares: tuple) -> np.ndarray:
    """np.quantile's linear rule for values (B, M), by a partition at the places that matter, which takes a fraction of the time."""
    places = np.array(shares) * (len(values) - 1)
    low = np.floor(places).astype(int)
    high = np.minimum(low + 1, len(values) - 1)
    ordered = np.partition(np.ascontiguousarray(values.T), np.unique([low, high]), axis=1)
    return (ordered[:, low] + (ordered[:, high] - ordered[:, low]) * (places - low)).T


def wilson(share, n, confidence: float) -> np.ndarray:
    """(2, ...) Wilson's (1927) limits for shares of n; NaN where the share is. Never of zero width, always within 0 and 1."""
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, n = np.asarray(share, float), np.maximum(n, 1)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.clip(np.stack([centre - half, centre + half]), 0, 1)


def effective(share, variance, n, df, confidence: float) -> np.ndarray:
    """How many independent cases would know a share as well as these n do, whose clusters give the share this variance with `df` degrees of freedom.

    That is share (1 - share) / variance, at most n, and less where a variance from few clusters is itself uncertain, by Korn and Graubard's (1998)
    factor (z / t)^2. At least 1.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    size = np.divide(share * (1 - share), variance, out=np.array(n, float), where=variance > 0)
    return np.clip(np.minimum(size, n) * (z / student(df, confidence)) ** 2, 1, None)


def student(df, confidence: float) -> np.ndarray:
    """The two-sided quantile of Student's t: exact for 1 and 2 degrees of freedom, else by Hill's (1970) expansion, to within 0.2 % from 3 on."""
    df, z = np.maximum(df, 1).astype(float), NormalDist().inv_cdf((1 + confidence) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    series = z + sum(term / df**power for power, term in enumerate(terms, 1))
    one, two = np.tan(np.pi * confidence / 2), confidence * np.sqrt(2 / (1 - confidence**2))
    return np.select([df == 1, df == 2], [one, two], series)


def of_mean(values: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """(2,) limits of the plain mean of independent proportions (k,) that have the limits (2, k): Zou and Donner's (2008) MOVER."""
    below, above = values - limits[0], limits[1] - values
    limits = values.mean() + np.array([-1, 1]) * np.sqrt([(below**2).sum(), (above**2).sum()]) / len(values)
    return np.clip(limits, 0, 1)  # they are proportions; sums of floats may stray by a last digit
