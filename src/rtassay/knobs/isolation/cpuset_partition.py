"""CPUs that the scheduler leaves alone, by a partition at run time."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, absent, cpus_text, ok, unknown, wrong
from rtassay.model.knobs import BY_HAND, CONTROLLER, DIRECTORY, LOW, MOUNT, RUN_TIME, SET, Action, Goal, Look
from rtassay.model.tuning import PARTITION
from rtassay.model.units import format_cpu_list

_ROOT = "/sys/fs/cgroup"
_MOUNTS, _FILE_SYSTEMS, _KNOWN = "/proc/mounts", "/proc/filesystems", "/proc/cgroups"
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
    reads = (_MOUNTS, _FILE_SYSTEMS, _KNOWN, _PARTITION, _CONTROLLERS)
    excludes = ("isolcpus",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        mounted = re.search(r"^\S+ /sys/fs/cgroup cgroup2 ", seen.text(_MOUNTS), re.MULTILINE)
        if not mounted and not _to_mount(seen):
            return absent("cgroup v2 is not mounted at /sys/fs/cgroup: see cpuset-v1")
        if mounted and "cpuset" not in seen.text(_CONTROLLERS).split():
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
        seen.housekeeping(goal)
        mount = () if mounted else (Action(MOUNT, _ROOT, "cgroup2"),)
        return unknown(
            f"none for {cpus_text(missing)}; isolcpus does the same at boot",
            f"a partition of {cpus_text(missing)}",
            *mount,
            Action(CONTROLLER, f"{_ROOT}/cgroup.subtree_control", "cpuset"),
            Action(DIRECTORY, PARTITION, ""),
            # By thread: the lanes of a probe join it, its writer does not.
            Action(SET, f"{PARTITION}/cgroup.type", "threaded"),
            Action(SET, f"{PARTITION}/cpuset.cpus", format_cpu_list(wanted)),
            # Kernels before 6.2 forget the CPUs that a thread was given when they take one from it.
            Action(SET, f"{PARTITION}/cpuset.cpus.partition", "isolated", ("@threads",)),
        )


def _to_mount(seen: Seen) -> bool:
    """Nobody uses cgroups here, and the kernel has those of version 2 with cpusets: then they can be mounted for a while."""
    if re.search(r"^\S+ \S+ cgroup2? |^\S+ /sys/fs/cgroup ", seen.text(_MOUNTS), re.MULTILINE):
        return False
    try:
        known = "cgroup2" in seen.text(_FILE_SYSTEMS).split()
        return known and re.search(r"^cpuset\t0\t\d+\t1$", seen.text(_KNOWN), re.MULTILINE) is not None
    except NotRead:
        return False
