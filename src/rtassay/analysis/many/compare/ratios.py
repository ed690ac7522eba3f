"""The ladder of quantiles: ratio B / A with an interval from the scatter of runs, or, with one run a group, from within the runs.

One step is the primary one, chosen before looking at the runs: it is tested alone. The other steps are corrected for multiple tests.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rtassay.analysis.lane.bounds import decimal
from rtassay.analysis.lane.distribution import ints
from rtassay.analysis.many.compare import inference
from rtassay.analysis.many.compare.inference import Arm, Floats
from rtassay.analysis.many.compare.sample import Limits, Sample
from rtassay.model.comparison import (
    A_BETTER,
    B_BETTER,
    CROSSES,
    NO_DIFFERENCE,
    RUNS_BOOTSTRAP,
    RUNS_EXCHANGE,
    RUNS_T,
    WITHIN_RUN,
    QuantileRatio,
    primary,
)
from rtassay.model.findings import LADDER

ALPHA = 0.05
BOOTSTRAP_FROM = 8
LEAST_RUNS = 3
"""Two runs of each say nothing about their kinds: if runs have two modes, one of eight comparisons of equal groups would show a
difference."""
_REDRAWS = 200
_EVEN = 1 / math.sqrt(12)


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one group: pooled samples, and the boot of each run (None where not known)."""

    samples: tuple[Sample, ...]
    boots: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A row before Holm's correction, with the run-level p of the gap between the bins; None if there are only intervals within the runs.

    `alone`: the primary step, which is not corrected.
    """

    row: QuantileRatio
    p: float | None
    alone: bool = False


def steps(at: float) -> tuple[float, ...]:
    """LADDER with the primary step in its place."""
    return tuple(sorted({*LADDER, at}))


def ladder(a: Side, b: Side, at: float, *, pooled: bool = True) -> list[Step]:
    """All `steps(at)`, before the correction for multiple tests (`corrected`). Empty if a run has no sample.

    `pooled`: False for a single lane, which has no primary step and no bootstrap.
    """
    if not all(sample.n for sample in (*a.samples, *b.samples)) or not a.samples or not b.samples:
        return []
    return [_step(a, b, q, bootstrap=pooled, alone=pooled and q == at) for q in steps(at)]


def corrected(families: Sequence[tuple[Side, Side, list[Step]]]) -> list[tuple[QuantileRatio, ...]]:
    """The rows of several ladders with Holm's correction over all their steps except the primary one."""
    flat = [(a, b, step) for a, b, steps in families for step in steps]
    tests = sum(step.row.method is not None and not step.alone for _, _, step in flat)
    decided = inference.holm([None if step.alone else step.p for _, _, step in flat], tests)
    permuted = inference.holm([None if step.alone else step.row.p_value for _, _, step in flat])
    rows = []
    for (a, b, step), p, p_permuted in zip(flat, decided, permuted, strict=True):
        if step.alone:
            shown = None if _too_few(a, b, step.row) else _excludes_one(step.row.lo, step.row.hi)
            rows.append(replace(step.row, shown=shown, p_holm=step.row.p_value))
        else:
            rows.append(replace(step.row, shown=_shown(a, b, step, p, tests), p_holm=p_permuted))
    out, at = [], 0
    for _, _, steps in families:
        out.append(tuple(rows[at : at + len(steps)]))
        at += len(steps)
    return out


def conclusion(rows: Sequence[QuantileRatio], at: float) -> str:
    """What the primary step of a corrected ladder shows; `crosses` if another step shows the opposite.

    Other steps conclude nothing on their own, so at most 5 % of comparisons of equal groups show a difference.
    """
    first = primary(rows, at)
    if first is None or first.shown is None:
        return NO_DIFFERENCE
    return CROSSES if {row.shown for row in rows} >= {A_BETTER, B_BETTER} else first.shown


def _shown(a: Side, b: Side, step: Step, p: float | None, tests: int) -> str | None:
    """Which group is better at this step, if the 95 % interval and Holm's correction both leave no doubt."""
    row = step.row
    lo, hi = row.lo, row.hi
    if row.method == WITHIN_RUN:
        lo, hi = _within(a, b, row.q, ALPHA / max(tests, 1))
    elif p is None or p > ALPHA or _too_few(a, b, row):
        return None
    return _excludes_one(lo, hi)


