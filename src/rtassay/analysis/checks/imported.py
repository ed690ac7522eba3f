"""Does a file of another tool say what its numbers seem to say? (What an importer tells: importers/base.py)"""

from __future__ import annotations

import math

import numpy as np

from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    NOTE,
    RECORDED,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context, named
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.summary import moments, weighted_sum
from rtassay.model.facts import ImportFacts, LaneSummary, StreamSummary
from rtassay.model.measures import WINDOWS
from rtassay.model.units import NS_PER_US, format_time

SHARE_OF_COUNT = 1e-3
FEW_BINS = 5
ENOUGH_SAMPLES = 100


@check(
    id="INTERVAL-SPREAD",
    condition="lanes sampled at different intervals",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="cyclictest -t without -S, -h or -d0 makes each thread 500 us slower than the one before it. Pooled percentiles are then mostly those of the fastest thread.",
    remedy="Read lane by lane; measure with -S, or with -d0.",
    proof=RECORDED,
)
def interval_spread(context: Context) -> Outcome:
    """Threads that sampled at different rates."""
    if not context.accounts:
        return unknown("no lane")
    intervals = [lane.interval_ns for lane in context.accounts]
    known = [interval for interval in intervals if interval]
    if len(set(known)) > 1:
        rows = "/".join(f"{interval / NS_PER_US:g}" for interval in known)
        total = sum(lane.entry.n for lane in context.accounts) or 1
        most = max(context.accounts, key=lambda lane: lane.entry.n)
        share = f"{most.entry.n / total:.0%} of all samples are of lane {most.entry.name}"
        facts = {"intervals_ns": intervals, "share": most.entry.n / total}
        return Outcome(WARNING, f"threads sampled every {rows} us: {share}, and so are pooled percentiles", facts)
    if len(context.accounts) > 1 and len(known) < len(intervals):
        return unknown("the intervals of the lanes are not known")
    return passed("one interval for all lanes" if len(intervals) > 1 else "one lane")


@check(
    id="LOOPS-FIRST-WINS",
    condition="cyclictest ended by -l (or by nobody knows what) with lanes of sample counts that differ by more than 0.1 %",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="With -l the thread that is done first stops all others, so that -l1000000 -t16 gives 4.9 million samples and not 16. The slow threads have the fewest.",
    remedy="Count the samples of each lane; end the run by time (-D).",
    proof=RECORDED,
)
def loops_first_wins(context: Context) -> Outcome:
    """cyclictest -l: the first thread that is done ends all others."""
    manifest = context.manifest
    if not context.accounts:
        return unknown("no lane")
    if manifest.source.tool != "cyclictest":
        return passed("only cyclictest -l stops all threads with the first")
    counts = [lane.entry.n + lane.dropped for lane in context.accounts]
    spread = (max(counts) - min(counts)) / max(counts) if max(counts) else 0.0
    facts = {"counts": counts, "spread": spread, "asked": manifest.plan.count}
    if spread <= SHARE_OF_COUNT:
        return passed("the lanes have as many samples each, to 0.1 %", **facts)
    if manifest.plan.count is not None:
        text = (
            f"-l{manifest.plan.count} was asked for each thread; the first one done stopped the others at {min(counts)}"
        )
        return Outcome(WARNING, f"{text}: {sum(counts)} samples in all, not {manifest.plan.count * len(counts)}", facts)
    if manifest.plan.duration_ns is not None:
        return passed("the run was ended by time, not by a number of loops", **facts)
    text = f"lanes have {min(counts)} to {max(counts)} samples"
    return Outcome(WARNING, f"{text}: one thread may have stopped the others (-l), or their intervals differ", facts)


