"""Whom a detector protects less, and whose mere mention it flags: error rates by target group, on matched templates (matching.py).

The largest gap is between the two targets that differ most in these very answers: it is too large rather than too small, and its interval knows
nothing of the choice. Whether targets differ at all is for Cochran's Q to say. FPED and FNED (Dixon et al. 2018) are sums of absolute values and
grow with noise and with the number of targets: compare them between systems on the same cases, not with other suites.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .counting import measure, tally
from .intervals import FLAT, Estimates, Limits
from .matching import AREAS, LEVEL, Matched, areas, cochran_q, mean, outcomes
from .resampling import percentiles

ALIKE = "every target has the same rate"
COMBINED = "combined from both rates' intervals as if these were independent: too wide rather than too short, since the templates are the same"


class Side(NamedTuple):
    """The cases of one gold label; the accuracy whose rest their error rate is; what the result calls this error and the sum of its differences."""

    name: str
    gold: int
    accuracy: str
    error: str
    sum: str


SIDES = (
    Side("hateful", 1, "accuracy_hateful", "false_negative", "fned"),
    Side("non_hateful", 0, "accuracy_non_hateful", "false_positive", "fped"),
)


class Errors(NamedTuple):
    """Error rates (T,) of the targets on one side; their intervals (2, T), or None, and a word on each; replicates (B, T), or None."""

    rates: np.ndarray
    limits: np.ndarray | None
    words: list[str]
    drawn: np.ndarray | None


@dataclass(frozen=True)
class Comparison:
    """What one entry compares: T targets, in L languages, with their counts (L, T, 2, 4) and each side's errors. `path` begins its notes."""

    path: str
    languages: np.ndarray
    targets: np.ndarray
    names: list
    counts: np.ndarray
    errors: dict[str, Errors]


def bias(
    matched: Matched, found: Estimates, inner: dict[str, Limits], outer: dict[str, Limits], counts, languages: list, invalid: str, notes: dict
) -> dict:
    """{language: entry, "overall": entry} (README.md has the fields), None where nothing can be compared. Without languages "overall" alone.

    "overall" is the plain mean of the languages that have an entry, for the targets that all of these name; its Cochran's Q is over the templates
    of all of them, its n are sums.

    Args:
        found: estimates of a layout that has the level of matching.bias_levels, from counts (S, 2, 4).
        inner, outer: intervals of the rates in the S slices, and in those that span languages; {} for none.
        notes: receives how an interval was made, and why a value is null.
    """
    places = _places(matched, found, languages)
    compared = np.flatnonzero((places >= 0).any(axis=1))
    each_area = None if matched.scores is None else [_areas_in(matched, code) for code in range(len(languages))]

    def entry(path: str, chosen: np.ndarray, spanning: bool) -> dict:
        targets = np.flatnonzero(matched.named[chosen].all(axis=0))
        at = places[np.ix_(chosen, targets)]
        rates = (found.within, inner, found.drawn_within, at[0])
        if spanning:
            rates = (found.across, outer, found.drawn_across, found.layout.parent[at[0]])
        errors = {side.name: _errors(side.accuracy, *rates) for side in SIDES}
        one = Comparison(path, chosen, targets, [matched.names[code] for code in targets], counts[at], errors)
        return _entry(one, matched, each_area, invalid, found.design.confidence, notes)

    result = {}
    for code, name in enumerate(languages):
        if code not in compared:
            notes[f"bias.{name or 'overall'}"] = _why_none(matched.named[code])
        if name is not None:
            result[name] = entry(f"bias.{name}", np.array([code]), False) if code in compared else None
    if len(compared) and matched.named[compared].all(axis=0).sum() > 1:
        if len(compared) < len(languages):
            notes["bias.overall"] = f"the mean of {len(compared)} of {len(languages)} languages"
        return result | {"overall": entry("bias.overall", compared, True)}
    notes.setdefault("bias.overall", "no two targets that all languages name" if len(compared) else "no language has a comparison")
    return result | {"overall": None}


