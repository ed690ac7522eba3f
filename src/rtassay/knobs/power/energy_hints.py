"""Hints of how much energy the hardware should save."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_BIAS = "/sys/devices/system/cpu/cpu[0-9]*/power/energy_perf_bias"
_EPP = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference"
_PROFILE = "/sys/firmware/acpi/platform_profile"


class EnergyHints(Knob):
    """energy_perf_bias, energy_performance_preference, and the platform's profile."""

    name = "energy-hints"
    title = "energy hints to the CPU and the firmware"
    why = "The hardware chooses clocks and power states by itself; the hint says how eagerly it may save energy."
    effect = "small"
    harm = "more power"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile latency-performance",)
    reads = (_BIAS, _EPP, _PROFILE)
    needs = ("governor",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        told: dict[str, str] = {}
        for pattern in (_BIAS, _EPP, _PROFILE):
            if seen.has(pattern):
                told |= seen.matching(pattern)
        if not told:
            raise seen.not_read(_BIAS)
        saving = {path: value for path, value in told.items() if value not in ("0", "performance")}
        if not saving:
            return ok("performance")
        path, value = next(iter(saving.items()))
        writes = [Action(WRITE, name, "0" if name.endswith("bias") else "performance") for name in saving]
        return wrong(f"{path.rpartition('/')[2]} {value}", "performance", *writes)
