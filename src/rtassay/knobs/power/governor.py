"""The governor that chooses the frequency of a CPU."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown, wrong
from rtassay.knobs.raspberry.throttled import NOW, bits
from rtassay.model.knobs import HIGH, RUN_TIME, WRITE, Action, Goal, Look

_GOVERNORS = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"


class Governor(Knob):
    """Any governor that keeps the frequency constant is right; `performance` is the usual one."""

    name = "governor"
    title = "CPU frequency governor"
    why = "A governor that follows the load lowers the clock while a real-time thread sleeps; the thread then wakes up on a slow CPU."
    effect = "lower and steadier latency, above all at light load"
    harm = "more power and heat; a board without cooling may throttle, which is worse"
    scope = RUN_TIME
    evidence = "C"
    severity = HIGH
    sources = (
        "kernel: core-api/real-time/kernel-configuration.rst (CPU frequency governors)",
        "tuned: profile realtime",
    )
    reads = (_GOVERNORS, "@run:vcgencmd get_throttled")

    def look(self, seen: Seen, goal: Goal) -> Look:
        governors = seen.told(seen.inventory.governors, _GOVERNORS)
        if not governors:
            return absent("the kernel scales no frequency here; a hypervisor or the firmware may do so unseen")
        names = sorted(set(governors.values()))
        now = f"{', '.join(names)} on {len(governors)} CPUs"
        if (told := bits(seen)) is not None and told & NOW:
            return unknown(f"{now}, but the firmware throttles at this moment and ignores the governor")
        if set(names) <= {"performance", "powersave", "userspace"}:
            return ok(now)
        changed = [
            cpu for cpu, name in sorted(governors.items()) if name not in ("performance", "powersave", "userspace")
        ]
        writes = [
            Action(WRITE, f"/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor", "performance") for cpu in changed
        ]
        return wrong(now, "performance", *writes)
