"""Huge pages that the kernel makes by itself."""

from __future__ import annotations

from rtassay.knobs.kinds import OneChoice
from rtassay.model.knobs import LOW, RUN_TIME


class TransparentHugepages(OneChoice):
    """`madvise` leaves programs alone that do not ask for them."""

    name = "transparent-hugepages"
    title = "huge pages made by the kernel (THP)"
    why = "khugepaged and compaction hold a program's memory lock while they build huge pages."
    effect = "removes stalls of programs that allocate; nothing for a program that locked its memory"
    harm = "more misses of the TLB in programs with much memory"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile realtime-virtual-host", "kernel: admin-guide/mm/transhuge.rst")
    path = "/sys/kernel/mm/transparent_hugepage/enabled"
    reads = (path,)
    good = ("never", "madvise")
    best = "never"
