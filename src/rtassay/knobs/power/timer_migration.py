"""Timers of an idle CPU that move to a busy one."""

from __future__ import annotations

from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME


class TimerMigration(OneNumber):
    """From 6.9 on the kernel moves timers by another scheme."""

    name = "timer-migration"
    title = "timers that move between CPUs"
    why = "Timers that a busy CPU takes over from idle ones run in its interrupts."
    effect = "Ubuntu: only with several sockets; tuned: always"
    harm = "idle CPUs wake up more often"
    scope = RUN_TIME
    evidence = "X"
    severity = LOW
    sources = ("tuned: profile realtime", "Ubuntu real-time documentation: kernel boot parameters")
    path = "/proc/sys/kernel/timer_migration"
    reads = (path,)
    good = (0,)
    best = 0
