"""Period jitter: how far the time between two consecutive runs of a lane is from its interval (docs/method/activations.md, "Period jitter")."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.analysis.lane.distribution import joined, points
from rtassay.analysis.lane.quantiles import View, ladder
from rtassay.model.findings import Jitter, JitterStep
from rtassay.model.recording import Lane


def jitter(lanes: Sequence[Lane]) -> Jitter | None:
    """Of all lanes together; None if one of them does not tell it."""
    tables = [lane.jitter for lane in lanes if lane.jitter is not None]
    if not tables or len(tables) < len(lanes):
        return None
    known = joined([points(table.lower_ns, table.counts) for table in tables])
    total = sum(int((table.lower_ns * table.counts).sum()) for table in tables)
    steps = tuple(JitterStep(step.q, step.value_ns, step.bound) for step in ladder(View(known)))
    return Jitter(known.total, total / known.total, max(int(table.lower_ns[-1]) for table in tables), steps)
