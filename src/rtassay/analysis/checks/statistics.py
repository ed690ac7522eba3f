"""Are there enough data, and enough order in them, for the numbers that are reported?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rtassay.analysis.checks.base import (
    INTEGRITY,
    LIVE,
    NOTE,
    OPTIMISM,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context, named
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import poisson_upper, samples_needed
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.model.findings import lane_words
from rtassay.model.units import NS_PER_H, NS_PER_MS, NS_PER_S, format_p, format_rate, format_time

COINCIDENCE_NS = NS_PER_MS
BY_CHANCE = 1e-3
STARTUP_P = 0.05
MANY_RECORDS_P = 0.05


@check(
    id="SINGLE-RUN",
    condition="one recording",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Maxima of the same test differ by a factor of two between boots; one run cannot show it.",
    remedy="Repeat over several boots (rtassay experiment).",
    proof=LIVE,
)
def single_run(context: Context) -> Outcome:
    """One recording is one run of one boot."""
    return Outcome(NOTE, "one run of one boot: the scatter between runs and boots is not known")


@check(
    id="N-TOO-SMALL",
    condition="the shortest lane has fewer activations than ln(1 - confidence) / ln(1 - p), or ran less than 3 / (events allowed per hour) hours where the requirement is stated in events",
    kind=OPTIMISM,
    severity=WARNING,
    explanation="So few activations cannot show the required probability, even without a single exceedance. A note without a deadline.",
    remedy="Measure as long as `needed` says, or require a larger p.",
    proof=LIVE,
)
def n_too_small(context: Context) -> Outcome:
    """Fewer activations than the required probability needs even without an exceedance."""
    if not context.lanes:
        return unknown("no lane")
    smallest = min(context.accounts, key=lambda lane: lane.exposure)
    needed = _least(context, smallest)
    if needed is None:
        return Outcome(WARNING, "no number of activations can show it", {"needed": None})
    due = smallest.exposure
    facts = {"needed": needed, "due": due, "lane": smallest.entry.name}
    asked = (
        f"p <= {format_p(context.p_target)}" if context.per_hour is None else f"at most {format_rate(context.per_hour)}"
    )
    claim = f"{asked} at {context.confidence:.0%}"
    if due >= needed:
        return passed(f"{due} activations in the shortest lane, {needed} needed for {claim}", **facts)
    interval = smallest.interval_ns
    time = f" ({format_time(needed * interval)} at this interval)" if interval else ""
    text = f"{lane_words(smallest.entry.name, smallest.entry.cpu)} has {due} activations; {claim} needs {needed} without an exceedance{time}"
    return Outcome(WARNING if context.deadline_ns is not None else NOTE, text, facts)


def _least(context: Context, lane: Account) -> int | None:
    """Activations without any late one that show the requirement."""
    if context.per_hour is None:
        return samples_needed(context.p_target, context.confidence)
    if not lane.interval_ns or context.per_hour <= 0:
        return None
    return math.ceil(poisson_upper(0, context.confidence) / context.per_hour * NS_PER_H / lane.interval_ns)


@check(
    id="PERCENTILE-UNSUPPORTED",
    condition="n (1 - q) < 1, or the upper rank of the interval is beyond n, for a percentile of the ladder",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Such a percentile is only known to be at least the value shown.",
    remedy="Measure longer; quote only percentiles with an upper limit.",
    proof=LIVE,
)
def percentile_unsupported(context: Context) -> Outcome:
    """Quantiles beyond what the number of samples can show."""
    rows = [(lane, quantile) for lane in context.lanes for quantile in lane.quantiles]
    if not rows:
        return unknown("no sample")
    weak = [(lane, quantile) for lane, quantile in rows if quantile.bound == "at_least" or quantile.hi_ns is None]
    if not weak:
        return passed("every percentile of the ladder has an upper limit")
    first = min(quantile.q for _, quantile in weak)
    lanes = {lane.name for lane, _ in weak}
    text = f"from {first * 100:.6g} % on, percentiles of {len(lanes)} lane{'s' if len(lanes) > 1 else ''} have no upper limit at this n"
    return Outcome(NOTE, text, {"from_q": first, "lanes": sorted(str(name) for name in lanes)})


@check(
    id="RECORD-LATE",
    condition="the maximum of all lanes came in the last fifth of the run, or new maxima of a lane came more often in its last half-decade (from 1 / sqrt(10) of its samples to the end) than in independent samples (p < 0.05 over all lanes)",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="The maximum was still growing. One run in five does that by chance. New maxima get rarer as a run goes on: independent samples have 1.15 of them on average in a half-decade, and two or more in a third of all lanes, so only four or five are told.",
    remedy="Measure longer.",
    proof=SYNTHETIC,
    kept=True,
)
def record_late(context: Context) -> Outcome:
    """The run's maximum came in its last fifth, or a lane had too many new maxima towards the end.

    docs/decisions/2026-11-22-late-records.md: asked of every lane, either condition would fire on most runs of several lanes.
    """
    rows = [(lane, seconds) for lane in context.accounts if (seconds := _seconds(lane)) is not None]
    if not rows:
        return unknown("the source does not tell when its samples were taken")
    late = [(lane, seconds) for lane, seconds in rows if seconds.of_maximum >= 0.8 * seconds.length]
    highest = max(int(seconds.top.max()) for _, seconds in rows)
    of_run = [lane for lane, seconds in late if int(seconds.top.max()) == highest]
    counts = [(lane, late_records(seconds.n, seconds.top)) for lane, seconds in rows]
    growing = [(lane, found) for lane, found in counts if found.p * len(rows) < MANY_RECORDS_P]
    facts = {
        "lanes": [lane.entry.name for lane, _ in late],
        "records": {
            str(lane.entry.name): {"n": found.seen, "expected": round(found.expected, 2), "p": float(f"{found.p:.3g}")}
            for lane, found in counts
        },
    }
    texts = []
    if of_run:
        texts.append(f"{named(of_run)}: the maximum came in the last fifth of the run, so it was still growing")
    if growing:
        lane, found = min(growing, key=lambda row: row[1].p)
        texts.append(
            f"{named([lane])}: {found.seen} new maxima since a third of its samples were taken, {found.expected:.1f} expected by chance: "
            "latencies grew towards the end"
        )
    if texts:
        return Outcome(NOTE, "; ".join(texts), facts)
    return passed(
        "the maximum did not come in the last fifth of the run, nor were maxima broken oftener than by chance", **facts
    )


@dataclass(frozen=True, slots=True)
class LateRecords:
    """New maxima in the last half-decade of a lane's samples: their number, the number expected by chance, and its p value."""

    seen: int
    expected: float
    p: float


