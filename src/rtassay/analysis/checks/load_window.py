"""Was the board under load, and for the whole of the measurement?"""

from __future__ import annotations

from typing import Any

import numpy as np

from rtassay.analysis.checks import series
from rtassay.analysis.checks.base import (
    INVALID,
    LIVE,
    NOTE,
    OPTIMISM,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context
from rtassay.model.manifest import LoadEntry
from rtassay.model.units import NS_PER_S, format_time

IDLE_BELOW = 0.2
SLACK_NS = NS_PER_S
LULL_NS = 3 * NS_PER_S
# A load stands still if it uses less than this share of its usual CPU time. A load that is rarely busy cannot be judged so.
STILL = 0.05
LEAST_CPUS = 0.1
_LEAST_BUSY = 2
_LEAST_READINGS = 5
# The load stands still if it reports no work for so many times its usual interval.
_FAR_LONGER = 6
# A round of a person's own command may take any time: only its CPU time shows whether it works.
_UNEVEN = ("command",)


def planned(context: Context) -> bool:
    """Whether rtassay was asked for a load."""
    return context.manifest.plan.load not in ("none", "") or bool(context.manifest.loads)


def declared(context: Context) -> str | None:
    """The load a person put in a label, or an imported file states, for runs that rtassay did not load itself."""
    imports = context.manifest.probe_facts.imports
    stated = (imports.load or "").strip() if imports is not None else ""
    text = context.manifest.labels.get("load", "").strip() or stated
    return text if text and text.lower() not in ("none", "no", "idle", "unknown") else None


def busy_share(context: Context) -> float | None:
    """Mean share of busy CPU time of the whole board over the window; None without telemetry."""
    found = _busy(context)
    return float(found[1].mean()) if found is not None else None


def _busy(context: Context) -> tuple[Any, Any] | None:
    """(times ns, busy share) inside the window."""
    found = series.named(context, "cpu", "all.busy")
    return (found.times, found.values) if found is not None else None


@check(
    id="NO-LOAD",
    condition="no load was started or declared, and the CPUs were less than 20 % busy",
    kind=OPTIMISM,
    severity=WARNING,
    required=True,
    explanation="An idle board meets almost any deadline; it says nothing about a loaded one.",
    remedy="Run with --load; say with --label load=... what loaded the board if something else did.",
    proof=SYNTHETIC,
)
def no_load(context: Context) -> Outcome:
    """No load ran: an idle board says nothing about a loaded one."""
    busy = busy_share(context)
    facts: dict[str, Any] = {"load": context.manifest.plan.load, "busy": busy}
    if planned(context):
        name = ", ".join(load.name for load in context.manifest.loads) or context.manifest.plan.load
        if busy is not None and busy < IDLE_BELOW:
            return Outcome(NOTE, f"load {name} was declared, but the CPUs were {busy:.0%} busy", facts)
        return passed(f"under load {name}", **facts)
    if (text := declared(context)) is not None:
        return passed(f"the load was declared: {text}", **facts)
    if busy is not None and busy >= IDLE_BELOW:
        return passed(f"no load was started, but the CPUs were {busy:.0%} busy", **facts)
    if busy is None and not context.own_run:
        return unknown("whether the board was under load is not known; say so with --label load=...", **facts)
    seen = f"the CPUs were {busy:.0%} busy" if busy is not None else "CPU use is not known"
    return Outcome(WARNING, f"no load was started and {seen}: says nothing about a loaded board", facts)


@check(
    id="LOAD-WINDOW",
    condition="a planned load was not alive from begin to end of the measurement (1 s either way)",
    kind=OPTIMISM,
    severity=INVALID,
    required=True,
    explanation="The time without load dilutes the outliers of the time under load. A warning where the load was alive, but it or all CPUs did nothing for 3 s or more: it was stopped, starved, or waits for a worker that died.",
    remedy="See the load's log in the recording, mend it and run again.",
    proof=LIVE,
)
def load_window(context: Context) -> Outcome:
    """Every load ran from begin to end of the measurement, within a second."""
    manifest = context.manifest
    if not planned(context):
        if (text := declared(context)) is not None:
            return Outcome(NOTE, f"the load '{text}' was declared, not observed")
        if not context.own_run:
            return unknown("what load ran, and when, is not known")
        return passed("no load was planned")
    window = context.window_ns
    if not manifest.loads:
        return Outcome(INVALID, f"load {manifest.plan.load} was planned, but nothing shows that it ran")
    if window is None:
        return unknown("begin and end of the measurement are not known")
    gaps = [text for load in manifest.loads for text in _gaps(load, window)]
    if not gaps and (lulls := [*_stopped(context, window), *_lull(context)]):
        texts = [text for text, _ in lulls]
        return Outcome(WARNING, "; ".join(texts[:3]), {"gaps": texts, "since_ns": [since for _, since in lulls]})
    if gaps:
        return Outcome(INVALID, "; ".join(gaps[:3]), {"gaps": gaps})
    if failed := [f"{load.name}: {load.error}" for load in manifest.loads if load.error]:
        return Outcome(WARNING, f"the load ran, but not as meant: {failed[0]}", {"errors": failed})
    names = ", ".join(load.name for load in manifest.loads)
    return passed(f"{names} ran from begin to end")


def _gaps(load: LoadEntry, window: tuple[int, int]) -> list[str]:
    start, end = window
    length = format_time(end - start)
    if load.started_ns is None:
        return [f"{load.name} never started{f' ({load.error})' if load.error else ''}: no load for all of {length}"]
    gaps = []
    if load.started_ns > start + SLACK_NS:
        gaps.append(f"{load.name} started {format_time(load.started_ns - start)} after the measurement of {length}")
    last = load.ended_ns
    if last is None and load.stop_asked_ns is None:
        gaps.append(f"nothing shows when {load.name} ended")
    elif last is not None and last < end - SLACK_NS:
        why = f", exit code {load.exit_code}" if load.exit_code else f", signal {load.signal}" if load.signal else ""
        gaps.append(f"{load.name} ended {format_time(end - last)} before the measurement of {length}{why}")
    elif last is None and load.stop_asked_ns is not None and load.stop_asked_ns < end - SLACK_NS:
        gaps.append(f"{load.name} was stopped {format_time(end - load.stop_asked_ns)} before the measurement ended")
    return gaps


def _lull(context: Context) -> list[tuple[str, int]]:
    """A time in which the CPUs were idle although the load usually kept them busy, and its begin."""
    found, window = _busy(context), context.window_ns
    if found is None or window is None:
        return []
    times, busy = found
    if times.size < 5:
        return []
    usual = float(np.median(busy))
    if usual < 0.5:
        return []
    if (idle := _stretch(times, busy, IDLE_BELOW * usual)) is None:
        return []
    begin = format_time(max(0, idle[0] - window[0]))
    text = f"the CPUs were idle from {begin} into the run for {format_time(idle[1])} or more, though the load was alive"
    return [(text, idle[0])]


def _stopped(context: Context, window: tuple[int, int]) -> list[tuple[str, int]]:
    """Loads that were alive but for some time used no CPU or did no work, unlike before (stopped, blocked, starved, waiting for
    a worker that died), and the begin of that time."""
    of = {row.name: row for row in series.of(context, "load")}
    found = []
    for index, load in enumerate(context.manifest.loads):
        use, work = (of.get(f"{index}.{load.name}.{quantity}") for quantity in ("cpus", "work"))
        did = "did nothing"
        still = None if use is None else _still(use)
        if still is None and work is not None and load.name not in _UNEVEN:
            did, still = "did no work", _still(work) or _silent(work, window)
        if still is not None:
            begin, length = format_time(max(0, still[0] - window[0])), format_time(still[1])
            found.append(
                (f"{load.name} {did} from {begin} into the run for {length} or more, though it was alive", still[0])
            )
    return found


def _still(row: series.Inside) -> tuple[int, int] | None:
    """(begin, length) in ns of a time in which the load stood still although it is usually busy."""
    # Not the median of all: a load may hang for most of the run.
    busy = row.values[row.values >= LEAST_CPUS]
    if row.values.size < _LEAST_READINGS or busy.size < _LEAST_BUSY:
        return None
    return _stretch(row.times, row.values, STILL * float(np.median(busy)))


def _silent(work: series.Inside, window: tuple[int, int]) -> tuple[int, int] | None:
    """(begin, length) in ns of the longest time without a report of work, if it is far longer than usual. Loads that work in rounds
    report at the end of each round."""
    if work.times.size < _LEAST_READINGS:
        return None
    silences = np.diff(np.append(work.times, window[1]))
    worst = int(silences.argmax())
    length = int(silences[worst])
    if length < max(LULL_NS, _FAR_LONGER * float(np.median(silences))):
        return None
    return int(work.times[worst]), length


def _stretch(times: Any, values: Any, below: float) -> tuple[int, int] | None:
    """(begin, length) in ns of the first stretch of LULL_NS or more in which all values lie below `below`. A reading covers the
    time since the reading before it."""
    since: int | None = None
    before: int | None = None
    longest: tuple[int, int] | None = None
    for at, value in zip(times.tolist(), values.tolist(), strict=True):
        if value >= below:
            if longest is not None:
                break
            since = None
        else:
            since = (at if before is None else before) if since is None else since
            longest = (since, at - since) if at - since >= LULL_NS else None
        before = at
    return longest
