"""Joins the sample blocks of one lane into one sequence with a place for every activation."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtassay.model.events import Samples

_BATCH_ROWS = 1 << 14

Block = tuple[Any, Any, Any]  # latency_ns, missed, dropped: int64 arrays of one length


class Stitcher:
    """Stores a gap between blocks with the sample before it, as RECORDING.md defines.

    Activations without a block (a lost frame) count as `dropped` of the last sample before them, so that later samples keep
    their due times; `lost` counts them. The last sample is held back until `finish`.
    """

    def __init__(self) -> None:
        self.first_k: int | None = None
        self.next_k = 0
        self.n = 0
        self.missed = 0
        self.dropped = 0
        self.lost = 0
        self.overlaps = 0
        self._held: list[Block] = []
        self._held_rows = 0

    def push(self, samples: Samples) -> Block | None:
        """Take a block; returns a block to pass on once enough rows wait."""
        self.missed += samples.gap_missed
        self.dropped += samples.gap_dropped
        if not len(samples.latency_ns):
            self._gap(samples.gap_missed, samples.gap_dropped)
            self.next_k += samples.gap_missed + samples.gap_dropped
            return None
        if self.first_k is None:
            # There is no row for a gap before the first sample: first_k holds it.
            self.first_k = samples.first_k
            self.lost += max(0, samples.first_k - samples.gap_missed - samples.gap_dropped - self.next_k)
        else:
            unexplained = samples.first_k - self.next_k - samples.gap_missed - samples.gap_dropped
            if unexplained < 0:
                self.overlaps += 1
                unexplained = 0
            self.lost += unexplained
            self._gap(samples.gap_missed, samples.gap_dropped + unexplained)
        missed, dropped = int(samples.missed.sum()), int(samples.dropped.sum())
        self.n += len(samples.latency_ns)
        self.missed += missed
        self.dropped += dropped
        self.next_k = samples.first_k + len(samples.latency_ns) + missed + dropped
        out = self._take() if self._held_rows >= _BATCH_ROWS else None
        self._held.append((samples.latency_ns, samples.missed, samples.dropped))
        self._held_rows += len(samples.latency_ns)
        return out

    def finish(self) -> Block | None:
        return self._take()

    def _gap(self, missed: int, dropped: int) -> None:
        if self._held and (missed or dropped):
            latency_ns, last_missed, last_dropped = self._held[-1]
            last_missed, last_dropped = last_missed.copy(), last_dropped.copy()
            last_missed[-1] += missed
            last_dropped[-1] += dropped
            self._held[-1] = (latency_ns, last_missed, last_dropped)

    def _take(self) -> Block | None:
        if not self._held:
            return None
        latency_ns, missed, dropped = (np.concatenate([block[i] for block in self._held]) for i in range(3))
        self._held, self._held_rows = [], 0
        return latency_ns, missed, dropped
