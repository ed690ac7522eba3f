"""Idle states that a CPU takes long to leave."""

from __future__ import annotations

from rtassay.knobs.base import Knob, NotRead, Seen, cpus_text, ok, wrong
from rtassay.model.knobs import ABSENT, MEDIUM, RUN_TIME, WRITE, Action, Goal, Look
from rtassay.model.units import NS_PER_US

_STATE = "/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state[0-9]*/{}"
# A state that takes a hundredth of the period to leave shows in a control loop's jitter; 10 us where no period is known.
_SHARE, _DEFAULT_US = 100, 10


def deep_us(seen: Seen) -> int:
    """Exit latency of the deepest enabled state of any CPU. Raises NotRead where no idle states are known, and where the kernel has none."""
    states = seen.inventory.idle_states
    if states is None and seen.live and seen.inventory.idle is not None and seen.inventory.idle.driver is None:
        raise NotRead(ABSENT, "the kernel manages no idle states here (no cpuidle driver)")
    states = seen.told(states, _STATE.format("latency"))
    return max((one.latency_us or 0 for rows in states.values() for one in rows if not one.disabled), default=0)


class IdleStates(Knob):
    """Each state can be disabled alone; C1 should stay, since cpuidle off means that nothing saves power."""

    name = "idle-states"
    title = "deep idle states of the CPUs"
    why = "The time to leave an idle state is part of every wake-up latency on an idle CPU."
    effect = "removes up to the exit latency of the deepest state from each wake-up"
    harm = "more power and heat; do not disable the shallowest state"
    scope = RUN_TIME
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (CONFIG_CPU_IDLE: cap at C1)",)
    reads = tuple(_STATE.format(name) for name in ("name", "latency", "residency", "disable"))
    excludes = ("idle-poll",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        states = seen.told(seen.inventory.idle_states, _STATE.format("latency"))
        limit_us = _DEFAULT_US if goal.period_ns is None else max(1, goal.period_ns // NS_PER_US // _SHARE)
        deep = {
            f"{cpu}/state{index}": state
            for cpu, rows in states.items()
            for index, state in enumerate(rows)
            if index > 0 and not state.disabled and (state.latency_us or 0) > limit_us
        }
        if not deep:
            return ok(f"no enabled state takes more than {limit_us} us to leave")
        worst = max(deep.values(), key=lambda state: state.latency_us or 0)
        cpus = {int(name.split("/")[0].removeprefix("cpu")) for name in deep}
        held = seen.inventory.cpu_dma_latency_us
        if held is not None and held <= limit_us:
            return ok(
                f"{worst.name} ({worst.latency_us} us) is enabled, but a program holds /dev/cpu_dma_latency at {held} us"
            )
        base = "/sys/devices/system/cpu"
        writes = [
            Action(WRITE, f"{base}/{cpu}/cpuidle/{state}/disable", "1")
            for cpu, state in (name.split("/") for name in deep)
        ]
        return wrong(
            f"{worst.name} takes {worst.latency_us} us to leave, on {cpus_text(tuple(cpus))}",
            f"states above {limit_us} us disabled",
            *writes,
        )
