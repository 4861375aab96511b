"""p-values by themselves, against scipy and statsmodels: exact McNemar, Holm, Benjamini and Hochberg, and counting of sign flips."""

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar as theirs
from statsmodels.stats.multitest import multipletests

from sghatecheck_metric.significance import benjamini_hochberg, holm, mcnemar, p_values, signs


@pytest.mark.parametrize(
    ("only_a", "only_b"), [(0, 1), (1, 1), (3, 9), (9, 3), (10, 10), (0, 40), (250, 300), (988, 901), (4000, 4100), (5200, 5000)]
)
def test_mcnemar_is_the_exact_binomial(only_a, only_b):
    found = mcnemar(only_a, only_b)
    assert found == pytest.approx(binomtest(only_a, only_a + only_b).pvalue, rel=1e-10, abs=1e-12)
    assert found == pytest.approx(theirs([[7, only_a], [only_b, 7]], exact=True).pvalue, rel=1e-10, abs=1e-12)


def test_mcnemar_by_hand():
    assert mcnemar(0, 0) == 1  # no discordant case is no error
    assert mcnemar(1, 5) == 2 * (1 + 6) / 2**6
    assert mcnemar(5, 1) == mcnemar(1, 5)
    assert mcnemar(0, 1000) == 2 / 2**1000
    assert mcnemar(0, 20000) == 0  # smaller than any float, and no error


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert benjamini_hochberg(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.04, 0.04])


@pytest.mark.parametrize("m", [1, 2, 7, 30])
@pytest.mark.parametrize("kind", ["random", "ties", "small", "all one"])
def test_adjustments_are_those_of_statsmodels(m, kind):
    p = np.random.default_rng(m).random(m)
    p = {"random": p, "ties": p.round(1), "small": p**6, "all one": np.ones(m)}[kind]
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-14)
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1], abs=1e-14)


def test_what_has_no_p_is_no_member_of_the_family():
    p = np.array([np.nan, 0.02, np.nan, 0.5])
    assert holm(p) == pytest.approx([np.nan, 0.04, np.nan, 0.5], nan_ok=True)
    assert benjamini_hochberg(p) == pytest.approx([np.nan, 0.04, np.nan, 0.5], nan_ok=True)
    assert holm(np.array([])).size == 0
    assert np.isnan(benjamini_hochberg(np.array([np.nan]))).all()


def test_p_counts_the_draws_that_are_as_large_and_the_observed_one():
    drawn = np.array([[0.3, 0.1], [-0.3, 0.1], [0.1 + 0.2, 0.1], [0.2, 0.1]])  # 0.1 + 0.2 differs from 0.3 in the last digit
    assert p_values(np.array([0.3, np.nan]), drawn) == pytest.approx([4 / 5, np.nan], nan_ok=True)
    assert p_values(np.array([-0.1 - 0.2, 0.2]), drawn) == pytest.approx([4 / 5, 1 / 5])


def test_signs_are_even_and_seeded():
    drawn = signs(1000, 50, np.random.default_rng(7))
    assert np.unique(drawn).tolist() == [-1, 1]
    assert abs(drawn.mean()) < 0.02
    assert (drawn == signs(1000, 50, np.random.default_rng(7))).all()
