"""Period jitter of a lane from its samples in order of time: how far the time between two runs is from the interval (docs/method/activations.md)."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtassay.model.manifest import LaneEntry
from rtassay.model.measures import NO_LATENESS
from rtassay.store.counts import Counts

COUNTED = "counted"


class JitterCounts:
    """Takes the samples of one lane, block by block in order of time. `most`: how many of them count; None: all."""

    def __init__(self, interval_ns: int, most: int | None = None) -> None:
        self.counts = Counts()
        self._interval_ns = interval_ns
        self._left = most
        self._last: tuple[Any, Any, Any] | None = None

    def take(self, latency_ns: Any, missed: Any, dropped: Any) -> None:
        """Samples as `samples.parquet` holds them. A pair with a dropped sample in between counts for nothing: nobody knows when that one ran."""
        block = tuple(np.asarray(column[: self._left], np.int64) for column in (latency_ns, missed, dropped))
        if self._left is not None:
            self._left -= len(block[0])
        if not len(block[0]):
            return
        if self._last is not None:
            block = tuple(np.concatenate(pair) for pair in zip(self._last, block, strict=True))
        self._last = tuple(column[-1:] for column in block)  # type: ignore[assignment]
        latency, skipped, lost = block
        apart = np.abs(skipped[:-1] * self._interval_ns + np.diff(latency))
        self.counts.add_values(apart[lost[:-1] == 0])


def jitter_counts(entry: LaneEntry, late_policy: str) -> JitterCounts | None:
    """None for a lane whose missed activations are not known one by one, or whose values are no lateness."""
    if late_policy != COUNTED or not entry.interval_ns or entry.measure in NO_LATENESS:
        return None
    return JitterCounts(entry.interval_ns, None if entry.untraced is None else entry.untraced.n)