@check(
    id="VERBOSE-RING",
    condition="cycle numbers of a stream repeat, run backwards or leave gaps, only the largest of several samples was printed, or the summary's maximum is not in the stream",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="cyclictest -v passes samples through a ring of 16384 entries that an ordinary thread empties: under load old samples are overwritten without a word, with the right number of lines. A warning where there is no summary to compare with, or where samples were still in the ring at the end.",
    remedy="Use -h instead of -v, or rtprobe, which counts what it drops.",
    proof=RECORDED,
    kept=True,
)
def verbose_ring(context: Context) -> Outcome:
    """A stream of samples that passed through a ring which may be overwritten without a word."""
    if not context.accounts:
        return unknown("no lane")
    imports = context.manifest.probe_facts.imports
    if imports is None or not imports.stream:
        lost = sum(lane.dropped for lane in context.accounts)
        if imports is not None and imports.time_from_stamps and lost:
            return Outcome(
                WARNING, f"{lost} samples are absent between the times of the others: the ring was full", {"lost": lost}
            )
        return passed("the numbers did not come through a ring that loses samples unseen")
    names = {lane.entry.index: lane for lane in context.accounts}
    rows = imports.stream
    broken = [text for row in rows if (text := _stream_broken(row, imports))]
    facts = {"stream": [row.as_dict() for row in rows]}
    if broken:
        return Outcome(INVALID, "; ".join(broken[:3]), facts)
    undrained = sum(row.undrained or 0 for row in rows)
    if undrained:
        text = f"{undrained} samples that the summary counts were never printed (they were in the ring at the end)"
        return Outcome(WARNING, f"{text}: counted as dropped", facts)
    silent = [names[row.lane] for row in rows if row.undrained is None and row.lane in names]
    if silent:
        text = f"{named(silent)}: no summary to compare with: samples that were overwritten in the ring would not show"
        return Outcome(WARNING, f"{text}; use -h, or -q beside -v", facts)
    return passed("the stream has every cycle that the summary counts, its maximum too", **facts)


def _stream_broken(row: StreamSummary, imports: ImportFacts) -> str | None:
    """What shows that a thread's samples are not all there."""
    name = f"thread {row.lane}"
    if row.reduced:
        return f"{name}: only the largest of about each {row.reduced} samples was printed (-o)"
    if row.duplicates or row.backwards:
        return f"{name}: cycle numbers repeat or run backwards ({row.duplicates}, {row.backwards} times)"
    if row.lost:
        return f"{name}: {row.lost} cycles are absent in {row.gaps} gaps"
    told = None if row.lane is None else imports.summary_of(row.lane)
    most, seen = None if told is None else told.max_ns, row.max_ns
    if most is not None and seen is not None and most > seen and not row.undrained:
        return f"{name}: the summary's maximum {format_time(most)} is not in the stream, whose is {format_time(seen)}"
    return None


@check(
    id="TOOL-VERSION-UNKNOWN",
    condition="the file does not tell the version of its tool, or whether its values are us or ns",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="cyclictest before 0.92 runs late activations one after the other, later ones skip them without a count: the same stall gives other percentiles. A note where every version does the same.",
    remedy="Say it with --tool-version (and --unit) on import.",
    proof=RECORDED,
)
def tool_version_unknown(context: Context) -> Outcome:
    """What a tool does after a late wake-up depends on its version, and what its numbers are on its options."""
    source, imports = context.manifest.source, context.manifest.probe_facts.imports
    if not context.accounts:
        return unknown("no lane")
    unit = (
        "; whether its values are us or ns does not show either, us is assumed (--unit)"
        if imports is not None and imports.unit_from == "assumed"
        else ""
    )
    if source.version is None:
        text = f"the file does not tell the version of {source.tool}"
        if source.late_policy != "unknown":
            return Outcome(WARNING if unit else NOTE, f"{text}{unit}", {"late_policy": source.late_policy})
        return Outcome(WARNING, f"{text}: what it does after a late wake-up is not known (--tool-version){unit}")
    if unit:
        return Outcome(WARNING, f"{source.tool} {source.version}{unit}")
    return passed(f"{source.tool} {source.version}", late_policy=source.late_policy)


@check(
    id="QUANTISED",
    condition="a lane of 100 samples or more fills fewer than 5 bins, or its deviation is below one bin",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Whole microseconds hide everything below them: a maximum of 3 us means up to 4 us, and means or deviations of such lanes say little.",
    remedy="Measure in nanoseconds (rtprobe, cyclictest -N).",
    proof=RECORDED,
)
def quantised(context: Context) -> Outcome:
    """Bins so wide that they are most of what was measured."""
    lanes = [lane for lane in context.accounts if lane.entry.n >= ENOUGH_SAMPLES]
    if not lanes:
        return unknown(f"no lane with {ENOUGH_SAMPLES} samples")
    width = context.manifest.bin_width_ns
    if width <= 1:
        return passed("values are whole nanoseconds")
    coarse = [lane for lane in lanes if _coarse(lane, width)]
    facts = {"bin_width_ns": width, "lanes": [lane.entry.name for lane in coarse]}
    if coarse:
        worst = coarse[0].max_ns
        about = "" if worst is None else f": a maximum of {format_time(worst)} means up to {format_time(worst + width)}"
        return Outcome(WARNING, f"{named(coarse)}: the latencies fill few bins of {format_time(width)}{about}", facts)
    if not any(lane.lower.size for lane in lanes):
        return unknown("only a summary was kept")
    return passed(f"the latencies fill many bins of {format_time(width)}", **facts)


