"""The deepest idle state, chosen at boot."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.knobs.power.idle_states import deep_us
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look


class MaxCstate(Knob):
    """Read from the idle states that exist, not from the word."""

    name = "max-cstate"
    title = "deepest idle state, by boot word"
    why = "It does at boot what idle-states does at run time, before any service can change it."
    effect = "as idle-states"
    harm = "more power and heat"
    scope = BOOT
    evidence = "C"
    severity = LOW
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (processor.max_cstate=1)",)
    excludes = ("idle-states",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        deepest = deep_us(seen)
        limit = seen.word("processor.max_cstate") or seen.word("intel_idle.max_cstate")
        if deepest <= 10:
            return ok(f"no enabled state takes more than {deepest} us to leave")
        asked = "no boot word" if limit is None else f"max_cstate={limit}, yet states of {deepest} us are enabled"
        return unknown(
            f"{asked}; idle-states does the same at run time",
            "processor.max_cstate=1 intel_idle.max_cstate=1",
            Action(BOOT_WORD, "", "processor.max_cstate=1 intel_idle.max_cstate=1"),
        )
