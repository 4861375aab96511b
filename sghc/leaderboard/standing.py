"""What a submission's answers are worth on the ground: every slice's values, intervals for the whole and the languages, and their replicates.

All are arrays in the ground's fixed order of slices, so that a thousand submissions are one array each.
"""

from typing import NamedTuple

import numpy as np

from sghatecheck_metric.counting import RATES, average, average_all, count, measure, tally, total
from sghatecheck_metric.intervals import BOUNDED, Estimates, extents, limits_across, limits_within, rarer
from sghatecheck_metric.resampling import FEW_F1, student
from sghc.leaderboard.ground import CONFIDENCE, N_RESAMPLES, Ground

COUNTS = ("n", "n_rejected", "n_missing")
FIELDS = (*COUNTS, *RATES)


class Slice(NamedTuple):
    """What a row of values is of; `language` is None in what spans languages, `group` is a functional class or a target."""

    level: str
    language: str | None
    group: str | None


class Standing(NamedTuple):
    """values (slices of `slices_of`, FIELDS), limits (1 + languages, BOUNDED, 2), replicates float32 (1 + languages, B) of macro F1. NaN for none."""

    values: np.ndarray
    limits: np.ndarray
    replicates: np.ndarray


def slices_of(ground: Ground) -> list[Slice]:
    """What the rows of a Standing's values are of: first the whole, then each language, then the rest."""
    across, within = ([Slice(one.level, one.language, one.group) for one in part] for part in (ground.wide.across, ground.wide.within))
    found = [*across[:1], *within[: len(ground.languages)], *across[1:], *within[len(ground.languages) :]]
    return [one._replace(level="language") if one.level == "overall" and one.language else one for one in found]


def standing(ground: Ground, answers: np.ndarray) -> Standing:
    """Answers int8 (n,) of 0, 1, REJECTED and MISSING. A language without an answer has no part in the mean over languages."""
    narrow, strata = ground.narrow, ground.design.units.stratum
    values, within, means = values_of(ground, answers)
    per_unit = count(narrow, answers, ground.gold, ground.design.units.of_case, len(strata))
    drawn = measure(replicates_of(ground, per_unit), ground.invalid)
    drawn = {rate: drawn[rate].astype(np.float32) for rate in BOUNDED}
    outer = {rate: average_all(drawn[rate], narrow.parent, 1) for rate in BOUNDED}
    scored = tally(per_unit, ground.invalid)[0]
    sizes = *extents(scored, strata), rarer(per_unit, scored)
    own = {rate: within[rate][: len(ground.languages)] for rate in BOUNDED}
    found = Estimates(narrow, ground.design, own, {rate: means[rate][:1] for rate in BOUNDED}, drawn, outer, *sizes)
    limits = np.empty((1 + len(ground.languages), len(BOUNDED), 2))
    for place, rate in enumerate(BOUNDED):
        inner = limits_within(found, rate)
        limits[1:, place] = inner.limits.T
        limits[:1, place] = limits_across(found, rate, inner).limits.T
    return Standing(values, limits, np.concatenate([outer["macro_f1"].T, drawn["macro_f1"].T]).astype(np.float32))


def values_of(ground: Ground, answers: np.ndarray) -> tuple[np.ndarray, dict, dict]:
    """(FIELDS of every slice in the order of `slices_of`, rates within languages, rates across them)."""
    wide, n_languages = ground.wide, len(ground.languages)
    counts = count(wide, answers, ground.gold)
    within = measure(counts, ground.invalid)
    across = {rate: average(values, wide.parent, len(wide.across)) for rate, values in within.items()}
    inner = table(counts, within, ground.invalid)
    outer = table(total(counts, wide.parent, len(wide.across)), across, ground.invalid)
    return np.concatenate([outer[:1], inner[:n_languages], outer[1:], inner[n_languages:]]), within, across


def table(counts: np.ndarray, rates: dict, invalid: str) -> np.ndarray:
    golds, rejected, missing, _ = tally(counts, invalid)
    return np.stack([golds.sum(axis=-1), rejected, missing, *(rates[rate] for rate in RATES)], axis=1).astype(float)


def replicates_of(ground: Ground, per_unit: np.ndarray) -> np.ndarray:
    """Resampled counts float32 (B, languages, 2, 4) from counts per unit, as resampling.replicate makes them, with the ground's weights."""
    found = np.zeros((N_RESAMPLES, *per_unit.shape[1:]), np.float32)
    for units, slices, weights in ground.weights:
        part = weights @ per_unit[np.ix_(units, slices)].reshape(len(units), -1).astype(np.float32)
        found[:, slices] = part.reshape(N_RESAMPLES, len(slices), *per_unit.shape[2:])
    return found


# --- who is tied ---


def better(values: np.ndarray, replicates: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray]:
    """(whether i is better than j beyond noise, half the width of the interval of their difference), each (N, N).

    Args:
        values: macro F1 (N,).
        replicates: (N, B), drawn from the same clusters for all, so that what is hard for both cancels out.
        df: clusters less strata. With fewer than the metric's FEW_F1 nothing is told apart.

    The difference has Student's t interval on its replicates' standard deviation, as `compare` takes where clusters are few.
    """
    with np.errstate(invalid="ignore"):
        centred = replicates - replicates.mean(axis=1, keepdims=True)
        products = centred @ centred.T / max(replicates.shape[1] - 1, 1)
        spread = np.diag(products)
        error = np.sqrt(np.clip(spread[:, None] + spread - 2 * products, 0, None))
        half = student(np.float64(df), CONFIDENCE) * error if df >= FEW_F1 else np.full(error.shape, np.nan)
        return (values[:, None] - values > half) & (half > 0), half


def degrees(ground: Ground) -> list[float]:
    """Clusters less strata of the whole (the fewest of its languages, which is cautious) and of each language."""
    units = ground.design.units
    per_unit = count(ground.narrow, ground.gold, ground.gold, units.of_case, len(units.stratum))
    own = extents(tally(per_unit, ground.invalid)[0], units.stratum)[2]["accuracy"].tolist()
    return [min(own), *own]
