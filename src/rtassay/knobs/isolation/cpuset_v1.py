"""CPUs shielded by cgroup v1."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, absent, cpu_list, cpus_text, ok, unknown
from rtassay.model.knobs import DIRECTORY, LOW, PROGRAMS, RUN_TIME, SET, Action, Goal, Look
from rtassay.model.units import format_cpu_list

_MOUNTS = "/proc/mounts"
_SHIELD = "/sys/fs/cgroup/cpuset/rtassay-isolated"
_BALANCE = "/sys/fs/cgroup/cpuset/cpuset.sched_load_balance"
_EXCLUSIVE, _CPUS = "/sys/fs/cgroup/cpuset/*/cpuset.cpu_exclusive", "/sys/fs/cgroup/cpuset/*/cpuset.cpus"


class CpusetV1(Knob):
    """What `cset shield` does."""

    name = "cpuset-v1"
    title = "shielded CPUs, by cgroup v1 cpusets"
    why = "As cpuset-partition, on systems that use cgroup v1. Threads bound to a CPU cannot be moved: 956 of 1277 could not in one report."
    effect = "other programs keep off the CPU; the kernel's own threads stay"
    harm = "other work has fewer CPUs"
    scope = RUN_TIME
    evidence = "D"
    severity = LOW
    sources = ("kernel: admin-guide/cgroup-v1/cpusets.rst", "cacao wiki: cset shield")
    reads = (_MOUNTS, _BALANCE, _EXCLUSIVE, _CPUS)
    excludes = ("isolcpus", "cpuset-partition")

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not re.search(r"^\S+ \S+ cgroup \S*\bcpuset\b", seen.text(_MOUNTS), re.MULTILINE):
            return absent("no cpusets of cgroup v1 are mounted")
        wanted = seen.measured(goal)
        exclusive = seen.matching(_EXCLUSIVE) if seen.has(_EXCLUSIVE) else {}
        shields = [path.rpartition("/")[0] for path, value in exclusive.items() if value == "1"]
        shielded = {cpu for place in shields for cpu in cpu_list(seen.text(f"{place}/cpuset.cpus"))}
        if set(wanted) <= shielded:
            return ok(f"{cpus_text(wanted)} shielded")
        return unknown(
            f"no shield around {cpus_text(wanted)}; isolcpus does more",
            "a shield",
            Action(DIRECTORY, _SHIELD, ""),
            Action(SET, f"{_SHIELD}/cpuset.cpus", format_cpu_list(wanted)),
            Action(SET, f"{_SHIELD}/cpuset.mems", "0"),
            Action(SET, f"{_SHIELD}/cpuset.cpu_exclusive", "1"),
            Action(PROGRAMS, "", format_cpu_list(seen.housekeeping(goal))),
        )
