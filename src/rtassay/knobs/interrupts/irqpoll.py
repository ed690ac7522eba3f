"""Boot words that make interrupts slower."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BOOT, BY_HAND, MEDIUM, Action, Goal, Look


class Irqpoll(Knob):
    """They help with broken hardware, and are copied from lists of boot words."""

    name = "irqpoll"
    title = "boot words that poll interrupts (irqpoll, irqfixup)"
    why = "irqpoll calls the handlers of all devices at each interrupt."
    effect = "shorter interrupts"
    harm = "a broken device may need them"
    scope = BOOT
    evidence = "C"
    severity = MEDIUM
    sources = (
        "kernel: admin-guide/kernel-parameters.txt (irqpoll)",
        "https://github.com/LinuxCNC/linuxcnc/issues/4044",
    )

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = [word for word in seen.words() if word in ("irqpoll", "irqfixup")]
        if not found:
            return ok("not set")
        return wrong(" ".join(found), "without it", Action(BY_HAND, "", f"remove {' '.join(found)}"))
