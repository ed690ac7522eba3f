"""How often the kernel collects statistics of memory."""

from __future__ import annotations

from rtassay.knobs.base import Seen, ok, wrong
from rtassay.knobs.kinds import OneNumber
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_SECONDS = 10


class VmstatInterval(OneNumber):
    """Any interval of 10 s and more is right."""

    name = "vmstat-interval"
    title = "statistics of memory (vm.stat_interval)"
    why = "A kworker collects each CPU's counters, by default once a second. Newer kernels leave isolated CPUs out."
    effect = "one work item a second less on each CPU; NI saw the tick go away"
    harm = "free memory is known less precisely"
    scope = RUN_TIME
    evidence = "D"
    severity = LOW
    sources = ("https://github.com/ni/linux/pull/130", "tuned: profile realtime")
    path = "/proc/sys/vm/stat_interval"
    reads = (path,)
    good = ()
    best = _SECONDS

    def look(self, seen: Seen, goal: Goal) -> Look:
        seconds = self.value(seen)
        if seconds >= _SECONDS:
            return ok(f"every {seconds} s")
        return wrong(f"every {seconds} s", f"{_SECONDS} s", Action(WRITE, self.path, str(_SECONDS)))
