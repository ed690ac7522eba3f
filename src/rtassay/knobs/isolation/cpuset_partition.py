"""CPUs that the scheduler leaves alone, by a partition at run time."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, absent, cpus_text, ok, unknown, wrong
from rtassay.model.knobs import BY_HAND, CONTROLLER, DIRECTORY, LOW, RUN_TIME, SET, Action, Goal, Look
from rtassay.model.units import format_cpu_list

_ROOT = "/sys/fs/cgroup"
PARTITION = f"{_ROOT}/rtassay-isolated"
_MOUNTS = "/proc/mounts"
_PARTITION = "/sys/fs/cgroup/*/cpuset.cpus.partition"
_CONTROLLERS = "/sys/fs/cgroup/cgroup.controllers"


class CpusetPartition(Knob):
    """A partition that the kernel refused says `isolated invalid (reason)`."""

    name = "cpuset-partition"
    title = "isolated CPUs, by a cgroup partition"
    why = "As isolcpus, without a reboot. Threads and interrupts that are bound to a CPU stay there."
    effect = "near isolcpus on kernels since 6.8; before, only load balancing is off"
    harm = "the cgroup tree belongs to systemd; other work has fewer CPUs"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = (
        "kernel: admin-guide/cgroup-v2.rst (cpuset.cpus.partition)",
        "kernel commits f28e2244, 181c8e09, 0947d018",
    )
    reads = (_MOUNTS, _PARTITION, _CONTROLLERS)
    excludes = ("isolcpus",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not re.search(r"^\S+ /sys/fs/cgroup cgroup2 ", seen.text(_MOUNTS), re.MULTILINE):
            return absent("cgroup v2 is not mounted at /sys/fs/cgroup: see cpuset-v1")
        if "cpuset" not in seen.text(_CONTROLLERS).split():
            return absent("the kernel has no cpuset controller in cgroup v2")
        states = seen.matching(_PARTITION) if seen.has(_PARTITION) else {}
        invalid = {path: state for path, state in states.items() if "invalid" in state}
        if invalid:
            path, state = next(iter(invalid.items()))
            return wrong(
                f"{path}: {state}", "a partition that is valid", Action(BY_HAND, path, "its maker mends or removes it")
            )
        wanted = seen.measured(goal)
        missing = [cpu for cpu in wanted if cpu not in seen.isolated()]
        if not missing:
            return ok(f"{cpus_text(wanted)} isolated")
        return unknown(
            f"none for {cpus_text(missing)}; isolcpus does the same at boot",
            f"a partition of {cpus_text(missing)}",
            Action(CONTROLLER, f"{_ROOT}/cgroup.subtree_control", "cpuset"),
            Action(DIRECTORY, PARTITION, ""),
            Action(SET, f"{PARTITION}/cpuset.cpus", format_cpu_list(wanted)),
            Action(SET, f"{PARTITION}/cpuset.cpus.partition", "isolated"),
        )