def late_records(n: Ints, top: Ints) -> LateRecords:
    """Blocks in order, with `n` > 0 samples and maximum `top` each. The last half-decade begins at total / sqrt(10) samples.

    Among independent samples of one distribution without ties the block's maximum exceeds all before with the probability n / (all samples so far),
    independently of the other blocks (Renyi 1962), so that their number is a sum of independent trials: about 1.15 in a half-decade
    however long it is, and two or more in a third of all runs. Ties only make records rarer.
    """
    sofar = np.cumsum(n)
    before = np.concatenate([[np.iinfo(np.int64).min], np.maximum.accumulate(top)[:-1]])
    of_late = (sofar - n) * math.sqrt(10) >= sofar[-1]
    chance = (n / sofar)[of_late]
    seen = int((top > before)[of_late].sum())
    return LateRecords(seen, float(chance.sum()), at_least(seen, chance))


def at_least(seen: int, chance: npt.NDArray[np.float64]) -> float:
    """P(`seen` or more successes) of independent trials, each with its own chance."""
    fewer = np.zeros(seen + 1)  # fewer[j]: probability of j successes so far, j < seen; the last cell is not kept
    fewer[0] = 1.0
    for p in chance:
        fewer[1:] = fewer[1:] * (1 - p) + fewer[:-1] * p
        fewer[0] *= 1 - p
    return float(min(1.0, max(0.0, 1 - fewer[:seen].sum())))


@check(
    id="STARTUP-MAX",
    condition="more lanes than by chance have their maximum in the first or last second of the run (p < 0.05; a lane has it there with the share of samples that these seconds hold)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Start and stop of the run disturb it and may cause the maximum. It is not removed. By chance one lane in five has it there in a run of 10 s, one in thirty in a run of 60 s.",
    remedy="Use a declared warm-up (--warm-up).",
    proof=SYNTHETIC,
    kept=True,
)
def startup_max(context: Context) -> Outcome:
    """More maxima came in the first or last second of the run than by chance."""
    rows = [(lane, seconds) for lane in context.accounts if (seconds := _seconds(lane)) is not None]
    if not rows:
        return unknown("the source does not tell when its samples were taken")
    share = np.array([seconds.share_at_ends for _, seconds in rows])
    if float(share.prod()) >= STARTUP_P:
        return unknown(
            "the run is too short to tell: its first and last second are much of it, and hold all maxima by chance"
        )
    at_ends = [lane for lane, seconds in rows if seconds.maximum_at_ends]
    p = at_least(len(at_ends), share)
    facts = {
        "lanes": [lane.entry.name for lane in at_ends],
        "by_chance": round(float(share.sum()), 3),
        "p": float(f"{p:.3g}"),
    }
    if p < STARTUP_P:
        text = f"{named(at_ends)}: the maximum came in the first or last second, in {facts['by_chance']:.2g} of {len(rows)} lanes by chance; it may belong to starting or stopping"
        return Outcome(WARNING, text, facts)
    return passed("no more maxima came in the first or last second than by chance", **facts)


