"""Why a lane is judged as it is, as values; `reports.recording.reasons` has the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rtassay.analysis.judge.lane_verdict import HOLDS, VIOLATED, LaneVerdict
from rtassay.analysis.lane.claim import Requirement
from rtassay.model.findings import (
    ASSUMED,
    LATE_SEEN,
    MORE_NEEDED,
    NEVER_SHOWN,
    NO_ACTIVATION,
    RUNS_DIFFER,
    Assumption,
    Reason,
)


def about(
    lane: LaneVerdict | None, requirement: Requirement, assumes: Sequence[Assumption] | None = None
) -> list[Reason]:
    """What was seen; then why no more is shown, and what is assumed: by the lane's bound, or by the answer over all lanes (`assumes`)."""
    if lane is None or lane.due == 0:
        return [Reason(NO_ACTIVATION)]
    rows = [Reason(LATE_SEEN, _seen(lane, requirement))]
    if lane.state not in (VIOLATED, HOLDS):
        rows.append(_lacking(lane, requirement))
    rows += [
        Reason(ASSUMED, {"assumption": one.code, **one.facts}) for one in (lane.assumes if assumes is None else assumes)
    ]
    if lane.runs_differ:
        rows.append(Reason(RUNS_DIFFER, {"basis": lane.basis}))
    return rows


def _seen(lane: LaneVerdict, requirement: Requirement) -> dict[str, Any]:
    """`bound`: the lower one if violated, else the upper one; of p, or of the events per hour if those are asked for."""
    violated, rate = lane.state == VIOLATED, requirement.per_hour is not None
    lower, upper = (lane.rate_lower_per_h, lane.rate_upper_per_h) if rate else (lane.p_lower, lane.p_upper)
    return {
        "lane": lane.name,
        "cpu": lane.cpu,
        "exceedances": lane.exceedances,
        "possible": lane.possible,
        "due": lane.due,
        "deadline_ns": requirement.deadline_ns,
        "bound": lower if violated else upper,
        "bound_is": "lower" if violated else "upper",
        "allowed": requirement.per_hour if rate else requirement.p,
        "of": "events_per_h" if rate else "p",
        "confidence": requirement.confidence,
    }


def _lacking(lane: LaneVerdict, requirement: Requirement) -> Reason:
    of = "p" if requirement.per_hour is None else "events_per_h"
    if lane.needed is None:
        return Reason(NEVER_SHOWN, {"of": of})
    facts = {
        "exceedances": lane.exceedances,
        "lacks": lane.lacks,
        "events": lane.events,
        "theta_lower": lane.theta_lower,
    }
    return Reason(MORE_NEEDED, {**asdict(lane.needed), **facts})
