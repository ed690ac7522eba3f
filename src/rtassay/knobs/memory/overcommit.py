"""Promising more memory than there is."""

from __future__ import annotations

from rtassay.knobs.base import Seen
from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME


class Overcommit(OneNumber):
    """One of the reference papers sets it; no mechanism is known by which it could change a latency."""

    name = "overcommit"
    title = "promising more memory than there is (overcommit_memory)"
    why = "With 2 an allocation fails early instead of a program being killed later. No effect on latency is known."
    effect = "none is known"
    harm = "large programs cannot fork or start others"
    scope = RUN_TIME
    evidence = "F"
    severity = LOW
    sources = ("Firefly: real-time performance report",)
    path = "/proc/sys/vm/overcommit_memory"
    reads = (path,)
    good = (2,)
    best = 2

    def value(self, seen: Seen) -> int:
        return seen.told(seen.inventory.overcommit, self.path)
