"""Whether a difference is one: p-values for paired answers, and what many of them are worth together.

*Sign flips* (Fisher 1935; Winkler et al. 2014 for blocks): if two systems are alike, their answers may change places in any cluster of cases
without changing what is to be expected. Every draw swaps them in half of the clusters; p is how often a difference at least as large comes out.
*McNemar* (1947), exact: of the cases that one system alone gets right, a fair coin would give each half. It takes cases as independent, which
those of one template are not, and so it is shown as the classic and decides nothing.
*Holm* (1979) bounds the chance of one false claim in a family, *Benjamini and Hochberg* (1995) the expected share of false ones.
"""

from __future__ import annotations

import numpy as np

TIE = 1e-9  # differences closer than this are equal: the same fractions, added in another order, differ in the last digits


def signs(n_resamples: int, n_units: int, rng: np.random.Generator) -> np.ndarray:
    """float32 (n_resamples, n_units) of -1, the unit's answers are swapped, and 1, they are not; each with an even chance."""
    return rng.integers(0, 2, (n_resamples, n_units), np.int8).astype(np.float32) * 2 - 1


def p_values(observed: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Two-sided p (m,) = (b + 1) / (B + 1) of differences (m,), b of whose B draws (B, m) are at least as large. NaN where there is no difference.

    The observed order is one of those possible, hence the ones: p is never 0, and a test at level α keeps it (Phipson and Smyth 2010).
    """
    as_large = (np.abs(drawn) >= np.abs(observed) - TIE).sum(axis=0)
    return np.where(np.isnan(observed), np.nan, (as_large + 1) / (len(drawn) + 1))


def mcnemar(only_a: int, only_b: int) -> float:
    """Exact two-sided p of discordant pairs: twice the smaller tail of a binomial with even chances, 1 at most and where there are none.

    In whole numbers and one correctly rounded division, so that thousands of pairs lose no digit.
    """
    n, ways, tail = only_a + only_b, 1, 1
    for k in range(min(only_a, only_b)):
        ways = ways * (n - k) // (k + 1)
        tail += ways
    return min(1.0, 2 * tail / 2**n)


def holm(p: np.ndarray) -> np.ndarray:
    """Adjusted p (m,) of one family, Holm's step-down. NaN is no member of the family and stays."""
    order, m = _order(p)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * (m - np.arange(m))))
    return adjusted


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Adjusted p (m,), often called q, of one family, Benjamini and Hochberg's step-up. NaN is no member of the family and stays."""
    order, m = _order(p)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(1, np.minimum.accumulate((p[order] * m / np.arange(1, m + 1))[::-1])[::-1])
    return adjusted


def _order(p: np.ndarray) -> tuple[np.ndarray, int]:
    """Places of the numbers among p, smallest first, and how many there are."""
    m = np.count_nonzero(~np.isnan(p))
    return np.argsort(p, kind="stable")[:m], m
