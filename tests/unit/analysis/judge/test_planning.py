"""Plans of measurements against the verdict itself, and their chances against simulation."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rtassay.analysis.judge import judge, planning
from rtassay.analysis.judge.planning import Assumed, Goal
from rtassay.analysis.lane.bounds import burst_upper, p_upper, poisson_upper
from rtassay.analysis.lane.claim import MANY, next_largest
from rtassay.analysis.lane.dispersion import widening
from rtassay.model.errors import UsageError

from ..build import MS, US, block_lane, recording

GOAL = Goal(1e-4, 0.95)
BOARD = Assumed(interval_ns=MS, lanes=4, true_p=2e-5)
ERRORS = 5
"""Standard errors of a simulated share: a sound chance fails once in a million tests."""


def held_in_bursts(events: int, assumed: Assumed, n: int, goal: Goal, random: np.random.Generator) -> bool:
    """The verdict's rule for bursts whose sizes are drawn."""
    sizes = random.geometric(assumed.theta, events)
    own = burst_upper(sizes, goal.confidence, next_largest(events, known=True)) if events else 0.0
    return max(own, poisson_upper(events, goal.confidence) / assumed.theta) <= goal.p * n


def simulated(assumed: Assumed, n: int, goal: Goal, rounds: int = 4000) -> float:
    """Share of measurements in which every lane's limit is at most the goal, drawn run by run."""
    random = np.random.default_rng(8)
    boots = np.exp(assumed.spread * random.standard_normal((rounds, assumed.runs)) - assumed.spread**2 / 2)
    mean = assumed.theta * n / assumed.runs * assumed.true_p * boots
    events = random.poisson(mean[:, None, :], (rounds, assumed.lanes, assumed.runs)).sum(axis=2)
    if assumed.theta < 1:
        return float(
            np.mean([all(held_in_bursts(int(k), assumed, n, goal, random) for k in lanes) for lanes in events])
        )
    shown = {int(k): p_upper(int(k), n, goal.confidence) for k in np.unique(events)}
    largest = random.poisson(MANY * boots / boots.sum(axis=1, keepdims=True))
    wider = [
        widening(row, np.ones(assumed.runs, np.int64), goal.confidence) if assumed.spread else 1.0 for row in largest
    ]
    held = [all(shown[int(k)] * wide <= goal.p for k in lanes) for lanes, wide in zip(events, wider, strict=True)]
    return float(np.mean(held))


@pytest.mark.parametrize(
    "assumed",
    [
        BOARD,
        replace(BOARD, lanes=1, true_p=6e-5),
        replace(BOARD, theta=0.2),
        replace(BOARD, spread=0.8, runs=8),
        replace(BOARD, spread=1.2, runs=2, lanes=2),
    ],
)
@pytest.mark.parametrize("allowed", [0, 2, 7])
def test_the_chance_is_that_of_a_simulation(assumed: Assumed, allowed: int) -> None:
    row = planning.least(GOAL, assumed, allowed)
    error = math.sqrt(max(row.chance * (1 - row.chance), 1e-3) / 4000) + 0.01 * (
        assumed.spread > 0 or assumed.theta < 1
    )
    assert simulated(assumed, row.n, GOAL) == pytest.approx(row.chance, abs=ERRORS * error)


@pytest.mark.parametrize("late", [0, 1, 4])
def test_a_planned_length_is_just_enough_for_the_verdict(late: int) -> None:
    row = planning.least(GOAL, BOARD, late)
    counts = {10 * US: row.n - late} | ({400 * US: late} if late else {})
    verdict = judge(recording(block_lane(counts)), deadline_ns=100 * US, p_target=GOAL.p).verdict
    assert verdict is not None and verdict.p_upper == pytest.approx(row.p) and row.p <= GOAL.p
    assert p_upper(late, row.n - 1, GOAL.confidence) > GOAL.p
    assert planning.tolerated(GOAL, BOARD, row.n) == late
    assert planning.tolerated(GOAL, BOARD, row.n - 1) == (late - 1 if late else None)


def test_events_an_hour_are_planned_by_poisson() -> None:
    """Three hours without an event show one an hour; 4.744 with one (docs/method/events.md)."""
    goal = Goal(1e-4, 0.95, per_hour=1.0)
    hours = [planning.least(goal, BOARD, allowed).duration_s / 3600 for allowed in (0, 1)]
    assert hours == [pytest.approx(2.9957, rel=1e-4), pytest.approx(4.7439, rel=1e-4)]
    n = planning.least(goal, BOARD, 1).n
    assert (planning.tolerated(goal, BOARD, n), planning.tolerated(goal, BOARD, n - 10)) == (1, 0)
    assert planning.tolerated(goal, BOARD, 1000) is None


def test_the_shortest_measurement_with_a_chance() -> None:
    row = planning.with_chance(GOAL, BOARD, 0.9)
    assert row is not None and row.chance >= 0.9 > planning.least(GOAL, BOARD, row.allowed - 1).chance
    sure = replace(BOARD, lanes=1, true_p=1e-9)
    assert planning.with_chance(GOAL, sure, 0.9) == planning.least(GOAL, sure, 0)
    assert planning.with_chance(GOAL, replace(BOARD, true_p=GOAL.p), 0.5) is None


def test_bursts_need_longer_and_boots_that_differ_lower_the_chance() -> None:
    single, bursts = (planning.least(GOAL, replace(BOARD, theta=theta), 1) for theta in (1.0, 0.25))
    assert bursts.n > 4 * single.n and bursts.p == pytest.approx(single.p, rel=1e-3)
    alike, unlike = (planning.least(GOAL, replace(BOARD, spread=sd, runs=4), 7).chance for sd in (0.0, 1.0))
    assert unlike < alike


def test_nothing_shows_that_something_never_happens() -> None:
    for goal in (Goal(0.0, 0.95), Goal(1e-4, 0.95, per_hour=0.0)):
        with pytest.raises(UsageError, match="never happens"):
            planning.least(goal, BOARD, 0)