def _too_few(a: Side, b: Side, row: QuantileRatio) -> bool:
    """Whether there are too few runs to say anything about their kinds. A single run is compared as a run only, and the words say so."""
    return row.method != WITHIN_RUN and min(len(a.samples), len(b.samples)) < LEAST_RUNS


def _excludes_one(lo: float | None, hi: float | None) -> str | None:
    if lo is not None and lo > 1:
        return A_BETTER
    return B_BETTER if hi is not None and hi < 1 else None


def _step(a: Side, b: Side, q: float, bootstrap: bool, alone: bool) -> Step:
    limits_a, limits_b = (tuple(_limits(s, q) for s in side.samples) for side in (a, b))
    exact = all(limit.exact for limit in (*limits_a, *limits_b))
    row = QuantileRatio(q, _centre(limits_a), _centre(limits_b), None, None, None, "exact" if exact else "at_least")
    logs = [_logs(side, limits) for side, limits in ((a, limits_a), (b, limits_b))] if exact else [None, None]
    la, lb = logs
    if la is None or lb is None:
        lo, hi = _within(a, b, q, ALPHA)
        known = lo is not None or hi is not None
        return Step(replace(row, lo=lo, hi=hi, method=WITHIN_RUN if known else None), None, alone)
    ratio = math.exp(float(np.mean(lb.low) - np.mean(la.low)))
    if la.low.size == lb.low.size == 1:
        ratio = limits_b[0].value_ns / limits_a[0].value_ns
    if min(la.low.size, lb.low.size) < 2:
        lo, hi = _within(a, b, q, ALPHA)
        row = replace(row, ratio=ratio, lo=lo, hi=hi, method=WITHIN_RUN, detectable=_detectable(ratio, lo, hi))
        return Step(row, None, alone)
    effect = inference.a12(la.low, lb.low)
    row = replace(row, a12=effect, cliffs_delta=2 * effect - 1)
    return _between(a, b, row, ratio, la, lb, bootstrap, alone)


def _between(
    a: Side, b: Side, row: QuantileRatio, ratio: float, la: Logs, lb: Logs, bootstrap: bool, alone: bool
) -> Step:
    """The interval from the scatter of runs. Bins widen it: the true values lie anywhere in theirs."""
    enough = inference.smallest_p(la.low.size, lb.low.size) <= inference.ENOUGH_P
    tests = [test(la.low, lb.low, la.hidden, lb.hidden) for test in (inference.welch, inference.student)]
    half, difference = max(test.half_width(ALPHA) for test in tests), tests[0].difference
    low, high, method = difference - half, difference + half, RUNS_T
    if bootstrap and min(la.low.size, lb.low.size) >= BOOTSTRAP_FROM:
        found = inference.bootstrap_t(_arm(a, la, row.q), _arm(b, lb, row.q), ALPHA)
        if found is not None:
            low, high, method = *found, RUNS_BOOTSTRAP
    if alone and enough:
        exact = inference.exchange_interval(la.low, lb.low, ALPHA)
        if method == RUNS_BOOTSTRAP and (_grouped(a) or _grouped(b)):
            exact = (
                min(low, exact[0]),
                max(high, exact[1]),
            )  # runs of one boot are not independent, so an exchange of them is too optimistic
        low, high, method = *exact, RUNS_EXCHANGE
    lo, hi = math.exp(low - la.wide), math.exp(high + lb.wide)
    gap = max(difference - la.wide, -difference - lb.wide, 0.0)
    p_value = inference.permutation_p(la.low, lb.low)[0] if enough else None
    detectable = _detectable(ratio, lo, hi)
    row = replace(row, ratio=ratio, lo=lo, hi=hi, method=method, p_value=p_value, detectable=detectable)
    return Step(row, max(test.p_value(gap) for test in tests), alone)


def _grouped(side: Side) -> bool:
    """Whether boots are known and one of them holds several runs."""
    return None not in side.boots and len(set(side.boots)) < len(side.boots)


