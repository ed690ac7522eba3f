"""Groups of ordinary threads by session."""

from __future__ import annotations

from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME


class Autogroup(OneNumber):
    """It shares time among ordinary threads only."""

    name = "autogroup"
    title = "groups of ordinary threads by session (autogroup)"
    why = "It shares time among ordinary threads. Real-time threads are not in such groups."
    effect = "none is known for real-time threads"
    harm = "a desktop feels slower under load"
    scope = RUN_TIME
    evidence = "F"
    severity = LOW
    sources = ("guides for audio and games",)
    path = "/proc/sys/kernel/sched_autogroup_enabled"
    reads = (path,)
    good = (0,)
    best = 0
