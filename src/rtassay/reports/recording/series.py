"""Plot data of one recording, small enough for a page: curves, envelopes, outliers and telemetry in buckets of time.

An envelope keeps the minimum and maximum of its bucket. Lengths are bounded whatever the recording's size.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from rtassay.model.findings import Findings
from rtassay.model.own import is_guard
from rtassay.model.recording import Lane, Recording, Seconds, Series, Spills
from rtassay.model.units import NS_PER_S, NS_PER_US
from rtassay.reports.curves import curve_line

_CURVE_POINTS = 2400
_ENVELOPE_POINTS = 4000
_MARKS = 600
_TELEMETRY_POINTS = 4800
_SERIES_PER_CHART = 12
_CHARTS = 14
# What a reader looks for first stands first; a monitor that is not named here follows.
_ORDER = (
    "load", "cpu", "threads", "interrupts", "softirqs", "switches", "temperature", "raspberry", "frequency", "power", "cooling", "pressure",
    "memory", "firmware", "clock",
)  # fmt: skip
_FOR_PEOPLE = {"ratio": ("%", 100.0), "Hz": ("MHz", 1e-6), "B": ("MB", 1e-6), "bytes": ("MB", 1e-6), "1": ("", 1.0)}
# Facts about a thread or a file, not quantities that a curve would show; what watching cost is told in words.
_NOT_DRAWN = {("threads", "priority"), ("threads", "cpu"), ("cost", "busy")}
# Their series begin with the first event: what is missing was 0.
_ABSENT_IS_ZERO = ("interrupts", "softirqs", "threads")
# A mean over the time since the reading before, not a value of its moment.
_MEANS = ("ratio", "CPUs", "1/s")
# Clocks that are slewed wander by so much all the time.
_STILL_NS = 1000.0


def bin_unit_ns(findings: Findings, typical_ns: int) -> int:
    """The finest bin of the latency plot: 1 us as everybody knows it, about 0.1 us where the bulk is below 20 us.

    Never finer than the source, and small bins hold whole clock steps: 2 ticks in one and 1 in the next would draw a comb.
    """
    if typical_ns >= 20 * NS_PER_US or findings.bin_width_ns > NS_PER_US // 10:
        return max(NS_PER_US, findings.bin_width_ns)
    step = max(findings.clock_step_ns or 1, findings.bin_width_ns)
    return -(-(NS_PER_US // 10) // step) * step


def confidence_band(k: Any, n: int, confidence: float = 0.95) -> tuple[Any, Any]:
    """Pointwise two-sided Clopper-Pearson limits of a probability of which k of n were seen."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    k = np.asarray(k, dtype=np.float64)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    return low, high


