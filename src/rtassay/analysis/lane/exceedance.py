"""The number of activations not done strictly before a deadline, and the bounds that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.model.measures import NO_LATENESS, TIMERS


@dataclass(frozen=True, slots=True)
class Exceedances:
    """`certain` exceedances, and `possible` ones among activations with unknown latency, out of `due` activations.

    `apart`: number of the possible ones that may be separate events (truncated ones are one stall).
    """

    certain: int
    possible: int
    due: int
    apart: int = 0

    @property
    def most(self) -> int:
        """Certain and possible exceedances together, at most `due`."""
        return min(self.certain + self.possible, max(self.due, self.certain))


def total(parts: list[Exceedances]) -> Exceedances:
    """Sums over lanes."""
    return Exceedances(
        sum(part.certain for part in parts),
        sum(part.possible for part in parts),
        sum(part.due for part in parts),
        sum(part.apart for part in parts),
    )


def ceil_div(value: int, step: int) -> int:
    """value / step rounded up."""
    return -(-value // step)


def exceedances(account: Account, deadline_ns: int) -> Exceedances:
    """Exceedances of one lane: samples with L >= D, and bins of which any part is. In a counted source each stands for its stall's."""
    seen = _seen(account, deadline_ns)
    over_certain, over_possible = _overflow(account, deadline_ns)
    hidden_certain, hidden_possible = _hidden(account, deadline_ns)
    tail_certain, tail_possible = _tail(account, deadline_ns)
    certain = seen + over_certain + hidden_certain + tail_certain
    if certain == 0 and account.max_ns is not None and account.max_ns + account.bin_width_ns > deadline_ns:
        # the lane's own maximum is above its bins
        certain, hidden_possible = 1, max(0, hidden_possible - 1)
    loose = over_possible + hidden_possible
    return Exceedances(certain, loose + tail_possible, account.exposure, loose + (1 if tail_possible else 0))


def most_reaching(accounts: Sequence[Account], wanted: int, most: float) -> Ints | None:
    """Samples of each run at or above the highest level that so many `wanted` ones reach in all; above it, if those are more than the
    share `most` of the activations. None where that leaves none, or too many still."""

    def reaching(level_ns: int) -> Ints:
        return ints([samples_reaching(account, level_ns) + account.over for account in accounts])

    low, high = 0, max(int(account.top.max(initial=0)) for account in accounts)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if int(reaching(middle).sum()) >= wanted else (low, middle)
    room = most * sum(account.exposure for account in accounts)
    return next((found for found in map(reaching, (low, high)) if 0 < int(found.sum()) <= room), None)


def samples_reaching(account: Account, deadline_ns: int) -> int:
    """Samples in bins that reach the deadline, each counted once."""
    return int(account.counts[account.reaching(deadline_ns)].sum())


def _seen(account: Account, deadline_ns: int) -> int:
    """A stall of L holds L, L - I, L - 2I ... and as many of them as are >= D were exceedances."""
    late = account.reaching(deadline_ns)
    interval = account.interval_ns
    if not account.counted or interval is None:
        return int(account.counts[late].sum())
    each = -((deadline_ns - account.top[late]) // interval)
    count = int((account.counts[late] * each).sum())
    clip, at = account.entry.clip, account.clip_bin
    if clip is not None and at is not None and account.top[at] > deadline_ns and account.clipped_off:
        stands_for = ceil_div(int(account.top[at]) - deadline_ns, interval)
        count -= max(0, stands_for - (1 + clip.missed))
    return count


def _overflow(account: Account, deadline_ns: int) -> tuple[int, int]:
    if account.over == 0:
        return 0, 0
    if deadline_ns <= account.limit_ns:
        return account.over, 0
    top = account.entry.max_ns
    if top is None:
        return 0, account.over
    return (1, account.over - 1) if top + account.bin_width_ns > deadline_ns else (0, 0)


def _hidden(account: Account, deadline_ns: int) -> tuple[int, int]:
    """Dropped samples and what they missed. The lane's own maximum and exceedance count still see them."""
    dropped = account.dropped
    if account.entry.measure in (*TIMERS, *NO_LATENESS):  # what a tracer of the kernel lost or skipped is in no maximum
        known = account.explained.most if account.counted and account.explained is not None else 0
        return 0, dropped + max(0, (account.entry.missed or 0) - known) + account.unaccounted
    unexplained = 0
    if account.counted and account.entry.missed and account.explained is not None:
        unexplained = max(0, account.entry.missed - account.explained.most)
    hidden = dropped + unexplained
    entry = account.entry
    if not hidden or not account.final:
        return 0, hidden + account.unaccounted
    if entry.max_ns is not None and entry.max_ns < deadline_ns:
        return 0, account.unaccounted
    if entry.exceedances is not None and deadline_ns == account.run_deadline_ns:
        certain = min(dropped, max(0, entry.exceedances - samples_reaching(account, deadline_ns)))
        return certain, unexplained + account.unaccounted
    return 0, hidden + account.unaccounted


def _tail(account: Account, deadline_ns: int) -> tuple[int, int]:
    if account.truncated == 0:
        return 0, 0
    tail = account.truncated_tail()
    certain = tail.reaching(deadline_ns) if tail is not None else 0
    return certain, account.truncated - certain


def cannot_exceed_from(account: Account) -> int:
    """A deadline in ns that no sample of the lane, known or bounded by its maximum, can reach, and no truncated activation certainly."""
    tops = [1]
    if account.lower.size:
        tops.append(int(account.top.max()))
    if account.max_ns is not None:
        tops.append(account.max_ns + account.bin_width_ns)
    if account.over:
        tops.append(account.limit_ns + 1)
    tail = account.truncated_tail()
    if tail is not None and tail.count:
        tops.append(tail.least_ns + tail.count * tail.step_ns + 1)
    return max(tops)
