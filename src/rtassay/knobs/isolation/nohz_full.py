"""No tick on CPUs with one busy thread."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpus_text, ok, unknown, wrong
from rtassay.model.knobs import BOOT, BOOT_WORD, BY_HAND, LOW, Action, Goal, Look
from rtassay.model.units import format_cpu_list

_PATH = "/sys/devices/system/cpu/nohz_full"


class NohzFull(Knob):
    """Kernel documentation: avoid it for periodic loops, try it for computing ones."""

    name = "nohz-full"
    title = "no tick on the application's CPUs (nohz_full)"
    why = "It removes the tick while one thread runs alone, and makes every entry into the kernel dearer."
    effect = "helps threads that compute without system calls; may harm periodic loops"
    harm = "slower system calls and wake-ups on those CPUs"
    scope = BOOT
    evidence = "X"
    severity = LOW
    sources = (
        "kernel: core-api/real-time/kernel-configuration.rst (CONFIG_NO_HZ_FULL: avoid for periodic workloads)",
        "OpenShift NTO pull request 1564 (on by default)",
        "https://github.com/siderolabs/talos/issues/1692",
    )
    reads = (_PATH,)
    needs = ("isolcpus",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        ignored = seen.inventory.cmdline_ignored
        if ignored is not None and ignored.nohz_unsupported:
            return wrong(
                "nohz_full= is on the command line, but this kernel was built without it",
                "without the word",
                Action(BY_HAND, "", "remove nohz_full="),
            )
        cpus = seen.told(seen.inventory.cpus.nohz_full, _PATH)
        if cpus and goal.period_ns is not None:
            return unknown(
                f"on {cpus_text(cpus)}; the kernel's documentation advises against it for a periodic loop",
                "without nohz_full=",
                Action(BY_HAND, "", "remove nohz_full="),
            )
        if cpus:
            return unknown(f"on {cpus_text(cpus)}; whether that helps depends on the application", "measure both")
        if goal.period_ns is not None:
            return ok("off, as the kernel's documentation advises for a periodic loop")
        measured = seen.measured(goal)
        return unknown(
            "off; for a thread that computes all the time it may help",
            f"nohz_full={format_cpu_list(measured)}",
            Action(BOOT_WORD, "", f"nohz_full={format_cpu_list(measured)}"),
        )
