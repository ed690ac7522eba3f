"""Interrupts that a driver spreads over all CPUs."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, cpus_text, ok, wrong
from rtassay.model.knobs import BOOT, BY_HAND, LOW, Action, Detail, Goal, Look

# Their drivers let the kernel place them (pci_alloc_irq_vectors_affinity); those of most network cards can be moved.
_QUEUE = re.compile(r"nvme\d+q\d|virtio\d+-req(uest)?\b|megasas|mpt[23]sas|hpsa|lpfc|qla2xxx")
_SHOWN = 8


class ManagedIrq(Knob):
    """Known by their queues: one interrupt of a device for each CPU, whose affinity user space may not change."""

    name = "managed-irq"
    title = "interrupts of queues (NVMe, virtio and RAID disks)"
    why = "Drivers of fast devices give each CPU a queue with an interrupt that user space cannot move."
    effect = "queues on the application's CPUs are used only by work that runs there"
    harm = "none, but it does not hold for work that itself runs there"
    scope = BOOT
    evidence = "V"
    severity = LOW
    sources = ("kernel: admin-guide/kernel-parameters.txt (isolcpus=managed_irq)", "tuned pull request 356")
    reads = ("/proc/irq/[0-9]*/smp_affinity_list",)
    needs = ("isolcpus",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        measured = set(seen.measured(goal))
        if "managed_irq" in (seen.word("isolcpus") or "").split(","):
            return ok("isolcpus=managed_irq")
        irqs = seen.told(seen.inventory.irq_affinity, "/proc/irq/[0-9]*/smp_affinity_list")
        queues = {
            n: irq for n, irq in irqs.items() if irq.name and _QUEUE.search(irq.name) and measured & set(irq.cpus or ())
        }
        if not queues:
            return ok(f"no queue's interrupt on {cpus_text(tuple(measured))}")
        details = tuple(
            Detail(f"{n} {irq.name}", cpus_text(irq.cpus or ())) for n, irq in list(queues.items())[:_SHOWN]
        )
        return wrong(
            f"{len(queues)} on {cpus_text(tuple(measured))}",
            "isolcpus=managed_irq,...",
            Action(BY_HAND, "", "isolcpus=managed_irq,domain,LIST"),
            details=details,
        )
