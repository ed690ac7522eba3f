"""USB devices that sleep."""

from __future__ import annotations

from rtassay.knobs.base import Seen, ok, unknown
from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look


class UsbAutosuspend(OneNumber):
    """-1: never."""

    name = "usb-autosuspend"
    title = "USB devices that sleep"
    why = "A USB device that sleeps takes milliseconds to answer."
    effect = "for applications that use USB; nobody has published data"
    harm = "more power"
    scope = RUN_TIME
    evidence = "F"
    severity = LOW
    sources = ("guides for audio",)
    path = "/sys/module/usbcore/parameters/autosuspend"
    reads = (path,)
    good = (-1,)
    best = -1

    def look(self, seen: Seen, goal: Goal) -> Look:
        seconds = self.value(seen)
        if seconds < 0:
            return ok("never")
        return unknown(
            f"after {seconds} s; it matters to applications that use USB", "-1", Action(WRITE, self.path, "-1")
        )
