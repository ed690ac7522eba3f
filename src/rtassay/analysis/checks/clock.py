"""The clock that measured, the cost of reading it, and whether clocks were stepped during the run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from rtassay.analysis.checks import series
from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    LIVE,
    NOTE,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context
from rtassay.model.facts import ProbeEnd, ProbeFacts
from rtassay.model.units import NS_PER_MS, NS_PER_US, format_time

READ_COST_SHARE = 0.1
GOOD_CLOCKS = re.compile(
    r"tsc|kvm-clock|arch_sys_counter|arm_global_timer|riscv_clocksource|hyperv\w*|xen|timebase", re.I
)
BAD_CLOCKS = re.compile(r"hpet|acpi_pm|refined-jiffies|jiffies|pit", re.I)


@check(
    id="CLOCK-RES",
    condition="clock_getres or the observed step is above 1 us, the clock source changed or is a slow one, or the wall clock was stepped",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A coarse clock or one that changes measures itself. Invalid if the clock source changed during the run or the clock "
    "only moves in steps above 1 us with a resolution as coarse; a note for a step of the wall clock, which the measurement does not use.",
    remedy="Use a kernel with high-resolution timers and the CPU's own counter (tsc, arch_sys_counter).",
    proof=LIVE,
    kept=True,
)
def clock_res(context: Context) -> Outcome:
    """The clock that measured, whether it stayed the same, and whether the wall clock was stepped during the run."""
    outcome, jump, slept = _measuring_clock(context), wall_jump_ns(context), _suspended_ns(context)
    if slept is not None:
        text = f"the board was suspended for {format_time(slept)} during the run: its clocks stood still meanwhile"
        outcome = _worse(outcome, WARNING, text, {"suspended_ns": slept})
    if jump is None:
        return outcome
    text = f"the wall clock was stepped by {format_time(abs(jump))} during the run"
    if context.manifest.probe_facts.clock.id == "realtime":
        text += ", and it is the clock that measured"
        return _worse(outcome, INVALID, text, {"wall_step_ns": jump})
    return _worse(outcome, NOTE, f"{text}; the measurement's clock is not affected", {"wall_step_ns": jump})


def _worse(outcome: Outcome, severity: str, text: str, facts: dict[str, Any]) -> Outcome:
    """`outcome` joined with a second finding: the graver severity counts; the message states both, unless the first was a pass."""
    ranks = (NOTE, WARNING, INVALID)
    both = {**outcome.facts, **facts}
    if outcome.severity not in (WARNING, INVALID):
        return Outcome(severity, text, both)
    grave = max(outcome.severity, severity, key=ranks.index)
    return replace(outcome, severity=grave, message=f"{outcome.message}; {text}", facts=both)


def _suspended_ns(context: Context) -> int | None:
    """How much further CLOCK_BOOTTIME went than CLOCK_MONOTONIC while measuring, in ns; None below 10 ms or if not recorded."""
    found = series.named(context, "clock", "boottime.offset")
    return int(found.since) if found is not None and found.since > 10 * NS_PER_MS else None


@check(
    id="CLOCK-READ-COST",
    condition="one reading of the clock takes more than a tenth of a lane's median latency",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Every latency contains the time it takes to read the clock. If that is a large part of the median, the median says more about the clock than about the board.",
    remedy="Use the CPU's own counter as clock source (tsc, arch_sys_counter); take the cost as the smallest latency that can be measured.",
    proof=SYNTHETIC,
)
def clock_read_cost(context: Context) -> Outcome:
    """Reading the clock takes a large part of the measured latency."""
    cost = context.manifest.probe_facts.clock.read_cost_ns
    medians = [(lane, q.value_ns) for lane in context.lanes for q in lane.quantiles if q.q == 0.5]
    if cost is None or not medians:
        return unknown("what reading the clock costs is not known")
    lane, median = min(medians, key=lambda row: row[1])
    facts = {"read_cost_ns": cost, "p50_ns": median, "lane": lane.name}
    text = f"reading the clock takes {format_time(cost)}, p50 is {format_time(median)}"
    if cost > READ_COST_SHARE * median:
        return Outcome(WARNING, f"{text}: no latency can be told to less than that", facts)
    return passed(text, **facts)


def _measuring_clock(context: Context) -> Outcome:
    manifest = context.manifest
    clock = manifest.probe_facts.clock
    getres, step = clock.getres_ns, clock.step_ns
    name, name_end = manifest.board_start.clocksource, manifest.board_end.clocksource
    facts = {"getres_ns": getres, "step_ns": step, "clocksource": name, "clocksource_end": name_end}
    if name and name_end and name != name_end:
        return Outcome(INVALID, f"the kernel changed its clock source from {name} to {name_end} during the run", facts)
    if getres is not None and getres > NS_PER_US:
        # A fine clock with coarse timers: the kernel has no high-resolution timers. Wake-ups are late, but measured correctly.
        coarse = step is None or 2 * step > getres
        text = f"the clock's resolution is {format_time(getres)}"
        if coarse:
            return Outcome(INVALID, f"{text}, and it moves in steps as coarse: latencies are multiples of that", facts)
        return Outcome(WARNING, f"{text}: timers fire at ticks (no high-resolution timers)", facts)
    if step is not None and step > NS_PER_US:
        return Outcome(WARNING, f"the clock moves in steps of {format_time(step)}", facts)
    if name and BAD_CLOCKS.fullmatch(name):
        return Outcome(WARNING, f"the clock source is {name}: slow to read, and coarse", facts)
    if getres is None and name is None:
        return unknown("neither the clock's resolution nor its source is known", **facts)
    if name and not GOOD_CLOCKS.fullmatch(name):
        seen = step or getres
        steps = "" if seen is None else f"; its steps of {format_time(seen)} were measured"
        return Outcome(NOTE, f"the clock source is {name}{steps}", facts)
    return passed(
        f"clock source {name or 'not told'}, resolution {'not told' if getres is None else format_time(getres)}",
        **facts,
    )


def wall_jump_ns(context: Context) -> int | None:
    """The largest step of the wall clock against the monotonic one from start to end; None below 1 ms (that is slew)."""
    stepped = series.named(context, "clock", "realtime.step")
    worst = int(max(stepped.values.tolist(), key=abs)) if stepped is not None else 0
    first, last = _wall_offset(context.manifest.probe_facts), _wall_offset(context.manifest.probe_end)
    for lane in context.accounts:
        seconds = lane.lane.seconds
        between = [] if seconds is None or seconds.wall_offset_ns is None else [int(x) for x in seconds.wall_offset_ns]
        offsets = [*first, *between, *last]
        if len(offsets) > 1:
            biggest = max(np.diff(np.asarray(offsets, dtype=np.int64)).tolist(), key=abs)
            worst = biggest if abs(biggest) > abs(worst) else worst
    return worst if abs(worst) > NS_PER_MS else None


def _wall_offset(told: ProbeFacts | ProbeEnd) -> list[int]:
    """Wall minus monotonic clock in ns from FACTS or END; None if they do not state it."""
    wall, mono = told.wall_ns, told.mono_ns
    return [wall - mono] if wall is not None and mono is not None and wall > 0 else []
