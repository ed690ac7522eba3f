"""Histograms and exceedance curves small enough for a page.

Every reduction keeps counts and extremes: coalescing adds counts up, the top of every exceedance curve is kept step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rtassay.model.recording import Histogram
from rtassay.model.units import NS_PER_S, format_time

_TOP_STEPS = 60


def coalesce(histogram: Histogram, unit_ns: int) -> tuple[Any, Any, Any]:
    """(lower_ns, width_ns, counts) in bins `unit_ns` wide up to 1024 units, twice as wide for each doubling beyond. No empty bins.

    Sums of counts are kept. A source bin counts where its lower edge falls.
    """
    lower = np.asarray(histogram.lower_ns, dtype=np.int64)
    units = np.maximum(lower, 0) // (1024 * unit_ns)
    octave = np.zeros(len(lower), dtype=np.int64)
    octave[units > 0] = np.floor(np.log2(units[units > 0])).astype(np.int64) + 1
    width = unit_ns * 2**octave
    begin = lower // width * width
    starts = np.flatnonzero(np.diff(begin, prepend=begin[:1] - 1)) if len(lower) else np.zeros(0, dtype=np.int64)
    if not len(starts):
        return begin, width, np.zeros(0, dtype=np.int64)
    return begin[starts], width[starts], np.add.reduceat(np.asarray(histogram.counts, dtype=np.int64), starts)


def unit_words(unit_ns: int) -> str:
    """How wide the bins of the plot are, for its caption."""
    return f"{format_time(unit_ns)} up to {format_time(1024 * unit_ns)}, twice as wide for each doubling beyond"


def histogram_lines(histograms: Sequence[Histogram], unit_ns: int, most: int) -> tuple[int, list[dict[str, Any]]]:
    """(bin unit in ns, per histogram {"x", "w", "n"}): lower edges and widths in ns and counts, at most `most` bins over all.

    The unit is doubled until they fit.
    """
    unit = unit_ns
    while True:
        lines = [coalesce(histogram, unit) for histogram in histograms]
        if sum(len(line[0]) for line in lines) <= max(most, 40 * len(lines)) or unit > NS_PER_S:
            return unit, [{"x": deltas(x), "w": run_lengths(w), "n": n.tolist()} for x, w, n in lines]
        unit *= 2


def deltas(values: Any) -> list[int]:
    """First value, then differences: small numbers make a small page."""
    array = np.asarray(values, dtype=np.int64)
    return np.diff(array, prepend=0).tolist() if len(array) else []


def run_lengths(values: Any) -> list[int]:
    """value, how often, value, how often ..."""
    array = np.asarray(values, dtype=np.int64)
    starts = np.flatnonzero(np.diff(array, prepend=array[:1] - 1)) if len(array) else np.zeros(0, dtype=np.int64)
    lengths = np.diff(np.append(starts, len(array)))
    return [int(x) for pair in zip(array[starts], lengths, strict=True) for x in pair]


def exceedance_curve(histogram: Histogram, points: int) -> tuple[Any, Any]:
    """(x_ns, k): k samples have a latency >= x. Exact at each x; thinned in the bulk evenly in log k, every step kept at the top."""
    lower = np.asarray(histogram.lower_ns, dtype=np.int64)
    if not len(lower):
        return lower, lower
    counts = np.asarray(histogram.counts, dtype=np.int64)
    above = np.cumsum(counts[::-1])[::-1] + histogram.over
    if len(lower) <= points:
        return lower, above
    targets = np.geomspace(max(int(above[-1]), 1), int(above[0]), max(points - _TOP_STEPS, 8))
    picks = len(lower) - np.searchsorted(above[::-1], targets, side="left") - 1
    top = np.arange(max(len(lower) - _TOP_STEPS, 0), len(lower))
    keep = np.unique(np.concatenate(([0], np.clip(picks, 0, len(lower) - 1), top)))
    return lower[keep], above[keep]


def curve_line(histogram: Histogram, points: int, n: int) -> dict[str, Any]:
    """{"x": delta-coded ns, "k", "n"}: an exceedance curve as the plot takes it."""
    x, k = exceedance_curve(histogram, points)
    return {"x": deltas(x), "k": k.tolist(), "n": n}
