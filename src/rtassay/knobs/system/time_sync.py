"""Daemons that set the clock."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.knobs.reading import STATS, running
from rtassay.model.knobs import LOW, RUN_TIME, SERVICE, Action, Goal, Look

_DAEMONS = {
    "chronyd": "chrony",
    "ntpd": "ntp",
    "systemd-timesyn": "systemd-timesyncd",
    "ptp4l": "ptp4l",
    "phc2sys": "phc2sys",
}


class TimeSync(Knob):
    """Slewing is harmless; a step moves sleeps on CLOCK_REALTIME."""

    name = "time-sync"
    title = "daemons that set the clock"
    why = "A step of CLOCK_REALTIME wakes sleepers on that clock early or late. Reading a hardware clock or a random number through secure firmware stops a CPU."
    effect = "depends on the clock the application sleeps on"
    harm = "the clock drifts"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = ("kernel: core-api/real-time/hardware.rst (OP-TEE)",)
    reads = (STATS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = sorted(unit for comm, unit in _DAEMONS.items() if comm in running(seen))
        if not found:
            return ok("none runs")
        return unknown(
            f"{', '.join(found)} runs; harmless if the application sleeps on CLOCK_MONOTONIC",
            "configured to slew, never to step; or stopped while it matters",
            *(Action(SERVICE, f"{unit}.service", "stop") for unit in found),
        )
