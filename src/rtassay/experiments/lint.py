"""The questions that a plan cannot answer: faults that show in the plan alone, found before any run.

Each doubt has the id of the check that would find it afterwards (`rtassay checks`, or a check of comparisons).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rtassay.experiments.matrix import Cell, ExperimentPlan
from rtassay.model.units import NS_PER_H, NS_PER_MS, NS_PER_S, format_time
from rtassay.probes.base import find

LEAST_RUNS = 5
# The kernel's tick at 1000, 250 and 100 Hz.
_TICKS_NS = (1 * NS_PER_MS, 4 * NS_PER_MS, 10 * NS_PER_MS)


@dataclass(frozen=True, slots=True)
class Doubt:
    """One question that the plan cannot answer, in words; `where` names the levels, empty for the whole plan."""

    id: str
    message: str
    where: str = ""


def lint(plan: ExperimentPlan) -> tuple[Doubt, ...]:
    """Every doubt once; a doubt about single combinations names the first of them."""
    found: dict[tuple[str, str], Doubt] = {}
    for doubt in (*_of_design(plan), *(d for cell in _combinations(plan) for d in _of_cell(plan, cell))):
        found.setdefault((doubt.id, doubt.message), doubt)
    return tuple(found.values())


def _combinations(plan: ExperimentPlan) -> list[Cell]:
    return list({cell.combination: cell for cell in reversed(plan.cells)}.values())[::-1]


def _of_design(plan: ExperimentPlan) -> Iterator[Doubt]:
    """Repeats, order, loads, requirement."""
    runs = Counter(cell.combination for cell in plan.cells)
    least = min(runs.values())
    if least == 1:
        yield Doubt("SINGLE-RUN", "one run of a combination: nothing can be said about the scatter between runs")
    elif least < LEAST_RUNS:
        yield Doubt("FEW-RUNS", f"{least} runs of a combination: {LEAST_RUNS} can show a difference, fewer cannot")
    if len(runs) > 1 and least > 1 and _one_after_another(plan):
        yield Doubt("ORDER-CONFOUND", "all runs of one combination come before the next: drift falls on one of them")
    if not any(cell.plan.loads for cell in plan.cells):
        yield Doubt("NO-LOAD", "no load at all: the result says nothing about a loaded board")
    if plan.deadline_ns is None:
        yield Doubt("NO-REQUIREMENT", "no deadline is stated: nothing will be judged")


def _one_after_another(plan: ExperimentPlan) -> bool:
    order = [cell.combination for cell in plan.cells]
    return sum(a != b for a, b in itertools.pairwise(order)) == len(set(order)) - 1


def _of_cell(plan: ExperimentPlan, cell: Cell) -> Iterator[Doubt]:
    if cell.of_work:
        return
    asked = cell.plan
    for id_, message in _of_line(cell):
        yield Doubt(id_, message, cell.scenario)
    if asked.mlock is False:
        yield Doubt("NOT-MLOCKED", "memory is not locked: page faults may be in the tail", cell.scenario)
    if asked.policy == "other" or (asked.cyclictest_line is not None and not asked.priority):
        yield Doubt("NOT-RT-POLICY", "the measuring threads are not real-time ones", cell.scenario)
    interval = asked.interval_ns
    if interval and any(tick % interval == 0 or interval % tick == 0 for tick in _TICKS_NS):
        yield Doubt(
            "ALIASING",
            f"{format_time(interval)} is a part or a multiple of the tick: periodic disturbances may be missed",
        )
    if cell.probe == "cyclictest":
        yield Doubt("CO-MISSED", "cyclictest does not count activations that a late wake-up costs", cell.scenario)
    yield from _of_length(plan, cell)


def _of_length(plan: ExperimentPlan, cell: Cell) -> Iterator[Doubt]:
    """Whether the runs can demonstrate the requirement if none of their activations is late."""
    asked = cell.plan
    if plan.deadline_ns is None or not asked.interval_ns:
        return
    allowed = plan.p_target if plan.per_hour is None else plan.per_hour * asked.interval_ns / NS_PER_H
    if allowed <= 0:
        return
    runs = sum(one.combination == cell.combination for one in plan.cells) if plan.per == "combination" else 1
    n = (cell.length_ns - asked.warm_up_ns) // asked.interval_ns * runs
    sure = plan.look(plan.looks).confidence
    needed = math.ceil(math.log1p(-sure) / math.log1p(-min(allowed, 0.5)))
    what = f"p <= {plan.p_target:g}" if plan.per_hour is None else f"{plan.per_hour:g} events an hour at most"
    if n < needed:
        hours = needed * asked.interval_ns / NS_PER_S / 3600
        yield Doubt(
            "N-TOO-SMALL",
            f"{n:,} activations a lane at most; {needed:,} show {what} ({hours:.3g} h in all): the answer will be "
            "NOT DEMONSTRATED or VIOLATED, never HOLDS",
            cell.load,
        )


def _of_line(cell: Cell) -> list[tuple[str, str]]:
    """The probe's own doubts about a line of its tool."""
    if cell.plan.cyclictest_line is None:
        return []
    return list(find(cell.probe).doubts(cell.plan))
