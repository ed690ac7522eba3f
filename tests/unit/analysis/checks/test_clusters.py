"""Dependence of late wake-ups: Ljung and Box's test and the extremal index on series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.checks.clusters import (
    LAGS,
    Dependence,
    _surely,
    autocorrelations,
    dependence,
    inflation,
    ljung_box,
)
from rtassay.analysis.judge import judge
from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.extremal_index import theta_intervals
from rtassay.model.findings import CheckResult
from rtassay.model.recording import Recording

from ..build import recording
from .condition_cases import late_at

# Zeros and ones with Q and p at 1, 5 and 10 lags as statsmodels 0.15.0 gives them (acorr_ljungbox).
ONES = [2, 3, 7, 11, 12, 13, 20, 31, 32, 40, 41, 42, 43, 55]
PUBLISHED = {
    1: (7.40721647282476, 0.006496275682126187),
    5: (11.229750204233557, 0.047010271514131945),
    10: (19.530964257164605, 0.03401443423453409),
}


N = 600_000  # activations of `late_at`


def positions(values: np.ndarray, q: float) -> Ints:  # type: ignore[type-arg]
    return np.flatnonzero(values > np.quantile(values, q))


def ar1(n: int, phi: float, seed: int = 3) -> np.ndarray:  # type: ignore[type-arg]
    """Autoregressive noise of order 1."""
    noise = np.random.default_rng(seed).normal(size=n)
    for i in range(1, n):
        noise[i] += phi * noise[i - 1]
    return noise


def max_ar1(n: int, a: float, seed: int = 3) -> np.ndarray:  # type: ignore[type-arg]
    """X_i = max(a X_(i-1), (1 - a) Z_i), Z unit Frechet: its extremal index is 1 - a (docs/method/checks.md)."""
    found = (1 - a) / -np.log(np.random.default_rng(seed).random(n))
    for i in range(1, n):
        found[i] = max(a * found[i - 1], found[i])
    return found


def dense(series: np.ndarray, lags: int) -> np.ndarray:  # type: ignore[type-arg]
    """Autocorrelations as the textbook has them."""
    centred = series - series.mean()
    return np.array([(centred[h:] * centred[:-h]).sum() for h in range(1, lags + 1)]) / (centred**2).sum()


def clustered(made: Recording) -> CheckResult:
    return next(check for check in judge(made).checks if check.id == "CLUSTERED")


@pytest.mark.parametrize("lags", PUBLISHED)
def test_the_statistic_agrees_with_another_implementation(lags: int) -> None:
    found = ljung_box(autocorrelations(np.array(ONES), 60, lags), 60)
    assert found == pytest.approx(PUBLISHED[lags], rel=1e-9)


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.booleans(), min_size=20, max_size=300).filter(lambda row: 0 < sum(row) < len(row)), st.integers(1, 12)
)
def test_positions_give_the_autocorrelations_of_the_whole_series(row: list[bool], lags: int) -> None:
    series = np.array(row, dtype=float)
    found = autocorrelations(np.flatnonzero(series), series.size, lags)
    np.testing.assert_allclose(found, dense(series, lags), atol=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.sets(st.integers(0, 99_999), min_size=50, max_size=400), st.integers(100_000, 10_000_000))
def test_a_test_is_a_probability_or_none_whatever_the_positions(found: set[int], n: int) -> None:
    test = dependence(np.array(sorted(found)), n)
    if test is not None:
        assert 0 <= test.p <= 1 and test.statistic >= 0 and test.width * LAGS * 5 <= n


@pytest.mark.parametrize(("n", "late"), [(60_000, 60), (600_000, 600), (60_000, 6000)])
def test_independent_late_ones_are_taken_for_related_no_more_often_than_stated(n: int, late: int) -> None:
    """300 draws at p < 0.01: 3 expected; 11 or more have a chance of 2e-4 (and the draws are always the same)."""
    rng = np.random.default_rng(5)
    tests = [dependence(np.sort(rng.choice(n, late, replace=False)), n) for _ in range(300)]
    assert sum(test is not None and test.p < 0.01 for test in tests) <= 10


@pytest.mark.parametrize("a", [0.3, 0.6])
def test_a_process_of_known_clusters_is_found_by_both(a: float) -> None:
    k = positions(max_ar1(N, a), 0.998)
    assert theta_intervals(k, N) == pytest.approx(1 - a, abs=0.06)
    test = dependence(k, N)
    assert test is not None and test.p < 1e-6 and test.inflation > 1.21
    fired = clustered(late_at(*k))
    assert fired.severity == "warning"


def test_an_autoregressive_process_is_found_and_white_noise_is_not() -> None:
    for phi, related in ((0.8, True), (0.0, False)):
        k = positions(ar1(N, phi), 0.998)
        test = dependence(k, N)
        assert test is not None
        assert (test.p < 0.01 and test.inflation > 1.21) is related
        assert clustered(late_at(*k)).severity == ("warning" if related else "pass")


def slow() -> Ints:
    """60 late ones in ten minutes, a third of them in half a minute: no bursts, but not independent either."""
    rng = np.random.default_rng(11)
    spread, dense_part = rng.choice(N, 40, replace=False), 200_000 + rng.choice(30_000, 20, replace=False)
    return np.unique(np.concatenate([spread, dense_part]))


def test_late_ones_that_gather_without_bursts_are_found_by_the_autocorrelation_alone() -> None:
    fired = clustered(late_at(*slow()))
    assert fired.severity == "warning" and "Ljung-Box" in fired.message and "bursts" not in fired.message
    facts = fired.facts["lanes"]["0"]
    assert facts["ljung_box"]["lags"] == LAGS and facts["ljung_box"]["p"] < 0.01
    assert facts["ljung_box"]["inflation"] > 1.21


def test_holm_divides_by_the_lanes() -> None:
    """A lane that is just sure alone is not sure as one of many."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        base = np.sort(rng.choice(600_000, 80, replace=False))
        extra = 300_000 + rng.choice(8_000, 8, replace=False)
        k = np.unique(np.concatenate([base, extra]))
        test = dependence(k, 600_000)
        if test is not None and 0.002 < test.p < 0.009 and test.inflation > 1.21:
            break
    else:
        raise AssertionError("no such draw")
    one = late_at(*k)
    others = [late_at(*np.sort(rng.choice(600_000, 80, replace=False))).lanes[0] for _ in range(11)]
    if theta_intervals(k, 600_000) > 0.7:
        assert clustered(one).severity == "warning"
    calm = [lane for lane in others if (t := dependence(lane.spills.k, 600_000)) and t.p > 0.05]
    assert len(calm) >= 5
    assert clustered(recording(one.lanes[0], *calm)).severity == "pass"


