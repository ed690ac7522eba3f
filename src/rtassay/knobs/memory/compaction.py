"""Moving of pages in memory."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_PATHS = ("/proc/sys/vm/compact_unevictable_allowed", "/proc/sys/vm/compaction_proactiveness")


class Compaction(Knob):
    """Writing a number above 0 into compaction_proactiveness starts a compaction."""

    name = "compaction"
    title = "moving of pages (compaction)"
    why = "The kernel moves pages to make room for large ones, locked pages too; a program that touches a page on its way waits."
    effect = "removes minor faults on locked memory"
    harm = "large allocations fail earlier"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = ("kernel: admin-guide/sysctl/vm.rst (compact_unevictable_allowed)",)
    reads = _PATHS

    def look(self, seen: Seen, goal: Goal) -> Look:
        values = {path: seen.number(path) for path in _PATHS if seen.has(path)}
        if not values:
            raise seen.not_read(_PATHS[0])
        on = {path: value for path, value in values.items() if value}
        if not on:
            return ok("locked pages stay, no compaction ahead of need")
        now = ", ".join(f"{path.rpartition('/')[2]} {value}" for path, value in on.items())
        return wrong(now, "0", *(Action(WRITE, path, "0") for path in on))
