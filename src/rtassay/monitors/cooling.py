"""The state of every cooling device: how the kernel acts against heat."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import whole

_DEVICE = re.compile(r"/cooling_device(\d{1,6})/(type|cur_state)$")


class CoolingMonitor(Monitor):
    """`<type>.<n>`, e.g. `cpufreq-cpu0.0` or `pwm-fan.1`: 0 is off. The effect of a state depends on the type: a fan makes noise, a
    processor runs slower."""

    name = "cooling"
    describing: tuple[str, ...] = ("1h:/sys/class/thermal/cooling_device[0-9]*/type",)
    paths: tuple[str, ...] = (*describing, "/sys/class/thermal/cooling_device[0-9]*/cur_state")

    def __init__(self) -> None:
        self._types: dict[int, str] = {}

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        device = _DEVICE.search(path)
        if device is None:
            return []
        number = int(device[1])
        if device[2] == "type":
            if text := content.decode(errors="replace").strip():
                self._types[number] = text
            return []
        state = whole(content)
        return (
            [] if state is None else [Reading(f"{self._types.get(number, 'device')}.{number}", float(state), "state")]
        )
