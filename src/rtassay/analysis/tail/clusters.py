"""Late activations of several runs above a threshold, and the largest of each burst."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.extremal_index import theta_d_gaps, theta_intervals, theta_k_gaps
from rtassay.model.units import NS_PER_S

MINUTE_NS = 60 * NS_PER_S
BURST_REACH = 10
MOST_JOINED = 2


@dataclass(frozen=True, slots=True)
class Run:
    """One lane of one run: all its samples of `floor_ns` or more, among `n`. Values lie in [value, value + tick).

    `index`: rising positions (activations), one for each value; None where the order is not known. `over`: samples whose value is not
    known, since they lie above the histogram (`stripped`: their number is not known either); `lost`: activations due in the run
    without any value (dropped, truncated).
    """

    name: str
    n: int
    index: Ints | None
    value_ns: Ints
    floor_ns: int
    tick_ns: int
    interval_ns: int | None = None
    over: int = 0
    lost: int = 0
    stripped: bool = False


class Tail:
    """Runs one after the other, as one sequence in which no burst reaches from one run into the next."""

    def __init__(self, runs: tuple[Run, ...]) -> None:
        self.runs = runs
        self.n = sum(run.n for run in runs)
        self.floor_ns = max(run.floor_ns for run in runs)
        self.tick_ns = max(run.tick_ns for run in runs)
        self.ordered = all(run.index is not None for run in runs)
        intervals = {run.interval_ns for run in runs}
        self.interval_ns = intervals.pop() if len(intervals) == 1 else None
        kept = [run.value_ns >= self.floor_ns for run in runs]
        self.value_ns = np.concatenate([run.value_ns[at] for run, at in zip(runs, kept, strict=True)])
        self.run = np.concatenate([np.full(int(at.sum()), i) for i, at in enumerate(kept)])
        if self.ordered:
            index = [run.index[at] for run, at in zip(runs, kept, strict=True) if run.index is not None]
            self.index = np.concatenate(index) if index else np.zeros(0, np.int64)
        else:
            self.index = np.arange(self.value_ns.size)
        self.begin = np.cumsum([0, *(run.n for run in runs)])
        self.sorted = np.sort(self.value_ns)

    def threshold(self, size: int) -> int:
        """The highest tick at which `size` values or more lie; the floor if there are fewer."""
        if self.sorted.size <= size:
            return self.floor_ns
        return int(self.sorted[-size])

    def above(self, threshold_ns: int) -> Exceeding:
        """The samples at or above a threshold."""
        at = np.flatnonzero(self.value_ns >= threshold_ns)
        return Exceeding(self, threshold_ns, at)


class Exceeding:
    """Samples at or above one threshold, with their bursts by the intervals estimator."""

    def __init__(self, tail: Tail, threshold_ns: int, at: Ints) -> None:
        self.tail, self.threshold_ns = tail, threshold_ns
        self.value_ns, self.run = tail.value_ns[at], tail.run[at]
        self.position = tail.begin[self.run] + tail.index[at] if tail.ordered else tail.index[at]
        self.size = at.size
        self.theta = theta_intervals(self.position, tail.n) if tail.ordered else 1.0
        self.first = self._bursts()

    def _bursts(self) -> Ints:
        """Index of the first sample of each burst: the ceil(theta N) - 1 longest gaps divide bursts (fewer if some are equal to the next),
        and so does the end of a run.

        C. A. T. Ferro and J. Segers, JRSS B 65, 2003, section 4.
        """
        if self.size == 0:
            return np.zeros(0, np.int64)
        gaps = np.diff(self.position)
        bursts = min(self.size, int(np.ceil(self.theta * self.size)))
        far = np.ones(gaps.size, bool)
        if bursts < self.size:
            far = gaps > np.partition(gaps, gaps.size - bursts)[gaps.size - bursts]
        far |= np.diff(self.run) > 0
        return np.concatenate([[0], np.flatnonzero(far) + 1])

    @property
    def clusters(self) -> int:
        """Number of bursts."""
        return int(self.first.size)

    @property
    def maxima_ns(self) -> Ints:
        """The largest value of each burst."""
        found: Ints = np.maximum.reduceat(self.value_ns, self.first)
        return found

    @property
    def share(self) -> float:
        """Share of samples at or above the threshold."""
        return self.size / self.tail.n

    def theta_at_minutes(self) -> float | None:
        """The extremal index if late ones within a minute may belong together; None without order or interval, or where a minute is
        so much longer than the mean gap that chance joins nearly all."""
        interval = self.tail.interval_ns
        if not self.tail.ordered or not interval or MINUTE_NS // interval * self.share > MOST_JOINED:
            return None
        return theta_d_gaps(self.position, self.tail.n, max(1, MINUTE_NS // interval))

    def theta_k(self) -> float | None:
        """The K-gaps estimate with K = BURST_REACH; None without order."""
        return theta_k_gaps(self.position, self.tail.n, BURST_REACH) if self.tail.ordered else None
