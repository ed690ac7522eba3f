"""CPU use, frequency and heat, against the contents of files as boards have them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from monitors_support import values as values_of

from rtassay.monitors.base import Reading
from rtassay.monitors.cooling import CoolingMonitor
from rtassay.monitors.cpu import CpuMonitor
from rtassay.monitors.frequency import FrequencyMonitor
from rtassay.monitors.power import PowerMonitor
from rtassay.monitors.raspberry import RaspberryMonitor
from rtassay.monitors.temperature import TemperatureMonitor

FIRST = b"cpu  100 0 50 800 40 5 5 0 0 0\ncpu0 60 0 25 390 20 3 2 0 0 0\ncpu1 40 0 25 410 20 2 3 0 0 0\nintr 99 1 2\nctxt 5\n"
THEN = (
    b"cpu  190 0 60 890 40 5 5 10 0 0\ncpu0 140 0 25 400 20 3 2 10 0 0\ncpu1 50 0 35 490 20 2 3 0 0 0\nintr 120 1 2\n"
)


def values(monitor: CpuMonitor, content: bytes) -> dict[str, float]:
    return values_of(monitor, content)


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
    monitor, base = FrequencyMonitor(), "/sys/devices/system/cpu/cpu12/cpufreq"
    assert monitor.parse(0, f"{base}/scaling_cur_freq", b"1500000\n") == [Reading("cpu12.frequency", 1.5e9, "Hz")]
    assert monitor.parse(0, f"{base}/scaling_max_freq", b"1000000\n") == [Reading("cpu12.limit", 1e9, "Hz")]
    assert monitor.parse(0, f"{base}/cpuinfo_max_freq", b"1800000\n") == [Reading("cpu12.rated", 1.8e9, "Hz")]
    for strange in (b"<unknown>\n", b"", b"-5\n", b"9" * 400, b"1 2"):
        assert monitor.parse(0, f"{base}/scaling_cur_freq", strange) == []
    assert monitor.parse(0, f"{base}/scaling_min_freq", b"600000\n") == []


def test_power_of_processors_and_sensors() -> None:
    monitor, rapl, hwmon = PowerMonitor(), "/sys/class/powercap/intel-rapl:0", "/sys/class/hwmon/hwmon3"
    for path, text in (
        (f"{rapl}/name", b"package-0\n"),
        (f"{rapl}:0/name", b"core\n"),
        (f"{hwmon}/name", b"ina226\n"),
        (f"{hwmon}/power1_label", b"board\n"),
        (f"{rapl}/energy_uj", b"1000000\n"),
        (f"{rapl}:0/energy_uj", b"0\n"),
    ):
        assert monitor.parse(0, path, text) == []
    assert monitor.parse(2 * 10**9, f"{rapl}/energy_uj", b"26000000\n") == [Reading("rapl.package-0", 12.5, "W")]
    assert monitor.parse(2 * 10**9, f"{rapl}:0/energy_uj", b"6000000\n") == [Reading("rapl.package-0.core", 3.0, "W")]
    assert monitor.parse(3 * 10**9, f"{rapl}/energy_uj", b"5\n") == [], "the counter went past its end"
    assert monitor.parse(4 * 10**9, f"{rapl}/energy_uj", b"9000005\n") == [Reading("rapl.package-0", 9.0, "W")]
    assert monitor.parse(0, f"{hwmon}/power1_input", b"4250000\n") == [Reading("hwmon.ina226.board", 4.25, "W")]
    assert monitor.parse(0, "/sys/class/hwmon/hwmon4/power2_average", b"1000000\n") == [
        Reading("hwmon.hwmon4.power2", 1.0, "W")
    ]


def test_temperature_is_named_by_its_zone() -> None:
    monitor, base = TemperatureMonitor(), "/sys/class/thermal/thermal_zone"
    assert monitor.parse(0, f"{base}0/type", b"cpu-thermal\n") == []
    assert monitor.parse(0, f"{base}0/temp", b"53007\n") == [Reading("cpu-thermal", 53.007, "degC")]
    assert values_of(monitor, b"-2000\n", path=f"{base}3/temp") == {"thermal_zone3": -2.0}


def test_zones_of_one_type_are_told_apart() -> None:
    monitor, base = TemperatureMonitor(), "/sys/class/thermal/thermal_zone"
    for zone in (0, 1):
        monitor.parse(0, f"{base}{zone}/type", b"acpitz\n")
    names = {name for zone in (0, 1) for name in values_of(monitor, b"40000\n", path=f"{base}{zone}/temp")}
    assert names == {"acpitz.0", "acpitz.1"}


def test_sensors_are_named_by_chip_and_label() -> None:
    monitor, base = TemperatureMonitor(), "/sys/class/hwmon/hwmon"
    for path, content in (
        ("0/name", b"coretemp\n"),
        ("0/temp1_label", b"Package id 0\n"),
        ("1/name", b"nvme\n"),
        ("2/name", b"nvme\n"),
        ("1/temp1_label", b"Composite\n"),
    ):
        assert monitor.parse(0, base + path, content) == []
    found = [
        name
        for path in ("0/temp1_input", "0/temp2_input", "1/temp1_input", "2/temp1_input", "7/temp3_input")
        for name in values_of(monitor, b"41000\n", path=base + path)
    ]
    assert found == [
        "hwmon.coretemp.Package id 0",
        "hwmon.coretemp.temp2",
        "hwmon.nvme-1.Composite",
        "hwmon.nvme-2.temp1",
        "hwmon.hwmon7.temp3",
    ]


def test_a_cooling_device_is_named_by_its_type_and_number() -> None:
    monitor, base = CoolingMonitor(), "/sys/class/thermal/cooling_device"
    assert monitor.parse(0, f"{base}0/type", b"cpufreq-cpu0\n") == []
    assert monitor.parse(0, f"{base}0/cur_state", b"2\n") == [Reading("cpufreq-cpu0.0", 2.0, "state")]
    assert monitor.parse(0, f"{base}4/cur_state", b"0\n") == [Reading("device.4", 0.0, "state")]


@pytest.mark.parametrize(
    ("command", "output", "reading"),
    [
        ("get_throttled", b"throttled=0x50005\n", Reading("throttled", 0x50005, "1")),
        ("get_throttled", b"throttled=0x0\n", Reading("throttled", 0.0, "1")),
        ("measure_temp", b"temp=42.8'C\n", Reading("gpu", 42.8, "degC")),
        ("measure_clock arm", b"frequency(48)=1500398464\n", Reading("arm", 1500398464.0, "Hz")),
        ("measure_clock arm", b"frequency(0)=2400033792\n", Reading("arm", 2400033792.0, "Hz")),
        ("measure_volts", b"volt=0.8500V\n", Reading("core", 0.85, "V")),
        ("measure_volts", b"VCHI initialization failed\n", None),
        ("get_throttled", b'error=1 error_msg="Command not registered"\n', None),
        ("get_throttled", b"", None),
    ],
)
def test_the_firmware_of_a_raspberry_pi(command: str, output: bytes, reading: Reading | None) -> None:
    assert RaspberryMonitor().parse(0, f"@run:vcgencmd {command}", output) == ([] if reading is None else [reading])


def test_under_voltage_as_the_kernel_tells() -> None:
    path = "/sys/devices/platform/soc/soc:firmware/raspberrypi-hwmon/hwmon/hwmon1/in0_lcrit_alarm"
    assert values_of(RaspberryMonitor(), b"1\n", path=path) == {"undervoltage": 1.0}
    assert values_of(RaspberryMonitor(), b"0\n", path=path) == {"undervoltage": 0.0}
