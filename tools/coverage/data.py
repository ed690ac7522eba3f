"""Simulated activations as the accounts and recordings that rtassay's analysis reads: with their order, or as a bare histogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from structures import INTERVAL_NS, U_NS, Above

from rtassay.analysis.lane.account import COUNTED, Account, accounts
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.recording import Histogram, Lane, Recording, Spills

FIRST_DUE_NS = 1_000_000_000
BULK_NS = np.arange(10_000, 20_000, 1_000, dtype=np.int64)
"""Where the activations below U lie: no rule of a verdict looks at them."""


def lane_of(above: Above, index: int, ordered: bool) -> Lane:
    """One lane. `ordered`: everything at or above U was kept with its position."""
    if ordered and not above.position.size:
        above = _with_the_largest(above)
    values, counts = np.unique(above.latency_ns, return_counts=True)
    below = above.n - above.latency_ns.size
    share = np.full(BULK_NS.size, below // BULK_NS.size, np.int64)
    share[0] += below - int(share.sum())
    lower = np.concatenate([BULK_NS, values])
    rows = np.concatenate([share, counts])
    kept = rows > 0
    last_ns = FIRST_DUE_NS + (above.n - 1) * INTERVAL_NS
    entry = LaneEntry(
        index=index,
        name=str(index),
        cpu=index,
        interval_ns=INTERVAL_NS,
        n=above.n,
        measure=WAKE_UP,
        due=above.n,
        missed=0,
        dropped=0,
        truncated=0,
        min_ns=int(BULK_NS[0]),
        max_ns=int(lower[kept][-1]),
        first_due_ns=FIRST_DUE_NS,
        last_due_ns=last_ns,
        closed_ns=last_ns,
        state="ended",
        spilled=above.position.size if ordered else 0,
        suppressed=0,
    )
    histogram = Histogram(lower[kept], np.ones(int(kept.sum()), np.int64), rows[kept])
    return Lane(entry, histogram, None, _spills(above) if ordered else None)


def _with_the_largest(above: Above) -> Above:
    """A lane with nothing above U keeps its largest sample, as rtprobe does."""
    return Above(above.n, np.zeros(1, np.int64), np.full(1, U_NS - 1, np.int64), 0)


def _spills(above: Above) -> Spills:
    return Spills(above.position, above.latency_ns, np.zeros(above.position.size, np.int64))


def recording_of(lanes: Sequence[Lane], ordered: bool, name: str = "simulated") -> Recording:
    """A run of these lanes."""
    manifest = Manifest(
        id=name,
        created="2026-11-22T00:00:00Z",
        source=Source("rtprobe", "0.1.0", "stream", COUNTED),
        plan=Plan(interval_ns=INTERVAL_NS),
        lanes=tuple(lane.entry for lane in lanes),
        sealed=True,
        started_ns=min(lane.entry.first_due_ns or 0 for lane in lanes),
        ended_ns=max(lane.entry.closed_ns or 0 for lane in lanes),
        end_reason="duration",
        end={"simulated": True},
        has_samples=ordered,
    )
    return Recording(manifest, tuple(lanes))


def accounts_of(lanes: Sequence[Lane], ordered: bool) -> tuple[Account, ...]:
    """The lanes as analysis sees them."""
    return accounts(recording_of(lanes, ordered))
