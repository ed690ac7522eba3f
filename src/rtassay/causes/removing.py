"""The traced part of a run as it would have been without some causes: L' = L - part(cause), and less what came only while it ran. A prediction."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np

from rtassay.model.causes import (
    BOTTOM_HALVES_OFF,
    NO_PREEMPTION_POINT,
    OBSERVER,
    PAGE_FAULT,
    PREEMPTION_OFF,
    SOFTIRQ,
    THREAD,
    THROTTLING,
    UNATTRIBUTED,
    WAKE_UP,
    Attribution,
    Cause,
)
from rtassay.model.recording import Histogram, Lane, Spills

Key = tuple[str, str, int | None]


def key_of(cause: Cause) -> Key:
    """What makes two causes the same one in a ranking: threads that come and go have one name and many numbers. All threads of the measurement are one."""
    if cause.kind == OBSERVER:
        return cause.kind, "", None
    return cause.kind, cause.name, cause.number


def owned_ns(attribution: Attribution) -> dict[Key, int]:
    """ns of each cause in one hit, over all phases."""
    found: dict[Key, int] = {}
    for part in attribution.parts:
        found[key_of(part.cause)] = found.get(key_of(part.cause), 0) + part.ns
    return found


_INTERRUPTED: Final = frozenset(
    (THREAD, PREEMPTION_OFF, BOTTOM_HALVES_OFF, NO_PREEMPTION_POINT, SOFTIRQ, THROTTLING, PAGE_FAULT)
)
"""Kinds that interrupts, and threads above, interrupt at once: what lies between two parts of one came at its own time."""


def left_ns(attribution: Attribution, keys: Collection[Key]) -> int:
    """The latency of a hit, had these causes taken no time.

    What interrupted a turn of one of them (a tick, another thread) came at its own time: it stays only if the thread had still not run by then.
    """
    parts = attribution.parts
    removed = [part if key_of(part.cause) in keys else None for part in parts]
    left = attribution.hit.latency_ns - sum(part.ns for part in removed if part is not None)
    turns = [at for at, part in enumerate(removed) if part is not None and part.cause.kind in _INTERRUPTED]
    inside = [
        parts[at]
        for begin, end in pairwise(turns)
        if parts[begin].cause == parts[end].cause
        for at in range(begin + 1, end)
        if removed[at] is None and parts[at].cause.kind not in (WAKE_UP, UNATTRIBUTED)
    ]
    left -= sum(part.ns for part in inside)
    for part in inside:
        if part.start_ns - attribution.hit.due_ns < left:
            left += part.ns
    return left


def without(lanes: Iterable[Lane], latencies_ns: Mapping[tuple[int, int], int], bin_width_ns: int) -> tuple[Lane, ...]:
    """The lanes of a traced part with other latencies of some hits. `latencies_ns`: (lane, k) -> the new one in ns.

    A hit that becomes shorter than some intervals misses fewer activations. Those that it would not have missed count as samples of the
    lane's median. Hits without a position in the lane's spills stay as they are.
    """
    return tuple(_without(lane, latencies_ns, bin_width_ns) for lane in lanes)


def _without(lane: Lane, latencies_ns: Mapping[tuple[int, int], int], bin_width_ns: int) -> Lane:
    spills, entry = lane.spills, lane.entry
    if spills is None or not len(spills):
        return lane
    index = entry.index
    at = [i for i, k in enumerate(spills.k.tolist()) if (index, k) in latencies_ns]
    if not at:
        return lane
    old = spills.latency_ns[at]
    new = np.minimum(np.array([latencies_ns[index, int(spills.k[i])] for i in at], np.int64), old)
    missed = spills.missed.copy()
    freed = 0
    if entry.interval_ns:
        missed[at] = np.minimum(missed[at], np.maximum(new, 0) // entry.interval_ns)
        freed = int((spills.missed - missed).sum())
    latency_ns = spills.latency_ns.copy()
    latency_ns[at] = new
    histogram = _moved(lane.histogram, old, new, freed, bin_width_ns)
    lower = histogram.lower_ns
    return replace(
        lane,
        histogram=histogram,
        spills=Spills(spills.k, latency_ns, missed),
        entry=replace(
            entry,
            n=entry.n + freed,
            missed=None if entry.missed is None else entry.missed - freed,
            max_ns=int(lower[-1]) if len(lower) else entry.max_ns,
            min_ns=int(lower[0]) if len(lower) else entry.min_ns,
            exceedances=None,
            sum_ns=None,
            clip=None,
        ),
    )


def _moved(histogram: Histogram, old: object, new: object, freed: int, bin_width_ns: int) -> Histogram:
    """The histogram with samples moved from one latency to another, and `freed` more at its median."""
    lower, width, counts = histogram.lower_ns, histogram.width_ns, histogram.counts.copy()
    holding = np.searchsorted(lower, np.asarray(old), side="right") - 1
    known = holding >= 0
    known[known] = counts[holding[known]] > 0
    np.subtract.at(counts, holding[known], 1)
    counts = np.maximum(counts, 0)
    added = np.asarray(new)[known] // bin_width_ns * bin_width_ns
    if freed and counts.sum():
        middle = int(lower[np.searchsorted(np.cumsum(counts), (int(counts.sum()) + 1) // 2)])
        added = np.concatenate([added, np.full(freed, middle, np.int64)])
    all_lower = np.concatenate([lower, added])
    all_width = np.concatenate([width, np.full(len(added), bin_width_ns, np.int64)])
    all_counts = np.concatenate([counts, np.ones(len(added), np.int64)])
    bins, back = np.unique(np.stack([all_lower, all_width]), axis=1, return_inverse=True)
    sums = np.zeros(bins.shape[1], np.int64)
    np.add.at(sums, back.reshape(-1), all_counts)
    keep = sums > 0
    return replace(histogram, lower_ns=bins[0][keep], width_ns=bins[1][keep], counts=sums[keep])