def curves(recording: Recording, judged: int) -> list[dict[str, Any]]:
    """Per lane {"x": delta-coded ns, "k", "n"}; the judged lane also has "lo" and "hi", the 95 % band."""
    points = max(_CURVE_POINTS // max(len(recording.lanes), 1), 40)
    lines = []
    for index, lane in enumerate(recording.lanes):
        line = curve_line(lane.histogram, points, lane.histogram.total)
        if index == judged and line["k"]:
            low, high = confidence_band(line["k"], lane.histogram.total)
            line["lo"] = [rounded(v, 4) for v in low.tolist()]
            line["hi"] = [rounded(v, 4) for v in high.tolist()]
        lines.append(line)
    return lines


def rounded(value: float, figures: int) -> float | int:
    """A number with so many significant figures, whole ones without a decimal point."""
    short = float(f"{value:.{figures}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def both_parts(recording: Recording) -> Recording:
    """Of a traced run, the recording with seconds and late samples of both parts in its lanes, for what is drawn over time."""
    traced = {lane.entry.index: lane for lane in recording.traced}
    return replace(recording, lanes=tuple(_joined(lane, traced.get(lane.entry.index)) for lane in recording.lanes))


def _joined(lane: Lane, traced: Lane | None) -> Lane:
    if traced is None:
        return lane
    seconds, spills = lane.seconds, lane.spills
    if seconds is not None and traced.seconds is not None:
        seconds = Seconds(
            *(np.concatenate([getattr(part, f.name) for part in (seconds, traced.seconds)]) for f in fields(Seconds))
        )
    if spills is not None and traced.spills is not None:
        spills = Spills(
            *(np.concatenate([getattr(part, f.name) for part in (spills, traced.spills)]) for f in fields(Spills))
        )
    return replace(lane, seconds=seconds, spills=spills)


def origin_ns(recording: Recording) -> int | None:
    """Zero of the time axis on the board's clock."""
    if (given := recording.manifest.probe_facts.origin_ns) is not None:
        return given
    first = [lane.entry.first_due_ns for lane in recording.lanes if lane.entry.first_due_ns is not None]
    return min(first) if first else recording.manifest.started_ns


def envelopes(recording: Recording) -> dict[str, Any] | None:
    """{"step": seconds a bucket, "lanes": [{"t0": bucket, "min", "max" in ns or null, "missed", "dropped"}]}; None without seconds."""
    have = [lane.seconds for lane in recording.lanes if lane.seconds is not None and len(lane.seconds.second)]
    if not have:
        return None
    length = max(int(s.second[-1]) for s in have) + 1
    buckets = max(_ENVELOPE_POINTS // (2 * len(recording.lanes)), 60)
    step = -(-length // buckets)
    return {"step": step, "lanes": [_envelope(lane, step, -(-length // step)) for lane in recording.lanes]}


def _envelope(lane: Lane, step: int, size: int) -> dict[str, Any]:
    seconds = lane.seconds
    if seconds is None:
        return {"min": [], "max": [], "missed": [], "dropped": []}
    bucket = np.asarray(seconds.second, dtype=np.int64) // step
    inside = (bucket >= 0) & (bucket < size)
    held = inside & (np.asarray(seconds.n) > 0)
    low = np.full(size, np.iinfo(np.int64).max)
    high = np.full(size, np.iinfo(np.int64).min)
    np.minimum.at(low, bucket[held], seconds.min_ns[held])
    np.maximum.at(high, bucket[held], seconds.max_ns[held])
    some = np.zeros(size, dtype=bool)
    some[bucket[held]] = True
    sums = {}
    for name in ("missed", "dropped"):
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, bucket[inside], np.asarray(getattr(seconds, name), dtype=np.int64)[inside])
        sums[name] = total.tolist() if total.any() else []
    return {
        "min": [v if ok else None for v, ok in zip(low.tolist(), some.tolist(), strict=True)],
        "max": [v if ok else None for v, ok in zip(high.tolist(), some.tolist(), strict=True)],
        **sums,
    }


def marks(recording: Recording) -> tuple[list[dict[str, Any]], int]:
    """(per lane {"t": ms since the origin, "v": ns, "m": missed}, how many were left out): the highest 600 outliers kept one by one."""
    origin = origin_ns(recording)
    every: list[tuple[int, int, int, int]] = []
    spilled = 0
    if origin is not None:
        for index, lane in enumerate(recording.lanes):
            entry = lane.entry
            spills = lane.spills
            if spills is None or entry.first_due_ns is None or entry.interval_ns is None:
                continue
            spilled += len(spills)
            shift, step = entry.first_due_ns - origin, entry.interval_ns
            highest = spills.at(np.lexsort((spills.k, spills.latency_ns))[-_MARKS:])
            every += [(value, index, (shift + k * step) // 1_000_000, missed) for k, value, missed in highest.rows()]
    kept = sorted(sorted(every, reverse=True)[:_MARKS], key=lambda mark: mark[2])
    lanes: list[dict[str, Any]] = [{"t": [], "v": [], "m": []} for _ in recording.lanes]
    for value, index, when, missed in kept:
        lanes[index]["t"].append(when)
        lanes[index]["v"].append(value)
        lanes[index]["m"].append(missed)
    return lanes, spilled - len(kept)


def telemetry(recording: Recording, unusual: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """Charts of telemetry on the time axis: {"title", "unit", "step", "lines": [{"name", "v"}], "left_out", "news"}, means per bucket of
    time. `news`: the monitor is one of the `unusual`; a page folds the others away."""
    origin = origin_ns(recording)
    if origin is None:
        return []
    groups: dict[tuple[str, str], list[Series]] = {}
    for series in recording.telemetry:
        drawn = (series.monitor, series.name.rpartition(".")[2]) not in _NOT_DRAWN
        if drawn and len(series.mono_ns) and _tells(series):
            groups.setdefault((series.monitor, series.unit), []).append(series)
    rank = {monitor: place for place, monitor in enumerate(_ORDER)}
    chosen = sorted(groups.items(), key=lambda item: rank.get(item[0][0], len(rank)))[:_CHARTS]
    shown = sum(min(len(group), _SERIES_PER_CHART) for _, group in chosen)
    points = min(max(_TELEMETRY_POINTS // max(shown, 1), 60), 600)
    end = max((int(s.mono_ns[-1]) for _, group in chosen for s in group), default=origin)
    step = max(-(-(end - origin) // points), NS_PER_S)
    charts: list[dict[str, Any]] = []
    for (monitor, unit), group in chosen:
        # Where there are more series than a reader can tell apart, those that move most say most.
        lively = sorted(
            group, key=lambda s: -float(np.nanmax(s.values) - np.nanmin(s.values)) if len(s.values) else 0.0
        )
        kept = lively[:_SERIES_PER_CHART]
        shown_unit, factor = _FOR_PEOPLE.get(unit, (unit, 1.0))
        lines = [
            {"name": s.name, "v": _bucket_means(s, origin, step, factor, end)}
            for s in group
            if any(s is k for k in kept)
        ]
        charts.append(
            {
                "title": monitor,
                "unit": shown_unit,
                "step": step / NS_PER_S,
                "lines": lines,
                "left_out": len(group) - len(kept),
                "news": monitor in unusual,
            }
        )
    return charts


def _tells(series: Series) -> bool:
    """A curve that lies on zero from end to end says what its absence says; guards of ours sleep above everything by design."""
    if series.monitor == "threads" and is_guard(series.name.rpartition("[")[0]):
        return False
    values = np.nan_to_num(np.asarray(series.values, dtype=np.float64))
    return bool((np.abs(values) > _STILL_NS).any() if series.unit == "ns" else values.any())


def _bucket_means(series: Series, origin: int, step: int, factor: float, end: int) -> list[float | int | None]:
    """Means per bucket of time up to the last reading of all; None where there was none, 0 where that means that nothing happened."""
    times = np.asarray(series.mono_ns, dtype=np.int64)
    values = np.asarray(series.values, dtype=np.float64) * factor
    silent = 0 if series.monitor in _ABSENT_IS_ZERO else None
    if series.unit in _MEANS or series.unit.endswith("/s"):
        # It stands where most of the time lies that it speaks of.
        spacing = NS_PER_S if silent is not None or len(times) < 2 else int(np.median(np.diff(times)))
        times = times - spacing // 2
    bucket = (times - origin) // step
    good = (bucket >= 0) & np.isfinite(values)
    if not good.any():
        return []
    last = int(bucket[good].max())
    size = max(last, (end - origin - NS_PER_S // 2) // step if silent is not None else last) + 1
    total = np.bincount(bucket[good], values[good], size)
    number = np.bincount(bucket[good], minlength=size)
    return [rounded(t / n, 4) if n else silent for t, n in zip(total.tolist(), number.tolist(), strict=True)]


def judged_lane(findings: Findings, recording: Recording) -> int:
    """Index of the lane that the verdict names, else of the one with the largest maximum: the one that gets the confidence band."""
    if findings.verdict is not None:
        for index, lane in enumerate(recording.lanes):
            if lane.entry.name == findings.verdict.lane:
                return index
    peaks = [lane.max_ns or 0 for lane in findings.lanes]
    return peaks.index(max(peaks)) if peaks else 0
