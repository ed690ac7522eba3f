"""How singly come the largest latencies below and above the deadline? The extremal index where enough of them are known in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import burst_upper
from rtassay.analysis.lane.events import Kept, join, latest, merging_gaps
from rtassay.analysis.lane.exceedance import cannot_exceed_from

EXCEEDANCES = (20, 50, 100, 200, 500)
"""Numbers of wake-ups above the thresholds that are tried."""
ENOUGH = 50
"""So many must be known in order: fewer single ones say nothing."""
MOST = 0.05
"""Of the activations: more are no tail."""
FEW = 3
"""The next event may be larger than the largest seen by this over the number of events (docs/method/events.md)."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The extremal index of `n` wake-ups at or above `above_ns`: events per late activation (runs estimator), and its lower limit. Both
    are 1 where those come no closer together than by chance and miss no activation. The limit counts the scatter of the number of
    events too: it is on the safe side."""

    above_ns: int
    n: int
    theta: float
    theta_lower: float


def trace(lanes: Sequence[Kept], confidence: float) -> Trace | None:
    """At the threshold with the smallest theta, of one lane over its runs. None: fewer than 50 wake-ups are known in order."""
    edge = ordered_from([lane.account for lane in lanes])
    if edge is None:
        return None
    most = MOST * sum(lane.account.exposure for lane in lanes)
    # one more than the most there can be at a level, and enough for the largest number that is tried
    latency = latest(lanes, edge, max(EXCEEDANCES[-1], int(most)) + 1)
    if latency.size < ENOUGH:
        return None
    levels, falling = {int(latency[n - 1]) for n in EXCEEDANCES if n <= latency.size}, -latency
    levels = {level for level in levels if np.searchsorted(falling, -level, side="right") <= most}
    found = [_at(lanes, level, confidence) for level in sorted(levels, reverse=True)]
    return min(found, key=lambda one: (one.theta, -one.n), default=None)


def ordered_from(accounts: Sequence[Account]) -> int | None:
    """From which latency on the order is known in every run; None if it is in none. A run without kept samples has nothing to order
    above its largest one."""
    edges = [account.ordered_from_ns for account in accounts]
    if all(edge is None for edge in edges):
        return None
    return max(
        cannot_exceed_from(account) if edge is None else edge for account, edge in zip(accounts, edges, strict=True)
    )


def _at(lanes: Sequence[Kept], level_ns: int, confidence: float) -> Trace:
    runs = [lane.late(level_ns + lane.account.bin_width_ns - 1) for lane in lanes]
    due, late = sum(lane.account.exposure for lane in lanes), sum(run.late for run in runs)
    bursts = join(runs, due, merging_gaps(lanes[0].account.interval_ns))
    events, wakeups = int(bursts.sizes.size), sum(run.first.size for run in runs)
    lower = events / late
    if bursts.gap:
        lower = events / burst_upper(bursts.sizes, confidence, 1 + FEW / events)
    return Trace(level_ns, wakeups, events / late, lower)
