"""The priority of the application itself."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown, wrong
from rtassay.knobs.reading import RT_THREADS, threads
from rtassay.model.knobs import BY_HAND, LOW, MEDIUM, RUN_TIME, Action, Goal, Look


class Priority(Knob):
    """99 belongs to the kernel; what lies between 1 and 98 only the other threads decide."""

    name = "priority"
    title = "priority of the application"
    why = "At 99 it competes with the kernel's own migration and watchdog threads. On an isolated CPU a high priority may keep the kernel's threads from work that would let the tick stop."
    effect = "NI measured FIFO 1 better than FIFO 98 on an isolated CPU"
    harm = "a priority below an interrupt's thread waits for that interrupt"
    scope = RUN_TIME
    evidence = "D"
    severity = LOW
    sources = ("https://github.com/ni/meta-nilrt/pull/711",)
    reads = (RT_THREADS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if goal.priority == 99:
            return wrong(
                "99 is planned", "at most 98", Action(BY_HAND, "", "choose a priority from 1 to 98"), severity=MEDIUM
            )
        above = [
            one
            for one in threads(seen)
            if one.of_kernel and one.comm.startswith("irq/") and one.priority >= goal.priority
        ]
        if above:
            return unknown(
                f"{goal.priority} is planned; {len(above)} interrupt threads have that or more, the first is {above[0].words}",
                "above those that it does not wait for",
            )
        return ok(f"{goal.priority} is planned, above every interrupt thread")
