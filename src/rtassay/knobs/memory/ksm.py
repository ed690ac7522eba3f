"""Merging of equal pages."""

from __future__ import annotations

from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME


class Ksm(OneNumber):
    """2 would split all merged pages at once, which takes long."""

    name = "ksm"
    title = "merging of equal pages (KSM)"
    why = "A thread scans memory and makes pages read-only; the next write to one faults."
    effect = "removes the scans and the faults"
    harm = "virtual machines need more memory"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile realtime-virtual-host",)
    path = "/sys/kernel/mm/ksm/run"
    reads = (path,)
    good = (0, 2)
    best = 0
