"""The limits between which the frequency of a CPU may change."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_FREQ = "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_{}_freq"


class FrequencyLimits(Knob):
    """Lowest and highest frequency equal, or a governor that keeps one of them."""

    name = "frequency-limits"
    title = "lowest and highest CPU frequency"
    why = "Where both limits are equal the clock cannot change, whatever the governor does. A constant clock below the highest one may stay cooler than `performance`."
    effect = "steadier latency; the median follows the clock that is chosen"
    harm = "more power at a high clock, slower work at a low one"
    scope = RUN_TIME
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (the frequency stays constant once set)",)
    reads = (_FREQ.format("min"), _FREQ.format("max"))
    needs = ("governor",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        lowest, highest = seen.matching(_FREQ.format("min")), seen.matching(_FREQ.format("max"))
        pairs = [(low, path.replace("_min_", "_max_")) for path, low in lowest.items()]
        loose = [(low, highest[path]) for low, path in pairs if highest.get(path) not in (None, low)]
        governors = set((seen.inventory.governors or {}).values())
        if not loose:
            return ok("equal on every CPU")
        now = f"{loose[0][0]} to {loose[0][1]} kHz"
        if governors and governors <= {"performance", "powersave"}:
            return ok(f"{now}, and the governor keeps one end")
        writes = [
            Action(WRITE, path, highest[path.replace("_min_", "_max_")])
            for path in lowest
            if path.replace("_min_", "_max_") in highest
        ]
        return wrong(now, "both equal", *writes)
