"""Watchdogs of the kernel that interrupt each CPU."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import HIGH, RUN_TIME, WRITE, Action, Goal, Look

_NAMES = ("watchdog", "nmi_watchdog", "soft_watchdog")
_PATH = "/proc/sys/kernel/{}"


class LockupDetector(Knob):
    """`watchdog` 0 switches both detectors off."""

    name = "lockup-detector"
    title = "lockup detectors (watchdog, nmi_watchdog)"
    why = "They run a timer and a performance counter's interrupt on each CPU every few seconds, with interrupts off."
    effect = "removes these interrupts; the kernel's documentation calls the severity high"
    harm = "a hanging kernel is not noticed: use a hardware watchdog"
    scope = RUN_TIME
    evidence = "C"
    severity = HIGH
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (CONFIG_LOCKUP_DETECTOR)",)
    reads = tuple(_PATH.format(name) for name in _NAMES)

    def look(self, seen: Seen, goal: Goal) -> Look:
        whole = seen.number(_PATH.format("watchdog"))
        on = [name for name in _NAMES[1:] if seen.has(_PATH.format(name)) and seen.number(_PATH.format(name))]
        if not whole or not on:
            return ok("off")
        return wrong(
            " and ".join(on),
            "off",
            Action(WRITE, _PATH.format("watchdog"), "0", tuple(_PATH.format(name) for name in on)),
        )