def _coarse(lane: Account, width_ns: int) -> bool:
    if not lane.lower.size:
        return lane.min_ns is not None and lane.min_ns == lane.max_ns
    _, sd = moments([lane])
    return lane.lower.size + lane.over < FEW_BINS or (sd is not None and sd < width_ns)


@check(
    id="NEGATIVE-OR-ZERO",
    condition="a latency is zero or negative",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Nothing wakes up before it is due: the timer was programmed early, its calibration subtracts too much, or the clock was stepped.",
    remedy="Look at the clock source and at the tool's calibration; measure with CLOCK_MONOTONIC.",
    proof=RECORDED,
)
def negative_or_zero(context: Context) -> Outcome:
    """Wake-ups before they were due, or at once: the timer or the clock is wrong, or a correction too large."""
    known = [lane for lane in context.accounts if lane.min_ns is not None or lane.under]
    early = [lane for lane in known if lane.under or (lane.min_ns is not None and lane.min_ns < _least_ns(lane))]
    if early:
        least = min((lane.min_ns for lane in early if lane.min_ns is not None), default=None)
        shown = "below 0" if least is None else f"of {format_time(least)}"
        text = f"{named(early)}: a latency {shown}: the timer fired early, or its calibration subtracts too much"
        return Outcome(WARNING, text, {"min_ns": least})
    if not known:
        return unknown("no minimum is known")
    return passed("every latency is above 0")


def _least_ns(lane: Account) -> int:
    """A window from which nothing was taken has 0."""
    return 0 if lane.entry.measure in WINDOWS else 1


@check(
    id="LESS-EQUAL-EDGE",
    condition="samples lie in the bin that holds the deadline",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A bin of whole microseconds that begins at the deadline holds samples that reached it, and cyclictest may be one bin off. They are counted as exceedances; a limit checked with > instead of >= would let them pass.",
    remedy="State a deadline between two bins, or measure in nanoseconds.",
    proof=SYNTHETIC,
)
def less_equal_edge(context: Context) -> Outcome:
    """Samples in the very bin in which the deadline lies."""
    deadline = context.deadline_ns
    if not context.accounts:
        return unknown("no lane")
    if deadline is None:
        return passed("no deadline was stated")
    rows = {}
    for lane in context.accounts:
        inside = (lane.lower <= deadline) & (deadline < lane.top) & (lane.width > 1)
        if count := int(np.sum(lane.counts[inside])):
            rows[lane.entry.name] = count
    if rows:
        lanes = [lane for lane in context.accounts if lane.entry.name in rows]
        text = f"{sum(rows.values())} samples of {named(lanes)} lie in the bin of the deadline itself"
        return Outcome(
            WARNING, f"{text}: counted as exceedances, though they may have come just before it", {"samples": rows}
        )
    return passed("no sample lies in the bin of the deadline")


