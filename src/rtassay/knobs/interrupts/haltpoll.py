"""Polling before a virtual CPU goes idle."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_GUEST = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"


class Haltpoll(Knob):
    """In virtual machines only."""

    name = "haltpoll"
    title = "polling before idle, in a virtual machine (haltpoll)"
    why = "A virtual CPU that goes idle leaves the guest, and its wake-up waits for the hypervisor."
    effect = "faster wake-ups of a guest"
    harm = "the host's CPU is busy while the guest polls"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("kernel: virt/guest-halt-polling.rst",)
    reads = (_GUEST,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.inventory.virtualisation == "none":
            return absent("no virtual machine")
        value = seen.number(_GUEST)
        if value > 0:
            return ok(f"{value} ns")
        return unknown("off; what it gives depends on the host", "200000", Action(WRITE, _GUEST, "200000"))
