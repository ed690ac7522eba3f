"""Where callbacks of RCU run."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpu_list, cpus_text, ok, wrong
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look
from rtassay.model.units import format_cpu_list


class RcuNocbs(Knob):
    """nohz_full implies it."""

    name = "rcu-nocbs"
    title = "callbacks of RCU off the application's CPUs (rcu_nocbs)"
    why = "The kernel frees memory in bursts of callbacks, in the softirq of the CPU that asked for it."
    effect = "removes bursts of softirq time on those CPUs"
    harm = "a little more work for the other CPUs; rcu_nocb_poll burns one of them"
    scope = BOOT
    evidence = "V"
    severity = LOW
    sources = ("kernel: admin-guide/kernel-per-CPU-kthreads.rst", "tuned: profile cpu-partitioning")

    def look(self, seen: Seen, goal: Goal) -> Look:
        wanted = seen.measured(goal)
        if seen.config is not None and seen.symbol("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == "y":
            return ok("the kernel does so for all CPUs")
        asked = seen.word("rcu_nocbs")
        if asked in ("all", ""):
            return ok("all CPUs")
        off = {*cpu_list(asked or ""), *(seen.inventory.cpus.nohz_full or ())}
        missing = [cpu for cpu in wanted if cpu not in off]
        if not missing:
            return ok(cpus_text(wanted))
        word = f"rcu_nocbs={format_cpu_list(wanted)}"
        return wrong(f"callbacks run on {cpus_text(missing)}", word, Action(BOOT_WORD, "", word))
