"""Miss rate against false alarms over thresholds, for detectors that give scores."""

from __future__ import annotations

import numpy as np

from .reading import as_list, shown

STEPS = 101  # thresholds 0, .01, … 1
NOTE = "a threshold chosen on this suite is not a result: choose it on other data, then score once"


def read_scores(values, column: str = "scores") -> np.ndarray:
    """Scores, probabilities of hateful or None -> float array (n,), NaN where there is none. ValueError naming the row of any other value."""
    values = as_list(values, column)
    scores = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None or value != value:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value <= 1:
            raise ValueError(f"{column}: row {row} (counted from 0) holds {shown(value)}, expected a probability from 0 to 1, or None")
        scores[row] = value
    return scores


def operating_points(scores: np.ndarray, gold: np.ndarray, language: np.ndarray, scored: np.ndarray) -> dict | None:
    """{n, points: [{threshold, miss_rate, false_alarm_rate}, …], note}, a plain mean over languages; None without scores of both labels.

    A case is called hateful where its score is at least the threshold. Cases without a score, or not `scored` (bool (n,)), have no part.
    """
    used = scored & ~np.isnan(scores)
    thresholds = np.arange(STEPS) / (STEPS - 1)  # the floats that .01, .02, … are: a score equal to one is at least it
    missed, alarms = [], []
    for code in np.unique(language[used]):
        sides = [np.sort(scores[used & (language == code) & (gold == label)]) for label in (1, 0)]
        if min(map(len, sides)):
            below = [np.searchsorted(one, thresholds, side="left") / len(one) for one in sides]
            missed.append(below[0])
            alarms.append(1 - below[1])
    if not missed:
        return None
    rates = zip(thresholds.tolist(), np.mean(missed, axis=0).tolist(), np.mean(alarms, axis=0).tolist(), strict=True)
    names = ("threshold", "miss_rate", "false_alarm_rate")
    return {"n": int(used.sum()), "points": [dict(zip(names, one, strict=True)) for one in rates], "note": NOTE}
