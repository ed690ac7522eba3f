"""Latencies of some lanes pooled: order statistics, exceedance counts and moments, from histograms alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import binomial_ppf, decimal, nearest_rank
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.analysis.lane.missed import raw_view
from rtassay.analysis.lane.quantiles import pooled
from rtassay.model.recording import Histogram


@dataclass(frozen=True, slots=True)
class Limits:
    """A quantile and its two-sided order-statistic interval, as lower bin edges; `hi_ns` None when unbounded."""

    value_ns: int
    lo_ns: int
    hi_ns: int | None
    exact: bool


class Sample:
    """All samples of some lanes. `values` (lower bin edges, sorted) hold `counts`; `over` more lie at `limit_ns` or above.

    `step_ns`: how finely the clock of the source moves.
    """

    def __init__(self, lanes: Sequence[Account], step_ns: int = 1) -> None:
        view = pooled([raw_view(lane) for lane in lanes])
        self.values, self.counts = _summed(view.known.values, view.known.counts)
        self.over = int(view.censored.counts.sum())
        self.limit_ns = int(view.censored.values.min()) if self.over else None
        self.n = view.total
        self._below = np.cumsum(self.counts)
        if self.over:
            self._least, counts = _summed(
                np.concatenate([self.values, view.censored.values]), np.concatenate([self.counts, view.censored.counts])
            )
            self._least_below = np.cumsum(counts)
        else:
            self._least, self._least_below = self.values, self._below
        self._edges, self._widths = _widths(lanes)
        self._step_ns = max(step_ns, 1)

    def at(self, ranks: Ints) -> Ints:
        """The rank-th smallest values (1 = smallest), overflow at its lower bound."""
        return ints(self._least[np.searchsorted(self._least_below, ranks)])

    def resolution_ns(self, value_ns: int) -> int:
        """How far the true value may lie above this lower edge: the width of its bin, at least a step of the clock."""
        if not self._edges.size:
            return self._step_ns
        place = int(np.searchsorted(self._edges, value_ns, side="right")) - 1
        return max(int(self._widths[max(place, 0)]), self._step_ns)

    def quantile(self, q: float, alpha: float = 0.05) -> Limits | None:
        """Nearest rank with the distribution-free interval at 1 - alpha; None without samples.

        As in the ladder of one recording: exact if n(1 - q) >= 1 and no sample in overflow can change it.
        """
        if self.n == 0:
            return None
        rank = nearest_rank(self.n, q)
        low = max(1, binomial_ppf(alpha / 2, self.n, q))
        high = binomial_ppf(1 - alpha / 2, self.n, q) + 1
        known = self.n - self.over
        value = int(self.at(ints([rank]))[0])
        reached = self.n * (1 - decimal(q)) >= 1 and rank <= known
        exact = reached and int(self.values[np.searchsorted(self._below, rank)]) == value
        return Limits(
            value_ns=value,
            lo_ns=int(self.at(ints([low]))[0]),
            hi_ns=int(self.values[np.searchsorted(self._below, high)]) if high <= known else None,
            exact=exact,
        )

    def reaching(self, x: Ints) -> Ints:
        """How many samples are at or above each x (by lower edge), overflow included."""
        place = np.searchsorted(self.values, x, side="left")
        before = np.concatenate([[0], self._below])[place]
        return ints(self.n - before)

    def histogram(self) -> Histogram:
        """The pool as a histogram of the model."""
        place = np.clip(np.searchsorted(self._edges, self.values, side="right") - 1, 0, None)
        width = self._widths[place] if self._edges.size else np.ones(self.values.shape, dtype=np.int64)
        return Histogram(self.values, width, self.counts, over=self.over, limit_ns=self.limit_ns)

    def same_as(self, other: Sample) -> bool:
        """Whether both have the same counts."""
        return (
            self.n == other.n
            and self.over == other.over
            and np.array_equal(self.values, other.values)
            and np.array_equal(self.counts, other.counts)
        )


def _summed(values: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Sorted distinct values with the counts of equal ones added."""
    if not values.size:
        return ints([]), ints([])
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > 0]))
    return ints(ordered[starts]), ints(np.add.reduceat(counts[order], starts))


def _widths(lanes: Sequence[Account]) -> tuple[Ints, Ints]:
    """Lower edges of all lanes' bins with the largest width at each."""
    if not lanes:
        return ints([]), ints([])
    edges = np.concatenate([lane.lower for lane in lanes])
    widths = np.concatenate([lane.width for lane in lanes])
    if not edges.size:
        return ints([]), ints([])
    order = np.argsort(edges, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(edges[order]) > 0]))
    return ints(edges[order][starts]), ints(np.maximum.reduceat(widths[order], starts))
