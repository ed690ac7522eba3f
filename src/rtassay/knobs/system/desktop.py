"""A desktop that draws."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, SERVICE, Action, Goal, Look


class Desktop(Knob):
    """Display servers and compositors by name."""

    name = "desktop"
    title = "desktop"
    why = "A graphics processor shares caches and memory with the CPUs, and its driver runs on them."
    effect = "unknown; the kernel's documentation says: test with glmark2"
    harm = "no desktop"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = (
        "kernel: core-api/real-time/kernel-configuration.rst (CONFIG_DRM)",
        "Firefly: real-time performance report",
    )

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = seen.told(seen.inventory.desktop, "/proc/[0-9]*/stat")
        if not found:
            return ok("none runs")
        return wrong(f"{', '.join(found)} runs", "no desktop", Action(SERVICE, "display-manager.service", "stop"))
