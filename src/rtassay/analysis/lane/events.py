"""Late activations as events: one stall or one burst is one event (docs/method/events.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import Ints
from rtassay.model.recording import Spills
from rtassay.model.units import NS_PER_S

GAPS = (10, 1_000, 10_000, 60_000)
"""Merging gaps in activations; a minute comes on top where it holds more than that."""
CHANCE = 0.02
"""Probability, over all gaps, that one counts although late activations come independently."""
_FAR = 1 << 40
# A tier of `Kept` is the latest eighth of the one before it, and no smaller than this.
_PART = 3
_LEAST_TIER = 64


@dataclass(frozen=True, slots=True)
class Runs:
    """Late wake-ups by rising position, each with its consecutive late activations: row i stands for `count[i]` of them from activation
    `first[i]` on."""

    first: Ints
    count: Ints

    @property
    def late(self) -> int:
        """Number of late activations."""
        return int(self.count.sum())


@dataclass(frozen=True, slots=True)
class Bursts:
    """Events: `sizes[i]` late activations in event i of run `run[i]`. `gap`: activations up to which late ones are joined; 0: none are."""

    sizes: Ints
    run: Ints
    gap: int


class Kept:
    """The wake-ups of a lane that were kept one by one."""

    def __init__(self, account: Account) -> None:
        spills = account.spills
        if not bool((spills.k[1:] >= spills.k[:-1]).all()):
            spills = spills.at(np.argsort(spills.k, kind="stable"))
        self.account = account
        self.rising_ns = account.rising_ns
        self._spills = spills
        self._stalled = account.counted and bool(spills.missed.any())
        self._tiers = [spills]

    def late(self, deadline_ns: int) -> Runs:
        """Those that reach the deadline. A late sample of a counted source stands for itself and at most those it missed; truncated
        activations that were certainly late are one run."""
        account, interval = self.account, self.account.interval_ns
        tier = self._tier(deadline_ns - account.bin_width_ns)
        late = np.flatnonzero(tier.latency_ns > deadline_ns - account.bin_width_ns)
        k = tier.k[late]
        count = np.ones(k.size, np.int64)
        if self._stalled and interval:
            reach = tier.latency_ns[late] + account.bin_width_ns - deadline_ns
            count = np.minimum(-(-reach // interval), 1 + tier.missed[late])
        tail = account.truncated_tail()
        if tail is not None and account.entry.due is not None and (reaching := tail.reaching(deadline_ns)):
            k = np.append(k, account.entry.due - tail.count)
            count = np.append(count, reaching)
            order = np.argsort(k, kind="stable")
            k, count = k[order], count[order]
        return Runs(k, count)

    def single(self, from_ns: int) -> Spills | None:
        """Those from `from_ns` on; None where one may stand for several activations."""
        if self._stalled or self.account.truncated:
            return None
        tier = self._tier(from_ns - 1)
        return tier.at(np.flatnonzero(tier.latency_ns >= from_ns))

    def _tier(self, above_ns: int) -> Spills:
        """The fewest of them that hold all above a latency. Each tier is the latest part of the one before it, so few of the others are
        looked at."""
        number = self.rising_ns.size - int(np.searchsorted(self.rising_ns, above_ns, side="right"))
        while (size := self.rising_ns.size >> (_PART * len(self._tiers))) >= max(number, _LEAST_TIER):
            self._tiers.append(self._tiers[-1].at(self._tiers[-1].latency_ns >= self.rising_ns[-size]))
        return next(tier for tier in reversed(self._tiers) if len(tier) >= number)


def kept(account: Account) -> Kept:
    """The account's `Kept`, made once: a verdict, D* and the checks all need it."""
    found = account.made.get(Kept)
    if found is None:
        found = account.made[Kept] = Kept(account)
    return cast(Kept, found)


def latest(lanes: Sequence[Kept], edge_ns: int, most: int | None = None) -> Ints:
    """The latencies of all of them from `edge_ns` on, falling; the `most` largest."""
    parts = [one.rising_ns[int(np.searchsorted(one.rising_ns, edge_ns, side="left")) :] for one in lanes]
    if most is not None:
        parts = [part[max(0, part.size - most) :] for part in parts]
    rising = parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
    return rising[::-1][:most]


