"""Real-time threads of other programs that the application does not preempt."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.knobs.reading import RT_THREADS, STATS, threads
from rtassay.model.knobs import HIGH, MEDIUM, POLICY, RUN_TIME, Action, Detail, Goal, Look

_BUSY = 0.001


class ForeignRtThreads(Knob):
    """The kernel's own threads and those of rtassay do not count."""

    name = "foreign-rt-threads"
    title = "real-time threads of other programs"
    why = "A thread of the application's priority or above delays it for as long as it runs."
    effect = "one report: 150 to 250 us of multipathd at FIFO 99 on a Pi 4 went away"
    harm = "the other program's own deadlines"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/ros-realtime/ros-realtime-rpi4-image/issues/30",)
    reads = (STATS,)
    counts = (RT_THREADS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        others = [one for one in threads(seen) if not one.of_kernel]
        above = [one for one in others if one.priority >= goal.priority or one.policy == "deadline"]
        if not above:
            return ok(f"{len(others)}, all below {goal.priority}" if others else "none")
        busy = any((one.busy or 0) >= _BUSY for one in above)
        details = tuple(Detail(f"{one.comm} ({one.tid})", one.words) for one in above[:20])
        moves = [
            Action(POLICY, str(one.tid), f"{one.policy} {max(1, goal.priority - 1)}", (one.comm,))
            for one in above[:20]
            if one.policy != "deadline"
        ]
        named = ", ".join(one.words for one in above[:3])
        return wrong(
            named,
            f"below the application's {goal.priority}",
            *moves,
            details=details,
            severity=HIGH if busy else MEDIUM,
        )
