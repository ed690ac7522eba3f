"""Reports of a Raspberry Pi's firmware: throttling, under-voltage, and the real clock."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading

# `throttled=0x50005`, `temp=42.8'C`, `frequency(48)=1500398464` (the number in brackets differs by model), `volt=0.8500V`.
_THROTTLED = re.compile(r"throttled=0x([0-9a-fA-F]{1,8})")
_TEMPERATURE = re.compile(r"temp=(-?\d{1,4}(?:\.\d{1,6})?)'C")
_CLOCK = re.compile(r"frequency\(\d{1,9}\)=(\d{1,12})")
_VOLTS = re.compile(r"volt=(\d{1,4}(?:\.\d{1,6})?)V")
_ALARM = "/in0_lcrit_alarm"


class RaspberryMonitor(Monitor):
    """`throttled` (the firmware's bits as an integer: 0 under-voltage, 1 frequency capped, 2 throttled, 3 soft temperature limit now;
    16 to 19 the same since boot), `gpu` in degC, `arm` in Hz, `core` in V; `undervoltage`, 0 or 1, from the kernel's `rpi_volt`.

    `arm` is measured by the firmware: during throttling it is right where cpufreq is not. The kernel's own file `get_throttled` is
    left alone: it only repeats a cached value, and the first to read it makes the kernel print a warning with a stack trace.
    """

    name = "raspberry"
    paths: tuple[str, ...] = (
        # Each of these starts a program. The bits since boot keep events that end between two readings.
        "5s:@run:vcgencmd get_throttled",
        "5s:@run:vcgencmd measure_temp",
        "5s:@run:vcgencmd measure_clock arm",
        "10s:@run:vcgencmd measure_volts",
        "/sys/devices/platform/soc*/*firmware/raspberrypi-hwmon*/hwmon/hwmon[0-9]*/in0_lcrit_alarm",
        "/sys/devices/platform/*firmware/raspberrypi-hwmon*/hwmon/hwmon[0-9]*/in0_lcrit_alarm",
    )

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        text = content.decode(errors="replace").strip()
        if path.endswith(_ALARM):
            return [Reading("undervoltage", float(text), "1")] if text in ("0", "1") else []
        if bits := _THROTTLED.fullmatch(text):
            return [Reading("throttled", float(int(bits[1], 16)), "1")]
        if degrees := _TEMPERATURE.fullmatch(text):
            return [Reading("gpu", float(degrees[1]), "degC")]
        if hertz := _CLOCK.fullmatch(text):
            return [Reading("arm", float(hertz[1]), "Hz")]
        if volts := _VOLTS.fullmatch(text):
            return [Reading("core", float(volts[1]), "V")]
        return []
