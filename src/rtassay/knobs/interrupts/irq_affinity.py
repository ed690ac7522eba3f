"""Interrupts of devices on the application's CPUs."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, cpus_text, ok, wrong
from rtassay.knobs.reading import INTERRUPTS, interrupt_rates
from rtassay.model.knobs import HIGH, MEDIUM, RUN_TIME, WRITE, Action, Detail, Goal, Look
from rtassay.model.units import format_cpu_list

_WANTED = "/proc/irq/[0-9]*/smp_affinity_list"
_EFFECTIVE = "/proc/irq/[0-9]*/effective_affinity_list"
# The CPUs' own timers have numbers like devices on Arm and RISC-V. They cannot be moved.
_CPU_TIMER = re.compile(r"arch_timer|arm_global_timer|twd|riscv-timer|vtimer|local.?timer|arm-pmu|clint", re.IGNORECASE)
_SHOWN = 20


class IrqAffinity(Knob):
    """Read from where the kernel sends each interrupt, not from where it may send it."""

    name = "irq-affinity"
    title = "interrupts of devices on the application's CPUs"
    why = "An interrupt's handler runs before any thread, so it delays the application by its whole length."
    effect = "removes these interrupts from the application's CPUs"
    harm = "the other CPUs handle more; some interrupts cannot be moved"
    scope = RUN_TIME
    evidence = "V"
    severity = MEDIUM
    sources = ("kernel: core-api/irq/irq-affinity.rst", "tuned: plugin irq", "Firefly: real-time performance report")
    reads = (_WANTED, _EFFECTIVE, "/sys/kernel/irq/[0-9]*/actions")
    counts = (INTERRUPTS,)
    needs = ("irqbalance",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        measured = set(seen.measured(goal))
        irqs = seen.told(seen.inventory.irq_affinity, _WANTED)
        rates = self._rates(seen)
        rest = format_cpu_list(seen.housekeeping(goal))
        found: list[tuple[float, Detail, Action]] = []
        for number, irq in irqs.items():
            there = tuple(sorted(measured & set(irq.effective or irq.cpus or ())))
            label, per_cpu = rates.get(number, ("", {}))
            label = irq.name or label
            if not there or not label or _CPU_TIMER.search(label):
                continue
            per_s = sum(rate for cpu, rate in per_cpu.items() if cpu in there)
            told = f"{cpus_text(there)}, {per_s:.0f} a second" if number in rates else cpus_text(there)
            detail = Detail(f"{number} {label}", told, f"CPU {rest}", HIGH if per_s >= 1 else None)
            found.append((per_s, detail, Action(WRITE, f"/proc/irq/{number}/smp_affinity_list", rest)))
        if not found:
            return ok(f"none on {cpus_text(tuple(measured))}")
        found = sorted(found, key=lambda row: -row[0])[:_SHOWN]
        first = found[0][1]
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        return wrong(
            f"{first.name} on {first.now}{more}",
            f"CPU {rest}",
            *(action for _, _, action in found),
            details=tuple(detail for _, detail, _ in found),
            severity=HIGH if found[0][0] >= 1 else MEDIUM,
        )

    def _rates(self, seen: Seen) -> dict[str, tuple[str, dict[int, float]]]:
        try:
            return {name: (row.label, rates) for name, (row, rates) in interrupt_rates(seen).items()}
        except NotRead:
            return {}
