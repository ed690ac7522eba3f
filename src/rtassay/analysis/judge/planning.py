"""How long to measure, and with what chance it succeeds, by the rule of the verdict itself (docs/method/planning.md)."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rtassay.analysis.lane.bounds import burst_upper, most_exceedances, p_upper, poisson_upper, samples_needed
from rtassay.analysis.lane.claim import MANY, next_largest
from rtassay.analysis.lane.dispersion import widening
from rtassay.model.errors import UsageError
from rtassay.model.units import NS_PER_H, NS_PER_S

ALLOWED = (0, 1, 2, 3, 5, 10, 20)
MOST_ALLOWED = 100_000
MOST_BURSTS = 512
"""Of bursts fewer are tried: the sizes of each number of them are drawn."""
_DRAWS = 4_000
_SEED = 12
_RARE = 1e-3
_BURSTS = 400
_ROUNDING = 1e-9


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
        n = _activations(goal, assumed, allowed)
    if math.isinf(n):
        hint = "allow a small share: --p 1e-6" if goal.per_hour is None else "allow a rare event: --at-most 0.1/h"
        raise UsageError("no measurement shows that something never happens", hint=hint)
    return of_length(goal, assumed, int(n), allowed)


def _activations(goal: Goal, assumed: Assumed, allowed: int) -> float:
    if assumed.theta < 1:
        return math.ceil(_late_limit(allowed, assumed.theta, goal.confidence) / goal.p) if goal.p > 0 else math.inf
    needed = samples_needed(goal.p, goal.confidence, allowed)
    return math.inf if needed is None else needed


@functools.lru_cache(maxsize=4096)
def _limits(events: int, theta: float, confidence: float) -> tuple[float, ...]:
    """The verdict's upper limits of the mean number of late activations that came in so many bursts (`analysis.lane.claim`), rising.

    One for each of _BURSTS draws of sizes, which are geometric with the mean 1 / theta.
    """
    import numpy as np

    by_theta = poisson_upper(events, confidence) / theta
    if events == 0:
        return (by_theta,)
    random = np.random.Generator(np.random.PCG64([_SEED, events]))
    larger = next_largest(events, known=True)
    found = (burst_upper(random.geometric(theta, events), confidence, larger) for _ in range(_BURSTS))
    return tuple(sorted(max(by_theta, limit) for limit in found))


def _late_limit(events: int, theta: float, confidence: float) -> float:
    """A limit that 95 % of the draws do not exceed."""
    limits = _limits(events, theta, confidence)
    return limits[math.ceil(0.95 * len(limits)) - 1]


def _chance_in_bursts(assumed: Assumed, n: int, p: float, confidence: float, mean: float) -> float:
    """P(the limit of a lane with a Poisson number of bursts is at most `p`)."""
    from scipy.special import pdtr

    total, before, events = 0.0, 0.0, 0
    while poisson_upper(events, confidence) / assumed.theta <= p * n * (1 + _ROUNDING):
        upto = float(pdtr(events, mean))
        limits = _limits(events, assumed.theta, confidence)
        total += (upto - before) * bisect.bisect_right(limits, p * n * (1 + _ROUNDING)) / len(limits)
        before, events = upto, events + 1
    return total


def of_length(goal: Goal, assumed: Assumed, n: int, allowed: int) -> Row:
    """What `n` activations a lane show if no lane has more than `allowed` late events."""
    duration_s = n * assumed.interval_ns / NS_PER_S
    return Row(
        allowed=allowed,
        n=n,
        duration_s=duration_s,
        run_s=duration_s / assumed.runs,
        p=_shown(assumed, n, allowed, goal.confidence),
        per_hour=poisson_upper(allowed, goal.confidence) / (duration_s / 3600),
        chance=chance(goal, assumed, n, allowed),
    )


def _shown(assumed: Assumed, n: int, allowed: int, confidence: float) -> float:
    """The upper limit of p that the verdict states after so many late events."""
    if assumed.theta == 1:
        return p_upper(allowed, n, confidence)
    return min(1.0, _late_limit(allowed, assumed.theta, confidence) / n)


def tolerated(goal: Goal, assumed: Assumed, n: int) -> int | None:
    """The most late events in a lane with which `n` activations still show the goal; None if even none is too many."""
    if goal.per_hour is None:
        if assumed.theta == 1:
            return most_exceedances(n, goal.p, goal.confidence)
        return _most(lambda events: _late_limit(events, assumed.theta, goal.confidence), goal.p * n)
    mean = goal.per_hour * n * assumed.interval_ns / NS_PER_H
    return _most(lambda events: poisson_upper(events, goal.confidence), mean)


def _most(limit: Callable[[int], float], allowed: float) -> int | None:
    """The most events whose limit is at most `allowed`; None if that of none is larger."""
    if limit(0) > allowed:
        return None
    low, high = 0, int(allowed) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if limit(middle) <= allowed else (low, middle)
    return low


def chance(goal: Goal, assumed: Assumed, n: int, allowed: int) -> float:
    """P(every lane shows what `allowed` late events in `n` activations show): that none has more, where late ones come singly.

    Events are a Poisson process; single activations that are not rare are independent trials. The lanes share what a boot draws: p of a boot is
    lognormal with the mean `true_p`. The boots are drawn with a fixed seed: the error is at most .01 (in bursts .02). Unlike runs widen the
    bound of the verdict, so fewer events may be seen.
    """
    from scipy.special import bdtr, pdtr

    mean = assumed.theta * n * assumed.true_p
    bursts = assumed.theta < 1 and goal.per_hour is None
    p = _shown(assumed, n, allowed, goal.confidence) if bursts else 0.0
    if assumed.spread == 0:
        if bursts:
            one = _chance_in_bursts(assumed, n, p, goal.confidence, mean)
        else:
            trials = assumed.theta == 1 and assumed.true_p > _RARE
            one = bdtr(allowed, n, assumed.true_p) if trials else pdtr(allowed, mean)
        return float(one) ** assumed.lanes
    boots, wider = _boots(assumed.runs, assumed.spread, goal.confidence, _BURSTS if bursts else _DRAWS)
    means = [mean * boot for boot in boots]
    if bursts:
        found = [
            _chance_in_bursts(assumed, n, p / wide, goal.confidence, one)
            for one, wide in zip(means, wider, strict=True)
        ]
        return math.fsum(one**assumed.lanes for one in found) / len(found)
    most = _fewer(allowed, goal.confidence, wider)
    return math.fsum(float(pdtr(k, one)) ** assumed.lanes for k, one in zip(most, means, strict=True) if k >= 0) / len(
        means
    )


@functools.lru_cache(maxsize=64)
def _boots(runs: int, spread: float, confidence: float, draws: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For each draw of so many boots: their mean p over `true_p`, and the factor by which the verdict widens its bound of such runs."""
    import numpy as np

    random = np.random.Generator(np.random.PCG64(_SEED))
    boots = np.exp(spread * random.standard_normal((draws, runs)) - spread**2 / 2)
    largest = random.poisson(MANY * boots / boots.sum(axis=1, keepdims=True))
    due = np.full(runs, 1, np.int64)
    wider = tuple(widening(one, due, confidence) for one in largest) if runs > 1 else (1.0,) * draws
    return tuple(boots.mean(axis=1).tolist()), wider