def _limits(sample: Sample, q: float) -> Limits:
    found = sample.quantile(q)
    assert found is not None  # ladder() passes only runs with samples
    return found


def _centre(limits: tuple[Limits, ...]) -> int:
    """Geometric mean of the runs' values; the arithmetic mean if one is not above 0."""
    values = [limit.value_ns for limit in limits]
    if len(set(values)) == 1:
        return values[0]
    if min(values) <= 0:
        return round(sum(values) / len(values))
    return round(math.exp(math.fsum(math.log(value) for value in values) / len(values)))


@dataclass(frozen=True, slots=True)
class Logs:
    """ln of the runs' values; `wide`: mean ln of how much the upper bin edges lie above; `hidden`: sd that bins can hide."""

    low: Floats
    wide: float
    hidden: float


def _logs(side: Side, limits: tuple[Limits, ...]) -> Logs | None:
    """None if a value is not above 0."""
    low = np.array([limit.value_ns for limit in limits], dtype=np.float64)
    if (low <= 0).any():
        return None
    steps = [s.resolution_ns(limit.value_ns) for s, limit in zip(side.samples, limits, strict=True)]
    # a source of exact values hides nothing: its step of 1 ns is no bin
    width = np.array([step if step > 1 else 0 for step in steps], dtype=np.float64)
    wide = np.log1p(width / low)
    return Logs(np.log(low), float(wide.mean()), float(wide.mean()) * _EVEN)


def logs_of(side: Side, q: float) -> Logs | None:
    """ln x_q of every run; None where a run's samples do not reach so far or a value is not above 0."""
    limits = [sample.quantile(q) for sample in side.samples]
    known = tuple(limit for limit in limits if limit is not None and limit.exact)
    return _logs(side, known) if len(known) == len(limits) else None


def _within(a: Side, b: Side, q: float, alpha: float) -> tuple[float | None, float | None]:
    """Bounds of the ratio from the order-statistic intervals of every run: the extremes of both groups against each other."""
    low_a, high_a = _extremes(a, q, alpha)
    low_b, high_b = _extremes(b, q, alpha)
    lo = low_b / high_a if high_a is not None and high_a > 0 and low_b > 0 else None
    hi = high_b / low_a if high_b is not None and low_a > 0 else None
    return lo, hi


def _extremes(side: Side, q: float, alpha: float) -> tuple[int, int | None]:
    """(smallest lower limit, largest upper bin edge of an upper limit or None) over the runs."""
    lows: list[int] = []
    highs: list[int | None] = []
    for sample in side.samples:
        limit = sample.quantile(q, alpha)
        assert limit is not None
        lows.append(limit.lo_ns)
        step = 0 if limit.hi_ns is None else sample.resolution_ns(limit.hi_ns)
        highs.append(None if limit.hi_ns is None else limit.hi_ns + (step if step > 1 else 0))
    known = [high for high in highs if high is not None]
    return min(lows), max(known) if len(known) == len(highs) else None


def _detectable(ratio: float, lo: float | None, hi: float | None) -> float | None:
    """The width of the interval as a factor, to its wider side: a ratio nearer to 1 would not show."""
    if lo is None or hi is None or lo <= 0:
        return None
    return max(hi / ratio, ratio / lo)


def _arm(side: Side, logs: Logs, q: float) -> Arm:
    """Redraws of each run's quantile: the rank of a new sample of the same size is binomial."""
    fail = float(1 - decimal(q))
    seed = zlib.crc32(logs.low.tobytes())
    random = np.random.Generator(np.random.PCG64([seed, round(1 / fail)]))
    rows = []
    for sample in side.samples:
        ranks = np.maximum(1, sample.n - random.binomial(sample.n, fail, size=_REDRAWS))
        rows.append(np.log(np.maximum(sample.at(ints(ranks)), 1).astype(np.float64)))
    known = all(boot is not None for boot in side.boots)
    boots = tuple(str(boot) if known else str(i) for i, boot in enumerate(side.boots))
    return Arm(logs.low, np.array(rows), boots)