@check(
    id="SUMMARY-INCONSISTENT",
    condition="minimum, average, maximum and deviation contradict each other (minimum <= average <= maximum, Samuelson, Bhatia-Davis), or the bins; a number of the file that is used nowhere cannot be right (note)",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="Such numbers cannot be of one set of samples: something was pasted, cut, or mixed.",
    remedy="Import the original output of the tool.",
    proof=SYNTHETIC,
    unwaivable="numbers that contradict each other are not a measurement",
    kept=True,
)
def summary_inconsistent(context: Context) -> Outcome:
    """Minimum, average, maximum and deviation that cannot be of one set of numbers, or not of these."""
    if not context.accounts:
        return unknown("no lane")
    imports = context.manifest.probe_facts.imports
    looked, found = 0, []
    for lane in context.accounts:
        row = (imports.summary_of(lane.entry.index) if imports is not None else None) or _of_entry(lane)
        if lane.entry.n == 0 or row.max_ns is None:
            continue
        looked += 1
        found += [f"lane {lane.entry.name}: {text}" for text in _contradictions(lane, row, row.max_ns)]
    if imports is not None:
        found += [text for text in imports.inconsistent if text not in found]
    if found:
        return Outcome(INVALID, "; ".join(found[:3]), {"found": found})
    if imports is not None and imports.doubted:
        return Outcome(NOTE, "; ".join(imports.doubted[:3]), {"doubted": list(imports.doubted)})
    if not looked:
        return unknown("the source has no summary of its own")
    return passed("minimum, average and maximum agree with each other and with the bins")


def _of_entry(lane: Account) -> LaneSummary:
    """What the lane's own account says, where the source has no summary beside it."""
    entry = lane.entry
    exact = entry.sum_ns is not None and entry.n and not lane.dropped
    mean = (entry.sum_ns or 0) / entry.n if exact else None
    return LaneSummary(
        lane=entry.index, n=None, min_ns=entry.min_ns, avg_ns=mean, max_ns=entry.max_ns, sd_ns=None, cycles=None
    )


def _contradictions(lane: Account, row: LaneSummary, most: int) -> list[str]:
    width = lane.bin_width_ns
    least, mean, sd = row.min_ns, row.avg_ns, row.sd_ns
    n = lane.entry.n if row.n is None else row.n
    found = []
    if least is not None and least > most:
        found.append(f"minimum {format_time(least)} above maximum {format_time(most)}")
    if mean is not None and mean > most + width / 2:
        found.append(f"average {format_time(mean)} above maximum {format_time(most)}")
    if mean is not None and least is not None and mean < least - width / 2:
        found.append(f"average {format_time(mean)} below minimum {format_time(least)}")
    if n < lane.entry.n:
        found.append(f"{n} samples in the summary, {lane.entry.n} measured")
    if sd is not None and mean is not None and not found:
        found += _of_deviation(n, least, mean, most, sd, width)
    return found + _against_bins(lane, least, mean, most)


def _of_deviation(n: int, least: float | None, mean: float, most: float, sd: float, width: int) -> list[str]:
    """Samuelson: no value is further from the mean than sd * sqrt(n - 1). Bhatia-Davis: sd^2 <= (max - mean)(mean - min)."""
    if most - mean > sd * math.sqrt(n - 1) + width * (1 + math.sqrt(n - 1)):
        return [
            f"a maximum of {format_time(most)} cannot be among {n} values with deviation {format_time(sd)} (Samuelson)"
        ]
    if least is not None and max(0.0, sd - width) ** 2 > (most - mean + width) * (mean - least + width):
        return [f"deviation {format_time(sd)} is more than minimum, average and maximum allow (Bhatia-Davis)"]
    return []


def _beyond(lane: Account, most: int) -> list[str]:
    """Samples beyond the last bin have a maximum there."""
    limit = lane.limit_ns
    if not lane.over_told or most >= limit:
        return []
    return [
        f"{lane.over_told} samples beyond the last bin at {format_time(limit)}, but the maximum is {format_time(most)}"
    ]


def _against_bins(lane: Account, least: int | None, mean: float | None, most: int) -> list[str]:
    """The summary against the bins it should be of; only where the bins are all there is."""
    found = _beyond(lane, most)
    if not lane.lower.size or lane.under or lane.dropped:
        return found
    low, high = int(lane.lower.min()), int(lane.lower.max())
    end = int(lane.top.max())
    if least is not None and not low <= least < int(lane.top.min()):
        found.append(f"minimum {format_time(least)}, but the lowest bin is {format_time(low)}")
    if most < high or (lane.over_told == 0 and most >= end):
        found.append(f"maximum {format_time(most)}, but the highest bin is {format_time(high)}")
    if mean is not None and not lane.over:
        of_bins = weighted_sum(lane.lower, lane.counts) / int(lane.counts.sum())
        if abs(mean - of_bins) > lane.bin_width_ns + int(lane.width.max()):
            found.append(f"average {format_time(mean)}, but the bins average {format_time(of_bins)}")
    return found
