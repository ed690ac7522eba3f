"""Inventories of boards, from the contents of their files as real boards have them."""

from __future__ import annotations

import gzip
import json

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
    "/sys/fs/cgroup/cpuset.cpus.isolated": b"1\n",
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
    "rights", "kernel", "cmdline", "clocksource", "clocksources", "cpus", "governors", "rt_runtime_us", "rt_period_us", "rt_tasks", "irq_threads",
    "printk", "overcommit", "desktop", "virtualisation", "memory", "model", "cpu_model", "os", "hostname", "microcode",
    "throttle_messages", "boot_id", "sched_features", "tuned", "idle", "idle_states", "cpu_dma_latency_us", "irq_affinity", "tracing",
    "fair_servers", "cmdline_ignored",
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
        "cgroup_isolated": [1],
        "unbalanced": None,
        "partition": None,
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
    assert known == {"kernel", "cpus", "memory", "idle", "rights"}
    assert all(value is None for key in known for value in empty[key].values())
    assert inventory.allowed_cpus({}) is None


def test_rights_are_told_by_the_files_that_tell_them() -> None:
    files = {
        "/proc/self/status": b"Uid:\t1000\t0\t0\t0\n",
        "/sys/kernel/security/lockdown": b"none [integrity] confidentiality\n",
    }
    assert inventory.describe(files)["rights"] == {"uid": 0, "lockdown": "integrity", "container": False}
    in_docker = {**files, "/.dockerenv": b""}
    assert inventory.describe(in_docker)["rights"]["container"] is True
    # A Firecracker machine that boots from the image of a container: the file of docker, and the kernel's own threads beside it.
    assert inventory.describe({**in_docker, "/proc/2/comm": b"kthreadd\n"})["rights"]["container"] is None
    assert inventory.describe({**in_docker, "/proc/2/comm": b"sleep\n"})["rights"]["container"] is True
    asked = {"/proc/self/status": files["/proc/self/status"], "/proc/cmdline": b"quiet lockdown=confidentiality\n"}
    assert inventory.describe(asked)["rights"]["lockdown"] == "confidentiality"
    assert inventory.describe({**files, **asked})["rights"]["lockdown"] == "integrity", (
        "what the kernel says goes first"
    )
    for other in (b"lockdown=none", b"nolockdown=integrity", b"quiet"):
        assert inventory.describe({**asked, "/proc/cmdline": other})["rights"]["lockdown"] is None


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


CPUS = "/sys/devices/system/cpu"


@pytest.mark.parametrize(
    ("allowed", "online", "expected"),
    [
        (b"Cpus_allowed_list:\t0-5\n", b"0-2\n", (0, 1, 2)),
        (b"Cpus_allowed_list:\t0-1\n", None, (0, 1)),
        (b"Name:\twatch\n", b"0-2\n", (0, 1, 2)),
        (b"Cpus_allowed_list:\tnonsense\n", b"0-2\n", (0, 1, 2)),
        (b"Cpus_allowed_list:\tnonsense\n", None, None),
        (b"Name:\twatch\n", b"nonsense\n", None),
        (None, b"0-1\n", (0, 1)),
    ],
)
def test_cpus_that_a_process_may_run_on(
    allowed: bytes | None, online: bytes | None, expected: tuple[int, ...] | None
) -> None:
    files = {"/proc/self/status": allowed, f"{CPUS}/online": online}
    assert inventory.allowed_cpus({path: text for path, text in files.items() if text is not None}) == expected


