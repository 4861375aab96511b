"""Hateful tests held against their harmless neighbours: whoever answers everything alike does well on one side and badly on the other.

The pairs are those of the suite's design: the same words or the same form, with and without hate, as HateCheck (Röttger et al. 2021) has them.
Counter speech and abuse of others have no hateful twin among the functionalities; what they quote, or would be if a group were meant, is derogation.
"""

from __future__ import annotations

import numpy as np

from .counting import Level, tally
from .intervals import Estimates, Limits, mean_limits
from .resampling import percentiles

DEROGATION = ("derog_neg_emote_h", "derog_neg_attrib_h", "derog_dehum_h", "derog_impl_h")
CONTRASTS = {  # name -> (hateful functionalities, harmless ones)
    "profanity": (("profanity_h",), ("profanity_nh",)),
    "negation": (("negate_pos_h",), ("negate_neg_nh",)),
    "identity_mention": (DEROGATION, ("ident_neutral_nh", "ident_pos_nh")),
    "counter_speech": (DEROGATION, ("counter_quote_nh", "counter_ref_nh")),
    "abuse_of_others": (DEROGATION, ("target_obj_nh", "target_indiv_nh", "target_group_nh")),
}
SIDES = ("non_hateful", "hateful")


def contrast_levels(functionality: tuple | None) -> list[Level]:
    """A level for each contrast: the cases of its two sides."""
    if functionality is None:
        return []
    codes, names = functionality
    levels = []
    for name, (hateful, harmless) in CONTRASTS.items():
        side = np.array([*(1 if one in hateful else 0 if one in harmless else -1 for one in names), -1])
        if not {0, 1} <= set(side.tolist()):
            continue  # the suite lacks one of the sides
        levels.append(Level(f"contrast {name}", side[codes], list(SIDES)))
    return levels


def contrasts(found: Estimates, accuracy: Limits | None, counts: np.ndarray, invalid: str, notes: dict) -> dict:
    """name -> {n, balanced_accuracy, accuracy_hateful, accuracy_non_hateful, and the interval of each}, where the cases hold both sides.

    "malay/negation" is one language's, "negation" the plain mean of the languages that have both sides.

    Args:
        accuracy: the intervals of the accuracy in each slice; None gives none.
        notes: receives how an interval was made, or why there is none.
    """
    within = {}  # contrast -> language -> the slices of its two sides
    for place, one in enumerate(found.layout.within):
        if one.level.startswith("contrast ") and not np.isnan(found.within["accuracy"][place]):
            within.setdefault(one.level.removeprefix("contrast "), {}).setdefault(one.language, {})[one.group] = place
    result = {}
    for name, languages in within.items():
        pairs = {language: sides for language, sides in languages.items() if len(sides) == 2}
        paths = {name: list(pairs.values())} if pairs else {}
        paths |= {f"{language}/{name}": [sides] for language, sides in pairs.items() if language is not None}
        for path, sides in paths.items():
            result[path], words = _entry(found, accuracy, counts, invalid, sides)
            notes.update({f"contrast.{path}.{field}": word for field, word in words.items()})
    return result


def _entry(found: Estimates, accuracy: Limits | None, counts, invalid: str, pairs: list[dict]) -> tuple[dict, dict[str, str]]:
    """One contrast over the slices of both sides, {side: slice} of one language or more; and the words on its intervals, by field."""
    hateful, harmless = (np.array([sides[side] for sides in pairs]) for side in reversed(SIDES))
    both, values = np.concatenate([hateful, harmless]), found.within["accuracy"]
    entry, words = {"n": int(tally(counts[both], invalid)[0].sum())}, {}
    fields = {"balanced_accuracy": both, "accuracy_hateful": hateful, "accuracy_non_hateful": harmless}
    for field, slices in fields.items():
        entry[field] = float(np.sort(values[slices]).mean())  # added by size: the order of the rows changes no digit
    for field, slices in fields.items() if accuracy is not None else ():
        drawn = None
        if found.drawn_within is not None:
            drawn = percentiles(found.drawn_within["accuracy"][:, slices].mean(axis=1, keepdims=True), found.design.confidence)[:, 0]
        limits, word = mean_limits(values[slices], accuracy, slices, drawn)
        entry[f"{field}_ci"] = None if np.isnan(limits).any() else limits.tolist()
        if word:
            words[f"{field}_ci"] = word
    return entry, words
