"""Order statistics of values given as bins and as arithmetic progressions.

A stall of an hour misses millions of activations. They form one progression, which is counted and not written out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

WRITE_OUT_AT_MOST = 4_000_000
# So many values are counted rather than sorted, up to so many times their number above the smallest.
_COUNTED = 4096
_COUNTED_UP_TO = 4


def ints(values: object) -> Ints:
    """As a one-dimensional int64 array."""
    return np.asarray(values, dtype=np.int64).reshape(-1)


def rising(values: Ints) -> Ints:
    """The values sorted. Those close above the smallest one are counted, which is many times as quick as sorting them."""
    if values.size < _COUNTED:
        return np.sort(values)
    least = values.min()
    offset = values - least
    near = offset < _COUNTED_UP_TO * values.size
    number = np.bincount(offset[near])
    return np.concatenate([np.repeat(np.arange(number.size), number) + least, np.sort(values[~near])])


@dataclass(frozen=True, slots=True)
class Progressions:
    """Row i stands for weight[i] times the values start[i] + step[i] * (0 .. length[i] - 1), in ns; step > 0."""

    start: Ints
    step: Ints
    length: Ints
    weight: Ints

    @property
    def total(self) -> int:
        """Number of values that the rows stand for."""
        return int((self.length * self.weight).sum())

    def written_out(self) -> tuple[Ints, Ints]:
        """(values, counts), unsorted."""
        first = np.repeat(np.cumsum(self.length) - self.length, self.length)
        position = np.arange(int(self.length.sum()), dtype=np.int64) - first
        values = np.repeat(self.start, self.length) + position * np.repeat(self.step, self.length)
        return values, np.repeat(self.weight, self.length)


def progression(start: int, step: int, length: int, weight: int = 1) -> Progressions:
    """One progression."""
    return Progressions(ints([start]), ints([step]), ints([length]), ints([weight]))


@dataclass(frozen=True, slots=True)
class Parts:
    """Values not yet sorted: points with their counts, and progressions. Parts of several lanes are pooled by joining them."""

    values: Ints
    counts: Ints
    progressions: tuple[Progressions, ...] = ()

    @property
    def total(self) -> int:
        """How many values there are."""
        return int(self.counts.sum()) + sum(part.total for part in self.progressions)


def points(values: object, counts: object) -> Parts:
    """Parts without progressions."""
    return Parts(ints(values), ints(counts))


NOTHING = points([], [])


def joined(parts: Iterable[Parts]) -> Parts:
    """All values of all parts."""
    every = list(parts)
    if not every:
        return NOTHING
    return Parts(
        np.concatenate([part.values for part in every]),
        np.concatenate([part.counts for part in every]),
        tuple(row for part in every for row in part.progressions),
    )


class Distribution:
    """Sorted once, then asked for order statistics by rank (1 = smallest)."""

    def __init__(self, parts: Parts) -> None:
        self.total = parts.total
        values, counts = [parts.values], [parts.counts]
        room = WRITE_OUT_AT_MOST
        kept: list[Progressions] = []
        for rows in sorted(parts.progressions, key=lambda rows: int(rows.length.sum())):
            size = int(rows.length.sum())
            if size <= room:
                room -= size
                more_values, more_counts = rows.written_out()
                values.append(more_values)
                counts.append(more_counts)
            else:
                kept.append(rows)
        every = np.concatenate(values)
        order = np.argsort(every, kind="stable")
        self._values = every[order]
        self._below = np.cumsum(np.concatenate(counts)[order])
        self._kept = kept

    def at(self, rank: int) -> int:
        """The rank-th smallest value, 1 <= rank <= total."""
        if not 1 <= rank <= self.total:
            raise IndexError(f"rank {rank} of {self.total}")
        if not self._kept:
            return int(self._values[np.searchsorted(self._below, rank)])
        low, high = self._range()
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.at_most(middle) >= rank else (middle + 1, high)
        return low

    def at_most(self, value: int) -> int:
        """How many values are <= value."""
        position = int(np.searchsorted(self._values, value, side="right"))
        count = int(self._below[position - 1]) if position else 0
        for rows in self._kept:
            reached = np.clip((value - rows.start) // rows.step + 1, 0, rows.length)
            count += int((reached * rows.weight).sum())
        return count

    def _range(self) -> tuple[int, int]:
        lows = [int(rows.start.min()) for rows in self._kept]
        highs = [int((rows.start + rows.step * (rows.length - 1)).max()) for rows in self._kept]
        if self._values.size:
            lows.append(int(self._values[0]))
            highs.append(int(self._values[-1]))
        return min(lows), max(highs)