@pytest.mark.parametrize(
    ("path", "content", "key", "value"),
    [
        ("/proc/sys/vm/overcommit_memory", b"2\n", "overcommit", 2),
        ("/proc/sys/vm/overcommit_memory", b"2 x\n", "overcommit", None),
        ("/proc/sys/kernel/sched_rt_runtime_us", b"950000\n", "rt_runtime_us", 950_000),
        ("/proc/sys/kernel/printk", b"7 4 x 7\n", "printk", None),
        ("/proc/sys/kernel/printk", b"\n", "printk", None),
        ("/proc/sys/kernel/printk", b"7\n", "printk", [7]),
        ("/proc/sys/kernel/hostname", b"\0 board \n", "hostname", "board"),
        ("/proc/sys/kernel/hostname", b" \n", "hostname", None),
        ("/etc/os-release", b"NAME=x\nPRETTY_NAME=Arch Linux\n", "os", "Arch Linux"),
        ("/etc/os-release", b"NAME=x\n", "os", None),
        ("/proc/cpuinfo", b"model name : One\nmodel name : Two\nmicrocode : 0x1f\n", "cpu_model", "One"),
        ("/proc/cpuinfo", b"Processor : ARMv7\nfeatures : x\n", "cpu_model", "ARMv7"),
        ("/proc/cpuinfo", b"Model : Pi\nProcessor : ARMv7\n", "cpu_model", "Pi"),
        ("/proc/cpuinfo", b"model name : One\nmicrocode : 0x1f\n", "microcode", "0x1f"),
        ("/sys/firmware/devicetree/base/model", b"A board\0", "model", "A board"),
        ("/sys/class/dmi/id/product_name", b"NUC\n", "model", "NUC"),
        ("/sys/kernel/debug/sched/features", b"A NO_B\n", "sched_features", ["A", "NO_B"]),
        (f"{CPUS}/cpu3/cpufreq/scaling_governor", b"ondemand\n", "governors", {"cpu3": "ondemand"}),
        ("@rt-threads", b"", "rt_tasks", []),
        ("/proc/7/stat", b"", "desktop", None),
        ("/proc/7/stat", b"", "irq_threads", None),
    ],
)
def test_one_file_of_a_board(path: str, content: bytes, key: str, value: object) -> None:
    assert inventory.describe({path: content})[key] == value


def test_maker_and_product_are_the_model_where_no_device_tree_is() -> None:
    files = {"/sys/class/dmi/id/sys_vendor": b"Intel\n", "/sys/class/dmi/id/product_name": b"NUC\n"}
    assert inventory.describe(files)["model"] == "Intel NUC"
    assert inventory.describe({**files, "/proc/device-tree/model": b"Tree\0"})["model"] == "Tree"


@pytest.mark.parametrize(
    ("name", "content", "value"),
    [
        ("present", b"0-3\n", [0, 1, 2, 3]),
        ("isolated", b"\n", []),
        ("nohz_full", b"(null)\n", []),
        ("nohz_full", b" (null) x\n", None),
        ("smt/active", b"1\n", True),
        ("smt/active", b"0\n", False),
        ("smt/active", b"\n", None),
    ],
)
def test_cpus_of_a_board(name: str, content: bytes, value: object) -> None:
    key = {"smt/active": "smt_active"}.get(name, name)
    assert inventory.describe({f"{CPUS}/{name}": content})["cpus"][key] == value


@pytest.mark.parametrize(
    ("line", "total"), [(b"MemTotal: 2 kB", 2048), (b"MemTotal: 2 MB", None), (b"Total: 2 kB", None)]
)
def test_memory_of_a_board(line: bytes, total: int | None) -> None:
    assert inventory.describe({"/proc/meminfo": line})["memory"]["total_bytes"] == total


def stat(pid: int, comm: str, *, cpu: int = 0, priority: int = 0, policy: int = 0) -> bytes:
    return f"{pid} ({comm}) S {'0 ' * 35}{cpu} {priority} {policy} 0\n".encode()


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "other"), (1, "fifo"), (2, "rr"), (3, "batch"), (5, "idle"), (6, "deadline"), (7, "ext"), (4, "4")],
)
def test_a_process_and_its_policy(number: int, name: str) -> None:
    found = processes.parse_stat(stat(12, "a (b) c", cpu=3, priority=40, policy=number))
    assert found == processes.Process(12, "a (b) c", name, 40, 3)
    files = {"/proc/12/stat": stat(12, "a", cpu=3, priority=40, policy=number)}
    assert bool(inventory.describe(files)["rt_tasks"]) is (name in ("fifo", "rr", "deadline"))


