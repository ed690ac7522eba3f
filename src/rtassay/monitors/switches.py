"""How often the kernel switches tasks and makes new ones."""

from __future__ import annotations

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import Counters, whole, whole_lines

_RATES = {"ctxt": "all.context_switches", "processes": "all.forks"}


class SwitchesMonitor(Monitor):
    """`all.context_switches` and `all.forks` (threads included) per second, `all.running`: tasks that run or want to, now."""

    name = "switches"
    paths: tuple[str, ...] = ("/proc/stat",)

    def __init__(self) -> None:
        self._counters = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        readings: list[Reading | Message] = []
        for line in whole_lines(content):
            key, _, rest = line.partition(" ")
            if key not in (*_RATES, "procs_running") or (value := whole(rest)) is None:
                continue
            if key == "procs_running":
                readings.append(Reading("all.running", float(value), "1"))
            elif (rate := self._counters.per_second(key, mono_ns, value)) is not None:
                readings.append(Reading(_RATES[key], rate, "1/s"))
        return readings
