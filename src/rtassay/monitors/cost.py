"""The CPU time that watching costs."""

from __future__ import annotations

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import NS_PER_S, Counters, wholes

_OWN, _CHILDREN = "/proc/self/schedstat", "/proc/self/stat"
# Fields of stat(5) behind the closing parenthesis, counted from 0 at the state: time of children that were waited for.
_CUTIME, _CSTIME = 13, 14
# The kernel gives these in 1/100 s on every machine.
_TICKS_PER_S = 100


class CostMonitor(Monitor):
    """`watch.busy`: the share of one CPU that `rtprobe watch` itself used since the last reading; `programs.busy`: that of the
    programs it ran, in steps of 10 ms, from the first one on."""

    name = "cost"
    # The watch reads them, so they are the numbers of the watch.
    paths: tuple[str, ...] = (_OWN, f"5s:{_CHILDREN}")

    def __init__(self) -> None:
        self._counters = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        text = content.decode(errors="replace")
        rate, name = None, "watch.busy"
        if path == _OWN:
            numbers = wholes(text.split())
            if numbers is not None and len(numbers) == 3:
                rate = self._counters.per_second(_OWN, mono_ns, numbers[0])
        elif path == _CHILDREN:
            ticks = wholes(text.rpartition(")")[2].split()[_CUTIME : _CSTIME + 1])
            if ticks is not None and len(ticks) == 2:
                name = "programs.busy"
                rate = self._counters.lively(_CHILDREN, mono_ns, sum(ticks) * (NS_PER_S // _TICKS_PER_S))
        return [] if rate is None else [Reading(name, rate / NS_PER_S, "ratio")]
