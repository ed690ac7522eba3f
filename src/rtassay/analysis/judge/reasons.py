"""Why the numbers of a lane are judged as they are, in words: the only place that words the values of a LaneVerdict."""

from __future__ import annotations

from rtassay.analysis.judge.lane_verdict import HOLDS, VIOLATED, LaneVerdict
from rtassay.analysis.lane.claim import Requirement
from rtassay.model.findings import AS_FEW, AS_SEEN, SINGLE_LATE, SINGLY, UNLIKE_RUNS, Assumption, lane_words
from rtassay.model.units import format_time


def about(lane: LaneVerdict | None, requirement: Requirement) -> list[str]:
    """What was seen; then why no more is shown, and what is assumed."""
    if lane is None or lane.due == 0:
        return ["no activation was due"]
    seen = f"{lane_words(lane.name, lane.cpu)}: {lane.exceedances} of {lane.due} activations reached {format_time(requirement.deadline_ns)}"
    if lane.possible:
        seen += f", and {lane.possible} more may have"
    rows = [f"{seen}; {_bound(lane, requirement)}"]
    if lane.state not in (VIOLATED, HOLDS):
        rows.append(_lacking(lane, requirement))
    rows += [f"the bound assumes that {assumed(one)}" for one in lane.assumes]
    if lane.runs_differ:
        told = "is widened for that" if lane.basis == UNLIKE_RUNS else "is that of the worst run"
        rows.append(f"the runs differ in how many were late: the bound {told}")
    return rows


def assumed(assumption: Assumption) -> str:
    """`late activations come singly`."""
    if assumption.code in (AS_SEEN, AS_FEW):
        return "late activations come as those seen"
    if assumption.code == SINGLY:
        return "late activations come singly"
    above = format_time(assumption.facts["above_ns"])
    return f"late activations come as singly as those above {above}"


def _bound(lane: LaneVerdict, requirement: Requirement) -> str:
    percent = f"{requirement.confidence:.3g}"
    violated = lane.state == VIOLATED
    way = "least" if violated else "most"
    if requirement.per_hour is not None:
        rate = lane.rate_lower_per_h if violated else lane.rate_upper_per_h
        if rate is None:
            return f"events per hour are not known without an interval, {requirement.per_hour:g} are allowed"
        return f"at {way} {rate:.3g} events per hour at confidence {percent}, {requirement.per_hour:g} are allowed"
    p = lane.p_lower if violated else lane.p_upper
    return f"p is at {way} {p:.3g} at confidence {percent}, {requirement.p:g} is allowed"


def _lacking(lane: LaneVerdict, requirement: Requirement) -> str:
    needed = lane.needed
    if needed is None:
        return "no measurement can show that p is 0" if requirement.per_hour is None else "no measurement can show it"
    time = f", {needed.duration_s / 3600:.3g} h in all at this interval" if needed.duration_s is not None else ""
    further = " a further" if lane.exceedances else " an"
    text = f"{needed.n} activations without{further} exceedance would show it{time}"
    if lane.lacks != SINGLE_LATE:
        return text
    if lane.events:
        return f"the exceedances came in {lane.events} event{'s' if lane.events > 1 else ''}, not singly: {text}"
    return f"the largest latencies come in bursts (extremal index at least {lane.theta_lower or 0:.2g}): {text}"
