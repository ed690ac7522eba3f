"""Is every activation accounted for, and is what measured them to be trusted?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    NOTE,
    OPTIMISM,
    UNKNOWN,
    WARNING,
    Context,
    Outcome,
    named,
    passed,
    unknown,
)
from rtassay.analysis.lane.account import COUNTED, SKIP, Account
from rtassay.analysis.lane.measures import imported
from rtassay.analysis.lane.missed import due_view
from rtassay.model import warnings
from rtassay.model.findings import lane_words
from rtassay.model.units import NS_PER_MS, NS_PER_S, format_time

SHARE_OF_COUNT = 1e-3
START_AND_STOP_NS = 200 * NS_PER_MS


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
    reasons = {name: why for name, why in views.items() if why}
    text = f"{total} of {due} activations ({_percent(total, due)}) were due while their lane was still late"
    if reasons:
        facts["not_reconstructed"] = reasons
        first = next(iter(reasons.items()))
        return Outcome(
            WARNING, f"{text}; their lateness cannot be reconstructed ({first[0]}: {first[1]})", facts, INTEGRITY
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
        which = late or [lane for lane, _ in short]
        estimates = [due_view(lane).missed for lane in context.accounts]
        known = [count for count in estimates if count is not None]
        facts["absent"] = sum(lost for _, lost in short) if short else None
        facts["estimate"] = sum(known) if policy == SKIP and len(known) == len(estimates) else None
        about = f"about {facts['estimate']}" if facts["estimate"] else "an unknown number of"
        seen = "the view per due activation is an estimate" if facts["estimate"] else "no correction is possible"
        text = f"{named(which)}: later than the interval, and {about} activations were skipped without a count; {seen}"
        return Outcome(INVALID, text, facts, OPTIMISM)
    blind = [lane for lane in context.accounts if not lane.interval_ns or lane.max_ns is None or _stripped(lane)]
    if blind:
        return Outcome(
            UNKNOWN,
            f"{named(blind)}: interval or maximum is not known, so skipped activations cannot be excluded",
            facts,
        )
    return passed("no sample is later than the interval, so no activation can have been skipped", **facts)


def _late(lane: Account) -> bool:
    top = lane.max_ns if lane.max_ns is not None else lane.limit_ns if lane.over else None
    return bool(lane.interval_ns) and top is not None and top >= (lane.interval_ns or 0)


def _absent(context: Context, lane: Account) -> int:
    """Activations the clock says were due and no sample shows; 0 where the difference is start and end of the run."""
    n = lane.entry.n
    if lane.entry.due is not None:
        lost = lane.entry.due - n - lane.dropped - lane.truncated
        return lost if lost > max(2, 1e-6 * n) else 0
    expected = expected_count(context, lane)
    return expected.count - n if expected is not None and expected.count - n > expected.slack else 0


@dataclass(frozen=True, slots=True)
class Expected:
    """floor(T / I), and by how much starting and stopping may change it."""

    count: int
    slack: float


def expected_count(context: Context, lane: Account) -> Expected | None:
    """For a source without a clock of its own. None where T or I is not known, or something else than T ended the run."""
    plan = context.manifest.plan
    if not lane.interval_ns or plan.count is not None or context.manifest.end_reason not in (None, "duration"):
        return None
    window = context.window_ns
    duration_ns = plan.duration_ns or (window[1] - window[0] if window is not None else None)
    if not duration_ns:
        return None
    count = duration_ns // lane.interval_ns
    return Expected(count, max(2.0, SHARE_OF_COUNT * count, START_AND_STOP_NS / lane.interval_ns))


def count_mismatch(context: Context) -> Outcome:
    """due = n + missed + dropped + truncated per lane, and every other place that counts agrees."""
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
        doubts.append(f"the stream lost {damage.lost_frames} frames and {damage.skipped_bytes} bytes on its way")
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
    """`due` against the times it is made from."""
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
    if seconds is not None:
        for column in ("n", "missed", "dropped"):
            stated = getattr(lane.entry, column)
            held = int(np.sum(getattr(seconds, column)))
            if stated is not None and held != stated:
                found.append(
                    f"{lane_words(lane.entry.name, lane.entry.cpu)}: its seconds add up to {column} {held}, the account says {stated}"
                )
    for row in context.manifest.end.get("lanes") or ():
        if isinstance(row, dict) and row.get("lane") == lane.entry.index:
            for column in ("n", "missed", "dropped", "truncated", "due"):
                stated = getattr(lane.entry, column)
                if row.get(column) is not None and stated is not None and row[column] != stated:
                    found.append(
                        f"{lane_words(lane.entry.name, lane.entry.cpu)}: its end mark says {column} {row[column]}, the table {stated}"
                    )
    if lane.policy == COUNTED and (why := due_view(lane).why_not) and "explains" in why:
        found.append(f"{lane_words(lane.entry.name, lane.entry.cpu)}: {why}")
    return found


def _stripped(lane: Account) -> bool:
    """A binned source whose totals, maximum and overflow lines are gone. Sources that keep every sample have none to lose."""
    return lane.over_told is None


def hist_truncated(context: Context) -> Outcome:
    """Samples above the last bin."""
    if not context.accounts:
        return unknown("no lane")
    lanes = [lane for lane in context.accounts if lane.over or _beyond(lane)]
    if lanes:
        over = sum(lane.over for lane in lanes)
        limit = min(lane.limit_ns for lane in lanes)
        facts = {"over": over, "limit_ns": limit, "lanes": [lane.entry.name for lane in lanes]}
        text = (
            f"{named(lanes)}: {over or 'some'} samples lie above the histogram's last bin, {format_time(limit)} or more"
        )
        if imported(context.manifest).get("kind") == "summary":
            text = f"only minimum, average and maximum of {over} samples were kept"
        if context.deadline_ns is not None and any(_uncountable(lane, context.deadline_ns) for lane in lanes):
            return Outcome(INVALID, f"{text}, and the deadline does too: exceedances cannot be counted", facts)
        return Outcome(WARNING, f"{text}: quantiles that reach there are lower bounds", facts)
    if any(_stripped(lane) for lane in context.accounts):
        return unknown("the totals were stripped from the file, so samples above the last bin cannot be excluded")
    return passed("every sample is in a bin")


def _uncountable(lane: Account, deadline_ns: int) -> bool:
    """Whether samples above the last bin may have met the deadline or not. A maximum below it leaves no doubt."""
    top = lane.max_ns
    return deadline_ns >= lane.limit_ns and (top is None or top + lane.bin_width_ns > deadline_ns)


def _beyond(lane: Account) -> bool:
    top = lane.entry.max_ns
    if top is None or not lane.lower.size or lane.dropped:
        return False
    return top >= int(lane.top.max())


def trailer_stripped(context: Context) -> Outcome:
    """An imported histogram without its closing lines."""
    if not context.accounts:
        return unknown("no lane")
    lanes = [lane for lane in context.accounts if _stripped(lane)]
    if lanes:
        return Outcome(WARNING, f"{named(lanes)}: no Total, Max and Overflow lines; ask for the original file")
    return passed("the source tells its totals")


def observer_load(context: Context) -> Outcome:
    """What recording cost the CPUs that were measured."""
    writer = context.manifest.end.get("writer")
    by_cpu = writer.get("cpu_ns_by_cpu") if isinstance(writer, dict) else None
    duration_s = context.duration_s
    if not isinstance(by_cpu, dict) or not duration_s:
        return unknown("the recorder's CPU time is not known")
    shares = {int(cpu): float(ns) / (duration_s * NS_PER_S) for cpu, ns in by_cpu.items()}
    on_measured = {cpu: share for cpu, share in shares.items() if cpu in context.measured_cpus and share > 0.01}
    facts = {"share_by_cpu": {str(cpu): round(share, 6) for cpu, share in sorted(shares.items())}}
    if not on_measured:
        return passed("the recorder used at most 1 % of any measured CPU", **facts)
    cpu = max(on_measured, key=lambda cpu: on_measured[cpu])
    text = f"the recorder used {on_measured[cpu]:.1%} of measured CPU {cpu}"
    if recorder_above_lanes(context):
        return Outcome(WARNING, f"{text} at a priority not below the lanes': it may have delayed them", facts)
    return Outcome(NOTE, f"{text}, below the lanes' priority", facts)


def recorder_above_lanes(context: Context) -> bool:
    """Whether the recorder runs at a real-time priority that a lane does not preempt."""
    writer = context.manifest.facts.get("writer")
    if not isinstance(writer, dict) or writer.get("policy") not in ("fifo", "rr"):
        return False
    priorities = [
        lane.entry.obtained_start.priority
        for lane in context.accounts
        if lane.entry.obtained_start is not None and lane.entry.obtained_start.priority is not None
    ]
    return bool(priorities) and int(writer.get("priority") or 0) >= min(priorities)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %" if whole else "-"
