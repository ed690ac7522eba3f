"""Limits of memory that programs run into."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, absent, ok, unknown
from rtassay.model.knobs import BY_HAND, LOW, RUN_TIME, UNKNOWN, WRITE, Action, Detail, Goal, Look

_EVENTS = "/sys/fs/cgroup/*/memory.events"
_DEEPER = "/sys/fs/cgroup/*/*/memory.events"
_CONTROLLERS = "/sys/fs/cgroup/cgroup.controllers"
_V1 = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
_COUNT = re.compile(r"^(high|max|oom_kill) (\d{1,19})$", re.MULTILINE)
_SHOWN = 20


class MemoryLimit(Knob):
    """By what the cgroup counted, not by how near a limit is: a file cache fills every limit, and harms nobody."""

    name = "memory-limit"
    title = "memory limits of cgroups that are reached"
    why = "At memory.high the kernel makes the programs of the group wait; at memory.max it takes pages away until there is room, or kills one. That harms an application in this group, and protects one outside it."
    effect = "an application in the group waits no more; one outside may be worse off: in virtual time its p99 was 42 us beside a program at its limit, and 89 us beside the same without one"
    harm = "the programs of the group may take more memory, and more time; when a limit is put back, what is above it is taken away at once"
    scope = RUN_TIME
    evidence = "X"
    severity = LOW
    sources = ("kernel: admin-guide/cgroup-v2.rst (memory.high, memory.events)",)
    reads = (_CONTROLLERS, _V1)
    counts = (_EVENTS, _DEEPER)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.has(_V1) and not seen.has(_CONTROLLERS):
            raise NotRead(UNKNOWN, "limits of cgroup v1 are not looked at")
        if "memory" not in seen.text(_CONTROLLERS).split():
            return absent("the kernel has no memory controller in cgroup v2")
        groups = {
            path.rpartition("/")[0]: text
            for pattern in (_EVENTS, _DEEPER)
            for path, text in (seen.matching(pattern) if seen.has(pattern) else {}).items()
        }
        if not groups:
            return ok("no cgroup limits memory")
        now = [row for path, text in groups.items() if any((row := self._row(seen, path, text))[1].values())]
        if not now:
            before = sum(
                bool(self._counts(text).get("high") or self._counts(text).get("max")) for text in groups.values()
            )
            told = f", {before} were in this boot" if before else ""
            return ok(f"no limit of {len(groups)} cgroups was reached in the second that was watched{told}")
        now.sort(key=lambda row: -sum(row[1].values()))
        details = tuple(
            Detail(
                path,
                ", ".join(f"memory.{name} {times} times a second" for name, times in grown.items() if times),
            )
            for path, grown in now[:_SHOWN]
        )
        more = f" and {len(now) - 1} more" if len(now) > 1 else ""
        return unknown(
            f"{details[0].name}: {details[0].now}{more}; right, unless the application is one of its programs",
            "a limit that the application's group does not reach",
            *(self._action(path, grown) for path, grown in now[:_SHOWN]),
            details=details,
        )

    def _row(self, seen: Seen, path: str, text: str) -> tuple[str, dict[str, int]]:
        """How often each limit was reached between the two readings."""
        later = self._counts(seen.later.get(f"{path}/memory.events", b"").decode(errors="replace"))
        return path, {name: max(0, later.get(name, count) - count) for name, count in self._counts(text).items()}

    def _counts(self, text: str) -> dict[str, int]:
        return {match[1]: int(match[2]) for match in _COUNT.finditer(text)}

    def _action(self, path: str, grown: dict[str, int]) -> Action:
        """A hard limit is for a person: to put it back below what is used by then kills a program."""
        if grown.get("max"):
            return Action(BY_HAND, f"{path}/memory.max", "a higher limit, or less memory for its programs")
        return Action(WRITE, f"{path}/memory.high", "max")
