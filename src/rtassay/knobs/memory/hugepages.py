"""Huge pages that are set aside."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, ok, unknown
from rtassay.model.knobs import BY_HAND, LOW, RUN_TIME, UNKNOWN, Action, Goal, Look

_PATH = "/proc/meminfo"
_TOTAL = re.compile(r"^HugePages_Total:\s+(\d{1,12})$", re.MULTILINE)


class Hugepages(Knob):
    """Only the application knows how many it wants."""

    name = "hugepages"
    title = "huge pages set aside for programs"
    why = "A program with much memory misses the TLB less often with huge pages."
    effect = "for programs bound by memory; nothing for small ones"
    harm = "the memory is not there for others"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("kernel: admin-guide/mm/hugetlbpage.rst",)
    reads = (_PATH,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = _TOTAL.search(seen.text(_PATH))
        if found is None:
            raise (
                NotRead(UNKNOWN, "the kernel names no huge pages")
                if not seen.live
                else seen.not_read("/sys/kernel/mm/hugepages")
            )
        if int(found[1]):
            return ok(f"{found[1]} set aside")
        return unknown(
            "none; right, unless the application asks for them",
            "as many as it asks for",
            Action(BY_HAND, "/proc/sys/vm/nr_hugepages", "write their number"),
        )
