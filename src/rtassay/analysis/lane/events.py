"""Exceedances as events: one stall is one event however many activations it cost (METHOD.md 1.4)."""

from __future__ import annotations

from dataclasses import dataclass

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import poisson_upper
from rtassay.analysis.lane.exceedance import Exceedances, ceil_div
from rtassay.model.units import NS_PER_H

QUIET_PERIODS = 10


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive exceedances of one late wake-up: due times of the first and the last, from the lane's first due time."""

    first_ns: int
    last_ns: int
    count: int


def events(account: Account, deadline_ns: int, seen: Exceedances) -> int | None:
    """Clusters of exceedances, a new one after max(10 periods, longest stall) without any; None where their order is not known.

    The order is known when the samples kept one by one, with the truncated tail, make up every certain exceedance.
    """
    if seen.certain == 0:
        return 0
    runs = _runs(account, deadline_ns)
    interval = account.interval_ns
    if interval is None or sum(run.count for run in runs) != seen.certain:
        return None
    quiet_ns = max(QUIET_PERIODS * interval, account.max_ns or 0)
    clusters, last_ns = 0, -quiet_ns
    for run in sorted(runs, key=lambda run: run.first_ns):
        if clusters == 0 or run.first_ns - last_ns >= quiet_ns:
            clusters += 1
        last_ns = max(last_ns, run.last_ns)
    return clusters


def _runs(account: Account, deadline_ns: int) -> list[Run]:
    interval = account.interval_ns
    if interval is None:
        return []
    runs = []
    for spill in account.lane.spills:
        reach = spill.latency_ns + account.bin_width_ns - deadline_ns
        if reach <= 0:
            continue
        count = min(ceil_div(reach, interval), 1 + spill.missed) if account.counted else 1
        runs.append(Run(spill.k * interval, (spill.k + count - 1) * interval, count))
    tail = account.truncated_tail()
    if tail is not None and account.entry.due is not None and (count := tail.reaching(deadline_ns)):
        first = account.entry.due - tail.count
        runs.append(Run(first * interval, (first + count - 1) * interval, count))
    return runs


def event_p_upper(seen: Exceedances, clusters: int, confidence: float) -> float:
    """Upper bound of the exceedance probability when whole events are the independent things: rate of events times their size."""
    if seen.due <= 0:
        return 1.0
    return min(1.0, poisson_upper(clusters, confidence) / seen.due * (seen.most / clusters))


def rate_upper_per_h(account: Account, seen: Exceedances, clusters: int | None, confidence: float) -> float | None:
    """Upper bound of events per hour; what nobody knows counts as events too. None without order or interval."""
    if clusters is None or not account.interval_ns or seen.due <= 0:
        return None
    hours = seen.due * account.interval_ns / NS_PER_H
    return poisson_upper(clusters + seen.apart, confidence) / hours
