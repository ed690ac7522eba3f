"""CPUs that never go idle."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BOOT, BY_HAND, LOW, Action, Goal, Look


class IdlePoll(Knob):
    """Right where it is not set, and never right in a virtual machine."""

    name = "idle-poll"
    title = "polling instead of idling (idle=poll)"
    why = "A CPU that polls wakes up at once. It burns full power, takes time from its hyper-thread sibling, and misleads a hypervisor."
    effect = "the fastest wake-up there is; shown with and without in single runs"
    harm = "full power always; heat may throttle; unstable in virtual machines"
    scope = BOOT
    evidence = "D"
    severity = LOW
    sources = ("https://github.com/machinekit/machinekit/issues/792", "https://github.com/seapath/ansible/issues/529")
    excludes = ("idle-states",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.word("idle") != "poll":
            return ok("not set: idle states decide, see idle-states")
        if seen.inventory.virtualisation not in (None, "none"):
            return wrong("idle=poll in a virtual machine", "without it", Action(BY_HAND, "", "remove idle=poll"))
        return ok("idle=poll")
