"""The order of latencies in time: warm-up, drift, periods, steps with the tick, and a maximum far from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rtassay.analysis.checks.base import INTEGRITY, NOTE, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.checks.context import Context
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.model.findings import lane_words
from rtassay.model.measures import WINDOWS
from rtassay.model.units import NS_PER_S, format_time

Floats = npt.NDArray[np.float64]

SURE_P = 0.01
WARM_UP_S = 60
WARM_UP_FROM_S = 3 * WARM_UP_S
KS_EFFECT = 0.1
CHANGE = 0.1
STATIONARY_FROM_S = 60
BLOCKS = 60
FEW_EVENTS = 20
PERIODIC_P = 1e-4
COHERENT = 0.3
MOST_BINS = 1 << 20
TAIL = 100
LEAST_TAIL = 50


@dataclass(frozen=True, slots=True)
class Outliers:
    """Every sample of a lane at or above `threshold_ns`: positions k of activations, rising."""

    threshold_ns: int
    k: Ints


def outliers(lane: Account) -> Outliers | None:
    """All samples in the lane's tail, as far down as none is missing. None without order, or if none lies there."""
    if lane.ordered_from_ns is None:
        return None
    kept = lane.spills.at(lane.spills.latency_ns >= max(lane.ordered_from_ns, lane.tail_from_ns))
    return Outliers(int(kept.latency_ns.min()), kept.k) if len(kept) else None


@dataclass(frozen=True, slots=True)
class _PerSecond:
    """Whole seconds of one lane in order: mean and maximum of each, without the first and the last."""

    lane: Account
    mean: Floats
    maximum: Floats


def _per_second(context: Context) -> list[_PerSecond]:
    found = []
    for lane in context.accounts:
        seconds = lane.lane.seconds
        if seconds is None:
            continue
        order = np.argsort(ints(seconds.second), kind="stable")[1:-1]
        n = ints(seconds.n)[order]
        order = order[n > 0]
        n = ints(seconds.n)[order].astype(np.float64)
        found.append(_PerSecond(lane, ints(seconds.sum_ns)[order] / n, ints(seconds.max_ns)[order].astype(np.float64)))
    return found


@check(
    id="WARMUP",
    condition="in a run of 3 minutes or more the per-second means of the first minute differ from the rest (KS distance above 0.1 and beyond chance, 10 % of the median)",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Caches, governors and temperature need time to settle. Only a declared warm-up is left out; nothing is cut after the run, since one could then choose what to cut.",
    remedy="Measure with --warm-up.",
    proof=SYNTHETIC,
    kept=True,
)
def warm_up(context: Context) -> Outcome:
    """The first minute differs from the rest."""
    rows = [row for row in _per_second(context) if row.mean.size >= WARM_UP_FROM_S - 2]
    if not rows:
        return unknown(
            f"only a run of {WARM_UP_FROM_S // 60} minutes or more with its seconds can tell its first minute apart"
        )
    facts: dict[str, Any] = {}
    found = []
    for row in rows:
        first, rest = row.mean[:WARM_UP_S], row.mean[WARM_UP_S:]
        distance = ks_distance(first, rest)
        shift = float(np.median(first) / np.median(rest) - 1) if np.median(rest) > 0 else 0.0
        facts[str(row.lane.entry.name)] = {"ks": round(distance, 4), "shift": round(shift, 4)}
        chance = 1.63 * math.sqrt((first.size + rest.size) / (first.size * rest.size))
        if distance > max(KS_EFFECT, chance) and abs(shift) > CHANGE:
            found.append((abs(shift), shift, row.lane))
    if not found:
        return passed("the first minute is like the rest", lanes=facts)
    _, shift, lane = max(found, key=lambda item: item[0])
    text = f"{lane_words(lane.entry.name, lane.entry.cpu)}: the mean latency of the first minute is {shift:+.0%} against the rest"
    return Outcome(NOTE, f"{text}; declare a warm-up (--warm-up) if that is not meant", {"lanes": facts})


