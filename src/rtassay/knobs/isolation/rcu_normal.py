"""Expedited grace periods of RCU."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_PATH = "/sys/kernel/rcu_normal"


class RcuNormal(Knob):
    """Kernels with PREEMPT_RT do so after boot by themselves."""

    name = "rcu-normal"
    title = "expedited grace periods of RCU (rcu_normal)"
    why = (
        "An expedited grace period interrupts every CPU. Loading modules and creating network name spaces ask for some."
    )
    effect = "fewer interrupts between CPUs"
    harm = "such operations take longer"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = (
        "kernel: admin-guide/kernel-parameters.txt (rcupdate.rcu_normal_after_boot)",
        "tuned: profile cpu-partitioning",
    )
    reads = (_PATH, "/sys/kernel/rcu_expedited")

    def look(self, seen: Seen, goal: Goal) -> Look:
        value = seen.number(_PATH)
        if value:
            return ok("rcu_normal 1")
        return wrong("rcu_normal 0", "1", Action(WRITE, _PATH, "1"))