def test_a_dependence_counts_if_it_is_sure_and_makes_an_interval_a_tenth_too_narrow() -> None:
    def told(*rows: tuple[float, float]) -> list[float]:
        tests = [(Dependence(1, 0.0, p, more), None, None) for p, more in rows]
        return [row[0].p for row in _surely(tests)]  # type: ignore[arg-type, misc]

    assert told((0.0099, 1.2101)) == [0.0099] and told((0.01, 1.2101)) == [] and told((0.0099, 1.21)) == []
    assert told((0.006, 9.0), (0.0049, 1.0), (0.0001, 1.3)) == [0.0001, 0.006], (
        "by rising p; the one between is too weak"
    )
    assert told((0.02, 9.0), (0.004, 9.0)) == [0.004]


def test_the_inflation_written_out() -> None:
    """Late at 0, 1, 2 and 50 of 100: three pairs within 2. By chance 16/10000 of the 2 * 100 - 3 pairs at distances 1 and 2."""
    found = inflation(np.array([0, 1, 2, 50]), 100, 2)
    assert found == pytest.approx(1 + 2 * (3 - 0.0016 * 197) / (4 * 0.96), rel=1e-12)


def test_neighbours_are_taken_together_until_ten_pairs_are_expected() -> None:
    """60 late of 60 000: 10 * 60 000 / 3600 = 166.7, so 167 activations to an indicator, and 359 of them; the rest is a part of one."""
    k = np.append(np.arange(59) * 1000, 59_990)
    found = dependence(k, 60_000)
    assert found is not None and found.width == 167
    late = np.unique(k // 167)
    rho = autocorrelations(late[late < 359], 359, LAGS)
    assert (found.statistic, found.p) == ljung_box(rho, 359)
    assert late[-1] == 359 and found.inflation == inflation(k, 60_000, 1670)
    assert dependence(np.arange(100), 100) is None, "all are late"
    few = 10  # 10 * n / 100 < n / 50 has no solution: a tenth of the run is one indicator
    assert dependence(np.arange(few) * 50, 1000) is None
    assert dependence(np.arange(50) * 2, 1000) is not None and dependence(np.arange(22) * 2, 1000) is None
