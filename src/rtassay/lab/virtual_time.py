"""QEMU's options for virtual time: the clock counts instructions, and jumps while the CPU sleeps."""

from __future__ import annotations


def options(shift: int) -> tuple[str, ...]:
    """One instruction takes 2**shift ns.

    QEMU's main loop moves the clock on when the CPU sleeps. It looks at that without a lock, and may do so before the last instructions of
    the CPU are counted: then the next timer comes late, now and then on a busy host. A QEMU that records (what it writes is not
    needed) lets its main loop wait until they are (docs/decisions/2026-11-25-virtual-time-records.md).
    """
    return ("-accel", "tcg,thread=single", "-icount", f"shift={shift},sleep=off,align=off,rr=record,rrfile=/dev/null")
