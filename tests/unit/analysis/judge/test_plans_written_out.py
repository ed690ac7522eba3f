"""Plans of measurements as numbers worked out by hand or by scipy."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import scipy.stats

from rtassay.analysis.judge import planning
from rtassay.analysis.judge.planning import Assumed, Goal, at_looks, chance, least, of_length, tolerated, with_chance
from rtassay.model.errors import UsageError

from ..build import MS

GOAL = Goal(1e-3, 0.95)
BOARD = Assumed(interval_ns=MS, lanes=1, true_p=1e-4)


def test_a_row_tells_length_bounds_and_chance() -> None:
    """7754 activations with 3 late ones show 1e-3 (docs/method/planning.md: 7.754 / p): 7.754 s, in two runs 3.877 s each."""
    row = least(GOAL, replace(BOARD, runs=2, lanes=3), 3)
    n = next(n for n in range(7700, 7800) if scipy.stats.beta.ppf(0.95, 4, n - 3) <= 1e-3)
    assert (row.allowed, row.n, row.duration_s, row.run_s) == (3, n, n / 1000, n / 2000)
    assert row.p == pytest.approx(scipy.stats.beta.ppf(0.95, 4, n - 3))
    assert row.per_hour == pytest.approx(scipy.stats.chi2.ppf(0.95, 8) / 2 / (n / 3_600_000))
    assert row.chance == pytest.approx(scipy.stats.poisson.cdf(3, n * 1e-4) ** 3)


@pytest.mark.parametrize(("true_p", "law"), [(1e-3, "poisson"), (1.01e-3, "binomial")])
def test_late_ones_that_are_not_rare_are_trials(true_p: float, law: str) -> None:
    found = chance(GOAL, replace(BOARD, true_p=true_p), 5000, 4)
    poisson, binomial = scipy.stats.poisson.cdf(4, 5000 * true_p), scipy.stats.binom.cdf(4, 5000, true_p)
    assert found == pytest.approx(poisson if law == "poisson" else binomial, rel=1e-9)
    assert poisson != pytest.approx(binomial, rel=1e-6)


def test_events_an_hour_have_the_law_of_poisson_whatever_the_size_of_a_burst() -> None:
    goal, bursts = Goal(1e-3, 0.95, per_hour=100.0), replace(BOARD, theta=0.25, true_p=1e-2)
    n = 200_000
    assert chance(goal, bursts, n, 480) == pytest.approx(scipy.stats.poisson.cdf(480, 0.25 * n * 1e-2), rel=1e-9)
    limit = scipy.stats.chi2.ppf(0.95, 2) / 2
    # so many events an hour that none may be seen in 1 h, then 1 h less one activation
    exact = Goal(1e-3, 0.95, per_hour=limit)
    assert (
        tolerated(exact, BOARD, 3_600_000) in (None, 0)
        and tolerated(Goal(1e-3, 0.95, per_hour=limit * 1.0001), BOARD, 3_600_000) == 0
    )
    assert tolerated(exact, BOARD, 3_599_000) is None


@pytest.mark.parametrize("allowed", [0, 1, 2, 5])
def test_what_an_hour_tolerates(allowed: int) -> None:
    """The limit of k events is chi2(0.95; 2 k + 2) / 2 (docs/method/events.md)."""
    limit = scipy.stats.chi2.ppf(0.95, 2 * allowed + 2) / 2
    goal = Goal(1e-3, 0.95, per_hour=limit * 1.0001)
    assert tolerated(goal, BOARD, 3_600_000) == allowed
    below = replace(goal, per_hour=limit * 0.9999)
    assert tolerated(below, BOARD, 3_600_000) == (allowed - 1 if allowed else None)
    row = least(goal, BOARD, allowed)
    assert row.n == math.ceil(limit / (limit * 1.0001) * 3_600_000) and row.per_hour <= goal.per_hour  # type: ignore[operator]


def test_nothing_is_shown_by_no_chance() -> None:
    for goal in (Goal(0.0, 0.95), Goal(1e-3, 0.95, per_hour=0.0)):
        with pytest.raises(UsageError) as caught:
            least(goal, BOARD, 0)
        assert caught.value.what == "no measurement shows that something never happens"
        allowed = "a small share: --p 1e-6" if goal.per_hour is None else "a rare event: --at-most 0.1/h"
        assert caught.value.hint == f"allow {allowed}"
    with pytest.raises(UsageError):
        least(Goal(0.0, 0.95), replace(BOARD, theta=0.5), 0)


def test_a_burst_is_as_large_as_its_share_says() -> None:
    """None late: the limit of the mean is that of single ones times the mean size of a burst."""
    bursts = replace(BOARD, theta=0.25)
    none = scipy.stats.chi2.ppf(0.95, 2) / 2
    row = least(GOAL, bursts, 0)
    assert row.n == math.ceil(none / 0.25 / 1e-3) and row.p == pytest.approx(none / 0.25 / row.n)
    assert row.chance == pytest.approx(math.exp(-0.25 * row.n * 1e-4), rel=1e-6)
    assert tolerated(GOAL, bursts, row.n) == 0 and tolerated(GOAL, bursts, row.n - 1) is None
    assert of_length(GOAL, bursts, 3, 0).p == 1.0, "no more than certain"


def test_looks_are_equal_parts_and_each_spends_its_own() -> None:
    rows = at_looks(GOAL, BOARD, 9000, [0.02, 0.02, 0.01])
    assert [(row.look, row.runs, row.n, row.duration_s, row.confidence) for row in rows] == [
        (1, 1, 3000, 3.0, 0.98), (2, 1, 6000, 6.0, 0.98), (3, 1, 9000, 9.0, 0.99),
    ]  # fmt: skip
    assert [row.tolerated for row in rows] == [None, 1, 2]
    for row, k in zip(rows[1:], (1, 2), strict=True):
        assert (
            scipy.stats.beta.ppf(row.confidence, k + 1, row.n - k)
            <= 1e-3
            < scipy.stats.beta.ppf(row.confidence, k + 2, row.n - k - 1)
        )
        assert row.chance == pytest.approx(scipy.stats.poisson.cdf(k, row.n * 1e-4))
    assert rows[0].chance == 0.0


def test_looks_at_several_runs_come_after_whole_runs() -> None:
    rows = at_looks(GOAL, replace(BOARD, runs=4), 9000, [0.02, 0.02, 0.01])
    assert [(row.runs, row.n) for row in rows] == [(2, 4500), (3, 6750), (4, 9000)]


@pytest.mark.parametrize("wanted", [0.2, 0.9, 0.99, 0.999999])
def test_the_shortest_measurement_with_a_chance_is_the_first_of_all(wanted: float) -> None:
    row = with_chance(GOAL, replace(BOARD, true_p=3e-4), wanted)
    first = next(k for k in range(200) if least(GOAL, replace(BOARD, true_p=3e-4), k).chance >= wanted)
    assert row is not None and row.allowed == first


def test_too_near_to_the_goal_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_BURSTS", 2)
    assert with_chance(GOAL, replace(BOARD, true_p=9e-4, theta=0.2), 0.99) is None
    assert with_chance(GOAL, replace(BOARD, true_p=9e-4, theta=0.2, spread=0.3, runs=2), 0.99) is None
    monkeypatch.setattr(planning, "MOST_ALLOWED", 40)
    assert with_chance(GOAL, replace(BOARD, true_p=9e-4), 0.99) is None
    assert with_chance(GOAL, replace(BOARD, true_p=1e-9), 0.99) == least(GOAL, replace(BOARD, true_p=1e-9), 0)


def test_boots_that_differ_are_drawn_once_and_have_the_mean_that_is_assumed() -> None:
    boots, wider = planning._boots(3, 0.5, 0.95, 4000)
    assert len(boots) == len(wider) == 4000 and sum(boots) / 4000 == pytest.approx(1, abs=0.02)
    assert min(wider) >= 1 and planning._boots(1, 0.5, 0.95, 7)[1] == (1.0,) * 7
    assert planning._boots(3, 0.5, 0.95, 4000)[0] == boots
    spread = math.sqrt((math.exp(0.25) - 1) / 3)
    assert math.sqrt(sum((b - 1) ** 2 for b in boots) / 4000) == pytest.approx(spread, rel=0.1)


def test_a_wider_bound_allows_fewer_events() -> None:
    limits = [scipy.stats.gamma.ppf(0.95, k + 1) for k in range(4)]
    assert planning._fewer(
        3, 0.95, (1.0, limits[3] / limits[2], limits[3] / limits[0] * 1.001, limits[3] / limits[1] * 0.999)
    ) == [3, 2, -1, 1]


@pytest.mark.parametrize(("theta", "n", "p", "mean"), [(0.5, 20_000, 1e-3, 2.0), (0.2, 60_000, 1e-3, 3.5)])
def test_the_chance_in_bursts_is_summed_over_their_number(theta: float, n: int, p: float, mean: float) -> None:
    bursts = replace(BOARD, theta=theta)
    expected = 0.0
    for events in range(60):
        limits = planning._limits(events, theta, 0.95)
        expected += scipy.stats.poisson.pmf(events, mean) * sum(limit <= p * n for limit in limits) / len(limits)
    assert planning._chance_in_bursts(bursts, n, p, 0.95, mean) == pytest.approx(expected, rel=1e-9)
    assert 0.05 < expected < 0.999
