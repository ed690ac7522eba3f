"""Exact counts of latencies per value: dense below 2^20 ns, where nearly all of them lie, sparse elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

# One outlier of 30 ms must not make the count array of every block 30 million long.
DENSE_LIMIT_NS = 1 << 20
_CONSOLIDATE_ROWS = 1 << 18


class Counts:
    """Adds up single values and bins of one lane. Memory follows the number of distinct values, not of samples."""

    def __init__(self) -> None:
        self._dense = np.zeros(1 << 12, np.int64)
        # Blocks of rows (lower, width, count), how many rows they have, and whether every bin has one row.
        self._rows: list[Any] = []
        self._row_count = 0
        self._merged = True
        self.total = 0
        self.exact = True

    def add_values(self, values: Any) -> None:
        """Count single values (integer ns, any dtype)."""
        if not len(values):
            return
        self.total += len(values)
        if int(values.min()) < 0 or int(values.max()) >= DENSE_LIMIT_NS:
            inside = (values >= 0) & (values < DENSE_LIMIT_NS)
            far, counts = np.unique(values[~inside], return_counts=True)
            self._add_rows(far, np.ones(len(far), np.int64), counts)
            values = values[inside]
            if not len(values):
                return
        counts = np.bincount(values)
        self._grow(len(counts))
        self._dense[: len(counts)] += counts

    def add_bins(self, lower_ns: Any, width_ns: Any, counts: Any) -> None:
        """Add bins; a bin of width 1 is a value."""
        self.total += int(counts.sum())
        if len(width_ns) and int(width_ns.max()) > 1:
            self.exact = False
        dense = (width_ns == 1) & (lower_ns >= 0) & (lower_ns < DENSE_LIMIT_NS)
        if dense.any():
            at = lower_ns[dense]
            self._grow(int(at.max()) + 1)
            np.add.at(self._dense, at, counts[dense])
        self._add_rows(lower_ns[~dense], width_ns[~dense], counts[~dense])

    def table(self, bin_width_ns: int = 1) -> tuple[Any, Any, Any]:
        """lower_ns, width_ns, counts as int64 arrays, sorted, without empty bins. A single value is a bin of `bin_width_ns`."""
        self._consolidate()
        at = np.flatnonzero(self._dense)
        far = self._rows[0] if self._rows else np.zeros((3, 0), np.int64)
        lower = np.concatenate([at, far[0]])
        width = np.concatenate([np.ones(len(at), np.int64), far[1]])
        counts = np.concatenate([self._dense[at], far[2]])
        width[width == 1] = bin_width_ns
        order = np.lexsort((width, lower))
        keep = order[counts[order] > 0]
        return lower[keep], width[keep], counts[keep]

    def _grow(self, size: int) -> None:
        if size > len(self._dense):
            grown = np.zeros(1 << (size - 1).bit_length(), np.int64)
            grown[: len(self._dense)] = self._dense
            self._dense = grown

    def _add_rows(self, lower_ns: Any, width_ns: Any, counts: Any) -> None:
        if len(lower_ns):
            self._rows.append(np.stack([np.asarray(a, np.int64) for a in (lower_ns, width_ns, counts)]))
            self._row_count += len(lower_ns)
            self._merged = False
            if self._row_count > _CONSOLIDATE_ROWS + 2 * len(self._rows[0][0]):
                self._consolidate()

    def _consolidate(self) -> None:
        if not self._merged:
            rows = np.concatenate(self._rows, axis=1)
            keys, back = np.unique(rows[:2], axis=1, return_inverse=True)
            counts = np.zeros(keys.shape[1], np.int64)
            np.add.at(counts, back.reshape(-1), rows[2])
            self._rows = [np.concatenate([keys, counts[None, :]])]
            self._row_count = len(counts)
            self._merged = True