def _fewer(allowed: int, confidence: float, wider: tuple[float, ...]) -> list[int]:
    """The most events whose widened limit is at most the limit of so many `allowed` ones; -1 where that of none is larger."""
    import numpy as np
    from scipy.special import gammaincinv

    limits = gammaincinv(np.arange(allowed + 1) + 1.0, confidence)
    room = float(limits[-1]) * (1 + _ROUNDING) / np.array(wider)
    return [int(k) - 1 for k in np.searchsorted(limits, room, side="right")]


@dataclass(frozen=True, slots=True)
class LookRow:
    """A planned look at a run after `n` activations a lane, or after so many of several `runs`, judged at `confidence`: so many late
    events it `tolerated` (None: it shows nothing yet). `chance`: that it HOLDS by itself; that of any look is at least the largest."""

    look: int
    runs: int
    n: int
    duration_s: float
    confidence: float
    tolerated: int | None
    chance: float


def at_looks(goal: Goal, assumed: Assumed, n: int, alphas: Sequence[float]) -> list[LookRow]:
    """Each of equally spaced looks at a run of `n` activations a lane, or at several runs of `n` together, each look after a whole run.

    `alphas`: what each spends (`model.looks`).
    """
    rows = []
    for look, alpha in enumerate(alphas, 1):
        own, runs = replace(goal, confidence=1 - alpha), -(-assumed.runs * look // len(alphas))
        seen = n * look // len(alphas) if assumed.runs == 1 else n * runs // assumed.runs
        at = replace(assumed, runs=runs)
        most = tolerated(own, at, seen)
        rows.append(
            LookRow(
                look=look,
                runs=runs,
                n=seen,
                duration_s=seen * assumed.interval_ns / NS_PER_S,
                confidence=own.confidence,
                tolerated=most,
                chance=0.0 if most is None else chance(own, at, seen, most),
            )
        )
    return rows


def not_met(goal: Goal, assumed: Assumed) -> bool:
    """Whether the board is assumed not to meet the goal: then a measurement that shows it is wrong, and its chance at most 1 - confidence."""
    if goal.per_hour is None:
        return assumed.true_p >= goal.p
    return assumed.true_p * assumed.theta * NS_PER_H / assumed.interval_ns >= goal.per_hour


def with_chance(goal: Goal, assumed: Assumed, wanted: float) -> Row | None:
    """The shortest measurement that shows the goal with at least this chance; None if none does (the true p is too near to the goal)."""

    def enough(allowed: int) -> bool:
        return least(goal, assumed, allowed).chance >= wanted

    in_bursts = assumed.theta < 1 and goal.per_hour is None
    most, low, high = MOST_BURSTS if in_bursts else MOST_ALLOWED, -1, 1
    if assumed.spread == 0 and not_met(goal, assumed) and wanted > 1 - goal.confidence:
        return None
    while not enough(high):
        if high >= most:
            return None
        low, high = high, 2 * high
    if low < 0 and enough(0):
        return least(goal, assumed, 0)
    low = max(low, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return least(goal, assumed, high)
