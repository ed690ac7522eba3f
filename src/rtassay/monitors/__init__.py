"""Monitors watch the board while the probe runs."""

from typing import Final

MEMBERS: Final = {
    "cpu": "rtassay.monitors.cpu:CpuMonitor",
    "frequency": "rtassay.monitors.frequency:FrequencyMonitor",
    "temperature": "rtassay.monitors.temperature:TemperatureMonitor",
    "power": "rtassay.monitors.power:PowerMonitor",
    "cooling": "rtassay.monitors.cooling:CoolingMonitor",
    "raspberry": "rtassay.monitors.raspberry:RaspberryMonitor",
    "interrupts": "rtassay.monitors.interrupts:InterruptsMonitor",
    "softirqs": "rtassay.monitors.softirqs:SoftirqsMonitor",
    "switches": "rtassay.monitors.switches:SwitchesMonitor",
    "memory": "rtassay.monitors.memory:MemoryMonitor",
    "pressure": "rtassay.monitors.pressure:PressureMonitor",
    "threads": "rtassay.monitors.threads:ThreadsMonitor",
    "firmware": "rtassay.monitors.firmware:FirmwareMonitor",
    "clock": "rtassay.monitors.clock:ClockMonitor",
    "kernel-log": "rtassay.monitors.kernel_log:KernelLogMonitor",
    "cost": "rtassay.monitors.cost:CostMonitor",
}
