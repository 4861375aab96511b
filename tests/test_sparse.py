"""Differences that rest on a handful of clusters: exact sign flips, bounds by hand, and what a comparison says where no test could tell."""

import numpy as np
import pytest
import scipy.stats

from sghatecheck_metric.comparing import compare
from sghatecheck_metric.resampling import wilson
from sghatecheck_metric.sparse import exact_p, sparse_limits


@pytest.mark.parametrize("seed", range(5))
def test_exact_flips_are_scipys_permutation_test_of_all(seed):
    moves = np.random.default_rng(seed).integers(-4, 5, 9) / 40
    theirs = scipy.stats.permutation_test((moves,), np.sum, permutation_type="samples", n_resamples=np.inf, alternative="two-sided")
    assert exact_p(moves) == pytest.approx(theirs.pvalue)


def test_exact_flips_by_hand():
    assert exact_p(np.array([0.1] * 10)) == 2 / 2**10  # all in one direction: only that and its mirror are as large
    assert exact_p(np.array([0.1, 0, 0])) == 1
    assert exact_p(np.array([0.3, 0.1])) == 0.5
    assert exact_p(np.zeros(4)) == 1


def test_bounds_by_hand():
    # one of 10 clusters loses its whole share of .1: Wilson's interval for 1 of 10 is [.018, .404]; of no gain the bound is that of 0 of 10, .278
    moves = np.zeros((10, 1))
    moves[3] = -0.1
    low, high = sparse_limits(moves, np.array([10]), 0.95)[:, 0]
    one, none = wilson(0.1, 10, 0.95), wilson(0.0, 10, 0.95)
    assert low == pytest.approx(-0.1 - (one[1] - 0.1))
    assert high == pytest.approx(-0.1 + np.hypot(none[1], 0.1 - one[0]))
    # all ten turn from right to wrong: -1, and at most Wilson's lower limit for 10 of 10 with no gain beside it
    low, high = sparse_limits(np.full((10, 1), -0.1), np.array([10]), 0.95)[:, 0]
    assert low == -1
    assert high == pytest.approx(-1 + np.hypot(none[1], none[1]), abs=1e-9)


def two_systems(clusters, lost, size=11):
    """A is right everywhere, B wrong in all cases of the first `lost` clusters of functionality f0; two more functionalities beside it."""
    rows = [
        (name, f"{name}-{cluster}", cluster < lost and name == "f0")
        for name in ("f0", "f1", "f2")
        for cluster in range(clusters)
        for _ in range(size)
    ]
    names, cluster, wrong = (list(column) for column in zip(*rows, strict=True))
    gold = np.ones(len(rows), np.int8)
    return gold, np.where(wrong, 0, 1).astype(np.int8), gold, {"functionality": names, "cluster": cluster}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_total_failure_gets_the_same_p_whatever_the_seed_and_an_interval(seed):
    a, b, gold, columns = two_systems(10, 10)
    entry = compare(a, b, gold, **columns, seed=seed)["functionality"]["f0"]
    assert entry["accuracy"]["p"] == 2 / 2**10
    assert entry["accuracy"]["difference"] == -1
    assert entry["accuracy"]["difference_ci"][0] == -1
    assert -0.7 < entry["accuracy"]["difference_ci"][1] < -0.5
    assert entry["verdict"] == "worse"  # Holm over three: .006


def test_a_family_too_large_for_its_clusters_is_said():
    a, b, gold, columns = two_systems(5, 5)
    result = compare(a, b, gold, **columns)
    assert result["functionality"]["f0"]["verdict"] == "undecided"
    assert "5 clusters: p cannot be below 0.062" in result["notes"]["functionality.f0.p_holm"]
    assert "functionality.f0.p_holm" not in compare(*two_systems(10, 10)[:3], **two_systems(10, 10)[3])["notes"]


def test_one_lost_cluster_of_many_is_bounded_by_its_rarity():
    a, b, gold, columns = two_systems(60, 1)
    low, high = compare(a, b, gold, **columns)["overall"]["accuracy"]["difference_ci"]
    assert -0.04 < low < -1 / 180 < high
    assert high - low > 0.01  # not the width of its denominators
