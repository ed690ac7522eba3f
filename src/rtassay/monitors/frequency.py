"""At which frequency every CPU runs, where the board tells."""

from __future__ import annotations

import re

from rtassay.monitors.base import Reading

_CPU = re.compile(r"/cpu(\d+)/cpufreq/scaling_cur_freq$")


class FrequencyMonitor:
    """`cpu<N>.frequency` in Hz. It is what the kernel believes: a firmware that throttles behind its back is not seen here."""

    name = "frequency"
    paths: tuple[str, ...] = ("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",)

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading]:
        cpu = _CPU.search(path)
        text = content.strip()
        if cpu is None or not text.isdigit():
            return []
        return [Reading(f"cpu{int(cpu[1])}.frequency", float(int(text) * 1000), "Hz")]
