"""Ticks of the CPUs at different moments."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look

_MANY = 16


class SkewTick(Knob):
    """Nothing is expected of it on a board with few CPUs."""

    name = "skew-tick"
    title = "ticks at different moments (skew_tick)"
    why = "The ticks of all CPUs come at one moment and queue for the same locks, on machines with many CPUs."
    effect = "none on a few CPUs; unknown on many"
    harm = "more wake-ups of an idle machine"
    scope = BOOT
    evidence = "F"
    severity = LOW
    sources = ("tuned: profile realtime", "OpenShift NTO pull request 1564 (no numbers)")

    def look(self, seen: Seen, goal: Goal) -> Look:
        if len(seen.online()) < _MANY:
            return absent(f"{len(seen.online())} CPUs are too few for their ticks to meet")
        if seen.word("skew_tick") == "1":
            return ok("skew_tick=1")
        return unknown(
            "not set; nobody has published what it gives", "skew_tick=1", Action(BOOT_WORD, "", "skew_tick=1")
        )
