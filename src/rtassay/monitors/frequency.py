"""The present and the allowed frequency of every CPU, if the board reports them."""

from __future__ import annotations

import re

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import whole

_CPU = re.compile(r"/cpu(\d{1,6})/cpufreq/(\w+)$")
_HZ_PER_KHZ = 1000
_NAMES = {"scaling_cur_freq": "frequency", "scaling_max_freq": "limit", "cpuinfo_max_freq": "rated"}


class FrequencyMonitor(Monitor):
    """`cpu<N>.frequency`, `cpu<N>.limit` (allowed by the kernel now) and `cpu<N>.rated` (the CPU's rating) in Hz.

    A limit below the rated frequency is a cap: set by a person, by a governor of heat, or by both. All three are what the kernel
    believes: a firmware that throttles behind its back is not seen here.
    """

    name = "frequency"
    paths: tuple[str, ...] = (
        "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",
        "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_max_freq",
        # It does not change, but one minute of the recording must be enough to find it.
        "10s:/sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq",
    )

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        cpu, khz = _CPU.search(path), whole(content)
        if cpu is None or cpu[2] not in _NAMES or khz is None or khz < 0:
            return []
        return [Reading(f"cpu{int(cpu[1])}.{_NAMES[cpu[2]]}", float(khz * _HZ_PER_KHZ), "Hz")]
