"""Handlers of interrupts as threads, on kernels without PREEMPT_RT."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look


class Threadirqs(Knob):
    """PREEMPT_RT always does so."""

    name = "threadirqs"
    title = "interrupts handled in threads (threadirqs)"
    why = "A handler that is a thread can be preempted by a real-time thread of higher priority."
    effect = "long handlers no longer delay the application; used for audio on stock kernels"
    harm = "a little more time for each interrupt"
    scope = BOOT
    evidence = "F"
    severity = LOW
    sources = ("rtcqs 0.6.7",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.inventory.kernel.realtime:
            return ok("PREEMPT_RT does so")
        if seen.inventory.kernel.realtime is None:
            raise seen.not_read("/proc/version")
        if seen.word("threadirqs") is not None:
            return ok("threadirqs")
        return unknown("not set; nobody has published what it gives", "threadirqs", Action(BOOT_WORD, "", "threadirqs"))