def test_a_line_that_ends_with_its_policy_is_whole_and_one_without_it_is_not() -> None:
    fields = stat(1, "x", cpu=2, priority=3, policy=1).split()
    assert processes.parse_stat(b" ".join(fields[:-1])) == processes.Process(1, "x", "fifo", 3, 2)
    assert processes.parse_stat(b" ".join(fields[:-2])) is None


def test_threads_are_in_the_order_of_their_priority_and_then_of_their_number() -> None:
    lines = b"30 30 fifo 50 1 - - - b\n9 9 rr 50 0 - - - a\n5 5 deadline -1 -1 - - -\n1 1 other 0 0 - - - no\n8 8 fifo 99 2 - - - top\n"
    found = processes.real_time([], lines)
    assert [(task["tid"], task["comm"]) for task in found] == [(8, "top"), (9, "a"), (30, "b"), (5, "")]
    assert found[3]["cpu"] == -1


def test_threads_of_interrupts_and_a_desktop() -> None:
    files = {
        "/proc/1/stat": stat(1, "irq/9-b", priority=50),
        "/proc/2/stat": stat(2, "irq/9-a", priority=50),
        "/proc/3/stat": stat(3, "irq/x-c", priority=99),
        "/proc/4/stat": stat(4, "irq/12-z", priority=90),
        "/proc/5/stat": stat(5, "sway"),
        "/proc/6/stat": stat(6, "Xorg"),
        "/proc/7/stat": stat(7, "Xorg"),
        "/proc/stat_of_all": stat(8, "weston"),
    }
    found = inventory.describe(files)
    assert found["irq_threads"] == [
        {"comm": "irq/12-z", "priority": 90}, {"comm": "irq/9-a", "priority": 50}, {"comm": "irq/9-b", "priority": 50},
    ]  # fmt: skip
    assert found["desktop"] == ["Xorg", "sway"]


@pytest.mark.parametrize(
    ("config", "mode"),
    [
        ({"CONFIG_PREEMPT_NONE": "y"}, "none"),
        ({"CONFIG_PREEMPT_VOLUNTARY": "y"}, "voluntary"),
        ({"CONFIG_PREEMPT_LAZY": "y", "CONFIG_PREEMPT": "y"}, "lazy"),
        ({"CONFIG_PREEMPT": "n"}, None),
        ({}, None),
    ],
)
def test_the_mode_that_a_dynamic_kernel_was_built_for(config: dict[str, str], mode: str | None) -> None:
    assert kernel_config.preempt_dynamic(None, "quiet", config) == mode
    assert kernel_config.preempt_dynamic("no parentheses", "quiet", config) == mode
    assert kernel_config.preempt_dynamic("none", "xpreempt=full preempt=fullest", config) == mode


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ({"CONFIG_PREEMPT_RT": "y", "CONFIG_PREEMPT": "y"}, "PREEMPT_RT"),
        ({"CONFIG_PREEMPT_RT_FULL": "y", "CONFIG_PREEMPT": "y"}, "PREEMPT_RT"),
        ({"CONFIG_PREEMPT_DYNAMIC": "y", "CONFIG_PREEMPT": "y"}, "PREEMPT_DYNAMIC"),
        ({"CONFIG_PREEMPT": "y"}, "PREEMPT"),
        ({"CONFIG_PREEMPT": "m", "CONFIG_PREEMPT_NONE": "y"}, "NONE"),
    ],
)
def test_the_model_that_a_configuration_names(config: dict[str, str], model: str) -> None:
    assert kernel_config.preempt_model("... #1 SMP Tue", "0", config) == model
    assert kernel_config.preempt_model(None, None, config) == model


