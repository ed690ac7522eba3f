"""What a board is and how it is set up, from the contents of its files alone: no shell, no program but rtprobe on the board."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from rtassay.model import foreign, tuning
from rtassay.model.errors import UsageError
from rtassay.model.inventory import CpuState, inventory_of
from rtassay.model.units import parse_cpu_list
from rtassay.session import conditions, isolation, kernel_config, processes, virtualisation

_CPUS = "/sys/devices/system/cpu"
_CLOCKS = "/sys/devices/system/clocksource/clocksource0"
_RT_THREADS = "@rt-threads"
_GOVERNOR = re.compile(r"/cpu([0-9]{1,6})/cpufreq/scaling_governor$")

_LOCKDOWN = "/sys/kernel/security/lockdown"
# Files that docker, podman and systemd put into a container.
_CONTAINER = ("/.dockerenv", "/run/.containerenv", "/run/systemd/container")
# The first thread of the kernel, which has the number 2 and is seen from outside of containers only.
_KTHREADD = "/proc/2/comm"
PATHS: Final = (
    "/proc/version",
    "/proc/cmdline",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/status",
    "/proc/config.gz",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/printk",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/vm/overcommit_memory",
    "/sys/kernel/realtime",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/debug/sched/features",
    f"{_CLOCKS}/current_clocksource",
    f"{_CLOCKS}/available_clocksource",
    f"{_CPUS}/present",
    f"{_CPUS}/online",
    f"{_CPUS}/nohz_full",
    *isolation.PATHS,
    f"{_CPUS}/smt/active",
    f"{_CPUS}/cpu[0-9]*/cpufreq/scaling_governor",
    _LOCKDOWN,
    tuning.ABOUT,
    tuning.JOURNAL,
    tuning.RESULT,
    *_CONTAINER,
    _KTHREADD,
    *virtualisation.PATHS,
    *conditions.PATHS,
    "/etc/os-release",
    "/proc/[0-9]*/stat",
    _RT_THREADS,
)
CPU_PATHS: Final = (f"{_CPUS}/online", *isolation.PATHS)
# What may change while a run goes on; read again at its end.
END_PATHS: Final = (
    f"{_CLOCKS}/current_clocksource",
    f"{_CPUS}/online",
    f"{_CPUS}/cpu[0-9]*/cpufreq/scaling_governor",
    "/proc/sys/kernel/sched_rt_runtime_us",
    "/proc/sys/kernel/sched_rt_period_us",
    "/proc/sys/kernel/random/boot_id",
    "/proc/meminfo",
    conditions.KERNEL_LOG,
)


def config_paths(release: str) -> tuple[str, ...]:
    """Where distributions keep the configuration of a kernel without /proc/config.gz."""
    return (f"/boot/config-{release}", f"/lib/modules/{release}/config", f"/usr/lib/modules/{release}/config")


def describe(files: Mapping[str, bytes], config: bytes | None = None) -> dict[str, Any]:
    """The manifest's `inventory`. `files` holds what could be read of PATHS; None stands for what the board does not tell."""
    text = _Texts(files)
    running = [p for path, content in files.items() if path.endswith("/stat") and (p := processes.parse_stat(content))]
    rt_threads = files.get(_RT_THREADS)
    cpuinfo = text.get("/proc/cpuinfo") or ""
    return {
        **describe_end(files),
        "kernel": kernel_config.describe(
            dict(files),
            kernel_config.unpack(files.get("/proc/config.gz")) or kernel_config.unpack(config),
            text.get("/proc/sys/kernel/osrelease"),
            text.get("/proc/cmdline"),
        ),
        "cmdline": text.get("/proc/cmdline"),
        "clocksources": _words(text.get(f"{_CLOCKS}/available_clocksource")),
        "cpus": _cpus(files, text, allowed_cpus(files)),
        "rt_tasks": processes.real_time(running, rt_threads) if running or rt_threads is not None else None,
        "irq_threads": processes.irq_threads(running) if running else None,
        "desktop": processes.desktop(running) if running else None,
        "printk": text.numbers("/proc/sys/kernel/printk"),
        "overcommit": text.number("/proc/sys/vm/overcommit_memory"),
        "virtualisation": virtualisation.detect(files),
        "model": _model(text),
        "cpu_model": _field(cpuinfo, "model name") or _field(cpuinfo, "Model") or _field(cpuinfo, "Processor"),
        "os": _os(text.get("/etc/os-release")),
        "hostname": text.get("/proc/sys/kernel/hostname"),
        "microcode": _field(cpuinfo, "microcode"),
        "idle": conditions.idle_driver(files),
        "idle_states": conditions.idle_states(files),
        "cpu_dma_latency_us": conditions.dma_latency_us(files),
        "irq_affinity": conditions.irq_affinity(files),
        "tracing": conditions.tracing(files),
        "rights": _rights(files, text),
        "fair_servers": conditions.fair_servers(files),
        "cmdline_ignored": conditions.cmdline_ignored(files),
        "tuned": _tuned(files),
        "sched_features": _words(text.get("/sys/kernel/debug/sched/features")),
    }


