"""Priorities of the kernel's threads that are bound to a CPU."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown
from rtassay.knobs.reading import RT_THREADS, threads
from rtassay.model.knobs import LOW, POLICY, RUN_TIME, Action, Detail, Goal, Look

_PER_CPU = re.compile(r"(ktimers|ktimersoftd|ksoftirqd|rcuc|rcub)/\d+")


class KthreadPriority(Knob):
    """Below the application they may starve, above it they delay it."""

    name = "kthread-priority"
    title = "priorities of ktimers, ksoftirqd, rcuc and rcub"
    why = "They run timers, softirqs and RCU callbacks on the application's CPU: above its priority they delay it, far below it they starve."
    effect = "depends on what they have to do there"
    harm = "too low: timers of other threads are late, memory is not freed"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile realtime-virtual-host (ktimers and ksoftirqd FIFO 2 to 3, rcuc 4)",)
    reads = (RT_THREADS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = [one for one in threads(seen) if _PER_CPU.fullmatch(one.comm)]
        if not found:
            return absent("none of them is real-time here")
        above = [one for one in found if one.priority >= goal.priority]
        if not above:
            return ok(f"at most {max(one.priority for one in found)}, below the application's {goal.priority}")
        details = tuple(Detail(one.comm, f"{one.policy} {one.priority}") for one in above[:8])
        moves = [Action(POLICY, str(one.tid), "fifo 2", (one.comm,)) for one in above[:8]]
        return unknown(
            f"{len(above)} are not below the application's {goal.priority}",
            f"below {goal.priority}",
            *moves,
            details=details,
        )
