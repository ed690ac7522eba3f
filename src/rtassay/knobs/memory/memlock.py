"""How much memory a program may lock."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, ok, wrong
from rtassay.model.knobs import BY_HAND, MEDIUM, RUN_TIME, UNKNOWN, Action, Goal, Look

_LIMITS = "/proc/1/limits"
_LINE = re.compile(r"^Max locked memory\s+(\d{1,20}|unlimited)\s", re.MULTILINE)
_ENOUGH = 64 * 1024 * 1024


class Memlock(Knob):
    """By the limit that init has and services inherit; root is not bound by it."""

    name = "memlock"
    title = "memory that a program may lock"
    why = "Memory that is not locked can be paged out or be missing at first touch; each page fault costs tens of microseconds."
    effect = "no page faults after mlockall and a first touch of all memory"
    harm = "locked memory is not there for others"
    scope = RUN_TIME
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: core-api/real-time/theory.rst", "mlockall(2)")
    reads = (_LIMITS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = _LINE.search(seen.text(_LIMITS))
        if found is None:
            raise NotRead(UNKNOWN, f"{_LIMITS} names no limit of locked memory")
        if found[1] == "unlimited" or int(found[1]) >= _ENOUGH:
            return ok("unlimited" if found[1] == "unlimited" else f"{int(found[1]) >> 20} MiB")
        return wrong(
            f"{int(found[1]) >> 10} KiB for programs without CAP_IPC_LOCK",
            "unlimited",
            Action(
                BY_HAND, "/etc/security/limits.conf", "USER - memlock unlimited, or LimitMEMLOCK=infinity in the unit"
            ),
        )
