"""Bounds against the tables of docs/method/known-answers.md and against scipy.stats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom, chi2

from rtassay.analysis.lane.bounds import (
    binomial_ppf,
    most_exceedances,
    nearest_rank,
    p_lower,
    p_upper,
    poisson_upper,
    samples_needed,
)
from rtassay.analysis.lane.quantiles import interval_ranks
from rtassay.model.findings import LADDER


@pytest.mark.parametrize(
    ("n", "q", "ranks"),
    [
        (10**6, 0.9999, (999_880, 999_920)),
        (10**6, 0.99999, (999_983, 999_997)),
        (10**7, 0.999999, (9_999_983, 9_999_997)),
    ],
)
def test_order_statistic_ranks(n: int, q: float, ranks: tuple[int, int]) -> None:
    assert interval_ranks(n, q) == ranks


@pytest.mark.parametrize(("n", "q"), [(10**6, 0.999999), (36_000_000, 0.9999999)])
def test_upper_rank_of_method_1_2_is_unbounded(n: int, q: float) -> None:
    assert interval_ranks(n, q)[1] > n


@pytest.mark.parametrize(("q", "n"), [(0.999, 3_688), (0.9999, 36_887), (0.99999, 368_887), (0.999999, 3_688_878)])
def test_least_n_for_a_bounded_interval(q: float, n: int) -> None:
    assert interval_ranks(n, q)[1] <= n
    assert interval_ranks(n - 1, q)[1] > n - 1


def test_nearest_rank_has_no_rounding_error() -> None:
    assert nearest_rank(10, 0.9) == 9
    assert nearest_rank(1000, 0.999) == 999
    assert nearest_rank(10**12, 0.9999999) == 10**12 - 10**5
    assert nearest_rank(10**12 + 1, 0.9999999) == 10**12 + 1 - 10**5
    assert nearest_rank(1, 0.5) == 1
    assert nearest_rank(3, 0.5) == 2


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**9), st.sampled_from(LADDER), st.sampled_from([0.025, 0.975]))
def test_binomial_ppf_is_that_of_scipy(n: int, q: float, alpha: float) -> None:
    assert binomial_ppf(alpha, n, q) == int(binom.ppf(alpha, n, q))


@pytest.mark.parametrize(
    ("p", "row"),
    [
        (1e-4, (23_025, 29_956, 46_050, 69_075)),
        (1e-5, (230_258, 299_572, 460_515, 690_773)),
        (1e-6, (2_302_584, 2_995_731, 4_605_168, 6_907_752)),
        (1e-7, (23_025_850, 29_957_322, 46_051_700, 69_077_550)),
        (1e-8, (230_258_509, 299_573_226, 460_517_017, 690_775_525)),
        (1e-9, (2_302_585_092, 2_995_732_273, 4_605_170_184, 6_907_755_276)),
    ],
)
def test_samples_needed(p: float, row: tuple[int, ...]) -> None:
    assert tuple(samples_needed(p, c) for c in (0.9, 0.95, 0.99, 0.999)) == row


@pytest.mark.parametrize(("k", "factor"), [(0, 2.996), (1, 4.744), (2, 6.296), (3, 7.754), (4, 9.154), (5, 10.513)])
def test_exceedances_inflate_the_samples_needed(k: int, factor: float) -> None:
    n = samples_needed(1e-6, 0.95, k)
    assert n is not None
    assert n * 1e-6 == pytest.approx(factor, abs=6e-4)
    assert p_upper(k, n, 0.95) <= 1e-6 < p_upper(k, n - 1, 0.95)


def test_no_number_of_samples_shows_zero() -> None:
    assert samples_needed(0.0, 0.95) is None


@pytest.mark.parametrize(
    ("k", "low", "high"),
    [(0, 0.0, 1.8444e-8), (8, 1.7269e-8, 7.8816e-8), (39, 1.3866e-7, 2.6657e-7), (57, 2.1586e-7, 3.6925e-7)],
)
def test_clopper_pearson_vectors(k: int, low: float, high: float) -> None:
    # two-sided 95 % is one-sided 97.5 % at either end
    assert p_lower(k, 200_000_000, 0.975) == pytest.approx(low, rel=1e-4)
    assert p_upper(k, 200_000_000, 0.975) == pytest.approx(high, rel=1e-4)


def test_one_sided_vector() -> None:
    assert p_upper(0, 200_000_000, 0.95) == pytest.approx(1.4979e-8, rel=1e-4)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**10), st.data(), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_clopper_pearson_solves_its_equations(n: int, data: st.DataObject, confidence: float) -> None:
    k = data.draw(st.integers(0, min(n, 10**5)))
    low, high = p_lower(k, n, confidence), p_upper(k, n, confidence)
    assert low <= k / n <= high
    # not beta.ppf, which is wrong for some large n: the definition itself
    assert low == 0.0 if k == 0 else binom.sf(k - 1, n, low) == pytest.approx(1 - confidence, rel=1e-6)
    assert high == 1.0 if k == n else binom.cdf(k, n, high) == pytest.approx(1 - confidence, rel=1e-6)


@given(st.integers(1, 10**6), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_pearson_is_that_of_scipy_where_scipy_is_right(n: int, data: st.DataObject, confidence: float) -> None:
    k = data.draw(st.integers(1, min(n, 50)))
    assert p_lower(k, n, confidence) == pytest.approx(float(beta.ppf(1 - confidence, k, n - k + 1)), rel=1e-7)
    high = 1.0 if k == n else float(beta.ppf(confidence, k + 1, n - k))
    assert p_upper(k, n, confidence) == pytest.approx(high, rel=1e-7)


def test_a_case_in_which_scipys_inverse_is_wrong() -> None:
    k, n = 1000, 132_579_327
    # so rare that Poisson's bound is the same to four digits
    assert p_lower(k, n, 0.8) == pytest.approx(float(chi2.ppf(0.2, 2 * k)) / 2 / n, rel=1e-4)
    assert p_upper(k, n, 0.8) == pytest.approx(poisson_upper(k, 0.8) / n, rel=1e-4)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 3000), st.integers(10**7, 10**12), st.sampled_from([0.8, 0.95, 0.99]))
def test_rare_exceedances_follow_poisson(k: int, n: int, confidence: float) -> None:
    assert p_upper(k, n, confidence) == pytest.approx(poisson_upper(k, confidence) / n, rel=1e-3)
    if k:
        assert p_lower(k, n, confidence) == pytest.approx(float(chi2.ppf(1 - confidence, 2 * k)) / 2 / n, rel=1e-3)


@given(st.integers(0, 10**5), st.sampled_from([0.8, 0.95, 0.99]))
def test_poisson_bound_is_half_a_chi_squared_quantile(k: int, confidence: float) -> None:
    assert poisson_upper(k, confidence) == pytest.approx(float(chi2.ppf(confidence, 2 * (k + 1))) / 2, rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 10**9), st.sampled_from([1e-7, 1e-6, 1e-3, 0.1, 0.9]))
def test_most_exceedances_is_the_largest_that_still_suffices(n: int, p: float) -> None:
    k = most_exceedances(n, p, 0.95)
    if k is None:
        assert p_upper(0, n, 0.95) > p
    else:
        assert p_upper(k, n, 0.95) <= p
        assert k == n or p_upper(k + 1, n, 0.95) > p
