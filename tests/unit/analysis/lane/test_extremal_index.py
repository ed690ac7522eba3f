"""The extremal index: by hand, from processes of known clusters, and its lower limit."""

from __future__ import annotations

import numpy as np
import pytest

from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.extremal_index import theta_d_gaps, theta_intervals, theta_k_gaps, theta_lower

N = 100_000


def max_ar(theta: float, rng: np.random.Generator) -> Ints:
    """Positions of the 300 highest of N steps of X_i = max(a X_(i-1), (1 - a) Z_i), Z unit Frechet: theta = 1 - a."""
    a = 1 - theta
    z = -np.log(rng.standard_exponential(N))
    if a:
        slope = np.arange(N) * np.log(a)
        z = np.maximum.accumulate(z + np.log(theta) - slope) + slope
    return np.sort(np.argpartition(z, -300)[-300:])


def at(*gaps: int) -> Ints:
    return np.cumsum([5, *gaps])


def test_the_intervals_estimator_by_hand() -> None:
    """Gaps of 1 and 2 have the first form of the estimator (at most 1), a gap of 3 the second: 2 (0+0+0+0+2)^2 / (5 * 2)."""
    assert theta_intervals(at(1, 1, 1, 1, 3), 20) == pytest.approx(0.8)
    assert theta_intervals(at(1, 1, 1, 2), 20) == 1.0
    assert theta_intervals(at(*[1] * 9, 12), 30) == pytest.approx(2 * 11**2 / (10 * 11 * 10))
    assert theta_intervals(at(), 20) == 1.0


def test_the_k_gaps_estimator_by_hand() -> None:
    """Gaps 1, 1, 98 at q = 4/100 and K = 1: S = 0, 0, 3.88; the root of 3.88 t^2 - (3.88 + 3 + 1) t + 2 = 0 below 1."""
    b = 3.88 + 3 + 1
    assert theta_k_gaps(at(1, 1, 98), 100, 1) == pytest.approx((b - (b * b - 8 * 3.88) ** 0.5) / (2 * 3.88))
    assert theta_k_gaps(at(20, 30, 40), 100, 1) == 1.0
    assert theta_k_gaps(at(1, 1, 1), 100, 1) == 0.0


def test_the_d_gaps_estimate_has_the_highest_likelihood() -> None:
    index, n, d = at(1, 4, 200, 1, 300, 250), 1000, 10
    q, gaps = index.size / n, np.diff(index)

    def likelihood(theta: float) -> float:
        far = theta**2 * q * np.exp(-theta * q * gaps[gaps > d])
        return float(np.log(far).sum() + 3 * np.log(1 - theta * np.exp(-theta * q * d)))

    grid = np.linspace(0.001, 1, 1000)
    assert theta_d_gaps(index, n, d) == pytest.approx(grid[np.argmax([likelihood(t) for t in grid])], abs=0.002)


@pytest.mark.parametrize("theta", [0.2, 0.5, 0.8, 1.0])
def test_max_ar_has_the_theta_it_is_made_with_and_the_limit_lies_below(theta: float) -> None:
    """40 series: a mean has a standard error below .02; 7 limits of 95 % above theta have a chance of 1e-3 (fixed draws)."""
    rng = np.random.default_rng(3)
    every = [max_ar(theta, rng) for _ in range(40)]
    for estimate in (theta_intervals, lambda k, n: theta_k_gaps(k, n, 10), lambda k, n: theta_d_gaps(k, n, 300)):
        assert np.mean([estimate(index, N) for index in every]) == pytest.approx(theta, abs=0.06)
    lower = np.array([theta_lower(index, N, 0.95) for index in every])
    assert (lower > theta).sum() <= 6
    assert np.median(lower) > 0.75 * theta


def test_wide_bursts_are_seen_where_neighbours_are_far_apart() -> None:
    """60 late ones, 1000 apart, 20 times in 1e7: no two are neighbours, and theta is 1/60."""
    starts = np.random.default_rng(4).integers(0, 10**7 - 60_000, 20)
    index = np.unique((starts[:, None] + 1000 * np.arange(60)).ravel())
    assert theta_k_gaps(index, 10**7, 10) > 0.95
    assert 1 / 120 < theta_lower(index, 10**7, 0.95) <= 1 / 60


def test_nothing_is_known_from_one_position() -> None:
    assert theta_lower(np.array([7]), 100, 0.95) == 0.0
    assert theta_d_gaps(np.array([7]), 100, 1) == theta_k_gaps(np.array([7]), 100, 1) == 1.0


def test_one_burst_gives_no_limit_above_zero() -> None:
    assert theta_lower(np.arange(100, 200), N, 0.95) == 0.0
