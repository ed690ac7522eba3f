"""Bursts of writes to a disk."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_BYTES, _RATIO = "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"


class DirtyWriteback(Knob):
    """dirty_bytes and dirty_ratio exclude each other: the one that is written sets the other to 0."""

    name = "dirty-writeback"
    title = "bursts of writes to the disk (dirty_ratio)"
    why = "Written data gathers in memory, by default up to a fifth of it, and then goes out in one burst, with work for the disk's interrupt and for DMA."
    effect = "smaller bursts, on SD cards and eMMC above all"
    harm = "programs that write much wait earlier"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile latency-performance (dirty_ratio 10)",)
    reads = (_BYTES, _RATIO)

    def look(self, seen: Seen, goal: Goal) -> Look:
        limit, ratio = seen.number(_BYTES), seen.number(_RATIO)
        if limit:
            return ok(f"at most {limit >> 20} MiB")
        if ratio <= 10:
            return ok(f"at most {ratio} % of memory")
        return wrong(f"up to {ratio} % of memory", "10 %", Action(WRITE, _RATIO, "10", (_BYTES,)))
