"""CPUs that the scheduler leaves alone: which of a board's are, by which cgroup, and which may be for the length of a run.

None stands for what the board does not tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from rtassay.model import foreign
from rtassay.model.errors import UsageError
from rtassay.model.inventory import CpuState
from rtassay.model.tuning import PARTITION, PARTITION_V1
from rtassay.model.units import parse_cpu_list

KNOBS: Final = ("cpuset-partition", "cpuset-v1")
"""Settings that isolate CPUs at run time; a board has one of them at most."""

BY_BOOT: Final = "/sys/devices/system/cpu/isolated"
_ALL, _V1 = "/sys/fs/cgroup/cpuset.cpus.isolated", "/sys/fs/cgroup/cpuset"
_SCHEDSTAT = "/proc/schedstat"
PATHS: Final = (
    BY_BOOT,
    _ALL,
    "/sys/fs/cgroup/*/cpuset.cpus.partition",
    "/sys/fs/cgroup/*/cpuset.cpus.effective",
    f"{PARTITION}/cpuset.cpus",
    f"{_V1}/cpuset.sched_load_balance",
    f"{_V1}/*/cpuset.sched_load_balance",
    f"{_V1}/*/cpuset.cpus",
    _SCHEDSTAT,
)
_GROUP = re.compile(r"^(/sys/fs/cgroup/[^/]+)/cpuset\.cpus\.partition$")
_GROUP_V1 = re.compile(rf"^({_V1}/[^/]+)/cpuset\.sched_load_balance$")
_CPU_LINE = re.compile(r"cpu(\d{1,6}) ")


def by_groups(files: Mapping[str, bytes], online: Sequence[int] | None) -> list[int] | None:
    """CPUs that cpusets isolate: partitions of cgroup v2, or CPUs of v1 in no group that is balanced."""
    told = _cpus(files, _ALL)
    groups = [match[1] for path in files if (match := _GROUP.match(path))]
    if told is not None or groups:
        states = {group: files[f"{group}/cpuset.cpus.partition"].decode(errors="replace").strip() for group in groups}
        held = [_cpus(files, f"{group}/cpuset.cpus.effective") or [] for group in groups if states[group] == "isolated"]
        return sorted({*(told or ()), *(cpu for cpus in held for cpu in cpus)})
    balanced = foreign.number(files.get(f"{_V1}/cpuset.sched_load_balance", b"").decode(errors="replace").strip())
    if balanced is None or online is None:
        return None
    inside = [match[1] for path, on in files.items() if (match := _GROUP_V1.match(path)) and on.strip() == b"1"]
    spanned = {cpu for group in inside for cpu in _cpus(files, f"{group}/cpuset.cpus") or []}
    return [] if balanced else [cpu for cpu in online if cpu not in spanned]


def partition(files: Mapping[str, bytes]) -> str | None:
    """The cgroup that `tune` made for isolated CPUs, if there is one now."""
    return next((path for path in (PARTITION, PARTITION_V1) if _cpus(files, f"{path}/cpuset.cpus")), None)


def unbalanced(files: Mapping[str, bytes], online: Sequence[int] | None) -> list[int] | None:
    """CPUs that no scheduling domain spans, so that nothing is balanced there: what isolation comes to in the scheduler."""
    domains: dict[int, int] = {}
    at: int | None = None
    for line in files.get(_SCHEDSTAT, b"").decode(errors="replace").split("\n"):
        if match := _CPU_LINE.match(line):
            at = int(match[1])
            domains[at] = 0
        elif at is not None and line.startswith("domain"):
            domains[at] += 1
    if online is None or not online or not set(online) <= set(domains):
        return None
    return [cpu for cpu in online if not domains[cpu]]


def for_a_run(online: Sequence[int]) -> tuple[int, ...]:
    """The CPUs to isolate where nobody names some: the last quarter, one at least, and never the first CPU."""
    count = max(1, len(online) // 4)
    return tuple(sorted(online)[-count:]) if len(online) > 1 else ()


def beside(allowed: Sequence[int], known: CpuState) -> tuple[int, ...]:
    """Of the CPUs that may be used those that other work has, be CPUs isolated or not: the same ones with and without `for_a_run`."""
    aside = known.kept_free or for_a_run(known.online or ())
    return tuple(cpu for cpu in allowed if cpu not in aside) or tuple(allowed)


def _cpus(files: Mapping[str, bytes], path: str) -> list[int] | None:
    if path not in files:
        return None
    text = files[path].decode(errors="replace").strip()
    try:
        return list(parse_cpu_list(text)) if text and text != "(null)" else []
    except UsageError:
        return None
