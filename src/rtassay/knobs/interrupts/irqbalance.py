"""Daemons that move interrupts or change settings by themselves."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown, wrong
from rtassay.knobs.reading import STATS, running
from rtassay.model.knobs import MEDIUM, RUN_TIME, SERVICE, Action, Goal, Look

_DAEMONS = {
    "irqbalance": "irqbalance",
    "tuned": "tuned",
    "power-profiles-": "power-profiles-daemon",
    "thermald": "thermald",
    "tlp": "tlp",
}


class Irqbalance(Knob):
    """irqbalance leaves isolated CPUs alone; others do not know of them."""

    name = "irqbalance"
    title = "daemons that change settings (irqbalance, tuned ...)"
    why = "irqbalance moves interrupts every 10 s, also back to where they were taken from. tuned and power daemons set governors and idle states."
    effect = "what was set stays set"
    harm = "interrupts stay where they are when the load changes"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/seapath/ansible/pull/985", "OpenShift NTO pull request 396")
    reads = (STATS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        found = sorted(unit for comm, unit in _DAEMONS.items() if comm in running(seen))
        if not found:
            return ok("none runs")
        stops = [Action(SERVICE, f"{unit}.service", "stop") for unit in found]
        if "irqbalance" in found and goal.isolated is None and not seen.isolated():
            return unknown(f"{', '.join(found)} runs; it matters where CPUs are set aside", "stopped", *stops)
        return wrong(f"{', '.join(found)} runs", "stopped, or told which CPUs are set aside", *stops)
