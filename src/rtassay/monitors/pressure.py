"""How much of the time something had to wait for CPU, memory or disk (the kernel's pressure stall information)."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import NS_PER_S, Counters

_PATH = re.compile(r"^/proc/pressure/(cpu|memory|io|irq)$")
_LINE = re.compile(r"^(some|full) [^\n]*\btotal=(\d{1,19})$", re.MULTILINE)
# Of the whole machine, the kernel does not define when all tasks together wait for the CPU.
_LEFT_OUT = {("cpu", "full")}


class PressureMonitor(Monitor):
    """`cpu.some`, `memory.some`, `memory.full`, `io.some`, `io.full` and, where the kernel counts it, `irq.full`: the share of the
    time since the last reading in which some or all tasks with work were held up, 0 to 1. Taken from the totals, not from the
    kernel's averages over 10 s."""

    name = "pressure"
    paths: tuple[str, ...] = ("/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io", "/proc/pressure/irq")

    def __init__(self) -> None:
        self._counters = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        resource = _PATH.match(path)
        if resource is None:
            return []
        readings: list[Reading | Message] = []
        for line in _LINE.finditer(content.decode(errors="replace")):
            if (resource[1], line[1]) in _LEFT_OUT:
                continue
            name = f"{resource[1]}.{line[1]}"
            rate = self._counters.per_second(name, mono_ns, int(line[2]))
            if rate is not None:
                # Microseconds per second; the kernel's clock and ours are read at two moments, so it may come out above 1.
                readings.append(Reading(name, min(1.0, rate * 1000 / NS_PER_S), "ratio"))
        return readings
