"""Late activations as events: one stall or one burst is one event (docs/method/events.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import Ints
from rtassay.model.units import NS_PER_S

GAPS = (10, 1_000, 10_000, 60_000)
"""Merging gaps in activations; a minute comes on top where it holds more than that."""
CHANCE = 0.02
"""Probability, over all gaps, that one counts although late activations come independently."""
_FAR = 1 << 40
# Sorting costs about so many passes over what is sorted.
_SORTING = 20


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
    """The wake-ups of a lane that were kept one by one, the latest first."""

    def __init__(self, account: Account) -> None:
        spills = account.spills
        if not bool((spills.k[1:] >= spills.k[:-1]).all()):
            spills = spills.at(np.argsort(spills.k, kind="stable"))
        self.account = account
        self._spills = spills
        self._latest = np.argsort(-spills.latency_ns)
        self.latency_ns = spills.latency_ns[self._latest]

    def late(self, deadline_ns: int) -> Runs:
        """Those that reach the deadline. A late sample of a counted source stands for itself and at most those it missed; truncated
        activations that were certainly late are one run."""
        account, interval = self.account, self.account.interval_ns
        number = int(np.searchsorted(-self.latency_ns, account.bin_width_ns - deadline_ns, side="left"))
        rows = self._rows(number)
        k, count = self._spills.k[rows], np.ones(number, np.int64)
        if account.counted and interval:
            reach = self._spills.latency_ns[rows] + account.bin_width_ns - deadline_ns
            count = np.minimum(-(-reach // interval), 1 + self._spills.missed[rows])
        tail = account.truncated_tail()
        if tail is not None and account.entry.due is not None and (reaching := tail.reaching(deadline_ns)):
            k = np.append(k, account.entry.due - tail.count)
            count = np.append(count, reaching)
            order = np.argsort(k, kind="stable")
            k, count = k[order], count[order]
        return Runs(k, count)

    def _rows(self, number: int) -> Ints:
        """The `number` latest by rising position: a few are sorted, of many the others are left out."""
        latest, total = self._latest[:number], self._latest.size
        if number * _SORTING < total:
            return np.sort(latest)
        chosen = np.zeros(total, bool)
        chosen[latest] = True
        return np.flatnonzero(chosen)


def kept(account: Account) -> Kept:
    """The account's `Kept`, made once: a verdict, D* and the checks all need it."""
    found = account.made.get(Kept)
    if found is None:
        found = account.made[Kept] = Kept(account)
    return cast(Kept, found)


def latest(lanes: Sequence[Kept], edge_ns: int) -> Ints:
    """The latencies of all of them from `edge_ns` on, falling."""
    found = lanes[0].latency_ns if len(lanes) == 1 else -np.sort(-np.concatenate([one.latency_ns for one in lanes]))
    return found[: int(np.searchsorted(-found, -edge_ns, side="right"))]


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
    spacing = first[1:] - np.maximum.accumulate(first + count - 1)[:-1]
    free = max(1, due - int(count.sum()))
    counting = 0
    for gap in gaps:
        apart = spacing[spacing > counting]
        short = apart[apart <= gap]
        if not short.size or 2 * int(short.sum()) * apart.size > short.size * free:
            continue
        if _by_chance(short.size, apart.size, (gap - counting) * apart.size / free) < CHANCE / len(gaps):
            counting = gap
    begins = np.concatenate([[0], np.flatnonzero(spacing > counting) + 1])
    return Bursts(np.add.reduceat(count, begins), run[begins], counting)


def together(runs: Sequence[Bursts]) -> Bursts:
    """The events of runs that were joined each by itself; `gap`: the largest of theirs."""
    sizes = np.concatenate([one.sizes for one in runs])
    numbers = np.repeat(np.arange(len(runs)), [one.sizes.size for one in runs])
    return Bursts(sizes, numbers, max(one.gap for one in runs))


def _by_chance(joined: int, spacings: int, mean: float) -> float:
    """P(at least `joined` of so many independent spacings are short), each with the chance of a late activation within `mean`."""
    from scipy.special import betainc

    return float(betainc(joined, spacings - joined + 1, -np.expm1(-mean)))
