"""How busy every CPU is, and how much of it the hypervisor took."""

from __future__ import annotations

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import wholes

# Columns of /proc/stat after the name: user nice system idle iowait irq softirq steal (guest times are part of user).
_IDLE, _IOWAIT, _STEAL = 3, 4, 7
_COLUMNS = 8


class CpuMonitor(Monitor):
    """`cpu<N>.busy`, `cpu<N>.steal` and `all.busy`, `all.steal`: share of the time since the last reading, 0 to 1.

    The first reading has nothing to compare with and gives no value. Busy is everything but idle and waiting for I/O; it
    includes steal. A counter can run backwards when a CPU goes off and on: then that CPU starts anew.
    """

    name = "cpu"
    paths: tuple[str, ...] = ("/proc/stat",)

    def __init__(self) -> None:
        self._last: dict[str, list[int]] = {}

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        readings: list[Reading | Message] = []
        for line in content.decode(errors="replace").splitlines():
            words = line.split()
            if not words or not words[0].startswith("cpu"):
                continue
            name = "all" if words[0] == "cpu" else words[0]
            ticks = wholes(words[1 : 1 + _COLUMNS])
            if ticks is None or len(ticks) <= _IOWAIT:
                continue
            readings += self._since_last(name, ticks)
            self._last[name] = ticks
        return readings

    def _since_last(self, name: str, ticks: list[int]) -> list[Reading]:
        last = self._last.get(name)
        if last is None or len(last) != len(ticks):
            return []
        spent = [now - before for now, before in zip(ticks, last, strict=True)]
        # Only iowait may run backwards on any kernel; if another column does, the counter was reset.
        spent[_IOWAIT] = max(0, spent[_IOWAIT])
        total = sum(spent)
        if min(spent) < 0 or total == 0:
            return []
        busy = total - spent[_IDLE] - spent[_IOWAIT]
        readings = [Reading(f"{name}.busy", busy / total, "ratio")]
        if len(spent) > _STEAL:
            readings.append(Reading(f"{name}.steal", spent[_STEAL] / total, "ratio"))
        return readings
