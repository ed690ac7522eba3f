"""Priorities of the threads that handle interrupts."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown
from rtassay.model.knobs import LOW, RUN_TIME, Detail, Goal, Look

_PATH = "/proc/[0-9]*/stat"


class IrqThreadPriority(Knob):
    """Nobody but the user knows which device the application waits for."""

    name = "irq-thread-priority"
    title = "priorities of interrupt threads"
    why = "All interrupt threads have one priority. An application that waits for a device needs that device's thread above the others."
    effect = "shorter and steadier response to that device; nothing for timers"
    harm = "other devices are served later"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("OSPERT 2024: named as an open point", "kernel: core-api/real-time/theory.rst (threaded interrupts)")
    reads = (_PATH,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = seen.told(seen.inventory.irq_threads, _PATH)
        if not found:
            return absent("no interrupt is handled in a thread here")
        priorities = {one.priority for one in found}
        if len(priorities) > 1:
            return ok(f"{len(found)} threads at {len(priorities)} different priorities")
        details = tuple(Detail(one.comm or "?", str(one.priority)) for one in found[:8])
        return unknown(
            f"all {len(found)} at {priorities.pop()}; right, unless the application waits for a device",
            "the application's device above the others",
            details=details,
        )
