"""Is every activation accounted for, and do all counts agree?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    LIVE,
    NOTE,
    OPTIMISM,
    RECORDED,
    SYNTHETIC,
    UNKNOWN,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context, named
from rtassay.analysis.lane.account import COUNTED, Account
from rtassay.analysis.lane.missed import UNEXPLAINED, due_view
from rtassay.model import warnings
from rtassay.model.findings import lane_words
from rtassay.model.measures import NO_LATENESS, TIMERS
from rtassay.model.units import NS_PER_MS

SHARE_OF_COUNT = 1e-3
START_AND_STOP_NS = 200 * NS_PER_MS


@check(
    id="CO-MISSED",
    condition="activations were due while their lane was still late; or, where the source does not count them, a latency "
    "reaches the interval, or more than max(2, 1e-6 n) activations are absent",
    kind=OPTIMISM,
    severity=INVALID,
    required=True,
    explanation="A thread that oversleeps several periods takes one sample for all of them. Percentiles per wake-up then understate how "
    "often the work was late. rtprobe counts every missed activation, so its recordings are corrected exactly (warning, "
    "integrity). Tools that skip without a count can only be corrected by estimate.",
    remedy="Read quantiles_due; measure with rtprobe, or with an interval above the longest stall.",
    proof=LIVE,
)
def co_missed(context: Context) -> Outcome:
    """Activations that were due while their lane was still late."""
    if not context.accounts:
        return unknown("no lane")
    policy = context.manifest.source.late_policy
    if policy == COUNTED:
        return _counted_missed(context)
    return _uncounted_missed(context, policy)


def _counted_missed(context: Context) -> Outcome:
    missed = [lane.entry.missed for lane in context.accounts]
    if any(count is None for count in missed):
        return unknown("the source did not report its missed activations")
    total = sum(count or 0 for count in missed)
    due = sum(lane.exposure for lane in context.accounts)
    facts: dict[str, Any] = {"missed": total, "due": due, "estimate": False}
    if total == 0:
        return Outcome("pass", "no activation was missed", facts)
    views = {lane_words(lane.entry.name, lane.entry.cpu): due_view(lane).why_not for lane in context.accounts}
    reasons = {name: why for name, why in views.items() if why is not None}
    text = f"{total} of {due} activations ({_percent(total, due)}) were due while their lane was still late"
    if reasons:
        facts["not_reconstructed"] = {name: {"code": why.code, **why.facts} for name, why in reasons.items()}
        first = next(iter(reasons.items()))
        return Outcome(
            WARNING, f"{text}; their lateness cannot be reconstructed ({first[0]}: {first[1].words})", facts, INTEGRITY
        )
    return Outcome(
        WARNING,
        f"{text}; the verdict and the view per due activation count each with its own lateness",
        facts,
        INTEGRITY,
    )


def _uncounted_missed(context: Context, policy: str) -> Outcome:
    late = [lane for lane in context.accounts if _late(lane)]
    short = [(lane, lost) for lane in context.accounts if (lost := _absent(context, lane))]
    facts: dict[str, Any] = {"late_policy": policy}
    if policy == "catch_up":
        text = "the source runs late activations one after the other, so none is missing"
        if late:
            return Outcome(
                NOTE, f"{text}; one stall of {named(late)} is many samples", facts | {"late_lanes": len(late)}
            )
        return passed(text, **facts)
    if late or short:
        estimates = [due_view(lane).missed for lane in context.accounts]
        known = [count for count in estimates if count is not None]
        facts["absent"] = sum(lost for _, lost in short) if short else None
        facts["estimate"] = sum(known) if len(known) == len(estimates) else None
        seen = "the view per due activation is an estimate" if facts["estimate"] else "no correction is possible"
        if late:
            about = f"about {facts['estimate']}" if facts["estimate"] else "an unknown number of"
            text = f"{named(late)}: later than the interval, and {about} activations were skipped without a count"
        else:
            lanes = [lane for lane, _ in short]
            text = f"{named(lanes)}: {facts['absent']} activations were due by the clock and have no sample; the source does not say why"
        return Outcome(INVALID, f"{text}; {seen}", facts, OPTIMISM)
    blind = [lane for lane in context.accounts if not lane.interval_ns or lane.max_ns is None or lane.stripped]
    if blind:
        return Outcome(
            UNKNOWN,
            f"{named(blind)}: interval or maximum is not known, so skipped activations cannot be excluded",
            facts,
        )
    return passed("no sample is later than the interval, so no activation can have been skipped", **facts)


def _late(lane: Account) -> bool:
    top = lane.max_ns if lane.max_ns is not None else lane.limit_ns if lane.over else None
    return top is not None and top >= lane.interval_ns if lane.interval_ns else False


def _absent(context: Context, lane: Account) -> int:
    """Activations that were due by the clock and have no sample; 0 if start and end of the run explain the difference."""
    n = lane.entry.n
    if lane.entry.due is not None:
        lost = lane.entry.due - n - lane.dropped - lane.truncated
        return lost if lost > max(2, 1e-6 * n) else 0
    expected = expected_count(context, lane)
    return expected.count - n if expected is not None and expected.count - n > expected.slack else 0


@dataclass(frozen=True, slots=True)
class Expected:
    """floor(T / I), and the difference that start and stop of the run may make."""

    count: int
    slack: float


def expected_count(context: Context, lane: Account) -> Expected | None:
    """For a source without its own clock. None if T or I is not known, or if the run did not end after T."""
    plan = context.manifest.plan
    if not lane.interval_ns or plan.count is not None or context.manifest.end_reason not in (None, "duration"):
        return None
    window = context.window_ns
    duration_ns = plan.duration_ns or (window[1] - window[0] if window is not None else None)
    if not duration_ns:
        return None
    count = duration_ns // lane.interval_ns
    return Expected(count, max(2.0, SHARE_OF_COUNT * count, START_AND_STOP_NS / lane.interval_ns))


@check(
    id="NO-ACTIVATION",
    condition="no activation was due in any lane",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="A recording without an activation measured nothing: no deadline was met, none was missed. The run ended before the first "
    "due time, or the tool that wrote the file never started its threads.",
    remedy="Run again with a --duration of many intervals; if a file was imported, look whether its tool measured at all.",
    proof=SYNTHETIC,
    unwaivable="no reason makes a measurement out of nothing",
)
def no_activation(context: Context) -> Outcome:
    """At least one activation was due; without a lane there is none."""
    due = sum(lane.exposure for lane in context.accounts)
    if due == 0:
        return Outcome(INVALID, "no activation was due in any lane: nothing was measured", {"due": 0})
    return passed(f"{due:,} activations were due", due=due)


@check(
    id="COUNT-MISMATCH",
    condition="due (by the clock) is not n + missed + dropped + truncated in a lane; histogram, seconds and end mark disagree; the "
    "stream lost bytes or was cut; the last line of a text has no newline; more than 0.1 % too many samples for the stated time and interval",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="If the counts do not add up, samples were lost or invented, and nobody knows which. Dropped samples, which are "
    "counted, and losses that leave the account whole only qualify; a stream cut before its account cannot show that a deadline holds.",
    remedy="Run again; if it repeats, report it with the recording.",
    proof=RECORDED,
    unwaivable="no reason makes samples that were lost or invented come back; a stream that was cut is no answer",
    kept=True,
)
def count_mismatch(context: Context) -> Outcome:
    """due = n + missed + dropped + truncated per lane, and all other counts agree."""
    if not context.accounts:
        return unknown("no lane")
    broken = [text for lane in context.accounts for text in _broken(lane, context)]
    doubts = [text for lane in context.accounts for text in _doubts(lane, context)]
    doubts += [
        warnings.words(warning, context.manifest.lanes)
        for warning in context.manifest.warnings
        if warning.code in warnings.DOUBTS_OF_COUNTS
    ]
    damage = context.manifest.damage
    facts: dict[str, Any] = {"dropped": sum(lane.dropped for lane in context.accounts)}
    if damage.lost_frames or damage.bad_frames or damage.skipped_bytes:
        bad = f"; {damage.bad_frames} more were damaged" if damage.bad_frames else ""
        doubts.append(f"the stream lost {damage.lost_frames} frames and {damage.skipped_bytes} bytes on its way{bad}")
    if facts["dropped"]:
        doubts.append(
            f"{facts['dropped']} samples were dropped (ring full): counted, and possible exceedances in the bound"
        )
    if broken:
        return Outcome(INVALID, "; ".join(broken[:3]), facts | {"broken": broken, "doubts": doubts})
    undated = [lane for lane in context.accounts if lane.entry.due is None]
    if context.manifest.source.late_policy == COUNTED and (damage.cut or undated):
        text = "the stream was cut before its account: what came after is not known"
        return Outcome(WARNING, "; ".join([text, *doubts[:2]]), facts | {"cut": True, "doubts": doubts}, OPTIMISM)
    imports = context.manifest.probe_facts.imports
    if imports is not None and imports.torn_line is not None:
        text = f"the file is cut off in line {imports.torn_line}, which has no newline: that line may be torn, and more may be lost"
        return Outcome(WARNING, text, facts | {"torn_line": imports.torn_line, "doubts": doubts}, OPTIMISM)
    if doubts:
        return Outcome(WARNING, "; ".join(doubts[:3]), facts | {"doubts": doubts})
    if undated:
        return unknown("the source does not tell how many activations were due", **facts)
    return passed("due = n + missed + dropped + truncated in every lane", **facts)


def _broken(lane: Account, context: Context) -> list[str]:
    entry, found = lane.entry, []
    name = lane_words(entry.name, entry.cpu)
    held = lane.lane.histogram.total
    if held != entry.n:
        found.append(f"{name}: the histogram holds {held} samples, the account says {entry.n}")
    if entry.due is None:
        expected = expected_count(context, lane)
        if expected is not None and entry.n - expected.count > expected.slack:
            found.append(
                f"{name}: {entry.n} samples cannot come from the stated time and interval (at most {expected.count})"
            )
        return found
    parts = (entry.missed, entry.dropped, entry.truncated)
    if None not in parts and lane.accounted != entry.due:
        found.append(
            f"{name}: due {entry.due} by the clock is not n {entry.n} + missed {entry.missed} + dropped {entry.dropped}"
            f" + truncated {entry.truncated} = {lane.accounted}"
        )
    elif entry.n > entry.due:
        found.append(f"{name}: {entry.n} samples, but only {entry.due} activations were due")
    return found + _clock(lane, name)


def _clock(lane: Account, name: str) -> list[str]:
    """Check `due` against the first due time, the last due time and the closing time."""
    entry, interval = lane.entry, lane.interval_ns
    if entry.due is None or entry.first_due_ns is None or not interval:
        return []
    if entry.closed_ns is not None:
        fit = (entry.closed_ns - entry.first_due_ns) // interval + 1 if entry.closed_ns >= entry.first_due_ns else 0
        if entry.due > fit:
            return [f"{name}: {entry.due} activations do not fit between its first due time and its closing ({fit})"]
    if entry.last_due_ns is not None:
        k, rest = divmod(entry.last_due_ns - entry.first_due_ns, interval)
        if rest or k >= entry.due:
            return [f"{name}: its last due time is not one of {entry.due} activations from the first"]
    return []


def _doubts(lane: Account, context: Context) -> list[str]:
    found = []
    seconds = lane.lane.seconds
    # Of a traced run the second in which the tracing began is of neither part.
    if seconds is not None and lane.entry.untraced is None:
        for column in ("n", "missed", "dropped"):
            stated = getattr(lane.entry, column)
            held = int(np.sum(getattr(seconds, column)))
            if stated is not None and held != stated:
                found.append(
                    f"{lane_words(lane.entry.name, lane.entry.cpu)}: its seconds add up to {column} {held}, the account says {stated}"
                )
    end = context.manifest.probe_end.lane(lane.entry.index)
    for column in ("n", "missed", "dropped", "truncated", "due"):
        stated, told = getattr(lane.entry, column), getattr(end, column, None)
        if None not in (stated, told) and told != stated:
            found.append(
                f"{lane_words(lane.entry.name, lane.entry.cpu)}: its end mark says {column} {told}, the table {stated}"
            )
    # A tracer of the kernel skips for other reasons than the lane's own latency; CO-MISSED says so.
    skips = lane.entry.measure in (*TIMERS, *NO_LATENESS)
    why = due_view(lane).why_not if lane.policy == COUNTED and not skips else None
    if why is not None and why.code == UNEXPLAINED:
        found.append(f"{lane_words(lane.entry.name, lane.entry.cpu)}: {why.words}")
    return found


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %"