def _places(matched: Matched, found: Estimates, languages: list) -> np.ndarray:
    """int64 (L, T): the slice of each target's matched cases in each language, -1 for none."""
    places = np.full(matched.named.shape, -1)
    language, target = ({name: code for code, name in enumerate(names)} for names in (languages, matched.names))
    for place, one in enumerate(found.layout.within):
        if one.level == LEVEL:
            places[language[one.language], target[one.group]] = place
    return places


def _why_none(named: np.ndarray) -> str:
    """Why the targets that a language names, bool (T,), cannot be compared."""
    if named.sum() < 2:
        return "one target only" if named.any() else "no case names a target"
    return f"no template holds a scored case of each of the {named.sum()} targets"


def _errors(accuracy: str, values: dict, limits: dict[str, Limits], drawn: dict | None, at: np.ndarray) -> Errors:
    """The error rates that the values, intervals and replicates of an accuracy leave, in the slices `at` (T,)."""
    own, replicates = limits.get(accuracy), None if drawn is None else 1 - drawn[accuracy][:, at]
    if own is None:
        return Errors(1 - values[accuracy][at], None, [""] * len(at), replicates)
    return Errors(1 - values[accuracy][at], 1 - own.limits[::-1, at], [own.words[place] for place in at], replicates)


def _entry(one: Comparison, matched: Matched, each_area: list | None, invalid: str, confidence: float, notes: dict) -> dict:
    blocks = matched.block[matched.rows(one.languages, one.targets)]
    result = {"n_templates": len(np.unique(blocks)), "n_targets": len(one.targets), "targets": _targets(one, invalid, notes)}
    if each_area is not None:
        _add_areas(one, [each_area[code] for code in one.languages], result["targets"], notes)
    for side in SIDES:
        result |= _extremes(one, side, confidence, notes)
    pooled = measure(one.counts.sum(axis=1), invalid)  # the rates (L,) over all matched cases
    for side in SIDES:
        result[side.sum] = _sum_of_differences(one, side, 1 - pooled[side.accuracy], notes)
    return result | {"cochran_q": {side.name: _test(one, side, matched, notes) for side in SIDES}}


def _targets(one: Comparison, invalid: str, notes: dict) -> dict:
    """{target: its numbers of cases, its error rates and their intervals}."""
    scored = tally(one.counts, invalid)[0].sum(axis=0).tolist()
    result = {name: {f"n_{side.name}": golds[side.gold] for side in SIDES} for name, golds in zip(one.names, scored, strict=True)}
    for side in SIDES:
        rates, limits, words, _ = one.errors[side.name]
        for place, name in enumerate(one.names):
            field, path = f"{side.error}_rate", f"{one.path}.targets.{name}.{side.error}_rate"
            result[name][field] = None if np.isnan(rates[place]) else float(rates[place])
            if np.isnan(rates[place]):
                notes[path] = _no_template(side)
            if limits is None:
                continue
            result[name][f"{field}_ci"] = None if np.isnan(limits[:, place]).any() else limits[:, place].tolist()
            if word := notes.get(path) or words[place]:
                notes[f"{path}_ci"] = word
    return result


def _no_template(side: Side) -> str:
    return f"no matched {side.name.replace('_', '-')} template"


def _extremes(one: Comparison, side: Side, confidence: float, notes: dict) -> dict:
    """The target with the most errors, and the largest gap with the two targets that make it; among equals the first by name."""
    errors, worst, field = one.errors[side.name], f"worst_target_{side.error}", f"{side.error}_gap"
    if np.isnan(errors.rates).any():  # a matched template has all targets: where one lacks a rate, all do
        notes |= {f"{one.path}.{name}": _no_template(side) for name in (worst, field)}
        return {worst: None, field: None}
    by_name = sorted(range(len(one.names)), key=one.names.__getitem__)
    most, least = max(by_name, key=errors.rates.__getitem__), min(by_name, key=errors.rates.__getitem__)
    value = float(errors.rates[most] - errors.rates[least])
    gap = {"value": value, "most": one.names[most], "least": one.names[least]}
    alike = value < 1e-12  # equal but for rounding
    if alike:
        gap = {"value": 0.0, "most": None, "least": None}
        notes |= {f"{one.path}.{name}": ALIKE for name in (worst, f"{field}.most", f"{field}.least")}
    if errors.limits is not None:
        limits, word = (np.full(2, np.nan), ALIKE) if alike else gap_limits(errors, most, least, confidence)
        gap["ci"] = None if np.isnan(limits).any() else limits.tolist()
        if word:
            notes[f"{one.path}.{field}.ci"] = word
    return {worst: gap["most"], field: gap}


