"""Inventories of boards, from the contents of their files as real boards have them."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.session import inventory, kernel_config, processes, virtualisation

PI = {
    "/proc/version": b"Linux version 6.6.21-rt26-v8-16k+ (dom@buildbot) (gcc 12.2.0) #1 SMP PREEMPT_RT Tue Mar 12 10:00:00 UTC 2024\n",
    "/sys/kernel/realtime": b"1\n",
    "/proc/sys/kernel/osrelease": b"6.6.21-rt26-v8-16k+\n",
    "/proc/cmdline": b"console=tty1 root=/dev/mmcblk0p2 isolcpus=2-3 nohz_full=3\n",
    "/proc/cpuinfo": b"processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\n\nRevision\t: d04170\nModel\t\t: Raspberry Pi 5 Model B Rev 1.0\n",
    "/proc/meminfo": b"MemTotal:        8245968 kB\nMemFree:         1 kB\nMemAvailable:    7654321 kB\n",
    "/proc/self/status": b"Name:\twatch\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource": b"arch_sys_counter\n",
    "/sys/devices/system/clocksource/clocksource0/available_clocksource": b"arch_sys_counter \n",
    "/sys/devices/system/cpu/present": b"0-3\n",
    "/sys/devices/system/cpu/online": b"0-3\n",
    "/sys/devices/system/cpu/isolated": b"2-3\n",
    "/sys/devices/system/cpu/nohz_full": b"3\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": b"ondemand\n",
    "/sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": b"powersave\n",
    "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": b"performance\n",
    "/proc/sys/kernel/sched_rt_runtime_us": b"-1\n",
    "/proc/sys/kernel/sched_rt_period_us": b"1000000\n",
    "/proc/sys/kernel/printk": b"3\t4\t1\t3\n",
    "/proc/sys/vm/overcommit_memory": b"0\n",
    "/proc/sys/kernel/hostname": b"pi5\n",
    "/proc/sys/kernel/random/boot_id": b"11111111-2222-3333-4444-555555555555\n",
    "/proc/device-tree/model": b"Raspberry Pi 5 Model B Rev 1.0\0",
    "/sys/firmware/devicetree/base/compatible": b"raspberrypi,5-model-b\0brcm,bcm2712\0",
    "/etc/os-release": b'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "/proc/1/stat": b"1 (systemd) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 25 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
    "/proc/40/stat": b"40 (irq/39-dwc_otg) S 2 0 0 0 -1 2129984 0 0 0 0 0 9 0 0 -51 0 1 0 60 0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 17 1 50 1 0 0 0\n",
    "/proc/41/stat": b"41 (migration/2) S 2 0 0 0 -1 69238848 0 0 0 0 0 0 0 0 -100 0 1 0 60 0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 17 2 99 1 0 0 0\n",
    "/proc/900/stat": b"900 (my (odd) app) R 1 900 900 0 -1 4194304 0 0 0 0 0 9 0 0 -2 0 1 0 60 0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 17 3 1 2 0 0 0\n",
    "/proc/901/stat": b"901 (labwc) S 1 901 901 0 -1 4194304 0 0 0 0 0 9 0 0 20 0 1 0 60 0 0 3 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n",
}
CONFIG = b'# Linux\nCONFIG_PREEMPT_RT=y\nCONFIG_HZ=250\n# CONFIG_PREEMPT_NONE is not set\nCONFIG_LOCALVERSION="-v8"\n'
KEYS = {
    "kernel", "cmdline", "clocksource", "clocksources", "cpus", "governors", "rt_runtime_us", "rt_period_us", "rt_tasks", "irq_threads",
    "printk", "overcommit", "desktop", "virtualisation", "memory", "model", "cpu_model", "os", "hostname", "microcode",
    "throttle_messages", "boot_id", "sched_features", "idle", "idle_states", "cpu_dma_latency_us", "irq_affinity", "tracing",
    "fair_servers",
}  # fmt: skip


def test_a_raspberry_pi() -> None:
    found = inventory.describe(PI, CONFIG)
    assert found["kernel"] == {
        "release": "6.6.21-rt26-v8-16k+",
        "version": PI["/proc/version"].decode().strip(),
        "realtime_file": "1",
        "preempt_model": "PREEMPT_RT",
        "preempt_dynamic": None,
        "config_sha256": kernel_config.sha256(CONFIG.decode()),
        "config_rt": True,
        "config_hz": 250,
        "debug": [],
    }
    assert found["cpus"] == {
        "present": [0, 1, 2, 3],
        "online": [0, 1, 2, 3],
        "isolated": [2, 3],
        "nohz_full": [3],
        "smt_active": None,
        "allowed": [0, 1],
    }
    assert found["governors"] == {"cpu0": "ondemand", "cpu2": "performance", "cpu10": "powersave"}
    assert list(found["governors"]) == ["cpu0", "cpu2", "cpu10"]
    assert (found["rt_runtime_us"], found["rt_period_us"]) == (-1, 1_000_000)
    assert found["rt_tasks"] == [
        {"tid": 41, "pid": 41, "comm": "migration/2", "policy": "fifo", "priority": 99, "cpu": 2},
        {"tid": 40, "pid": 40, "comm": "irq/39-dwc_otg", "policy": "fifo", "priority": 50, "cpu": 1},
        {"tid": 900, "pid": 900, "comm": "my (odd) app", "policy": "rr", "priority": 1, "cpu": 3},
    ]
    assert found["irq_threads"] == [{"comm": "irq/39-dwc_otg", "priority": 50}]
    assert found["desktop"] == ["labwc"]
    assert found["printk"] == [3, 4, 1, 3]
    assert found["memory"] == {"total_bytes": 8245968 * 1024, "available_bytes": 7654321 * 1024}
    assert (found["model"], found["cpu_model"]) == ("Raspberry Pi 5 Model B Rev 1.0",) * 2
    assert found["os"] == "Debian GNU/Linux 12 (bookworm)"
    assert found["virtualisation"] == "none"
    assert inventory.allowed_cpus(PI) == (0, 1)


def test_keys_are_always_there_and_unknown_is_none() -> None:
    assert set(inventory.describe(PI)) == set(inventory.describe({})) == KEYS
    empty = inventory.describe({})
    known = {key for key, value in empty.items() if value is not None}
    assert known == {"kernel", "cpus", "memory", "idle"}
    assert all(value is None for key in known for value in empty[key].values())
    assert inventory.allowed_cpus({}) is None


def test_what_may_change_is_the_same_reading() -> None:
    end = inventory.describe_end(PI)
    start = inventory.describe(PI)
    assert all(start[key] == end[key] for key in end if key != "cpus")
    assert end["cpus"]["online"] == start["cpus"]["online"]


def test_a_board_without_frequency_scaling_is_told_from_one_that_does_not_tell() -> None:
    assert inventory.describe({"/sys/devices/system/cpu/online": b"0-1\n"})["governors"] == {}
    assert inventory.describe({})["governors"] is None


def test_offline_cpus_are_not_allowed_ones() -> None:
    files = {**PI, "/sys/devices/system/cpu/online": b"0,2-3\n"}
    assert inventory.allowed_cpus(files) == (0,)


@given(st.dictionaries(st.sampled_from([path for path in inventory.PATHS if "*" not in path]), st.binary(max_size=200)))
def test_nothing_in_the_files_makes_it_raise(files: dict[str, bytes]) -> None:
    assert set(inventory.describe(files)) == KEYS


@pytest.mark.parametrize(
    ("version", "realtime", "config", "model"),
    [
        ("... #1 SMP PREEMPT RT Tue", None, None, "PREEMPT_RT"),
        ("... #1 SMP PREEMPT_RT Tue", None, None, "PREEMPT_RT"),
        ("... #1 SMP Tue", "1", None, "PREEMPT_RT"),
        ("Linux version 5.10-rt (x) #1 SMP PREEMPT Tue", None, None, "PREEMPT"),
        ("... #1 SMP PREEMPT_DYNAMIC Tue", None, {"CONFIG_PREEMPT_NONE": "y"}, "PREEMPT_DYNAMIC"),
        ("... #1 SMP Tue", None, {"CONFIG_PREEMPT_VOLUNTARY": "y"}, "VOLUNTARY"),
        ("... #1 SMP Tue", None, {"CONFIG_PREEMPT_NONE": "y"}, "NONE"),
        ("... #1 SMP Tue", None, {}, None),
        ("... #1 SMP Tue", None, None, None),
        (None, None, None, None),
    ],
)
def test_preemption_model(
    version: str | None, realtime: str | None, config: dict[str, str] | None, model: str | None
) -> None:
    assert kernel_config.preempt_model(version, realtime, config) == model


@pytest.mark.parametrize(
    ("debug", "cmdline", "config", "mode"),
    [
        ("none voluntary (full) lazy", "preempt=none", {"CONFIG_PREEMPT_NONE": "y"}, "full"),
        (None, "quiet preempt=voluntary", {"CONFIG_PREEMPT_NONE": "y"}, "voluntary"),
        (None, "preempt=none preempt=full", None, "full"),
        (None, "quiet", {"CONFIG_PREEMPT": "y"}, "full"),
        (None, "quiet", None, None),
        (None, None, {"CONFIG_PREEMPT": "y"}, None),
    ],
)
def test_mode_of_a_dynamic_kernel(
    debug: str | None, cmdline: str | None, config: dict[str, str] | None, mode: str | None
) -> None:
    assert kernel_config.preempt_dynamic(debug, cmdline, config) == mode


def test_configuration_packed_or_not_is_one() -> None:
    packed = gzip.compress(CONFIG)
    assert kernel_config.unpack(packed) == kernel_config.unpack(CONFIG) == CONFIG.decode()
    assert kernel_config.symbols(CONFIG.decode())["CONFIG_LOCALVERSION"] == "-v8"
    for broken in (packed[:20], b"\x1f\x8bnonsense", b"", b"\x7fELF", None):
        assert kernel_config.unpack(broken) is None


@pytest.mark.parametrize("line", [b"", b"1 (x", b"1 (x) S 1", b"x (y) S" + b" 0" * 50, b"\xff\xfe"])
def test_what_is_no_stat_line(line: bytes) -> None:
    assert processes.parse_stat(line) is None


X86 = b"processor\t: 0\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: fpu vme%s sse\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/cpuinfo": X86 % b""}, "none"),
        ({"/proc/cpuinfo": X86 % b" hypervisor"}, "unknown"),
        ({"/proc/cpuinfo": X86 % b" hypervisor", "/proc/cmdline": b"reboot=k -- --firecracker-init"}, "firecracker"),
        ({"/proc/cpuinfo": b"model name : QEMU TCG CPU version 2.5+\nflags : hypervisor\n"}, "tcg"),
        ({"/proc/cpuinfo": X86 % b" hypervisor", "/sys/class/dmi/id/sys_vendor": b"QEMU\n",
          "/sys/devices/system/clocksource/clocksource0/available_clocksource": b"kvm-clock tsc\n"}, "kvm"),
        ({"/sys/class/dmi/id/sys_vendor": b"QEMU\n"}, "qemu"),
        ({"/sys/class/dmi/id/sys_vendor": b"VMware, Inc.\n"}, "vmware"),
        ({"/sys/class/dmi/id/product_name": b"VirtualBox\n"}, "virtualbox"),
        ({"/sys/hypervisor/type": b"xen\n"}, "xen"),
        ({"/sys/firmware/devicetree/base/compatible": b"linux,dummy-virt\0"}, "qemu"),
        ({"/proc/cpuinfo": b"processor : 0\nFeatures : fp\n"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_virtualisation(files: dict[str, bytes], expected: str | None) -> None:
    assert virtualisation.detect(files) == expected
