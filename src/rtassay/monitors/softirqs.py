"""The rate of each softirq on every CPU."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import Counters, whole_lines, wholes

_HEAD = re.compile(r"\s*CPU\d{1,6}(\s+CPU\d{1,6})*\s*")
_ROW = re.compile(r"\s*(\w{1,16}):\s+([\d\s]+)")


class SoftirqsMonitor(Monitor):
    """`cpu<N>.<NAME>` per second (`cpu0.NET_RX`). A series begins when its count changes for the first time."""

    name = "softirqs"
    paths: tuple[str, ...] = ("/proc/softirqs",)

    def __init__(self) -> None:
        self._counters = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        lines = whole_lines(content)
        if not lines or not _HEAD.fullmatch(lines[0]):
            return []
        # The head of this table names every possible CPU; absent CPUs count 0.
        cpus = [word[3:].lstrip("0") or "0" for word in lines[0].split()]
        readings: list[Reading | Message] = []
        for line in lines[1:]:
            row = _ROW.fullmatch(line)
            counts = None if row is None else wholes(row[2].split())
            if row is None or counts is None or len(counts) != len(cpus):
                continue
            for cpu, count in zip(cpus, counts, strict=True):
                rate = self._counters.lively(f"{cpu} {row[1]}", mono_ns, count)
                if rate is not None:
                    readings.append(Reading(f"cpu{cpu}.{row[1]}", rate, "1/s"))
        return readings
