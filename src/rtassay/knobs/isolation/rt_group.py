"""Budgets for real-time threads by group."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BUILD, LOW, WRITE, Action, Goal, Look

_GROUPS = "/sys/fs/cgroup/cpu*/*/cpu.rt_runtime_us"


class RtGroup(Knob):
    """With RT_GROUP_SCHED and cgroup v1 a group has a budget of 0 until somebody gives it one."""

    name = "rt-group"
    title = "real-time budgets of groups (RT_GROUP_SCHED)"
    why = "A thread in a group without a budget may not become real-time at all."
    effect = "real-time policies work in containers and services"
    harm = "none"
    scope = BUILD
    evidence = "D"
    severity = LOW
    sources = ("kernel: scheduler/sched-rt-group.rst",)
    reads = (_GROUPS,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.symbol("CONFIG_RT_GROUP_SCHED") != "y":
            return ok("not built in")
        groups = seen.matching(_GROUPS) if seen.has(_GROUPS) else {}
        without = [path for path, value in groups.items() if value == "0"]
        if not without:
            return ok("built in, and no group is without a budget")
        return wrong(
            f"{len(without)} groups have no budget",
            "a budget for the application's group",
            *(Action(WRITE, path, "950000") for path in without[:4]),
        )