def gap_limits(errors: Errors, most: int, least: int, confidence: float) -> tuple[np.ndarray, str]:
    """((2,) limits, a word on them) of the difference of two targets' rates.

    Percentiles of the difference in each replicate, which keeps the pairing by templates, where both rates have such; else the two intervals
    combined (MOVER, Zou and Donner 2008).
    """
    if errors.drawn is not None and not (errors.words[most] or errors.words[least]):
        drawn = percentiles((errors.drawn[:, most] - errors.drawn[:, least])[:, None], confidence)[:, 0]
        return drawn, FLAT if np.isnan(drawn).any() else ""
    pair = errors.limits[:, [most, least]]
    if np.isnan(pair).any():
        return np.full(2, np.nan), "one of its two rates has no interval"
    value, (low, high) = errors.rates[[most, least]], pair
    below = np.hypot(value[0] - low[0], high[1] - value[1])
    above = np.hypot(high[0] - value[0], value[1] - low[1])
    return np.clip(value[0] - value[1] + np.array([-below, above]), -1, 1), COMBINED


def _sum_of_differences(one: Comparison, side: Side, pooled: np.ndarray, notes: dict) -> float | None:
    """Σ |a target's rate - the rate over all matched cases|, the latter the mean of those of the languages (L,) that have one."""
    rates = one.errors[side.name].rates
    if np.isnan(rates).any():
        notes[f"{one.path}.{side.sum}"] = _no_template(side)
        return None
    return math.fsum(np.abs(rates - mean(pooled[~np.isnan(pooled)])))


def _test(one: Comparison, side: Side, matched: Matched, notes: dict) -> dict | None:
    """Cochran's Q over the templates of one side, or None and a note."""
    path = f"{one.path}.cochran_q.{side.name}"
    outcome, doubled = outcomes(matched, one.languages, one.targets, side.gold)
    tested = cochran_q(outcome)
    if doubled:
        notes[path] = f"{doubled} matched templates left out, which hold a target more than once"
    if tested is None:
        constant = "in each template the answers to all targets are right, or all are wrong"
        notes[path] = constant if len(outcome) else notes.get(path) or _no_template(side)
        return None
    return dict(zip(("q", "df", "p", "n_templates"), (*tested, len(outcome)), strict=True))


def _areas_in(matched: Matched, code: int) -> tuple[np.ndarray, str]:
    """((3, T) areas under curves within a language, NaN for none; why there is none at all)."""
    rows = np.flatnonzero((matched.block >= 0) & (matched.language == code))
    lacking = int(np.isnan(matched.scores[rows]).sum())
    if lacking:
        return np.full((len(AREAS), len(matched.names)), np.nan), f"{lacking} of {len(rows)} matched cases have no score"
    return areas(matched.scores[rows], matched.gold[rows] == 1, matched.target[rows], len(matched.names)), ""


def _add_areas(one: Comparison, within: list[tuple], targets: dict, notes: dict) -> None:
    """Adds to each target the mean of its areas in the languages that have them."""
    why = next((word for _, word in within if word), "a side has no matched case")
    for code, name in zip(one.targets, one.names, strict=True):
        for row, field in enumerate(AREAS):
            values = [area[row, code] for area, _ in within if not np.isnan(area[row, code])]
            targets[name][field] = mean(values) if values else None
            if not values:
                notes[f"{one.path}.targets.{name}.{field}"] = why
            elif len(values) < len(within):
                notes[f"{one.path}.targets.{name}.{field}"] = f"the mean of {len(values)} of {len(within)} languages: {why}"
