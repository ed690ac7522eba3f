"""Whether the kernel is a real-time one."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BUILD, BY_HAND, HIGH, Action, Goal, Look


class PreemptRt(Knob):
    """By what runs, never by the kernel's name."""

    name = "preempt-rt"
    title = "a PREEMPT_RT kernel"
    why = "Without it the kernel cannot be preempted in many places, for milliseconds under load."
    effect = "published maxima fall from milliseconds to tens or hundreds of microseconds (rtassay published)"
    harm = "throughput; drivers outside the kernel may not build"
    scope = BUILD
    evidence = "D"
    severity = HIGH
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (severity: fatal)", "rtassay published")
    reads = ("/proc/version", "/sys/kernel/realtime")

    def look(self, seen: Seen, goal: Goal) -> Look:
        kernel = seen.inventory.kernel
        if kernel.realtime:
            return ok(f"{kernel.release}")
        if kernel.realtime is None:
            raise seen.not_read("/proc/version")
        return wrong(
            f"{kernel.release} is {kernel.preempt_model or 'without it'}",
            "PREEMPT_RT",
            Action(BY_HAND, "", "rtassay kernel list BOARD, or install a -rt kernel"),
        )