def ks_distance(a: Floats, b: Floats) -> float:
    """The largest difference of two empirical distribution functions."""
    every = np.sort(np.concatenate([a, b]))
    of_a = np.searchsorted(np.sort(a), every, side="right") / a.size
    of_b = np.searchsorted(np.sort(b), every, side="right") / b.size
    return float(np.abs(of_a - of_b).max())


@check(
    id="NON-STATIONARY",
    condition="mean or maximum per second drifts by more than 10 % of its level over a run of a minute or more (Theil-Sen, Mann-Kendall with Holm's correction, p < 0.01)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A drifting latency has no single distribution: a percentile of the whole run is true for no part of it. Extrapolation is refused.",
    remedy="Find what drifts (temperature, load, memory); warm up; measure longer.",
    proof=SYNTHETIC,
    kept=True,
)
def non_stationary(context: Context) -> Outcome:
    """The latency drifts over the run: the drift is large (10 % of its level) and significant (p < 0.01, Holm over all lanes)."""
    rows = [row for row in _per_second(context) if row.mean.size >= STATIONARY_FROM_S - 2]
    if not rows:
        return unknown(f"only a run of {STATIONARY_FROM_S} s or more with its seconds can show a drift")
    tests = []
    for row in rows:
        for what, values in (("mean", row.mean), ("maximum", row.maximum)):
            blocks = np.array([np.median(part) for part in np.array_split(values, min(BLOCKS, values.size // 2))])
            level = float(np.median(blocks))
            change = theil_sen(blocks) * (blocks.size - 1) / level if level > 0 else 0.0
            tests.append((trend_p(blocks), change, what, row.lane))
    tests.sort(key=lambda test: test[0])
    found = [test for test in tests[: sure_of([p for p, *_ in tests])] if abs(test[1]) > CHANGE]
    facts = {f"{lane.entry.name}.{what}": {"change": round(c, 4), "p": p} for p, c, what, lane in tests}
    if not found:
        return passed("no drift of mean or maximum over the run", **facts)
    _, change, what, lane = max(found, key=lambda test: abs(test[1]))
    text = (
        f"{lane_words(lane.entry.name, lane.entry.cpu)}: the {what} of a second changed by {change:+.0%} over the run"
    )
    return Outcome(WARNING, f"{text}: one part of it does not speak for another", facts)


def sure_of(rising: Sequence[float]) -> int:
    """How many of these p values, rising, are significant together (Holm: the i-th smallest of n times n - i)."""
    return next((i for i, p in enumerate(rising) if p * (len(rising) - i) >= SURE_P), len(rising))


def theil_sen(values: Floats) -> float:
    """Median slope per step over all pairs of two values or more."""
    i, j = np.triu_indices(values.size, 1)
    return float(np.median((values[j] - values[i]) / (j - i)))


def trend_p(values: Floats) -> float:
    """Two-sided p of no trend: the smaller of two tests', doubled. Mann and Kendall's sees a trend in scatter, but takes what a smooth drift
    leaves for autocorrelation; the signs of the steps see a smooth drift."""
    return min(1.0, 2 * min(mann_kendall_p(values), steps_p(values)))


def steps_p(values: Floats) -> float:
    """Two-sided p of as many steps in one direction (normal). Steps of independent values alternate, those of a walk do not: both are
    covered."""
    steps = np.sign(np.diff(values))
    moved = int(np.abs(steps).sum())
    return math.erfc(max(0.0, abs(float(steps.sum())) - 1) / math.sqrt(2 * moved)) if moved else 1.0


def mann_kendall_p(values: Floats) -> float:
    """Two-sided p of no trend (normal, with ties); widened by the autocorrelation of neighbours."""
    n = values.size
    if n < 8:
        return 1.0
    i, j = np.triu_indices(n, 1)
    s = float(np.sign(values[j] - values[i]).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = (n * (n - 1) * (2 * n + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    around = values - theil_sen(values) * np.arange(n)
    around = np.argsort(np.argsort(around, kind="stable"), kind="stable") - (n - 1) / 2
    lag1 = float((around[1:] * around[:-1]).sum() / (around**2).sum())
    variance *= (1 + max(0.0, lag1)) / (1 - min(0.95, max(0.0, lag1)))
    if variance <= 0:
        return 1.0
    return math.erfc(max(0.0, abs(s) - 1) / math.sqrt(2 * variance))


@check(
    id="PERIODIC-OUTLIERS",
    condition="late wake-ups of a lane (20 events or more) follow a period",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Something periodic delays the lane: a timer, a daemon, a refresh. Find this cause; bounds for random samples do not fit it.",
    remedy="Look for a timer of that period (systemd timers, cron, polling drivers).",
    proof=SYNTHETIC,
    kept=True,
)
def periodic_outliers(context: Context) -> Outcome:
    """Late wake-ups that follow a period."""
    facts: dict[str, Any] = {}
    looked, found = 0, []
    for lane in context.accounts:
        kept = outliers(lane)
        if kept is None or not lane.interval_ns:
            continue
        events = decluster(kept.k)
        if events.size < FEW_EVENTS:
            continue
        looked += 1
        peak = strongest_period(events, max(lane.exposure, int(events[-1]) + 1))
        if peak is not None:
            period_ns = peak[0] * lane.interval_ns
            facts[str(lane.entry.name)] = {"period_ns": round(period_ns), "coherence": round(peak[1], 3)}
            found.append((peak[1], period_ns, lane))
    if found:
        coherence, period_ns, lane = max(found, key=lambda row: row[0])
        text = f"{lane_words(lane.entry.name, lane.entry.cpu)}: late wake-ups come every {format_time(period_ns)} (coherence {coherence:.2f})"
        return Outcome(NOTE, f"{text}: look for a timer of that period", facts)
    if not looked:
        return unknown(f"too few late wake-ups with their moments to see a period ({FEW_EVENTS} events needed)")
    return passed("late wake-ups follow no period")


def decluster(k: Ints) -> Ints:
    """First members of clusters that lie 10 activations or more apart, of one position or more."""
    first: Ints = k[np.append(True, np.diff(k) >= 10)]
    return first


def strongest_period(k: Ints, length: int) -> tuple[float, float] | None:
    """(period in activations, coherence 0..1) of a point process on 0 .. length-1, `length` 20 or more; None if no period is beyond chance.

    Under chance the power |sum exp(2 pi i f k)|^2 / n is exponential. A strict period has it at all harmonics: the lowest counts.
    """
    width = -(-length // MOST_BINS)
    bins = -(-length // width)
    counts = np.bincount(k // width, minlength=bins).astype(np.float64)
    spectrum = np.abs(np.fft.rfft(counts)) ** 2 / k.size
    low = 5
    power = spectrum[low : int(0.4 * bins)]
    level = math.log(power.size / PERIODIC_P)
    best = float(power.max())
    if best < level or math.sqrt(best / k.size) < COHERENT:
        return None
    first = int(np.flatnonzero(power >= max(level, best / 2))[0])
    while first + 1 < power.size and power[first + 1] > power[first]:
        first += 1
    return bins * width / (first + low), math.sqrt(float(power[first]) / k.size)


@check(
    id="ALIASING",
    condition="the interval divides the kernel's tick, or is a multiple of it",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A lane in step with the tick always wakes up at the same phase of it: it then always meets the work of the tick, or never. Intervals of 1 ms, 200 us and 100 us are in step with ticks of 100, 250 and 1000 Hz.",
    remedy="Use an interval that shares no factor with it, such as the default of 997 us.",
    proof=SYNTHETIC,
)
def aliasing(context: Context) -> Outcome:
    """The measuring interval is in step with the kernel's tick, so that the two always meet, or never."""
    hz = context.manifest.board_start.kernel.config_hz
    if context.accounts and all(lane.entry.measure in WINDOWS for lane in context.accounts):
        return passed("the interval is a window that is looked at throughout: no phase of the tick is left out")
    intervals = sorted({lane.interval_ns for lane in context.accounts if lane.interval_ns})
    if not intervals:
        return unknown("the interval is not known")
    if not hz:
        return unknown("the kernel's tick (CONFIG_HZ) is not known")
    facts = {"hz": hz, "intervals_ns": intervals}
    step = [i for i in intervals if NS_PER_S % (hz * i) == 0 or (i * hz) % NS_PER_S == 0]
    if step:
        text = f"the interval {format_time(step[0])} keeps step with the tick of {format_time(NS_PER_S / hz)} ({hz} Hz)"
        return Outcome(WARNING, f"{text}: what happens at ticks is always hit at the same phase, or never", facts)
    return passed(f"the interval {format_time(intervals[0])} does not divide the tick of {hz} Hz", **facts)


@check(
    id="LONE-EXTREME",
    condition="a lane's maximum has a chance below 1 % (divided by the lanes) under the tail fitted to its other 99 largest values",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A maximum far from all others has another cause: a rare one, and perhaps the most important one. It is never removed.",
    remedy="Look at the moment it happened (kernel's log, monitors, --break-above); measure longer to see it again.",
    proof=SYNTHETIC,
    kept=True,
)
def lone_extreme(context: Context) -> Outcome:
    """A maximum far beyond the tail of the other values."""
    facts: dict[str, Any] = {}
    looked, found = 0, []
    for lane in context.accounts:
        if lane.over:
            continue
        tail = top_values(lane, TAIL)
        if tail.size < LEAST_TAIL:
            continue
        looked += 1
        p, gap = chance_of_maximum(tail)
        facts[str(lane.entry.name)] = {"p": float(f"{p:.3g}"), "gap_ns": round(gap)}
        if p < SURE_P / len(context.accounts) and gap > lane.bin_width_ns:
            found.append((p, lane, tail))
    if found:
        p, lane, tail = min(found, key=lambda row: row[0])
        text = (
            f"{lane_words(lane.entry.name, lane.entry.cpu)}: after a second largest of {format_time(tail[1])} a maximum of {format_time(tail[0])} "
            f"has a chance of {p:.1g} under the tail of the others"
        )
        return Outcome(WARNING, f"{text}: another cause than theirs; look for it, never delete it", facts)
    if not looked:
        return unknown("no lane has a tail to compare its maximum with")
    return passed("no maximum stands apart from its tail", **facts)


def top_values(lane: Account, most: int) -> Floats:
    """The `most` largest latencies, falling; those of one bin are spread evenly over it."""
    found: list[Floats] = []
    left = most
    for lower, width, count in zip(lane.lower[::-1], lane.width[::-1], lane.counts[::-1], strict=True):
        if left <= 0:
            break
        take = min(int(count), left)
        places = (np.arange(take, dtype=np.float64) + 0.5) / float(count)
        found.append(float(lower) + (1.0 - places) * (float(width) - 1.0))
        left -= take
    return np.concatenate(found) if found else np.zeros(0)


def chance_of_maximum(tail: Floats) -> tuple[float, float]:
    """(chance of a maximum this far out, gap to the second) of four values or more, falling. A generalised Pareto tail is fitted to all but the maximum.

    By probability-weighted moments (Hosking and Wallis 1987). The shape is taken one standard error heavier than fitted, and never
    below 0: a lighter tail than the exponential would make every gap look strange.
    """
    excesses = np.sort(tail[1:-1] - tail[-1])
    n = excesses.size
    gap = float(tail[0] - tail[1])
    first = float(excesses.mean())
    if first <= 0:
        return (1.0 if gap <= 0 else 0.0), gap
    weighted = float((excesses * (n - 1 - np.arange(n)) / (n - 1)).sum() / n)
    shape = max(0.0, 2 - first / (first - 2 * weighted)) if first > 2 * weighted else 0.0
    shape = min(0.9, shape + (1 + shape) / math.sqrt(n))
    scale = first * (1 - shape)
    reach = float(tail[0] - tail[-1])
    beyond = (1 + shape * reach / scale) ** (-1 / shape)
    return -math.expm1((n + 1) * math.log1p(-min(beyond, 1 - 1e-12))), gap
