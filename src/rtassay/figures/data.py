"""The data of figures, and the reductions they need. Counts are added, extremes are kept; nothing is estimated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.model.findings import VIRTUAL_BOARD, Findings, LaneFindings, lane_words
from rtassay.model.foreign import one_line
from rtassay.model.recording import Histogram, Lane, Recording
from rtassay.model.units import NS_PER_S, NS_PER_US

_NAME_LIMIT = 60
_BINS_PER_DECADE = 40
LINEAR_UP_TO_NS = 500 * NS_PER_US


@dataclass(frozen=True, slots=True)
class Envelope:
    """Extremes of one lane per bucket of time. `start`: bucket's begin in `unit` (`s`, or `activation` where no interval is known);
    `step` its length. `marks`: (time, latency_ns) of samples kept one by one, the highest ones."""

    lane: int
    unit: str
    step: float
    start: Any
    min_ns: Any
    max_ns: Any
    marks: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Shot:
    """One recording to draw. `name`: its name in legends; `group`: shots of one group share a colour and a bar; `panel`: those of one panel share axes.

    `alike`: indices of the lanes that may be pooled (of rtla's three quantities the thread's). `when`: ISO date of the run;
    `when_known` False where it is only the date of the import.
    """

    recording: Recording
    findings: Findings
    name: str
    group: str
    panel: str = ""
    alike: tuple[int, ...] = ()
    envelopes: tuple[Envelope, ...] = ()
    when: str | None = None
    when_known: bool = False

    @property
    def lanes(self) -> list[tuple[Lane, LaneFindings]]:
        """Lanes with a sample, with their findings."""
        pairs = zip(self.recording.lanes, self.findings.lanes, strict=True)
        return [(lane, found) for lane, found in pairs if found.n]

    @property
    def pooled(self) -> Histogram:
        """All lanes that may be pooled as one histogram."""
        return pool([self.recording.lanes[i].histogram for i in self.alike])


@dataclass(frozen=True, slots=True)
class Options:
    """How to draw. `width`: column or page; `scale` of the latency axis: auto, linear, log; `deadline_ns`: a line to draw."""

    width: str = "page"
    scale: str = "auto"
    title: str | None = None
    deadline_ns: int | None = None


def words(text: str) -> str:
    """Foreign text as a label: one line, printable, bounded."""
    plain = one_line(text)
    return plain if len(plain) <= _NAME_LIMIT else plain[: _NAME_LIMIT - 1] + "…"


def lane_name(found: LaneFindings) -> str:
    """The name of a lane in legends."""
    return words(lane_words(found.name, found.cpu))


def us(ns: float | None) -> str:
    """Microseconds with the useful decimals, and the unit; `unknown` if the data do not tell."""
    if ns is None:
        return "unknown"
    value = ns / NS_PER_US
    text = (
        f"{value:,.0f}" if ns % NS_PER_US == 0 or value >= 1000 else f"{value:,.1f}" if value >= 10 else f"{value:,.2f}"
    )
    return f"{text} µs"


def count(n: int) -> str:
    """A count as people read it: exact up to 5 digits, else 2.00e8 with a true exponent."""
    if n < 100_000:
        return f"{n:,}"
    mantissa, exponent = f"{n:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}·10{superscript(int(exponent))}"


def counted(n: int, what: str) -> str:
    """`1 sample`, `25 samples`."""
    return f"{count(n)} {what}{'' if n == 1 else 's'}"


def superscript(exponent: int) -> str:
    """An exponent in raised digits."""
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def pool(histograms: Sequence[Histogram]) -> Histogram:
    """Counts of equal bins added. The limit is the lowest of all limits: beyond it some counts are not known."""
    lower = np.concatenate([np.asarray(h.lower_ns, np.int64) for h in histograms] or [np.zeros(0, np.int64)])
    width = np.concatenate([np.asarray(h.width_ns, np.int64) for h in histograms] or [np.zeros(0, np.int64)])
    counts = np.concatenate([np.asarray(h.counts, np.int64) for h in histograms] or [np.zeros(0, np.int64)])
    edges, place = np.unique(lower, return_inverse=True)
    total = np.zeros(len(edges), np.int64)
    np.add.at(total, place, counts)
    widest = np.ones(len(edges), np.int64)
    np.maximum.at(widest, place, width)
    limits = [h.limit_ns for h in histograms if h.limit_ns is not None]
    return Histogram(
        edges,
        widest,
        total,
        sum(h.over for h in histograms),
        sum(h.under for h in histograms),
        min(limits, default=None),
    )


def lowest_ns(histograms: Sequence[Histogram]) -> float:
    """The start of a logarithmic axis: the lowest bin, or half the width of a bin that begins at 0."""
    lows = [max(float(h.lower_ns[0]), float(h.width_ns[0]) / 2) for h in histograms if len(h.lower_ns)]
    return min(lows, default=1000.0)


def highest_ns(shots: Sequence[Shot], histograms: Sequence[Histogram]) -> float:
    """The end of the axis: the largest maximum, or the limit of a histogram with samples beyond it."""
    tops = [
        max(shot.findings.pooled.max_ns or 0, histogram.limit_ns or 0 if histogram.over else 0)
        for shot, histogram in zip(shots, histograms, strict=True)
    ]
    return max([*tops, 1000])


def is_log(shots: Sequence[Shot], options: Options) -> bool:
    """Whether the latency axis is logarithmic: as asked; else if the data reach beyond 500 us and 20 times the highest median."""
    if options.scale != "auto":
        return options.scale == "log"
    top = max((s.findings.pooled.max_ns or 0 for s in shots), default=0)
    medians = [q.value_ns for s in shots for q in s.findings.pooled.quantiles if q.q == 0.5]
    return top > LINEAR_UP_TO_NS and top > 20 * max(medians, default=0)


def grid(histograms: Sequence[Histogram], unit_ns: int, log: bool) -> Any:
    """Bin edges in ns that hold all the histograms: `unit_ns` apart, or evenly in the logarithm but at whole units.

    A unit is a multiple of the source's bins, so no bin is split.
    """
    filled = [h for h in histograms if len(h.lower_ns)]
    if not filled:
        return np.array([0, unit_ns], np.int64)
    low = min(int(h.lower_ns[0]) for h in filled)
    high = max(int(h.lower_ns[-1]) + int(h.width_ns[-1]) for h in filled)
    first, last = low // unit_ns, -(-high // unit_ns)
    if not log:
        step = max(1, (last - first) // 4000)
        return np.arange(first, last + step, step, dtype=np.int64) * unit_ns
    first = max(first, 1) if low >= unit_ns else 0
    decades = np.log10(max(last, 2) / max(first, 1))
    points = np.geomspace(max(first, 1), max(last, first + 1), max(int(decades * _BINS_PER_DECADE), 2))
    whole = np.unique(np.concatenate(([first, last], np.rint(points).astype(np.int64))))
    return whole * unit_ns


def rebin(histogram: Histogram, edges: Any) -> Any:
    """Counts of a histogram between the edges; a source bin counts where its lower edge lies."""
    place = np.searchsorted(edges, np.asarray(histogram.lower_ns, np.int64), side="right") - 1
    counts = np.zeros(len(edges) - 1, np.int64)
    np.add.at(counts, np.clip(place, 0, len(counts) - 1), np.asarray(histogram.counts, np.int64))
    return counts


def unit_ns(shots: Sequence[Shot]) -> int:
    """The bin of histograms: the usual 1 us; 0.1 us if all medians lie below 20 us and the sources are that fine."""
    medians = [q.value_ns for s in shots for q in s.findings.pooled.quantiles if q.q == 0.5]
    coarsest = max((s.findings.bin_width_ns for s in shots), default=1)
    step = max(s.findings.clock_step_ns or 1 for s in shots)
    if coarsest <= 100 and medians and max(medians) < 20 * NS_PER_US:
        return -(-100 // step) * step
    return -(-NS_PER_US // coarsest) * coarsest


def exceedances(histogram: Histogram) -> tuple[Any, Any]:
    """(x_ns, k): k samples are at or above x (by lower edge), overflow included."""
    counts = np.asarray(histogram.counts, np.int64)
    above = np.cumsum(counts[::-1])[::-1] + histogram.over
    return np.asarray(histogram.lower_ns, np.int64), above


def thinned(x: Any, k: Any, points: int = 1500) -> tuple[Any, Any]:
    """At most about so many steps of a falling curve, even in log k; the first and the 200 highest are all kept."""
    if len(x) <= points:
        return x, k
    targets = np.geomspace(max(int(k[-1]), 1), int(k[0]), points - 200)
    picks = np.clip(len(k) - np.searchsorted(k[::-1], targets, side="left") - 1, 0, len(k) - 1)
    keep = np.unique(np.concatenate(([0], picks, np.arange(len(x) - 200, len(x)))))
    return x[keep], k[keep]


def envelope_of_seconds(index: int, lane: Lane, origin_ns: int | None) -> Envelope | None:
    """The rollups of a lane with its kept outliers; None without rollups."""
    seconds = lane.seconds
    if seconds is None or not len(seconds.second):
        return None
    held = np.asarray(seconds.n) > 0
    marks: tuple[tuple[float, int], ...] = ()
    spills, first_due_ns, step = lane.spills, lane.entry.first_due_ns, lane.entry.interval_ns
    if spills is not None and origin_ns is not None and first_due_ns is not None and step is not None:
        shift = first_due_ns - origin_ns
        highest = spills.at(np.argsort(-spills.latency_ns, kind="stable")[:300])
        marks = tuple(((shift + k * step) / NS_PER_S, latency_ns) for k, latency_ns, _ in highest.rows())
    return Envelope(
        index, "s", 1.0, seconds.second[held].astype(float), seconds.min_ns[held], seconds.max_ns[held], marks
    )


def envelope_of_samples(
    index: int, blocks: Iterable[tuple[Any, Any, Any]], interval_ns: int | None, n: int
) -> Envelope | None:
    """Extremes of a lane's samples in order, in 300 buckets of at most a second; of activations where no interval is known.

    `blocks`: (latency_ns, missed, dropped) in order. Missed and dropped activations take their time too.
    """
    per_bucket = max(n // 300, 1)
    if interval_ns:
        per_bucket = max(min(per_bucket, NS_PER_S // interval_ns), 1)
    lows: dict[int, int] = {}
    highs: dict[int, int] = {}
    for latency, k in _numbered(blocks):
        bucket = k // per_bucket
        starts = np.flatnonzero(np.diff(bucket, prepend=bucket[:1] - 1))
        for b, low, high in zip(
            bucket[starts].tolist(),
            np.minimum.reduceat(latency, starts).tolist(),
            np.maximum.reduceat(latency, starts).tolist(),
            strict=True,
        ):
            lows[b] = min(lows.get(b, low), low)
            highs[b] = max(highs.get(b, high), high)
    if not lows:
        return None
    at = np.array(sorted(lows), np.float64)
    step = per_bucket * interval_ns / NS_PER_S if interval_ns else float(per_bucket)
    return Envelope(
        index,
        "s" if interval_ns else "activation",
        step,
        at * step,
        np.array([lows[int(b)] for b in at], np.int64),
        np.array([highs[int(b)] for b in at], np.int64),
    )


def _numbered(blocks: Iterable[tuple[Any, Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """(latency_ns, k) per block: the activation each sample belongs to."""
    at = 0
    for latency, missed, dropped in blocks:
        if not len(latency):
            continue
        steps = 1 + missed + dropped
        k = at + np.concatenate(([0], np.cumsum(steps[:-1])))
        yield latency, k
        at += int(steps.sum())


def missing_words(shots: Sequence[Shot]) -> list[str]:
    """Notes on facts that the figure does not show: an emulated board, overflow, missed activations, files without a trailer."""
    told: dict[str, list[str]] = {}
    for shot in shots:
        for note in _missing(shot):
            told.setdefault(note, []).append(shot.name)
    every = len(shots)
    return [
        f"{'' if len(names) == every else ', '.join(names) + ': '}{note}{' each' if len(names) > 1 and note[0].isdigit() else ''}"
        for note, names in told.items()
    ]


def _missing(shot: Shot) -> Iterator[str]:
    if shot.findings.virtual_board:
        yield VIRTUAL_BOARD
    pooled = shot.findings.pooled
    if pooled.over:
        limit = shot.pooled.limit_ns
        yield f"{counted(pooled.over, 'sample')} {f'above {us(limit)}' if limit is not None else 'beyond the histogram'} (overflow)"
    elif any(lane.over is None for lane in shot.findings.lanes):
        yield "overflow unknown (the source has no totals)"
    if pooled.missed:
        yield f"{counted(pooled.missed, 'activation')} missed"
    if pooled.dropped:
        yield f"{counted(pooled.dropped, 'sample')} dropped"
