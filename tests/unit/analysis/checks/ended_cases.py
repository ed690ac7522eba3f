"""Cases of ENDED-EARLY and TRACED, for test_checks.py: (check, recording, severity, kind if not the table's, words)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rtassay.model.manifest import Plan, TraceEntry, Untraced
from rtassay.model.recording import Recording

from ..build import SECOND, block_lane, cyclictest, recording, skip_lane


def minute(**changes: Any) -> Recording:
    return recording(block_lane({100: 60_001}), **changes)


def traced(part: Untraced | None, **trace: Any) -> Recording:
    """A minute, the first part of which was untraced."""
    made = minute(trace=TraceEntry(from_ns=1, **trace))
    (lane,) = made.lanes
    return replace(made, lanes=(replace(lane, entry=replace(lane.entry, untraced=part)),))


Case = tuple[str, Callable[[], Recording], str, str | None, str]

ENDED: list[Case] = [
    ("ENDED-EARLY", minute, "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: minute(plan=Plan(duration_ns=60 * SECOND)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: minute(plan=Plan(count=60_001)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: minute(end_reason="signal"), "warning", "optimism", "ended by a signal"),
    ("ENDED-EARLY", lambda: minute(end_reason="owner"), "warning", None, "its guard"),
    ("ENDED-EARLY", lambda: minute(end_reason="x"), "warning", None, "something unknown"),
    ("ENDED-EARLY", lambda: minute(plan=Plan(duration_ns=61 * SECOND)), "warning", None, "60001 of 61000"),
    ("ENDED-EARLY", lambda: minute(plan=Plan(count=61_000)), "warning", None, "shorter than planned"),
    ("ENDED-EARLY", lambda: minute(plan=Plan(duration_ns=120 * SECOND), end_reason="break"), "pass", None, "planned"),
    ("ENDED-EARLY", lambda: cyclictest(skip_lane({5: 100}, interval=None, over=None)), "unknown", None, "how long"),
    ("TRACED", minute, "pass", None, "nothing was traced"),
    ("TRACED", lambda: minute(trace=TraceEntry(error="no tracefs")), "pass", None, "nothing was traced"),
    ("TRACED", lambda: traced(Untraced(30_000, 30_000)), "pass", None, "by its untraced part"),
    ("TRACED", lambda: traced(Untraced(0, 0)), "warning", None, "no untraced part"),
    ("TRACED", lambda: traced(None), "warning", None, "no untraced part"),
]
