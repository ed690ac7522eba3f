"""The late wake-ups of a recording that are worth explaining, as columns, and the worst of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.model.findings import LaneFindings
from rtassay.model.units import NS_PER_S

OUTLIERS = 8
APART_NS = NS_PER_S
# A wake-up is worth explaining if it took so many times the lane's p99.9, cost an activation, or missed the deadline.
FAR_OUT = 2.0
_OF_TAIL = 0.999
_TAKEN = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Stall:
    """One late wake-up: when it was due, when it ran (ns on the probe's clock), on which lane."""

    due_ns: int
    woken_ns: int
    latency_ns: int
    missed: int
    lane: LaneFindings


@dataclass(frozen=True, slots=True)
class Stalls:
    """Late wake-ups, as int64 columns of equal length. `lane` is the position of the lane in the recording."""

    due_ns: Ints
    latency_ns: Ints
    missed: Ints
    lane: Ints

    @property
    def woken_ns(self) -> Ints:
        """When they ran."""
        return self.due_ns + self.latency_ns

    def at(self, rows: Ints) -> Stalls:
        """The rows at these positions."""
        return Stalls(self.due_ns[rows], self.latency_ns[rows], self.missed[rows], self.lane[rows])

    def one(self, row: int, lanes: Sequence[LaneFindings]) -> Stall:
        """One row with its lane."""
        due, latency = int(self.due_ns[row]), int(self.latency_ns[row])
        return Stall(due, due + latency, latency, int(self.missed[row]), lanes[int(self.lane[row])])


def late_wakeups(accounts: Sequence[Account], lanes: Sequence[LaneFindings], deadline_ns: int | None) -> Stalls:
    """Late wake-ups of all lanes, lane by lane. Empty if the source keeps no moments, or if none stands out of its lane's tail."""
    parts = [
        _of_lane(position, account, row, deadline_ns)
        for position, (account, row) in enumerate(zip(accounts, lanes, strict=True))
    ]
    columns = [np.concatenate([ints([]), *(getattr(part, name) for part in parts)]) for name in Stalls.__slots__]
    return Stalls(*columns)


def _of_lane(position: int, account: Account, row: LaneFindings, deadline_ns: int | None) -> Stalls:
    spills, first, interval = account.spills, account.entry.first_due_ns, account.interval_ns
    if first is None or not interval:
        return Stalls(ints([]), ints([]), ints([]), ints([]))
    keep = spills.missed != 0
    if deadline_ns is not None:
        keep |= spills.latency_ns >= deadline_ns
    tail = next((q.value_ns for q in row.quantiles if q.q == _OF_TAIL), None)
    if tail is not None:
        keep |= spills.latency_ns >= FAR_OUT * tail
    late = spills.at(np.flatnonzero(keep))
    return Stalls(first + late.k * interval, late.latency_ns, late.missed, np.full(len(late), position))


def worst_apart(stalls: Stalls) -> list[tuple[int, Ints]]:
    """The worst ones, at most OUTLIERS, each at least APART_NS from all worse ones: (its row, the rows near it, its own included).

    Of equally long ones the first row is the worst. A row near several of the worst belongs to the worst of them.
    """
    begin_ns, end_ns, left_ns = stalls.due_ns - APART_NS, stalls.woken_ns, stalls.latency_ns.copy()
    chosen: list[tuple[int, Ints]] = []
    while len(chosen) < OUTLIERS and left_ns.size:
        worst = int(np.argmax(left_ns))
        if left_ns[worst] == _TAKEN:
            break
        near = np.flatnonzero((begin_ns <= end_ns[worst]) & (end_ns >= begin_ns[worst]) & (left_ns != _TAKEN))
        chosen.append((worst, near))
        left_ns[near] = _TAKEN
    return chosen
