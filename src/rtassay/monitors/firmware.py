"""Firmware that takes the CPU away from the kernel: system management interrupts of x86."""

from __future__ import annotations

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import Counters, whole, whole_lines

# MSR_SMI_COUNT, of Intel's CPUs since Nehalem. The counter has 32 bits; a wrap looks as a counter running backwards.
# Asking a CPU for its register interrupts that CPU for about a microsecond, a measured one too: not every second.
_SMI_COUNT = "5s:@msr:0x34"


class FirmwareMonitor(Monitor):
    """`cpu<N>.smi`: system management interrupts since the last reading. AMD's and Arm's CPUs count nothing of the kind."""

    name = "firmware"
    paths: tuple[str, ...] = (_SMI_COUNT,)

    def __init__(self) -> None:
        self._counters = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        readings: list[Reading | Message] = []
        for line in whole_lines(content):
            cpu_text, _, value_text = line.strip().partition(" ")
            cpu, value = whole(cpu_text), _register(value_text)
            if cpu is None or cpu < 0 or value is None:
                continue
            risen = self._counters.risen(str(cpu), mono_ns, value)
            if risen is not None:
                readings.append(Reading(f"cpu{cpu}.smi", float(risen[0]), "1"))
        return readings


def _register(text: str) -> int | None:
    """A register as watch writes it, decimal or 0x..."""
    text = text.strip()
    if text.startswith("0x") and 2 < len(text) <= 18:
        try:
            return int(text[2:], 16)
        except ValueError:
            return None
    return whole(text)
