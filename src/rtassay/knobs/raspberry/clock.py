"""The clock of a Raspberry Pi's CPU, set by the firmware."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.knobs.raspberry.firmware import CONFIG, lines, only_here
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look


class PiClock(Knob):
    """force_turbo, or arm_freq equal to arm_freq_min."""

    name = "pi-clock"
    title = "constant clock of a Raspberry Pi (force_turbo)"
    why = (
        "The firmware changes the clocks of CPU and memory by load and temperature; the kernel's governor only asks it."
    )
    effect = "constant clocks of CPU and memory"
    harm = "heat; with over_voltage it sets the warranty bit"
    scope = BOOT
    evidence = "V"
    severity = LOW
    sources = ("Raspberry Pi documentation: config.txt, force_turbo",)
    reads = CONFIG
    needs = ("pi-throttled",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        only_here(seen)
        settings = lines(seen)
        if settings.get("force_turbo") == "1":
            return ok("force_turbo=1")
        if settings.get("arm_freq") and settings.get("arm_freq") == settings.get("arm_freq_min"):
            return ok(f"arm_freq {settings['arm_freq']} MHz at both ends")
        return unknown(
            "not set; the governor performance does nearly the same",
            "force_turbo=1",
            Action(BOOT_WORD, "config.txt", "force_turbo=1"),
        )
