"""Like held against like: the templates that ask the same of every target group, and the statistics of a comparison on them.

Targets do not stand in the same templates, so over all cases a target's rate also says which templates it happens to be in. A *matched* template
holds, within its language, a scored case of every target that the language's cases name. A template whose cases have both gold labels is two
here, one a label: a case is only ever compared with cases of the same right answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .counting import Level, number_ints

LEVEL = "bias target"  # the result shows no part of this name, so these slices stand in `bias` alone
AREAS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")


@dataclass(frozen=True)
class Matched:
    """The cases of matched templates and what was answered; n cases, L languages, T targets.

    block              int64 (n,): the number of a case's matched template, -1 for cases of none
    language, target   int64 (n,): codes; a target of -1 is none
    names              T targets
    named              bool (L, T): which targets a language's cases name
    gold, right        (n,): the right answer 0 or 1, and whether it was given; a rejected output is not right
    scores             float (n,), NaN for cases without one; None without scores
    """

    block: np.ndarray
    language: np.ndarray
    target: np.ndarray
    names: list
    named: np.ndarray
    gold: np.ndarray
    right: np.ndarray
    scores: np.ndarray | None

    def rows(self, languages: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """The matched cases of some languages and targets, given by their codes."""
        wanted = np.zeros(self.named.shape, bool)
        wanted[np.ix_(languages, targets)] = True
        rows = np.flatnonzero(self.block >= 0)
        return rows[wanted[self.language[rows], self.target[rows]]]


def match(coded: dict, answers, gold, scored, language, languages: list, scores=None) -> Matched | None:
    """Finds the matched templates among the cases that are scored, bool (n,). None without a target or a template column.

    coded holds "target" and "template" as reading.code_column returns them; answers, gold, the language codes and the scores are (n,). Scores that
    are all NaN are none.
    """
    if coded["target"] is None or coded["template"] is None:
        return None
    scores = None if scores is None or np.isnan(scores).all() else scores
    (target, names), (template, templates) = coded["target"], coded["template"]
    named = np.zeros((len(languages), len(names)), bool)
    named[language[target >= 0], target[target >= 0]] = True
    rows = np.flatnonzero(scored & (target >= 0))
    block, keys = number_ints((language[rows] * len(templates) + template[rows]) * 2 + gold[rows])
    held = np.bincount(block * len(names) + target[rows], minlength=len(keys) * len(names)).reshape(len(keys), len(names)) > 0
    held, wanted = held.sum(axis=1), named.sum(axis=1)[np.array(keys, np.int64) // (2 * len(templates))]
    whole = (held == wanted) & (wanted > 1)
    blocks = np.full(len(target), -1)
    blocks[rows] = np.where(whole, np.cumsum(whole) - 1, -1)[block]
    return Matched(blocks, language, target, names, named, gold, answers == gold, scores)


def bias_levels(matched: Matched | None) -> list[Level]:
    """The level that counts each target's cases of matched templates: what is wrong in its slices are the targets' error rates."""
    return [] if matched is None else [Level(LEVEL, np.where(matched.block >= 0, matched.target, -1), matched.names)]


def mean(values) -> float:
    """The plain mean; its sum is exact before it is rounded, so that the order of the rows changes no digit."""
    return math.fsum(values) / len(values)


def outcomes(matched: Matched, languages: np.ndarray, targets: np.ndarray, gold: int) -> tuple[np.ndarray, int]:
    """(right answers, 0 or 1, (templates, targets); how many more templates there are). Only templates with exactly one case a target have a row.

    The languages and targets are given by their codes, the templates are those whose right answer is `gold`.
    """
    rows = matched.rows(languages, targets)
    rows = rows[matched.gold[rows] == gold]
    blocks, block = np.unique(matched.block[rows], return_inverse=True)
    column = np.full(len(matched.names), -1)
    column[targets] = np.arange(len(targets))
    key, size = block * len(targets) + column[matched.target[rows]], len(blocks) * len(targets)
    once = (np.bincount(key, minlength=size).reshape(-1, len(targets)) == 1).all(axis=1)
    right = np.bincount(key, matched.right[rows], size).reshape(-1, len(targets))
    return right[once], int((~once).sum())


def cochran_q(outcome: np.ndarray) -> tuple[float, int, float] | None:
    """(Q, degrees of freedom, p) of 0/1 outcomes (templates, k targets): do the k targets have one rate? None where no template has two outcomes.

    Cochran (1950): Q = (k - 1) (k ΣC² - N²) / (k N - ΣR²) for column sums C, row sums R and N in all, about chi-square with k - 1 degrees of
    freedom. Templates are taken as independent.
    """
    k, columns, rows, total = outcome.shape[1], outcome.sum(axis=0), outcome.sum(axis=1), outcome.sum()
    spread = float(k * total - (rows**2).sum())
    if spread <= 0:
        return None
    q = (k - 1) * float(k * (columns**2).sum() - total**2) / spread
    return q, k - 1, chi_square_tail(q, k - 1)


def chi_square_tail(x: float, df: int) -> float:
    """P(chi-square with df >= 1 degrees of freedom > x): the finite sums for whole df (Abramowitz and Stegun 1964, 26.4.4 and 26.4.5)."""
    half = x / 2
    if half <= 0:
        return 1.0
    # in logarithms, since the powers and factorials overflow where their ratio does not
    first = 0.5 if df % 2 else 0.0
    terms = [math.exp((first + i) * math.log(half) - half - math.lgamma(first + i + 1)) for i in range(df // 2)]
    return min(1.0, math.fsum([*terms, math.erfc(math.sqrt(half)) if df % 2 else 0.0]))


def areas(scores: np.ndarray, hateful: np.ndarray, target: np.ndarray, size: int) -> np.ndarray:
    """(3, size) areas under the ROC curve for each of `size` targets, in the order of AREAS; NaN where a side has no case.

    Borkan et al. (2019): the target's cases alone (subgroup); its non-hateful cases against the others' hateful ones (BPSN, low where harmless
    talk of the target looks hateful); its hateful cases against the others' non-hateful ones (BNSP, low where hate against it looks harmless).
    Each is the share of pairs in which the hateful case has the higher score, ties a half (Mann-Whitney).

    Args:
        scores, hateful, target: (n,) the scores, none NaN; whether a case is hateful; codes of targets.
    """
    values, value = np.unique(scores, return_inverse=True)
    key, shape = value * size + target, (len(values), size)
    high = np.bincount(key[hateful], minlength=len(values) * size).reshape(shape)  # cases per score and target
    low = np.bincount(key[~hateful], minlength=len(values) * size).reshape(shape)
    wins = high.T @ (low.cumsum(axis=0) - low / 2)  # of each target's hateful cases (rows) over each target's others (columns)
    n_high, n_low, own = high.sum(axis=0), low.sum(axis=0), wins.diagonal()
    won = np.stack([own, wins.sum(axis=0) - own, wins.sum(axis=1) - own])
    pairs = np.stack([n_high * n_low, (n_high.sum() - n_high) * n_low, n_high * (n_low.sum() - n_low)])
    return np.divide(won, pairs, out=np.full(won.shape, np.nan), where=pairs > 0)
