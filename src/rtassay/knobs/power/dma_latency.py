"""The latency that the whole system tolerates of idle states."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.knobs.power.idle_states import deep_us
from rtassay.model.knobs import HOLD, MEDIUM, RUN_TIME, Action, Goal, Look

_PATH = "/dev/cpu_dma_latency"
_ANY = 2_000_000_000


class DmaLatency(Knob):
    """Holds while a program keeps the file open. rtprobe and cyclictest do so while they measure."""

    name = "dma-latency"
    title = "exit latency of idle states, for all CPUs (/dev/cpu_dma_latency)"
    why = "A CPU in a deep idle state takes up to milliseconds to wake up. rtprobe and cyclictest hold this file at 0 while they measure, your application only if it does the same."
    effect = "large where deep states exist; one EtherCAT loop's spread fell from 189-212 us to 198-201 us (one report)"
    harm = "more power and heat on every CPU"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/jlelli/rt-tests/issues/7", "kernel: power/pm_qos_interface.rst")
    reads = (_PATH,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        limit = seen.told(seen.inventory.cpu_dma_latency_us, _PATH)
        deepest = deep_us(seen)
        if deepest <= 1:
            return ok("no idle state takes longer than 1 us to leave")
        if limit < deepest:
            return ok(f"some program holds it at {limit} us")
        held = "no program holds it" if limit >= _ANY else f"held at {limit} us"
        return wrong(
            f"{held}; the deepest enabled idle state takes {deepest} us to leave",
            "0 us, held by your application",
            Action(HOLD, _PATH, "0"),
        )
