"""Turbo or boost clocks."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.model.knobs import LOW, RUN_TIME, WRITE, Action, Goal, Look

_BOOST, _NO_TURBO = "/sys/devices/system/cpu/cpufreq/boost", "/sys/devices/system/cpu/intel_pstate/no_turbo"


class Turbo(Knob):
    """tuned turns it on, guides for trading turn it off: nobody shows data."""

    name = "turbo"
    title = "turbo clock"
    why = "A turbo clock depends on temperature and on how many CPUs are busy, so the time of the same work varies."
    effect = "steadier without it, faster with it"
    harm = "off: every computation takes longer"
    scope = RUN_TIME
    evidence = "X"
    severity = LOW
    sources = ("tuned: profile latency-performance sets boost=1", "guides for low-latency trading turn it off")
    reads = (_BOOST, _NO_TURBO)

    def look(self, seen: Seen, goal: Goal) -> Look:
        path = _NO_TURBO if seen.has(_NO_TURBO) else _BOOST
        on = seen.text(path) == ("0" if path == _NO_TURBO else "1")
        if not on:
            return ok("off")
        return unknown(
            "on; sources disagree whether that is better", "off", Action(WRITE, path, "1" if path == _NO_TURBO else "0")
        )
