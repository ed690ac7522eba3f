"""How hot the board is, by every thermal zone and every sensor it has."""

from __future__ import annotations

import re
from typing import TypeVar

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import whole

K = TypeVar("K")

_ZONE = re.compile(r"/thermal_zone(\d{1,6})/(temp|type)$")
_CHIP = re.compile(r"/hwmon(\d{1,6})/(?:name|temp(\d{1,6})_(label|input))$")


class TemperatureMonitor(Monitor):
    """One value in degC per thermal zone, named by the zone's type (`cpu-thermal`), with its number where two share a type.

    Sensors of hwmon are `hwmon.<chip>.<label>`: the label as the board gives it, else `temp<N>`; of two chips of one name both
    carry their number (`hwmon.nvme-1.Composite`).
    """

    name = "temperature"
    describing: tuple[str, ...] = (
        "1h:/sys/class/thermal/thermal_zone[0-9]*/type",
        "1h:/sys/class/hwmon/hwmon[0-9]*/name",
        "1h:/sys/class/hwmon/hwmon[0-9]*/temp[0-9]*_label",
    )
    # Names before values: they are read in this order. Sensors of hwmon may sit behind a slow bus or a disk's own processor.
    paths: tuple[str, ...] = (
        *describing,
        "/sys/class/thermal/thermal_zone[0-9]*/temp",
        "5s:/sys/class/hwmon/hwmon[0-9]*/temp[0-9]*_input",
    )

    def __init__(self) -> None:
        self._types: dict[int, str] = {}
        self._chips: dict[int, str] = {}
        self._labels: dict[tuple[int, int], str] = {}

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        text = content.decode(errors="replace").strip()
        if zone := _ZONE.search(path):
            number = int(zone[1])
            if zone[2] == "type":
                _keep(self._types, number, text)
                return []
            return _degrees(_told_apart(self._types, number, "thermal_zone", "."), text)
        if chip := _CHIP.search(path):
            number = int(chip[1])
            if chip[2] is None:
                _keep(self._chips, number, text)
                return []
            sensor = (number, int(chip[2]))
            if chip[3] == "label":
                _keep(self._labels, sensor, text)
                return []
            label = self._labels.get(sensor, f"temp{sensor[1]}")
            return _degrees(f"hwmon.{_told_apart(self._chips, number, 'hwmon', '-')}.{label}", text)
        return []


def _keep(names: dict[K, str], key: K, text: str) -> None:
    if text:
        names[key] = text


def _told_apart(names: dict[int, str], number: int, unnamed: str, sign: str) -> str:
    name = names.get(number, f"{unnamed}{number}")
    shared = any(other != number and what == name for other, what in names.items())
    return f"{name}{sign}{number}" if shared else name


def _degrees(name: str, text: str) -> list[Reading | Message]:
    millidegrees = whole(text)
    return [] if millidegrees is None else [Reading(name, millidegrees / 1000, "degC")]