def merging_gaps(interval_ns: int | None) -> tuple[int, ...]:
    """The gaps to try, rising: GAPS, and the activations of a minute if those are more."""
    minute = 60 * NS_PER_S // interval_ns if interval_ns else 0
    return (*GAPS, minute) if minute > GAPS[-1] else GAPS


def join(runs: Sequence[Runs], due: int, gaps: Sequence[int]) -> Bursts:
    """The events of one or several runs (which never share one) with `due` activations in all.

    A gap counts if it joins more than independent lateness would (a binomial test of the spacings at level CHANCE / number of gaps, of
    the events that the next smaller counting gap left), and if late ones are at least twice as dense where it joins them as in the
    whole run: lateness at regular intervals is no burst. The coarsest counting gap makes the events.
    """
    if len(runs) == 1:
        run, first, count = np.zeros(runs[0].first.size, np.int64), runs[0].first, runs[0].count
    else:
        run = np.repeat(np.arange(len(runs)), [one.first.size for one in runs])
        first = np.concatenate([one.first for one in runs]) + run * _FAR
        count = np.concatenate([one.count for one in runs])
    if run.size < 2:
        return Bursts(count, run, 0)
    late = int(count.sum())
    ends = first if late == count.size else np.maximum.accumulate(first + count - 1)
    spacing = first[1:] - ends[:-1]
    free = max(1, due - late)
    apart = spacing if int(spacing.min()) > 0 else spacing[spacing > 0]
    counting = 0
    for gap in gaps:
        short = int(np.count_nonzero(apart <= gap))
        if not short or _by_chance(short, apart.size, (gap - counting) * apart.size / free) >= CHANCE / len(gaps):
            continue
        if 2 * int(apart[apart <= gap].sum()) * apart.size <= short * free:
            counting, apart = gap, apart[apart > gap]
    if counting == 0 and apart.size == spacing.size:
        return Bursts(count, run, 0)
    begins = np.concatenate([[0], np.flatnonzero(spacing > counting) + 1])
    return Bursts(np.add.reduceat(count, begins), run[begins], counting)


def unjoined(single: Spills, levels_ns: Sequence[int], due: int, gaps: Sequence[int]) -> list[int]:
    """Of late activations that stand for themselves, by rising position: how many reach each of these latencies if `join` joins none of them, since no gap
    joins more than independent lateness would; else 0. All levels at once: one by one they take most of the time of a verdict."""
    from scipy.special import betainc

    late = single.latency_ns >= np.array(levels_ns)[:, None]
    before = np.maximum.accumulate(np.where(late, single.k, -_FAR), axis=1)[:, :-1]
    spacing = np.where(late[:, 1:], single.k[1:] - before, _FAR)
    each = late.sum(axis=1)
    number, free = np.maximum(each - 1, 1), np.maximum(1, due - each)
    by_chance = np.full(each.size, True)
    for gap in gaps:
        short = (spacing <= gap).sum(axis=1)
        chance = -np.expm1(-(gap * number / free))
        by_chance &= (short == 0) | (betainc(np.maximum(short, 1), number - short + 1, chance) >= CHANCE / len(gaps))
    return cast("list[int]", (each * by_chance).tolist())


def is_unjoined(single: Spills, due: int, gaps: Sequence[int]) -> bool:
    """Whether `join` joins none of these late activations, which stand for themselves, by rising position: as `unjoined`, for so many that one level after
    the other is quicker."""
    spacing = single.k[1:] - single.k[:-1]
    mean = spacing.size / max(1, due - len(single))
    for gap in gaps:
        short = int(np.count_nonzero(spacing <= gap))
        if short and _by_chance(short, spacing.size, gap * mean) < CHANCE / len(gaps):
            return False
    return True


def together(runs: Sequence[Bursts]) -> Bursts:
    """The events of runs that were joined each by itself; `gap`: the largest of theirs."""
    sizes = np.concatenate([one.sizes for one in runs])
    numbers = np.repeat(np.arange(len(runs)), [one.sizes.size for one in runs])
    return Bursts(sizes, numbers, max(one.gap for one in runs))


def _by_chance(joined: int, spacings: int, mean: float) -> float:
    """P(at least `joined` of so many independent spacings are short), each with the chance of a late activation within `mean`; 0.5 where it is more."""
    chance = -math.expm1(-mean)
    if joined <= int(spacings * chance):
        return 0.5  # or more: no more than the median of their number
    from scipy.special import betainc

    return float(betainc(joined, spacings - joined + 1, chance))