def describe_end(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The part that may change during a run: the manifest's `inventory_end`."""
    text = _Texts(files)
    online = text.cpus(f"{_CPUS}/online")
    meminfo = text.get("/proc/meminfo") or ""
    return {
        "clocksource": text.get(f"{_CLOCKS}/current_clocksource"),
        "cpus": {"online": online},
        # Where sysfs lists the CPUs and no governor, the kernel scales none: that is known, and not the same as None.
        "governors": _governors(files) or (None if online is None else {}),
        "rt_runtime_us": text.number("/proc/sys/kernel/sched_rt_runtime_us"),
        "rt_period_us": text.number("/proc/sys/kernel/sched_rt_period_us"),
        "boot_id": text.get("/proc/sys/kernel/random/boot_id"),
        "throttle_messages": conditions.throttle_messages(files),
        "memory": {"total_bytes": _kib(meminfo, "MemTotal"), "available_bytes": _kib(meminfo, "MemAvailable")},
    }


def allowed_cpus(files: Mapping[str, bytes]) -> tuple[int, ...] | None:
    """CPUs a process of ours may run on there: its affinity as inherited, and online."""
    text = _Texts(files)
    allowed = _field(text.get("/proc/self/status") or "", "Cpus_allowed_list")
    online = text.cpus(f"{_CPUS}/online")
    if allowed is None:
        return None if online is None else tuple(online)
    try:
        cpus = parse_cpu_list(allowed)
    except UsageError:
        return None if online is None else tuple(online)
    return cpus if online is None else tuple(cpu for cpu in cpus if cpu in online)


class _Texts:
    """Files as stripped text, None where missing or empty."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files

    def get(self, path: str) -> str | None:
        content = self._files.get(path)
        return None if content is None else content.decode(errors="replace").strip("\0\n\t ") or None

    def number(self, path: str) -> int | None:
        return foreign.number(self.get(path))

    def numbers(self, path: str) -> list[int] | None:
        numbers = [foreign.number(word) for word in _words(self.get(path)) or ()]
        return [n for n in numbers if n is not None] if numbers and None not in numbers else None

    def cpus(self, path: str) -> list[int] | None:
        """A CPU list; an empty file is an empty list, a missing one None."""
        if path not in self._files:
            return None
        text = self.get(path)
        try:
            return list(parse_cpu_list(text)) if text is not None and text != "(null)" else []
        except UsageError:
            return None


def _governors(files: Mapping[str, bytes]) -> dict[str, str]:
    found = {
        int(match[1]): content.decode(errors="replace").strip()
        for path, content in files.items()
        if (match := _GOVERNOR.search(path))
    }
    return {f"cpu{cpu}": found[cpu] for cpu in sorted(found)}


def _rights(files: Mapping[str, bytes], text: _Texts) -> dict[str, Any]:
    """The effective user id, the chosen word of `none [integrity] confidentiality`, and signs of a container.

    Where securityfs is not mounted, the lockdown is what the kernel's command line asks for.
    """
    ids = (_field(text.get("/proc/self/status") or "", "Uid") or "").split()
    chosen = re.search(r"\[(\w+)\]", text.get(_LOCKDOWN) or "")
    asked = re.search(r"(?:^|\s)lockdown=(integrity|confidentiality)(?=\s|$)", text.get("/proc/cmdline") or "")
    return {
        "uid": foreign.number(ids[1]) if len(ids) > 1 else None,
        "lockdown": told[1] if (told := chosen or asked) else None,
        "container": _in_container(files, bool(ids)),
    }


def _in_container(files: Mapping[str, bytes], told: bool) -> bool | None:
    """None where the signs disagree: a machine that boots from the image of a container has the files too, and the kernel's threads."""
    if any(path in files for path in _CONTAINER):
        return None if files.get(_KTHREADD, b"").strip() == b"kthreadd" else True
    return False if told else None


def _tuned(files: Mapping[str, bytes]) -> dict[str, Any] | None:
    """What `rtassay tune` has changed there; without changes `owner` is None. None: the board does not tell its boot."""
    if tuning.BOOT_ID not in files:
        return None
    found = tuning.read_tuned(files)
    if found is None:
        return {"owner": None, "changes": []}
    about = tuning.about_dict(found)
    return {key: about[key] for key in ("owner", "since", "for_ns", "changes")}


def _words(text: str | None) -> list[str] | None:
    return None if text is None else text.split()


def _field(text: str, name: str) -> str | None:
    """`name : value` of /proc/cpuinfo and the like, the first one."""
    match = re.search(rf"^{re.escape(name)}[ \t]*:[ \t]*(\S.*?)\s*$", text, re.MULTILINE)
    return None if match is None else match[1]


def _kib(meminfo: str, name: str) -> int | None:
    value = _field(meminfo, name)
    match = None if value is None else re.fullmatch(r"([0-9]{1,15}) kB", value)
    return None if match is None else int(match[1]) * 1024


def cpus(files: Mapping[str, bytes]) -> CpuState:
    """The board's CPUs, from what could be read of CPU_PATHS."""
    return inventory_of({"cpus": _cpus(files, _Texts(files), allowed_cpus(files))}).cpus


def _cpus(files: Mapping[str, bytes], text: _Texts, allowed: tuple[int, ...] | None) -> dict[str, Any]:
    smt = text.get(f"{_CPUS}/smt/active")
    online = text.cpus(f"{_CPUS}/online")
    return {
        "present": text.cpus(f"{_CPUS}/present"),
        "online": online,
        "isolated": text.cpus(isolation.BY_BOOT),
        "nohz_full": text.cpus(f"{_CPUS}/nohz_full"),
        "cgroup_isolated": isolation.by_groups(files, online),
        "unbalanced": isolation.unbalanced(files, online),
        "partition": isolation.partition(files),
        "smt_active": None if smt is None else smt == "1",
        "allowed": None if allowed is None else list(allowed),
    }


def _model(text: _Texts) -> str | None:
    for path in virtualisation.DEVICE_TREE_MODELS:
        if model := text.get(path):
            return model
    names = [text.get("/sys/class/dmi/id/sys_vendor"), text.get("/sys/class/dmi/id/product_name")]
    return " ".join(name for name in names if name) or None


def _os(release: str | None) -> str | None:
    match = re.search(r'^PRETTY_NAME="?(.*?)"?$', release or "", re.MULTILINE)
    return None if match is None else match[1]
