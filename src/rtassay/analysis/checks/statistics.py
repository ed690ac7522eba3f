"""Do the data carry what is said of them?"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from rtassay.analysis.account import Account
from rtassay.analysis.bounds import samples_needed
from rtassay.analysis.checks.base import NOTE, WARNING, Context, Outcome, named, passed, unknown
from rtassay.analysis.distribution import Ints, ints
from rtassay.model.findings import lane_words
from rtassay.model.units import NS_PER_MS, NS_PER_S, format_time

COINCIDENCE_NS = NS_PER_MS
BY_CHANCE = 1e-3
SHORT_RUN_S = 10


def single_run(context: Context) -> Outcome:
    """One recording is one run of one boot."""
    return Outcome(NOTE, "one run of one boot: the scatter between runs and boots is not known")


def n_too_small(context: Context) -> Outcome:
    """Fewer activations than the required probability needs even without an exceedance."""
    if not context.lanes:
        return unknown("no lane")
    needed = samples_needed(context.p_target, context.confidence)
    if needed is None:
        return Outcome(WARNING, "no number of activations can show a probability of 0", {"needed": None})
    smallest = min(context.accounts, key=lambda lane: lane.exposure)
    due = smallest.exposure
    facts = {"needed": needed, "due": due, "lane": smallest.entry.name}
    claim = f"p <= {context.p_target:g} at {context.confidence:.0%}"
    if due >= needed:
        return passed(f"{due} activations in the shortest lane, {needed} needed for {claim}", **facts)
    interval = smallest.interval_ns
    time = f" ({format_time(needed * interval)} at this interval)" if interval else ""
    text = f"{lane_words(smallest.entry.name, smallest.entry.cpu)} has {due} activations; {claim} needs {needed} without an exceedance{time}"
    return Outcome(WARNING if context.deadline_ns is not None else NOTE, text, facts)


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


def record_late(context: Context) -> Outcome:
    """The maximum came in the last fifth of the run."""
    seen = _records(context)
    if seen is None:
        return unknown("the source does not tell when its samples were taken")
    late = [lane for lane, at, length in seen if length and at >= 0.8 * length]
    if late:
        text = f"{named(late)}: the maximum came in the last fifth of the run, so it was still growing"
        return Outcome(NOTE, text, {"lanes": [lane.entry.name for lane in late]})
    return passed("no maximum came in the last fifth of the run")


def startup_max(context: Context) -> Outcome:
    """The maximum came in the first or last second of the run."""
    seen = _records(context)
    if seen is None:
        return unknown("the source does not tell when its samples were taken")
    if all(length < SHORT_RUN_S for _, _, length in seen):
        return unknown(f"the run is shorter than {SHORT_RUN_S} s: its first and last second are much of it")
    edge = [lane for lane, at, length in seen if length >= SHORT_RUN_S and at in (0, length - 1)]
    if edge:
        text = f"{named(edge)}: the maximum came in the first or last second; it may belong to starting or stopping"
        return Outcome(WARNING, text, {"lanes": [lane.entry.name for lane in edge]})
    return passed("no maximum came in the first or last second")


def _records(context: Context) -> list[tuple[Account, int, int]] | None:
    """(lane, index of the second of its first maximum, number of seconds); None if no lane has seconds."""
    rows = []
    for lane in context.accounts:
        seconds = lane.lane.seconds
        if seconds is None or not len(seconds.second):
            continue
        order = np.argsort(ints(seconds.second), kind="stable")
        number, n, top = ints(seconds.second)[order], ints(seconds.n)[order], ints(seconds.max_ns)[order]
        if not (n > 0).any():
            continue
        top = np.where(n > 0, top, np.iinfo(np.int64).min)
        length = int(number[-1] - number[0]) + 1
        rows.append((lane, int(number[int(np.argmax(top))] - number[0]), length))
    return rows or None


def simultaneous(context: Context) -> Outcome:
    """Outliers of several CPUs at the same moment, more often than chance brings them together."""
    if len(context.accounts) < 2:
        return passed("one lane")
    found = [(lane, times) for lane in context.accounts if (times := outlier_times(lane)) is not None]
    if len(found) < 2:
        return unknown("the times of the outliers are not known")
    span_ns = max(int(times[-1]) for _, times in found if times.size) if any(times.size for _, times in found) else 0
    begin_ns = min((int(times[0]) for _, times in found if times.size), default=0)
    window = context.window_ns
    length = max(window[1] - window[0] if window else 0, span_ns - begin_ns, NS_PER_S)
    pairs, together, by_chance = [], 0, 0.0
    for i, (lane, times) in enumerate(found):
        for other, other_times in found[i + 1 :]:
            hits = _coincident(times, other_times)
            chance = times.size * min(1.0, other_times.size * 2 * COINCIDENCE_NS / length)
            together += hits
            by_chance += chance
            if hits:
                pairs.append(f"{lane.entry.name}-{other.entry.name}")
    facts = {"coincidences": together, "by_chance": round(by_chance, 6), "pairs": pairs[:20]}
    if together and float(gammainc(together, max(by_chance, 1e-300))) < BY_CHANCE:
        text = f"{together} outliers of different lanes fell within {format_time(COINCIDENCE_NS)} of each other ({by_chance:.2g} by chance)"
        return Outcome(NOTE, f"{text}: a common cause (firmware, hypervisor, heat)", facts)
    return passed("outliers of different lanes do not come together more than by chance", **facts)


def outlier_times(lane: Account) -> Ints | None:
    """Wake-up times of the samples kept one by one, sorted; None where they cannot be known."""
    entry = lane.entry
    if entry.first_due_ns is None or not lane.interval_ns:
        return None
    if not lane.lane.spills:
        return ints([]) if entry.spilled == 0 else None
    first, interval = entry.first_due_ns, lane.interval_ns
    return np.sort(ints([first + row.k * interval + row.latency_ns for row in lane.lane.spills]))


def _coincident(times: Ints, others: Ints) -> int:
    """How many of `times` have one of `others` within COINCIDENCE_NS."""
    near = np.searchsorted(others, times + COINCIDENCE_NS, side="right") > np.searchsorted(
        others, times - COINCIDENCE_NS
    )
    return int(near.sum())