def test_a_dynamic_kernel_in_an_inventory() -> None:
    files = {
        "/proc/version": b"Linux version 6.8 #1 SMP PREEMPT_DYNAMIC Tue\n",
        "/proc/cmdline": b"quiet slub_debug=0 kmemleak=off page_poison=1\n",
        "/sys/kernel/realtime": b"0\n",
        "/sys/kernel/debug/sched/preempt": b"none (voluntary) full\n",
        "/proc/sys/kernel/osrelease": b"6.8\n",
    }
    kernel = inventory.describe(files, b"CONFIG_HZ=many\nCONFIG_PREEMPT_RT=n\nCONFIG_KASAN=y\n")["kernel"]
    assert (kernel["preempt_model"], kernel["preempt_dynamic"], kernel["realtime_file"]) == (
        "PREEMPT_DYNAMIC",
        "voluntary",
        "0",
    )
    assert (kernel["config_rt"], kernel["config_hz"], kernel["debug"]) == (False, None, ["KASAN", "page_poison=1"])
    bare = inventory.describe({"/proc/version": b" \n"})["kernel"]
    assert bare == dict.fromkeys(bare)
    packed = {**files, "/proc/config.gz": gzip.compress(CONFIG)}
    assert inventory.describe(packed, b"CONFIG_HZ=100\n")["kernel"]["config_hz"] == 250


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/proc/cpuinfo": b"model name : QEMU Virtual CPU version 2.5\nflags : fpu\n"}, "tcg"),
        ({"/sys/devices/system/clocksource/clocksource0/available_clocksource": b"kvm-clock tsc\n"}, "kvm"),
        ({"/sys/class/dmi/id/sys_vendor": b"VMware\n",
          "/sys/devices/system/clocksource/clocksource0/available_clocksource": b"kvm-clock\n"}, "vmware"),
        ({"/sys/class/dmi/id/bios_vendor": b"Bochs\n"}, "qemu"),
        ({"/sys/class/dmi/id/sys_vendor": b"Microsoft\n", "/sys/class/dmi/id/product_name": b"Virtual Machine\n"}, "hyperv"),
        ({"/sys/class/dmi/id/product_name": b"Google Compute Engine\n"}, "kvm"),
        ({"/sys/class/dmi/id/sys_vendor": b"Dell\n", "/proc/cpuinfo": X86 % b""}, "none"),
        ({"/sys/firmware/devicetree/base/compatible": b"riscv-virtio\0"}, "qemu"),
        ({"/sys/firmware/devicetree/base/compatible": b"raspberrypi,5\0brcm\0"}, "none"),
    ],
)  # fmt: skip
def test_guests_and_real_boards(files: dict[str, bytes], expected: str | None) -> None:
    assert virtualisation.detect(files) == expected


HOSTILE = (
    b"9" * 5000,
    b"0-8191," * 20_000,
    b"\x1f\x8b" + gzip.compress(b"CONFIG_HZ=" + b"9" * 5000 + b"\n" + bytes(50_000_000))[2:],
    b"a : " + b"9" * 5000 + b" kB\n" * 10,
    b"\xff\x00\x1b]0;x\x07" * 10_000,
)


@pytest.mark.parametrize("content", HOSTILE, ids=["digits", "CPUs", "gzip", "kB", "escapes"])
def test_files_of_a_board_with_anything_in_them(content: bytes) -> None:
    """Described or left out: nothing raises, and nothing grows without a limit."""
    paths = [path.replace("[0-9]*", "7").replace("*", "7") for path in inventory.PATHS]
    described = inventory.describe(dict.fromkeys(paths, content), content)
    assert len(json.dumps(described)) < 100 * len(content) + 1_000_000
    assert inventory.describe_end(dict.fromkeys(paths, content))["rt_runtime_us"] is None
    inventory.allowed_cpus(dict.fromkeys(paths, content))
