"""How much power the board takes, by the processor's own counters (RAPL) and by sensors."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import Counters, whole

_ZONE = re.compile(r"/powercap/(intel-rapl:[\d:]+)/(name|energy_uj)$")
_CHIP = re.compile(r"/hwmon(\d{1,6})/(?:name|power(\d{1,6})_(input|average|label))$")


class PowerMonitor(Monitor):
    """`rapl.<zone>` (`rapl.package-0`, `rapl.package-0.core`) and `hwmon.<chip>.<label>`, in W.

    A counter of energy gives the mean since the reading before; at its wrap there is none. Root alone may read it.
    """

    name = "power"
    describing: tuple[str, ...] = (
        "1h:/sys/class/powercap/intel-rapl:*/name",
        "1h:/sys/class/hwmon/hwmon[0-9]*/name",
        "1h:/sys/class/hwmon/hwmon[0-9]*/power[0-9]*_label",
    )
    paths: tuple[str, ...] = (
        *describing,
        "/sys/class/powercap/intel-rapl:*/energy_uj",
        "5s:/sys/class/hwmon/hwmon[0-9]*/power[0-9]*_input",
        "5s:/sys/class/hwmon/hwmon[0-9]*/power[0-9]*_average",
    )

    def __init__(self) -> None:
        self._zones: dict[str, str] = {}
        self._names: dict[tuple[int, int | None], str] = {}
        self._energy = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        text = content.decode(errors="replace").strip()
        if zone := _ZONE.search(path):
            if zone[2] == "name":
                self._zones[zone[1]] = text
                return []
            energy_uj = whole(text)
            rate = None if energy_uj is None else self._energy.per_second(zone[1], mono_ns, energy_uj)
            return [] if rate is None else [Reading(f"rapl.{self._zone(zone[1])}", rate / 1e6, "W")]
        if chip := _CHIP.search(path):
            sensor = int(chip[2]) if chip[2] else None
            if chip[3] in (None, "label"):
                self._names[int(chip[1]), sensor] = text
                return []
            power_uw = whole(text)
            return [] if power_uw is None else [Reading(self._sensor(int(chip[1]), sensor), power_uw / 1e6, "W")]
        return []

    def _zone(self, key: str) -> str:
        """`package-0`, or `package-0.core` of a zone inside: intel-rapl:0:1 lies in intel-rapl:0."""
        own, above = self._zones.get(key) or key, key.rpartition(":")[0]
        return f"{self._zones.get(above) or above}.{own}" if ":" in above else own

    def _sensor(self, chip: int, sensor: int | None) -> str:
        return f"hwmon.{self._names.get((chip, None)) or f'hwmon{chip}'}.{self._names.get((chip, sensor)) or f'power{sensor}'}"
