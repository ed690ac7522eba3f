"""Polling for corrected memory errors."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_INTERVAL = "/sys/devices/system/machinecheck/machinecheck[0-9]*/check_interval"
_IGNORE = "/sys/devices/system/machinecheck/machinecheck[0-9]*/ignore_ce"


class MachineCheck(Knob):
    """A value of 0 stops the polling."""

    name = "machine-check"
    title = "polling for corrected errors (machine checks)"
    why = "A timer on each CPU looks for corrected hardware errors every 5 minutes."
    effect = "removes one timer in 5 minutes from each CPU"
    harm = "corrected errors are not reported"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("tuned: profile cpu-partitioning (mce=off)",)
    reads = (_INTERVAL, _IGNORE)

    def look(self, seen: Seen, goal: Goal) -> Look:
        polled = {path for path, value in seen.matching(_INTERVAL).items() if value != "0"}
        ignored = {
            path.replace("ignore_ce", "check_interval")
            for path, value in (seen.matching(_IGNORE) if seen.has(_IGNORE) else {}).items()
            if value == "1"
        }
        loose = sorted(polled - ignored)
        if not loose:
            return ok("off")
        return wrong(
            f"every {seen.text(loose[0])} s on {len(loose)} CPUs", "off", *(Action(WRITE, path, "0") for path in loose)
        )
