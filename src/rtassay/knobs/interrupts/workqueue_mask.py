"""Kernel work on the application's CPUs."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpu_mask, cpus_text, mask_of, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_ALL = "/sys/devices/virtual/workqueue/cpumask"
_EACH = "/sys/devices/virtual/workqueue/*/cpumask"


class WorkqueueMask(Knob):
    """isolcpus changes it too. Work that is bound to a CPU stays there."""

    name = "workqueue-mask"
    title = "CPUs of the kernel's unbound work (kworkers)"
    why = "Kernel work without a fixed CPU runs on any CPU of this mask, writeback of disks included."
    effect = "no unbound kworker on the application's CPUs"
    harm = "the other CPUs do that work"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = ("kernel: core-api/workqueue.rst", "kernel: core-api/real-time/hardware.rst")
    reads = (_ALL, _EACH)

    def look(self, seen: Seen, goal: Goal) -> Look:
        measured = seen.measured(goal)
        masks = {
            path: cpu_mask(text)
            for path, text in {_ALL: seen.text(_ALL), **(seen.matching(_EACH) if seen.has(_EACH) else {})}.items()
        }
        loose = [path for path, cpus in masks.items() if set(cpus) & set(measured)]
        if not loose:
            return ok(f"none on {cpus_text(measured)}")
        rest = seen.housekeeping(goal)
        return wrong(
            f"{len(loose)} of {len(masks)} masks hold {cpus_text(measured)}",
            cpus_text(rest),
            *(Action(WRITE, path, mask_of(rest)) for path in loose),
        )
