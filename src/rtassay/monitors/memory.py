"""Whether memory is short: available memory, swapping, major faults, and processes killed for lack of memory."""

from __future__ import annotations

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import Counters, whole, whole_lines

_BYTES_PER_KIB = 1024
_RATES = {
    "pswpin": ("swap_in", "pages/s"),
    "pswpout": ("swap_out", "pages/s"),
    "pgmajfault": ("major_faults", "1/s"),
}


class MemoryMonitor(Monitor):
    """`available` in B, `swap_in` and `swap_out` in pages/s, `major_faults` per second; `oom_kills` counts from the first reading."""

    name = "memory"
    paths: tuple[str, ...] = ("/proc/meminfo", "/proc/vmstat")

    def __init__(self) -> None:
        self._counters = Counters()
        self._killed_before: int | None = None

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        readings: list[Reading | Message] = []
        for line in whole_lines(content):
            if line.startswith("MemAvailable:"):
                kib = whole(line.removeprefix("MemAvailable:").strip().removesuffix("kB"))
                if kib is not None:
                    readings.append(Reading("available", float(kib * _BYTES_PER_KIB), "B"))
                continue
            key, _, rest = line.partition(" ")
            if key not in _RATES and key != "oom_kill":
                continue
            if (value := whole(rest)) is not None:
                readings += self._count(mono_ns, key, value)
        return readings

    def _count(self, mono_ns: int, key: str, value: int) -> list[Reading]:
        if key == "oom_kill":
            if self._killed_before is None or value < self._killed_before:
                self._killed_before = value
            return [Reading("oom_kills", float(value - self._killed_before), "1")]
        rate = self._counters.per_second(key, mono_ns, value)
        name, unit = _RATES[key]
        return [] if rate is None else [Reading(name, rate, unit)]
