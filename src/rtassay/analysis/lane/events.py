"""Exceedances as events: one stall is one event however many activations it cost (docs/method/events.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import poisson_upper
from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.exceedance import Exceedances
from rtassay.model.units import NS_PER_H

QUIET_PERIODS = 10


@dataclass(frozen=True, slots=True)
class Runs:
    """Late wake-ups, each with its consecutive exceedances, as int64 columns of equal length. Row i stands for `count[i]` of them, due
    from `first_ns[i]` to `last_ns[i]` after the lane's first due time."""

    first_ns: Ints
    last_ns: Ints
    count: Ints


def events(account: Account, deadline_ns: int, seen: Exceedances) -> int | None:
    """Clusters of exceedances: a new one begins after max(10 periods, longest stall) without any. None where their order is not known.

    The order is known when the samples kept one by one, with the truncated tail, make up every certain exceedance.
    """
    if seen.certain == 0:
        return 0
    interval = account.interval_ns
    if interval is None:
        return None
    runs = _runs(account, interval, deadline_ns)
    if int(runs.count.sum()) != seen.certain:
        return None
    return _clusters(runs, max(QUIET_PERIODS * interval, account.max_ns or 0))


def _clusters(runs: Runs, quiet_ns: int) -> int:
    """Number of events, if a new event begins `quiet_ns` or more after the end of all earlier ones."""
    order = np.argsort(runs.first_ns, kind="stable")
    ends = np.maximum.accumulate(runs.last_ns[order])
    return 1 + int((runs.first_ns[order][1:] - ends[:-1] >= quiet_ns).sum())


def _runs(account: Account, interval_ns: int, deadline_ns: int) -> Runs:
    """A late sample of a counted source stands for the exceedances of its stall: itself and at most those it missed. Others stand for one."""
    spills = account.spills
    reach = spills.latency_ns + account.bin_width_ns - deadline_ns
    late = reach > 0
    k = spills.k[late]
    count = np.ones_like(k)
    if account.counted:
        count = np.minimum(-(-reach[late] // interval_ns), 1 + spills.missed[late])
    tail = account.truncated_tail()
    if tail is not None and account.entry.due is not None and (reaching := tail.reaching(deadline_ns)):
        k = np.append(k, account.entry.due - tail.count)
        count = np.append(count, reaching)
    return Runs(k * interval_ns, (k + count - 1) * interval_ns, count)


def event_p_upper(seen: Exceedances, clusters: int, confidence: float) -> float:
    """Upper bound of the exceedance probability if only whole events are independent: rate of events times their size."""
    if seen.due <= 0:
        return 1.0
    return min(1.0, poisson_upper(clusters, confidence) / seen.due * (seen.most / clusters))


def rate_upper_per_h(account: Account, seen: Exceedances, clusters: int | None, confidence: float) -> float | None:
    """Upper bound of events per hour; activations with unknown latency count as events too. None without order or interval."""
    if clusters is None or not account.interval_ns or seen.due <= 0:
        return None
    hours = seen.due * account.interval_ns / NS_PER_H
    return poisson_upper(clusters + seen.apart, confidence) / hours
