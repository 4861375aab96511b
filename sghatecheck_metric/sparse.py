"""Differences that rest on a handful of clusters, where neither replicates nor random draws say much.

Moves are what each cluster adds to a difference of rates: B's right answers less A's, over the slice's cases.
"""

from __future__ import annotations

import numpy as np

from .resampling import wilson
from .significance import TIE

EXACT = 14  # clusters that differ; up to so many, all sign flips are counted instead of drawn


def exact_p(moves: np.ndarray) -> float:
    """The share of all sign patterns of the moves whose sum is at least as large as theirs, two-sided: p of the sign-flip test without drawing."""
    sums = np.zeros(1)
    for move in moves[np.abs(moves) > TIE]:
        sums = np.concatenate([sums + move, sums - move])
    return float((np.abs(sums) >= abs(moves.sum()) - TIE).mean())


def sparse_limits(moves: np.ndarray, units: np.ndarray, confidence: float) -> np.ndarray:
    """(2, S) limits of differences, the sums of moves (K, S), of which few are not 0; `units` (S,) clusters have a case in each slice.

    The share of clusters that move has Wilson's interval, and the difference is taken to be in proportion to it; gains and losses, each so bounded,
    are combined as independent (MOVER, Zou and Donner 2008). Too wide rather than too short.
    """
    bounds = []
    for side in (np.clip(moves, 0, None), np.clip(-moves, 0, None)):
        size, share = side.sum(axis=0), (side > TIE).sum(axis=0) / np.maximum(units, 1)
        scale = np.divide(size, share, out=np.ones(len(units)), where=share > 0)  # of none that moves, one would move by its own share
        bounds.append((size, *(scale * wilson(share, units, confidence))))
    (gain, gain_low, gain_high), (loss, loss_low, loss_high) = bounds
    below, above = np.hypot(gain - gain_low, loss_high - loss), np.hypot(gain_high - gain, loss - loss_low)
    return np.clip(gain - loss + np.stack([-below, above]), -1, 1)
