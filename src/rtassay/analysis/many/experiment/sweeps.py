"""What combinations show that differ in one setting alone: the interval (E5), idle states or the governor (D4)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rtassay.analysis.lane.claim import Evidence, Requirement
from rtassay.analysis.many.experiment import effects
from rtassay.analysis.many.experiment.cells import FACTORS, Design, Measured
from rtassay.analysis.many.lanes import by_lane_of_one_measure
from rtassay.model.experiment import Combination, KpiRow
from rtassay.model.units import NS_PER_S, format_time

Rows = list[KpiRow]


@dataclass(frozen=True, slots=True)
class _Setting:
    """How a run was measured, as its recording tells. `idle`: us held in /dev/cpu_dma_latency, None for off, `not held` where the
    board refused; `governor`: empty where the board does not tell; `kernel`: the level, that is the boot entry; `rest`: everything
    else but the scenario's name."""

    interval_ns: int | None
    idle: int | str | None
    governor: str
    kernel: str | None
    rest: tuple[Any, ...]


def _setting(cell: Measured) -> _Setting:
    manifest = cell.recording.manifest
    plan = manifest.plan
    names = sorted(set((manifest.board_start.governors or {}).values()))
    lanes = tuple((lane.entry.name, lane.entry.cpu) for lane in cell.recording.lanes)
    levels = tuple(cell.levels.get(name) for name in FACTORS if name not in ("scenario", "kernel"))
    intervals = {lane.entry.interval_ns or plan.interval_ns for lane in cell.recording.lanes}
    asked = (
        plan.load_cpus,
        plan.policy,
        plan.priority,
        plan.mlock,
        plan.aligned,
        plan.sleep,
        plan.clock,
        plan.warm_up_ns,
        plan.break_above_ns,
        plan.trace_above_ns,
        *sorted(plan.settings.items()),
    )
    return _Setting(
        interval_ns=intervals.pop() if len(intervals) == 1 else None,
        idle="not held" if manifest.probe_facts.dma_latency_error else plan.dma_latency_us,
        governor=", ".join(names),
        kernel=cell.levels.get("kernel"),
        rest=(levels, lanes, asked, cell.findings.kernel),
    )


def _groups(
    cells: Sequence[Measured], combinations: Sequence[Combination], *changing: str
) -> list[list[tuple[_Setting, Combination]]]:
    """Combinations alike but for the fields `changing` names. One whose own runs were measured differently belongs to none."""
    blank: dict[str, Any] = dict.fromkeys(changing)
    found: dict[_Setting, list[tuple[_Setting, Combination]]] = {}
    for one in combinations:
        settings = {_setting(cell) for cell in cells if cell.levels == one.levels}
        if len(settings) == 1:
            setting = settings.pop()
            found.setdefault(replace(setting, **blank), []).append((setting, one))
    return list(found.values())


def capacity(
    cells: Sequence[Measured], combinations: Sequence[Combination], design: Design, p: float | None
) -> tuple[Rows, str]:
    """E5: the highest rate at which at most `p` of the activations had not run when the next was due, at it and at every lower one."""
    rows: Rows = []
    for group in _groups(cells, combinations, "interval_ns"):
        tried = {setting.interval_ns: one for setting, one in group if setting.interval_ns}
        if len(tried) < 2 or p is None:
            continue
        falling = sorted(tried, reverse=True)
        states = [
            _kept_up([c for c in cells if c.levels == tried[ns].levels], ns, p, design.confidence) for ns in falling
        ]
        kept = len(list(itertools.takewhile(lambda state: state == _KEPT, states)))
        others = [str(group[0][1].levels.get(name)) for name in design.varying if name != "scenario"]
        beyond = f"{format_time(falling[kept])} {states[kept]}" if kept < len(states) else ""
        if kept:
            best = falling[kept - 1]
            note = f"every {format_time(best)}, at p = {p:g}; {beyond or 'the shortest interval tried'}"
            rows.append(KpiRow(", ".join(others), NS_PER_S / best, at_least=not beyond, note=note))
        else:
            rows.append(KpiRow(", ".join(others), words="none of those tried", note=f"at p = {p:g}: {beyond}"))
    return rows, "no scenarios that differ in the interval alone (settings.interval of a scenario)"


_KEPT, _MISSED, _OPEN = "is kept", "misses too often", "is not shown"


def _kept_up(cells: Sequence[Measured], interval_ns: int, p: float, confidence: float) -> str:
    """Whether the lanes over all runs miss at most `p` of their activations; every lane must."""
    lanes = by_lane_of_one_measure([cell.recording for cell in cells]).values()
    asked = Requirement(interval_ns, p, confidence)
    claims = [Evidence(parts, confidence, len(lanes)).claim(interval_ns) for parts in lanes]
    if any(claim.violates(asked) for claim in claims):
        return _MISSED
    return _KEPT if claims and all(claim.holds(asked) for claim in claims) else _OPEN


def idle_and_governor(
    cells: Sequence[Measured], combinations: Sequence[Combination], design: Design
) -> tuple[Rows, str]:
    """D4: D* with deeper idle states allowed, and with another governor, over D* without, everything else equal; run by run."""
    rows: Rows = []
    for group in _groups(cells, combinations, "idle"):
        for (held, base), (allowed, other) in itertools.combinations(sorted(group, key=_by_depth), 2):
            if held.idle != allowed.idle:
                rows += _effect(
                    base, other, design, f"cpu_dma_latency: {_idle_words(allowed.idle)} / {_idle_words(held.idle)}"
                )
    # Two boot entries of one kernel may set a governor each (cpufreq.default_governor).
    for group in _groups(cells, combinations, "governor", "kernel"):
        known = sorted((row for row in group if row[0].governor), key=_by_governor)
        for (first, base), (second, other) in itertools.combinations(known, 2):
            if first.governor != second.governor:
                rows += _effect(base, other, design, f"governor: {second.governor} / {first.governor}")
    return (
        rows,
        "no combinations that differ in idle states (settings.dma_latency of a scenario) or in the governor alone",
    )


def _by_depth(row: tuple[_Setting, Combination]) -> tuple[float, bool]:
    """The least idle first, then off, then where the board refused."""
    idle = row[0].idle
    return idle if isinstance(idle, int) else math.inf, idle is not None


def _idle_words(idle: int | str | None) -> str:
    if idle is None:
        return "off"
    return f"{idle} us" if isinstance(idle, int) else str(idle)


def _by_governor(row: tuple[_Setting, Combination]) -> tuple[bool, str]:
    """`performance` is what others are compared with."""
    return row[0].governor != "performance", row[0].governor


def _effect(base: Combination, other: Combination, design: Design, note: str) -> Rows:
    effect = effects.star_effect(base, other)
    if effect is None:
        return []
    where = f"{design.title(other.levels)} / {design.title(base.levels)}"
    return [KpiRow(where, effect.ratio, effect.lo, effect.hi, note=note)]