@dataclass(frozen=True, slots=True)
class _Seconds:
    """Seconds of a lane that have samples, in order: number of samples and maximum of each. `length`: of the run, in seconds;
    `of_maximum`: the second of the first maximum, from the begin; `share_at_ends`: of the samples, in the first and the last second;
    `maximum_at_ends`: whether no other second reaches the maximum."""

    n: Ints
    top: Ints
    length: int
    of_maximum: int
    share_at_ends: float
    maximum_at_ends: bool


def _seconds(lane: Account) -> _Seconds | None:
    """None if the lane's source does not tell when samples were taken."""
    seconds = lane.lane.seconds
    if seconds is None or not len(seconds.second):
        return None
    order = np.argsort(ints(seconds.second), kind="stable")
    number, n, top = ints(seconds.second)[order], ints(seconds.n)[order], ints(seconds.max_ns)[order]
    held = n > 0
    if not held.any():
        return None
    at = int(number[held][int(np.argmax(top[held]))] - number[0])
    ends = (number[held] == number[0]) | (number[held] == number[-1])
    n, top = n[held], top[held]
    alone = bool(ends.any()) and (bool(ends.all()) or int(top[ends].max()) > int(top[~ends].max()))
    share = float(n[ends].sum() / n.sum())
    return _Seconds(n, top, int(number[-1] - number[0]) + 1, at, share, alone)


@check(
    id="SIMULTANEOUS",
    condition="outliers of two lanes within 1 ms of each other, more than chance explains (p < 0.001); lanes whose activations are due together meet by chance as soon as the same activation is an outlier of both",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="A cause common to all CPUs: firmware (SMI), the hypervisor, heat, stop_machine. CPUs are then not independent.",
    remedy="Look at hwlat, SMI counters and temperature at those moments.",
    proof=SYNTHETIC,
    kept=True,
)
def simultaneous(context: Context) -> Outcome:
    """Outliers of several CPUs at the same moment, more often than by chance."""
    if len(context.accounts) < 2:
        return passed("one lane")
    found = [(lane, times) for lane in context.accounts if (times := outlier_times(lane)) is not None]
    if len(found) < 2:
        return unknown("the times of the outliers are not known")
    every = np.concatenate([times for _, times in found])
    span_ns = int(np.ptp(every)) if every.size else 0
    window = context.window_ns
    length = max(window[1] - window[0] if window else 0, span_ns, NS_PER_S)
    pairs, together, by_chance = [], 0, 0.0
    for i, (lane, times) in enumerate(found):
        for other, other_times in found[i + 1 :]:
            hits = _coincident(times, other_times)
            chance = times.size * min(1.0, other_times.size * _meeting_ns(lane, other) / length)
            together += hits
            by_chance += chance
            if hits:
                pairs.append(f"{lane.entry.name}-{other.entry.name}")
    facts = {"coincidences": together, "by_chance": round(by_chance, 6), "pairs": pairs[:20]}
    if together and _poisson_at_least(together, by_chance) < BY_CHANCE:
        text = f"{together} outliers of different lanes fell within {format_time(COINCIDENCE_NS)} of each other ({by_chance:.2g} by chance)"
        return Outcome(NOTE, f"{text}: a common cause (firmware, hypervisor, heat)", facts)
    return passed("outliers of different lanes do not come together more than by chance", **facts)


def _meeting_ns(lane: Account, other: Account) -> int:
    """The time around an outlier in which one of the other lane falls together with it: the interval, if both are due together."""
    interval, begins = lane.interval_ns or 0, (lane.entry.first_due_ns or 0, other.entry.first_due_ns or 0)
    if interval and interval == other.interval_ns:
        apart = (begins[0] - begins[1]) % interval
        if min(apart, interval - apart) <= COINCIDENCE_NS:
            return max(2 * COINCIDENCE_NS, interval)
    return 2 * COINCIDENCE_NS


def _poisson_at_least(count: int, mean: float) -> float:
    """P(a Poisson number of that mean >= count), for count >= 1: the regularised lower incomplete gamma function."""
    from scipy.special import gammainc

    return float(gammainc(count, max(mean, 1e-300)))


def outlier_times(lane: Account) -> Ints | None:
    """Wake-up times of the kept samples in the lane's tail, sorted; None where they cannot be known."""
    entry = lane.entry
    if entry.first_due_ns is None or not lane.interval_ns:
        return None
    spills = lane.spills
    if not spills.k.size:
        return ints([]) if entry.spilled == 0 else None
    late = spills.at(spills.latency_ns >= lane.tail_from_ns)
    return np.sort(entry.first_due_ns + late.k * lane.interval_ns + late.latency_ns)


def _coincident(times: Ints, others: Ints) -> int:
    """How many of `times` have one of `others` within COINCIDENCE_NS."""
    near = np.searchsorted(others, times + COINCIDENCE_NS, side="right") > np.searchsorted(
        others, times - COINCIDENCE_NS
    )
    return int(near.sum())
