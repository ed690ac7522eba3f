"""Which kernel a Raspberry Pi boots."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.knobs.raspberry.firmware import CONFIG, lines, only_here
from rtassay.model.knobs import BOOT, BY_HAND, LOW, Action, Goal, Look


class PiKernel(Knob):
    """`rtassay kernel` chooses it for one boot."""

    name = "pi-kernel"
    title = "kernel of a Raspberry Pi (kernel= in config.txt)"
    why = "Two kernels side by side can be compared on one board; the firmware boots what config.txt names."
    effect = "see preempt-rt"
    harm = "a kernel that does not boot: tryboot falls back by itself"
    scope = BOOT
    evidence = "V"
    severity = LOW
    sources = ("Raspberry Pi documentation: config.txt, kernel; tryboot",)
    reads = CONFIG

    def look(self, seen: Seen, goal: Goal) -> Look:
        only_here(seen)
        kernel = lines(seen).get("kernel")
        if kernel is not None or seen.inventory.kernel.realtime:
            return ok(kernel or "the firmware's choice")
        return unknown(
            "the firmware's choice, without PREEMPT_RT",
            "a PREEMPT_RT kernel beside it",
            Action(BY_HAND, "", "rtassay kernel list BOARD"),
        )
