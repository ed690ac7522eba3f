"""Whether somebody set the clock, or the board slept, while the probe measured."""

from __future__ import annotations

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import wholes

# How fast the kernel slews CLOCK_REALTIME when asked to come nearer to the right time without a step.
_SLEW_PPM = 500
# Two clocks are read one after the other; a step as small as this would disturb nobody.
_READING_NS = 100_000


class ClockMonitor(Monitor):
    """`realtime.offset`: how far CLOCK_REALTIME has moved from CLOCK_MONOTONIC since the first reading, and `realtime.step`, only
    if that changed between two readings by more than slewing at 500 ppm explains; `boottime.offset`: how long the board has
    slept since the first reading. All in ns. CLOCK_MONOTONIC itself never steps, but is slewed together with CLOCK_REALTIME."""

    name = "clock"
    paths: tuple[str, ...] = ("@clock",)

    def __init__(self) -> None:
        self._first: tuple[int, int] | None = None
        self._last: tuple[int, int] | None = None

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        numbers = wholes(content.decode(errors="replace").split()[:2])
        if numbers is None or len(numbers) != 2:
            return []
        realtime_ns, boottime_ns = numbers
        if self._first is None:
            self._first = realtime_ns, boottime_ns
        readings: list[Reading | Message] = [
            Reading("realtime.offset", float(realtime_ns - self._first[0]), "ns"),
            Reading("boottime.offset", float(boottime_ns - self._first[1]), "ns"),
        ]
        if self._last is not None:
            before_ns, last_ns = self._last
            moved_ns = realtime_ns - last_ns
            if abs(moved_ns) > max(0, mono_ns - before_ns) * _SLEW_PPM // 1_000_000 + _READING_NS:
                readings.append(Reading("realtime.step", float(moved_ns), "ns"))
        self._last = mono_ns, realtime_ns
        return readings
