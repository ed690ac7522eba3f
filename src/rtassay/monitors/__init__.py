"""Monitors: what is watched on the board while the probe runs."""

from typing import Final

MEMBERS: Final = {
    "cpu": "rtassay.monitors.cpu:CpuMonitor",
    "frequency": "rtassay.monitors.frequency:FrequencyMonitor",
    "temperature": "rtassay.monitors.temperature:TemperatureMonitor",
}
