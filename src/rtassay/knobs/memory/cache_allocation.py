"""Parts of the shared cache kept for the application."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown
from rtassay.model.knobs import BY_HAND, LOW, MOUNT, RUN_TIME, Action, Goal, Look

_SCHEMATA = "/sys/fs/resctrl/schemata"
_GROUPS = "/sys/fs/resctrl/*/schemata"
_CPUINFO = "/proc/cpuinfo"


class CacheAllocation(Knob):
    """Intel RDT, AMD PQoS, Arm MPAM by resctrl."""

    name = "cache-allocation"
    title = "parts of the shared cache (resctrl)"
    why = "All CPUs share the last cache: a program that streams memory throws the application's data out of it."
    effect = "the only lever on a shared cache; no data on wake-up tails were found"
    harm = "other programs have less cache: measure their throughput too"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = ("kernel: core-api/real-time/hardware.rst", "kernel: filesystems/resctrl.rst")
    reads = (_SCHEMATA, _GROUPS, _CPUINFO)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not seen.has(_SCHEMATA):
            flags = seen.text(_CPUINFO)
            if not any(f" {flag}" in flags for flag in ("cat_l3", "cat_l2", "cdp_l3", "mba")):
                return absent("the CPU names no such feature")
            return unknown(
                "the CPU can; resctrl is not mounted",
                "mount -t resctrl resctrl /sys/fs/resctrl",
                Action(MOUNT, "/sys/fs/resctrl", "resctrl"),
            )
        groups = seen.matching(_GROUPS) if seen.has(_GROUPS) else {}
        own = [path for path in groups if "/info/" not in path and "/mon_" not in path]
        if own:
            return ok(f"{len(own)} groups")
        return unknown(
            "mounted, no group",
            "a group for the application",
            Action(BY_HAND, "/sys/fs/resctrl", "make a group, and share the cache out in its schemata"),
        )
