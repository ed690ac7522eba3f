"""The extremal index: by hand and from processes of known clusters."""

from __future__ import annotations

import numpy as np
import pytest

from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.extremal_index import theta_d_gaps, theta_intervals, theta_k_gaps

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
def test_max_ar_has_the_theta_it_is_made_with(theta: float) -> None:
    """40 series: a mean has a standard error below .02 (fixed draws)."""
    rng = np.random.default_rng(3)
    every = [max_ar(theta, rng) for _ in range(40)]
    for estimate in (theta_intervals, lambda k, n: theta_k_gaps(k, n, 10), lambda k, n: theta_d_gaps(k, n, 300)):
        assert np.mean([estimate(index, N) for index in every]) == pytest.approx(theta, abs=0.06)


def test_nothing_is_known_from_one_position() -> None:
    assert theta_intervals(np.array([7]), 100) == 1.0
    assert theta_d_gaps(np.array([7]), 100, 1) == theta_k_gaps(np.array([7]), 100, 1) == 1.0


def test_gaps_of_a_single_burst_have_no_long_one() -> None:
    assert theta_d_gaps(np.arange(100, 200), N, 1) == 0.0 == theta_k_gaps(np.arange(100, 200), N, 1)
    assert theta_d_gaps(np.arange(100, 200, 2), N, 1) == 1.0, "none is short"


@pytest.mark.parametrize(("far", "d"), [([30, 50], 3), ([500, 900], 20), ([5000, 20_000], 400)])
def test_the_d_gaps_estimate_solves_its_equation(far: list[int], d: int) -> None:
    """theta: sum over long gaps of (2 / theta - q T) = sum over short ones of e (1 - theta q d) / (1 - theta e), e = exp(-theta q d)."""
    index, n = at(d, 1, *far, 2, d, *far, 1), 100_000
    q, gaps = index.size / n, np.diff(index)
    theta = theta_d_gaps(index, n, d)
    e = np.exp(-theta * q * d)
    long, short = gaps[gaps > d], int((gaps <= d).sum())
    within = short * e * (1 - theta * q * d) / (1 - theta * e)
    assert 0 < theta < 1 and 2 * long.size / theta - q * long.sum() == pytest.approx(within, rel=1e-4)
