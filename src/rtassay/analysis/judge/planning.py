"""How long to measure, and with what chance it succeeds, by the rule of the verdict itself (docs/method/planning.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rtassay.analysis.lane.bounds import most_exceedances, p_upper, poisson_upper, samples_needed
from rtassay.model.errors import UsageError
from rtassay.model.units import NS_PER_H, NS_PER_S

ALLOWED = (0, 1, 2, 3, 5, 10, 20)
MOST_ALLOWED = 100_000
_DRAWS = 20_000
_SEED = 12
_RARE = 1e-3


@dataclass(frozen=True, slots=True)
class Goal:
    """What is to be shown at `confidence`, of every lane: at most `p` of its activations late, or `per_hour` events an hour."""

    p: float
    confidence: float
    per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is assumed of the board. `theta`: 1 / mean number of late activations in one event (1: they come singly).

    `spread`: standard deviation of ln p between boots; `true_p`: the mean share of late activations; `runs`: runs together, each of
    its own boot. `true_p` and `spread` decide the chance only, never what is shown.
    """

    interval_ns: int
    lanes: int
    true_p: float
    theta: float = 1.0
    spread: float = 0.0
    runs: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement of `n` activations a lane, `duration_s` long in all runs together, that may have `allowed` late events a lane.

    With so many it shows `p` a late activation and `per_hour` events an hour at most. `chance`: that no lane has more.
    """

    allowed: int
    n: int
    duration_s: float
    run_s: float
    p: float
    per_hour: float
    chance: float


def least(goal: Goal, assumed: Assumed, allowed: int) -> Row:
    """The shortest measurement that shows the goal with so many late events in a lane. Raises UsageError for a goal of 0."""
    if goal.per_hour is not None:
        hours = poisson_upper(allowed, goal.confidence) / goal.per_hour if goal.per_hour > 0 else math.inf
        n = math.inf if math.isinf(hours) else math.ceil(hours * NS_PER_H / assumed.interval_ns)
    else:
        needed = samples_needed(goal.p, goal.confidence, allowed)
        n = math.inf if needed is None else math.ceil(needed / assumed.theta)
    if math.isinf(n):
        raise UsageError("no measurement shows that something never happens", hint="allow a small share: --p 1e-6")
    return of_length(goal, assumed, int(n), allowed)


def of_length(goal: Goal, assumed: Assumed, n: int, allowed: int) -> Row:
    """What `n` activations a lane show if no lane has more than `allowed` late events."""
    duration_s = n * assumed.interval_ns / NS_PER_S
    return Row(
        allowed=allowed,
        n=n,
        duration_s=duration_s,
        run_s=duration_s / assumed.runs,
        p=p_upper(allowed, _independent(assumed, n), goal.confidence),
        per_hour=poisson_upper(allowed, goal.confidence) / (duration_s / 3600),
        chance=chance(assumed, n, allowed),
    )


def _independent(assumed: Assumed, n: int) -> int:
    """So many independent activations are worth `n` whose late ones come in bursts."""
    return math.floor(assumed.theta * n + 1e-6)


def tolerated(goal: Goal, assumed: Assumed, n: int) -> int | None:
    """The most late events in a lane with which `n` activations still show the goal; None if even none is too many."""
    if goal.per_hour is None:
        return most_exceedances(_independent(assumed, n), goal.p, goal.confidence)
    mean = goal.per_hour * n * assumed.interval_ns / NS_PER_H
    if poisson_upper(0, goal.confidence) > mean:
        return None
    low, high = 0, int(mean) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if poisson_upper(middle, goal.confidence) <= mean else (low, middle)
    return low


def chance(assumed: Assumed, n: int, allowed: int) -> float:
    """P(no lane has more than `allowed` late events in `n` activations).

    Events are a Poisson process; single activations that are not rare are independent trials. The lanes share what a boot draws: p of a boot is
    lognormal with the mean `true_p`. Its mean over the runs is drawn _DRAWS times with a fixed seed: the error is at most .004.
    """
    import numpy as np
    from scipy.special import bdtr, pdtr

    mean = assumed.theta * n * assumed.true_p
    if assumed.spread == 0:
        trials = assumed.theta == 1 and assumed.true_p > _RARE
        one = bdtr(allowed, n, assumed.true_p) if trials else pdtr(allowed, mean)
        return float(one) ** assumed.lanes
    random = np.random.Generator(np.random.PCG64(_SEED))
    total = np.zeros(_DRAWS)
    for _ in range(assumed.runs):
        total += np.exp(assumed.spread * random.standard_normal(_DRAWS) - assumed.spread**2 / 2)
    return float((pdtr(allowed, mean * total / assumed.runs) ** assumed.lanes).mean())


def with_chance(goal: Goal, assumed: Assumed, wanted: float) -> Row | None:
    """The shortest measurement that shows the goal with at least this chance; None if none does (the true p is too near to the goal)."""

    def enough(allowed: int) -> bool:
        return least(goal, assumed, allowed).chance >= wanted

    low, high = -1, 1
    while not enough(high):
        if high >= MOST_ALLOWED:
            return None
        low, high = high, 2 * high
    if low < 0 and enough(0):
        return least(goal, assumed, 0)
    low = max(low, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return least(goal, assumed, high)
