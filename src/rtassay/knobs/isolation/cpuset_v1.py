"""CPUs shielded by cgroup v1."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, absent, cpu_list, cpus_text, ok, unknown
from rtassay.model.knobs import DIRECTORY, GATHER, LOW, RUN_TIME, SET, UNKNOWN, WRITE, Action, Goal, Look
from rtassay.model.tuning import PARTITION_V1, REST_V1
from rtassay.model.units import format_cpu_list

_MOUNTS = "/proc/mounts"
_ROOT = "/sys/fs/cgroup/cpuset"
_BALANCE = f"{_ROOT}/cpuset.sched_load_balance"
_EXCLUSIVE, _CPUS = f"{_ROOT}/*/cpuset.cpu_exclusive", f"{_ROOT}/*/cpuset.cpus"


class CpusetV1(Knob):
    """What `cset shield` does, and load balancing off: the scheduler then has no domain that spans these CPUs."""

    name = "cpuset-v1"
    title = "shielded CPUs, by cgroup v1 cpusets"
    why = "As cpuset-partition, on systems that use cgroup v1. Threads bound to a CPU cannot be moved: 956 of 1277 could not in one report."
    effect = "other programs keep off the CPU, and nothing is balanced there; the kernel's own threads stay"
    harm = "other work has fewer CPUs"
    scope = RUN_TIME
    evidence = "D"
    severity = LOW
    sources = ("kernel: admin-guide/cgroup-v1/cpusets.rst", "cacao wiki: cset shield")
    reads = (_MOUNTS, _BALANCE, f"{_ROOT}/cpuset.mems", _EXCLUSIVE, _CPUS)
    excludes = ("isolcpus", "cpuset-partition")

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not re.search(r"^\S+ \S+ cgroup \S*\bcpuset\b", seen.text(_MOUNTS), re.MULTILINE):
            return absent("no cpusets of cgroup v1 are mounted")
        if not re.search(rf"^\S+ {_ROOT} cgroup ", seen.text(_MOUNTS), re.MULTILINE):
            raise NotRead(UNKNOWN, f"cpusets of cgroup v1 are not mounted at {_ROOT}")
        wanted = seen.measured(goal)
        exclusive = seen.matching(_EXCLUSIVE) if seen.has(_EXCLUSIVE) else {}
        shields = [path.rpartition("/")[0] for path, value in exclusive.items() if value == "1"]
        shielded = {cpu for place in shields for cpu in cpu_list(seen.text(f"{place}/cpuset.cpus"))}
        if set(wanted) <= shielded | set(seen.isolated()):
            return ok(f"{cpus_text(wanted)} shielded")
        memory = seen.text(f"{_ROOT}/cpuset.mems")
        return unknown(
            f"no shield around {cpus_text(wanted)}; isolcpus does more",
            "a shield",
            *_group(PARTITION_V1, format_cpu_list(wanted), memory),
            Action(SET, f"{PARTITION_V1}/cpuset.sched_load_balance", "0"),
            *_group(REST_V1, format_cpu_list(seen.housekeeping(goal)), memory),
            # Kernels before 6.2 forget the CPUs that a thread was given when it changes its cpuset.
            Action(GATHER, f"{REST_V1}/tasks", f"{_ROOT}/tasks", ("@threads",)),
            Action(WRITE, _BALANCE, "0"),
        )


def _group(path: str, cpus: str, memory: str) -> tuple[Action, ...]:
    return (
        Action(DIRECTORY, path, ""),
        Action(SET, f"{path}/cpuset.cpus", cpus),
        Action(SET, f"{path}/cpuset.mems", memory),
    )
