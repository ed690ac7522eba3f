"""Hyper-threads that share a core with the application."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpu_list, cpus_text, ok, wrong
from rtassay.model.knobs import MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_ACTIVE, _CONTROL = "/sys/devices/system/cpu/smt/active", "/sys/devices/system/cpu/smt/control"
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


# A CPU that goes loses these, and does not get them back when it returns.
_MOVED = (
    "/proc/irq/[0-9]*/smp_affinity_list",
    "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor",
    "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_max_freq",
    "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_min_freq",
    "@threads",
)


class Smt(Knob):
    """Only siblings of the application's CPUs matter, where those are known."""

    name = "smt"
    title = "hyper-threads (SMT)"
    why = (
        "Two threads of one core share its execution units and caches: work on the sibling slows the application down."
    )
    effect = "removes the interference of a busy sibling; oslat shows it clearly"
    harm = "half the CPUs are gone; CPUs that go offline lose affinities and partitions"
    scope = RUN_TIME
    evidence = "V"
    severity = MEDIUM
    sources = ("OpenShift NTO pull request 372", "kernel: admin-guide/kernel-parameters.txt (nosmt)")
    reads = (_ACTIVE, _CONTROL, _SIBLINGS.format("[0-9]*"))

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not seen.told(seen.inventory.cpus.smt_active, _ACTIVE):
            control = seen.text(_CONTROL) if seen.has(_CONTROL) else None
            return ok("off" if control in ("off", "forceoff") else "no two CPUs share a core")
        cpus = goal.isolated if goal.isolated is not None else seen.isolated()
        shared = sorted({s for cpu in cpus for s in cpu_list(seen.text(_SIBLINGS.format(cpu))) if s not in cpus})
        if cpus and not shared:
            return ok(f"on, but no sibling of {cpus_text(cpus)} does other work")
        what = f"on; {cpus_text(shared)} shares a core with the application" if shared else "on"
        writes = [Action(WRITE, f"/sys/devices/system/cpu/cpu{cpu}/online", "0", _MOVED) for cpu in shared]
        return wrong(what, "off", *(writes or [Action(WRITE, _CONTROL, "off", _MOVED)]))
