"""CPUs that the scheduler leaves alone, by boot word."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, cpus_text, ok, wrong
from rtassay.model.knobs import BOOT, BOOT_WORD, MEDIUM, Action, Goal, Look
from rtassay.model.units import format_cpu_list


class Isolcpus(Knob):
    """Read from what the kernel isolates, not from the word."""

    name = "isolcpus"
    title = "isolated CPUs (isolcpus)"
    why = "The scheduler's load balancing moves other threads onto the application's CPU, and takes locks there."
    effect = "one report: 20, 18 and 3 us against 152, 135 and 45 us, but the isolated CPU ran no load"
    harm = "other work has fewer CPUs; threads put there by hand are not balanced"
    scope = BOOT
    evidence = "D"
    severity = MEDIUM
    sources = (
        "kernel: admin-guide/kernel-parameters.txt (isolcpus: deprecated, use cpusets)",
        "Firefly: real-time performance report",
    )
    reads = ("/sys/devices/system/cpu/isolated", "/sys/fs/cgroup/cpuset.cpus.isolated")
    excludes = ("cpuset-partition",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        wanted = seen.measured(goal)
        seen.housekeeping(goal)
        missing = [cpu for cpu in wanted if cpu not in seen.isolated()]
        if not missing:
            return ok(f"{cpus_text(wanted)} isolated")
        asked = seen.word("isolcpus")
        now = f"{cpus_text(missing)} not isolated" + (
            "" if asked is None else f", although isolcpus={asked} was asked for"
        )
        word = f"isolcpus=managed_irq,domain,{format_cpu_list(wanted)}"
        return wrong(now, word, Action(BOOT_WORD, "", word))
