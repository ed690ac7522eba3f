"""The rate of each interrupt on every CPU, by name."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import Counters, whole_lines, wholes

_HEAD = re.compile(r"\s*CPU\d{1,6}(\s+CPU\d{1,6})*\s*")
_ROW = re.compile(r"\s*(\w{1,16}):\s+(.*)")
# The last word of a line if no driver uses the interrupt: its number at its chip.
_NO_DEVICE = re.compile(r"\d+(-\w+)?( (Level|Edge))?")


class InterruptsMonitor(Monitor):
    """`cpu<N>.<irq>:<name>` per second, e.g. `cpu0.39:dwc_otg`; the kernel's own by their short name: `cpu0.LOC`, `cpu1.TLB`, on
    Arm `cpu0.IPI0:Rescheduling interrupts`. A series begins when its count changes for the first time: what is missing was 0.
    """

    name = "interrupts"
    paths: tuple[str, ...] = ("/proc/interrupts",)

    def __init__(self) -> None:
        self._counters = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        lines = whole_lines(content)
        if not lines or not _HEAD.fullmatch(lines[0]):
            return []
        cpus = [word[3:].lstrip("0") or "0" for word in lines[0].split()]
        readings: list[Reading | Message] = []
        for line in lines[1:]:
            if row := _ROW.fullmatch(line):
                readings += self._row(mono_ns, row[1], row[2], cpus)
        return readings

    def _row(self, mono_ns: int, irq: str, rest: str, cpus: list[str]) -> list[Reading]:
        words = rest.split(None, len(cpus))
        counts = wholes(words[: len(cpus)])
        if counts is None or len(counts) < len(cpus):  # ERR and MIS have one count for all CPUs
            return []
        what = words[len(cpus)] if len(words) > len(cpus) else ""
        found = []
        for cpu, count in zip(cpus, counts, strict=True):
            rate = self._counters.lively(f"{cpu} {irq} {what}", mono_ns, count)
            if rate is not None:
                found.append(Reading(f"cpu{cpu}.{_named(irq, what)}", rate, "1/s"))
        return found


def _named(irq: str, what: str) -> str:
    """`39:dwc_otg` of a numbered interrupt: chip, number at the chip and devices stand two spaces or more apart."""
    if irq.isdigit():
        parts = re.split(r"\s{2,}", what.strip())
        device = parts[0] if len(parts) > 1 and _NO_DEVICE.fullmatch(parts[-1]) else parts[-1]
        return f"{irq}:{device or '?'}"
    return f"{irq}:{what.strip()}" if irq.startswith("IPI") else irq
