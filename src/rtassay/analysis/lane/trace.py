"""How singly come the largest latencies below and above the deadline? The extremal index where enough of them are known in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import burst_upper
from rtassay.analysis.lane.events import join, late_runs, merging_gaps

EXCEEDANCES = (50, 100, 200, 500)
"""Numbers of wake-ups above the thresholds that are tried."""
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


def trace(accounts: Sequence[Account], confidence: float) -> Trace | None:
    """The threshold with the smallest lower limit of theta, of one lane over its runs. None: fewer than 50 wake-ups are known in order."""
    edges = [account.ordered_from_ns for account in accounts]
    known = [edge for edge in edges if edge is not None]
    if not known or len(known) < len(edges):
        return None
    latency = np.concatenate([account.spills.latency_ns for account in accounts])
    latency = np.sort(latency[latency >= max(known)])[::-1]
    most = MOST * sum(account.exposure for account in accounts)
    levels = {int(latency[n - 1]) for n in EXCEEDANCES if n <= latency.size}
    levels = {level for level in levels if (latency >= level).sum() <= most}
    found = [_at(accounts, level, confidence) for level in sorted(levels, reverse=True)]
    return min(found, key=lambda one: one.theta_lower, default=None)


def _at(accounts: Sequence[Account], level_ns: int, confidence: float) -> Trace:
    runs = [late_runs(account, level_ns + account.bin_width_ns - 1) for account in accounts]
    due, late = sum(account.exposure for account in accounts), sum(run.late for run in runs)
    bursts = join(runs, due, merging_gaps(accounts[0].interval_ns))
    events, wakeups = int(bursts.sizes.size), sum(run.first.size for run in runs)
    lower = events / late
    if bursts.gap:
        lower = events / burst_upper(bursts.sizes, confidence, 1 + FEW / events)
    return Trace(level_ns, wakeups, events / late, lower)
