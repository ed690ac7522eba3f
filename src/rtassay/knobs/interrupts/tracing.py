"""Tracing and auditing that is switched on."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_TRACER = "/sys/kernel/tracing/current_tracer"


class TracingOn(Knob):
    """The kernel's own tracer and events; perf and eBPF programs do not show here."""

    name = "tracing"
    title = "tracing that is on (ftrace)"
    why = "A tracer or an enabled event adds work to each place that it watches: function tracing to every function."
    effect = "from nothing to many microseconds, by what is traced"
    harm = "none"
    scope = RUN_TIME
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (CONFIG_TRACING)",)
    reads = (_TRACER, "/sys/kernel/tracing/tracing_on", "/sys/kernel/tracing/set_event")

    def look(self, seen: Seen, goal: Goal) -> Look:
        tracing = seen.told(seen.inventory.tracing, _TRACER)
        events, tracer = tracing.events_enabled, tracing.current_tracer
        if tracer is None and events is None:
            raise seen.not_read(_TRACER)
        if tracer in (None, "nop") and not events:
            return ok("off")
        if tracing.tracing_on is False:
            return ok("enabled, but stopped")
        parts = [f"tracer {tracer}"] if tracer not in (None, "nop") else []
        parts += [f"{events} events"] if events else []
        return wrong(
            ", ".join(parts),
            "off",
            Action(WRITE, _TRACER, "nop"),
            Action(WRITE, "/sys/kernel/tracing/tracing_on", "0"),
        )
