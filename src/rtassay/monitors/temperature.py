"""How hot the board is, by every thermal zone it has."""

from __future__ import annotations

import re

from rtassay.monitors.base import Reading

_ZONE = re.compile(r"/thermal_zone(\d+)/(temp|type)$")


class TemperatureMonitor:
    """One value in degC per thermal zone, named by the zone's type (`cpu-thermal`), with its number where two share a type."""

    name = "temperature"
    paths: tuple[str, ...] = (
        "/sys/class/thermal/thermal_zone[0-9]*/type",
        "/sys/class/thermal/thermal_zone[0-9]*/temp",
    )

    def __init__(self) -> None:
        self._types: dict[int, str] = {}

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading]:
        match = _ZONE.search(path)
        if match is None:
            return []
        zone, text = int(match[1]), content.decode(errors="replace").strip()
        if match[2] == "type":
            if text:
                self._types[zone] = text
            return []
        try:
            millidegrees = int(text)
        except ValueError:
            return []
        return [Reading(self._name(zone), millidegrees / 1000, "degC")]

    def _name(self, zone: int) -> str:
        kind = self._types.get(zone, f"thermal_zone{zone}")
        shared = any(other != zone and name == kind for other, name in self._types.items())
        return f"{kind}.{zone}" if shared else kind
