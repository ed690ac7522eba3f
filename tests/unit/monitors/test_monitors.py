"""Monitors against the contents of files as boards have them."""

from __future__ import annotations

import pytest

from rtassay.monitors.cpu import CpuMonitor
from rtassay.monitors.frequency import FrequencyMonitor
from rtassay.monitors.temperature import TemperatureMonitor

FIRST = b"cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 60 0 25 390 20 3 2 0 0 0\ncpu1 40 0 25 410 20 2 3 0 0 0\nintr 99 1 2\nctxt 5\n"
THEN = (
    b"cpu  190 0 60 890 40 5 5 10 0 0\ncpu0 140 0 25 400 20 3 2 10 0 0\ncpu1 50 0 35 490 20 2 3 0 0 0\nintr 120 1 2\n"
)


def values(monitor: CpuMonitor, content: bytes) -> dict[str, float]:
    return {reading.name: reading.value for reading in monitor.parse(0, "/proc/stat", content)}


def test_cpu_is_the_share_since_the_last_reading() -> None:
    monitor = CpuMonitor()
    assert values(monitor, FIRST) == {}
    found = values(monitor, THEN)
    assert found["cpu0.busy"] == pytest.approx(90 / 100)
    assert found["cpu0.steal"] == pytest.approx(10 / 100)
    assert found["cpu1.busy"] == pytest.approx(20 / 100)
    assert found["all.busy"] == pytest.approx(110 / 200)
    assert found["all.steal"] == pytest.approx(10 / 200)


def test_cpu_counter_running_backwards_gives_nothing_then_goes_on() -> None:
    monitor = CpuMonitor()
    values(monitor, THEN)
    assert "cpu0.busy" not in values(monitor, FIRST)
    assert values(monitor, THEN)["cpu0.busy"] == pytest.approx(0.9)


def test_iowait_alone_may_run_backwards() -> None:
    monitor = CpuMonitor()
    values(monitor, b"cpu0 10 0 0 100 50 0 0 0\n")
    assert values(monitor, b"cpu0 20 0 0 110 40 0 0 0\n") == {"cpu0.busy": 0.5, "cpu0.steal": 0.0}


def test_old_kernels_without_steal() -> None:
    monitor = CpuMonitor()
    values(monitor, b"cpu0 10 0 0 100 0 0 0\n")
    assert values(monitor, b"cpu0 20 0 0 110 0 0 0\n") == {"cpu0.busy": 0.5}


def test_frequency_is_in_hertz_and_by_cpu() -> None:
    path = "/sys/devices/system/cpu/cpu12/cpufreq/scaling_cur_freq"
    reading = FrequencyMonitor().parse(0, path, b"1500000\n")[0]
    assert (reading.name, reading.value, reading.unit) == ("cpu12.frequency", 1.5e9, "Hz")
    assert FrequencyMonitor().parse(0, path, b"<unknown>\n") == []


def test_temperature_is_named_by_its_zone() -> None:
    monitor, base = TemperatureMonitor(), "/sys/class/thermal/thermal_zone"
    assert monitor.parse(0, f"{base}0/type", b"cpu-thermal\n") == []
    reading = monitor.parse(0, f"{base}0/temp", b"53007\n")[0]
    assert (reading.name, reading.value, reading.unit) == ("cpu-thermal", 53.007, "degC")
    assert monitor.parse(0, f"{base}3/temp", b"-2000\n")[0].name == "thermal_zone3"


def test_zones_of_one_type_are_told_apart() -> None:
    monitor, base = TemperatureMonitor(), "/sys/class/thermal/thermal_zone"
    for zone in (0, 1):
        monitor.parse(0, f"{base}{zone}/type", b"acpitz\n")
    names = {monitor.parse(0, f"{base}{zone}/temp", b"40000\n")[0].name for zone in (0, 1)}
    assert names == {"acpitz.0", "acpitz.1"}
