"""The GPD and the GEV against published data, scipy, OpenTURNS and pyextremes (tests/data/evt)."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from rtassay.analysis.tail.doubts import _kruskal_wallis
from rtassay.analysis.tail.gev import Blocks
from rtassay.analysis.tail.gpd import Floats, Profile, excesses, level, log_survival
from rtassay.analysis.tail.shape import anderson_darling

DATA = Path(__file__).parents[3] / "data" / "evt"
ORACLES: dict[str, Any] = json.loads((DATA / "oracles.json").read_text())
CHI2_95 = 3.841458820694124 / 2


def column(name: str) -> Floats:
    with (DATA / name).open(encoding="utf-8-sig") as file:
        return np.array([float(row[1]) for row in list(csv.reader(file))[1:]])


RAIN = column("rain.csv")


def rain(u: float) -> Profile:
    return Profile(excesses(RAIN[u < RAIN], u, 0.0))


def chi2(xi: Floats) -> Floats:
    return np.full(xi.shape, CHI2_95)


@pytest.mark.parametrize(
    ("u", "n", "sigma", "xi", "nllh"),
    [(20, 570, 6.832786, 0.132361, 1740.833559), (30, 152, 7.440269, 0.184499, 485.093721), (40, 44, 11.783297, 0.013412, 153.124190)],
)  # fmt: skip
def test_rain_has_its_known_fit(u: int, n: int, sigma: float, xi: float, nllh: float) -> None:
    profile = rain(u)
    assert profile.m == n
    assert profile.fit.sigma == pytest.approx(sigma, rel=1e-5)
    assert profile.fit.xi == pytest.approx(xi, abs=5e-6)
    assert profile.fit.log_likelihood == pytest.approx(-nllh, abs=1e-6)
    theirs = ORACLES[f"rain {u}"]["scipy"]
    assert profile.fit.log_likelihood >= -theirs["nllh"] - 1e-9


@pytest.mark.parametrize("u", [20, 30, 40])
def test_the_limits_of_a_return_level_are_those_of_openturns(u: int) -> None:
    theirs = ORACLES[f"rain {u}"]["openturns_100_years"]
    profile = rain(u)
    ratio = 365 * 100 * profile.m / RAIN.size
    ends = profile.limits(lambda sigma, tau: level(sigma, tau, ratio), chi2, chi2)
    assert u + np.array(ends) == pytest.approx(theirs["limits"], rel=2e-3)


def test_the_point_is_that_of_pyextremes_and_openturns() -> None:
    fit = rain(30).fit
    ratio = 365 * 100 * 152 / RAIN.size
    found = 30 + level(np.array([fit.sigma]), np.array([fit.xi / fit.sigma]), ratio)[0]
    assert found == pytest.approx(ORACLES["pyextremes rain 30"]["100_years"], rel=1e-4)
    assert found == pytest.approx(ORACLES["rain 30"]["openturns_100_years"]["level"], rel=1e-4)


def test_port_pirie_has_the_published_gev() -> None:
    """Coles 2001, section 3.4: mu 3.87, sigma .198, xi -.050, log-likelihood 4.34; METHOD with more digits."""
    blocks = Blocks(column("portpirie.csv"), 3.5, 0)
    assert blocks.fit.parameters == pytest.approx((3.87475, 0.198044, -0.050110), rel=1e-4)
    assert blocks.fit.log_likelihood == pytest.approx(4.33906, abs=1e-5)
    for years in (10, 100):
        theirs = ORACLES["port pirie"][f"openturns_{years}_years"]
        best, low, high = blocks.limits(-np.log1p(-1 / years), CHI2_95)
        assert best == pytest.approx(theirs["level"], rel=1e-4)
        assert (low, high) == pytest.approx(theirs["limits"], rel=4e-3)


def test_the_base_of_block_maxima_does_not_matter() -> None:
    """One GEV, whatever level its rate is taken at; sigma there is sigma + xi (u - mu)."""
    sea = column("portpirie.csv")
    low, high = Blocks(sea, 3.3, 0).fit, Blocks(sea, 3.5, 0).fit
    assert low.parameters == pytest.approx(high.parameters, rel=1e-3)
    assert high.sigma - low.sigma == pytest.approx(high.xi * (high.base - low.base), abs=1e-4)


@pytest.mark.parametrize("xi", [-0.7, -0.2, 0.0, 1e-12, 0.3])
def test_the_distribution_is_scipys(xi: float) -> None:
    y = np.array([0.0, 0.3, 1.0, 1.4])
    assert log_survival(y, xi, 2.0) == pytest.approx(scipy.stats.genpareto.logsf(y, xi, 0, 2.0))
    exact = scipy.stats.genpareto.isf(1e-5, xi, 0, 2.0)
    assert level(np.array([2.0]), np.array([(xi or 1e-12) / 2.0]), 1e5)[0] == pytest.approx(exact, rel=1e-6)


def test_ticks_are_fitted_by_the_probability_of_each() -> None:
    """The interval likelihood, maximised here by hand over a grid, and in the limit of fine ticks the density."""
    y = np.floor(np.random.default_rng(3).exponential(2.0, 300))
    profile = Profile(excesses(y, 0, 1.0))
    values, count = np.unique(y, return_counts=True)

    def by_hand(xi: float, sigma: float) -> float:
        sf = scipy.stats.genpareto.sf
        return float((count * np.log(sf(values, xi, 0, sigma) - sf(values + 1, xi, 0, sigma))).sum())

    assert profile.fit.log_likelihood == pytest.approx(by_hand(profile.fit.xi, profile.fit.sigma), abs=1e-6)
    around = [by_hand(profile.fit.xi + a, profile.fit.sigma + b) for a in (-0.03, 0, 0.03) for b in (-0.05, 0, 0.05)]
    assert max(around) <= profile.fit.log_likelihood + 1e-9
    fine, exact = (
        Profile(excesses(np.random.default_rng(4).exponential(2.0, 300), 0, width)).fit for width in (1e-3, 0.0)
    )
    assert fine.xi == pytest.approx(exact.xi, abs=2e-3)


def test_values_known_only_to_be_large_count_by_their_probability() -> None:
    y = np.sort(np.random.default_rng(5).exponential(1.0, 200))
    cut = float(y[150])
    whole = excesses(y, 0, 0.0)
    low, high = whole.below(cut), whole.above(cut)
    fit = Profile(low).fit
    sf, pdf = scipy.stats.genpareto.logsf, scipy.stats.genpareto.logpdf
    by_hand = pdf(y[:150], fit.xi, 0, fit.sigma).sum() + 50 * sf(cut, fit.xi, 0, fit.sigma)
    assert fit.log_likelihood == pytest.approx(by_hand, abs=1e-6)
    assert (low.m, high.m) == (200, 50)


def test_anderson_darling_is_scipys_statistic() -> None:
    y = np.sort(np.random.default_rng(6).exponential(1.0, 60))
    fit = Profile(excesses(y, 0, 0.0)).fit
    u = scipy.stats.genpareto.cdf(y, fit.xi, 0, fit.sigma)
    i = np.arange(1, 61)
    by_hand = -60 - ((2 * i - 1) / 60 * (np.log(u) + np.log(1 - u[::-1]))).sum()
    assert anderson_darling(excesses(y, 0, 0.0), fit) == pytest.approx(by_hand)


def test_runs_are_compared_by_scipys_rank_test() -> None:
    rng = np.random.default_rng(7)
    values, group = rng.integers(0, 9, 60), np.repeat([0, 2, 3], 20)
    theirs = scipy.stats.kruskal(*(values[group == i] for i in (0, 2, 3))).statistic
    assert _kruskal_wallis(values, group) == (pytest.approx(theirs), 3)
    assert _kruskal_wallis(np.full(60, 4), group) == (0.0, 3)


def test_no_shape_of_block_maxima_lies_below_minus_one() -> None:
    """There the likelihood has no maximum: most values lie just below an end."""
    fit = Blocks(1 - np.linspace(0.001, 1, 60) ** 3, 0.0, 0).fit
    assert fit.xi == pytest.approx(-1, abs=1e-3) and fit.xi >= -1 - 1e-9
