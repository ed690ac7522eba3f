"""Where interrupts of new devices go."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpu_mask, cpus_text, mask_of, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_PATH = "/proc/irq/default_smp_affinity"


class IrqDefaultAffinity(Knob):
    """The boot word irqaffinity= sets it."""

    name = "irq-default-affinity"
    title = "CPUs of interrupts that appear later"
    why = "A device that is plugged in, or a driver that starts anew, gets this affinity."
    effect = "irq-affinity keeps its effect"
    harm = "the other CPUs handle more"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("kernel: core-api/irq/irq-affinity.rst",)
    reads = (_PATH,)
    needs = ("irq-affinity",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        default = cpu_mask(seen.text(_PATH))
        there = [cpu for cpu in seen.measured(goal) if cpu in default]
        if not there:
            return ok(cpus_text(default))
        rest = seen.housekeeping(goal)
        return wrong(f"{cpus_text(there)} among them", cpus_text(rest), Action(WRITE, _PATH, mask_of(rest)))
