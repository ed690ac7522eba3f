"""The verdict in four states: that of the worst lane, as far as the checks allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rtassay.analysis.checks import REQUIRED
from rtassay.analysis.checks.base import INTEGRITY, INVALID, OPTIMISM, UNKNOWN, WARNING
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import p_lower, p_upper, samples_needed
from rtassay.analysis.lane.events import event_p_upper, events, rate_upper_per_h
from rtassay.analysis.lane.exceedance import Exceedances, exceedances
from rtassay.model.findings import CheckResult, Needed, Verdict, lane_words
from rtassay.model.units import NS_PER_S, format_time

VIOLATED, HOLDS, NOT_DEMONSTRATED, INVALID_MEASUREMENT = "VIOLATED", "HOLDS", "NOT DEMONSTRATED", "INVALID MEASUREMENT"
KEEP_THEIR_ANSWER = ("N-TOO-SMALL",)
"""Checks that answer NOT DEMONSTRATED with the missing hours, also under --strict (docs/method/verdict.md)."""
_WORST_FIRST = (VIOLATED, NOT_DEMONSTRATED, HOLDS)


@dataclass(frozen=True, slots=True)
class Requirement:
    """P(an activation is not done strictly before `deadline_ns`) <= `p`, to be shown at `confidence`."""

    deadline_ns: int
    p: float
    confidence: float


@dataclass(frozen=True, slots=True)
class LaneVerdict:
    """One lane's judgement; asdict of it is a row of Verdict.lanes."""

    name: str
    cpu: int | None
    measure: str
    state: str
    due: int
    exceedances: int
    possible: int
    events: int | None
    p_lower: float
    p_upper: float
    p_upper_by_events: float | None
    rate_upper_per_h: float | None


def judge_lane(account: Account, requirement: Requirement) -> LaneVerdict:
    """VIOLATED iff p_lower > p, or p = 0 and an exceedance. HOLDS iff p_upper <= p and, with exceedances, the bound on events <= p too."""
    seen = exceedances(account, requirement.deadline_ns)
    low = p_lower(seen.certain, seen.due, requirement.confidence)
    high = p_upper(seen.most, seen.due, requirement.confidence)
    clusters = events(account, requirement.deadline_ns, seen)
    by_events = event_p_upper(seen, clusters, requirement.confidence) if clusters else None
    return LaneVerdict(
        name=account.entry.name,
        cpu=account.entry.cpu,
        measure=account.entry.measure,
        state=_state(seen, low, high, by_events, requirement),
        due=seen.due,
        exceedances=seen.certain,
        possible=seen.most - seen.certain,
        events=clusters,
        p_lower=low,
        p_upper=high,
        p_upper_by_events=by_events,
        rate_upper_per_h=rate_upper_per_h(account, seen, clusters, requirement.confidence),
    )


def _state(seen: Exceedances, low: float, high: float, by_events: float | None, requirement: Requirement) -> str:
    if low > requirement.p or (requirement.p == 0 and seen.certain > 0):
        return VIOLATED
    shown = high <= requirement.p and seen.due > 0
    if seen.certain:
        shown = shown and by_events is not None and by_events <= requirement.p
    return HOLDS if shown else NOT_DEMONSTRATED


def judge_deadline(
    accounts: Sequence[Account],
    requirement: Requirement,
    checks: Sequence[CheckResult],
    max_ns: int | None,
    strict: bool = False,
) -> Verdict:
    """The whole verdict except its sentence. Without lanes it is NOT DEMONSTRATED."""
    lanes = [judge_lane(account, requirement) for account in accounts]
    worst = min(lanes, key=lambda lane: (_WORST_FIRST.index(lane.state), -lane.p_upper)) if lanes else None
    base = worst.state if worst is not None else NOT_DEMONSTRATED
    state, reasons = _under_checks(base, checks, strict)
    needed = _needed(accounts, lanes, worst, requirement)
    factor = requirement.deadline_ns / max_ns if max_ns else None
    exposure, *own_reasons = _about(worst, requirement, needed)
    reasons = [exposure, *own_reasons, *reasons]
    if factor is not None:
        reasons.append(
            f"safety factor deadline / maximum = {factor:.3g}; it decides nothing, since it falls as a run gets longer"
        )
    return Verdict(
        state=state,
        lane=worst.name if worst else None,
        deadline_ns=requirement.deadline_ns,
        p_target=requirement.p,
        confidence=requirement.confidence,
        due=worst.due if worst else None,
        exceedances=worst.exceedances if worst else None,
        events=worst.events if worst else None,
        p_lower=worst.p_lower if worst else None,
        p_upper=worst.p_upper if worst else None,
        rate_upper_per_h=worst.rate_upper_per_h if worst else None,
        needed=needed,
        reasons=tuple(reasons),
        own_reasons=tuple(own_reasons),
        safety_factor=factor,
        lanes=tuple(_row(lane) for lane in lanes),
        capped_by=tuple(c.id for c in too_good(checks))
        + tuple(c.id for c in checks if c.severity == UNKNOWN and c.id in REQUIRED and c.waived is None),
    )


def _row(lane: LaneVerdict) -> dict[str, Any]:
    return asdict(lane)


def invalidating(checks: Sequence[CheckResult], strict: bool) -> list[CheckResult]:
    """Checks that make the measurement invalid: integrity checks that are invalid or, if strict, warn."""
    grave = (INVALID, WARNING) if strict else (INVALID,)
    return [check for check in checks if check.kind == INTEGRITY and check.severity in grave and check.waived is None]


def too_good(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Optimism checks that fired: the numbers may be better than the truth."""
    return [c for c in checks if c.kind == OPTIMISM and c.severity in (WARNING, INVALID) and c.waived is None]


def unusable(checks: Sequence[CheckResult], strict: bool) -> bool:
    """Whether a run without a requirement is an invalid measurement (exit 5)."""
    optimistic = [check for check in too_good(checks) if check.id not in KEEP_THEIR_ANSWER] if strict else []
    return bool(invalidating(checks, strict) or optimistic)


def _under_checks(base: str, checks: Sequence[CheckResult], strict: bool = False) -> tuple[str, list[str]]:
    """INVALID before VIOLATED before NOT DEMONSTRATED before HOLDS, with the checks that decided or qualify it.

    Strict: an optimism check makes it invalid too, but still never hides VIOLATED; checks in KEEP_THEIR_ANSWER only cap it.
    """
    invalid, caps = invalidating(checks, strict), too_good(checks)
    if strict and base != VIOLATED:
        invalid += [check for check in caps if check.id not in KEEP_THEIR_ANSWER]
        caps = [check for check in caps if check.id in KEEP_THEIR_ANSWER]
    caps += [c for c in checks if c.severity == UNKNOWN and c.id in REQUIRED and c.waived is None]
    told = {check.id for check in (*invalid, *caps)}
    qualify = [
        c for c in checks if c.kind == INTEGRITY and c.severity == WARNING and c.waived is None and c.id not in told
    ]
    state = base
    if invalid:
        state = INVALID_MEASUREMENT
    elif caps and base == HOLDS:
        state = NOT_DEMONSTRATED
    reasons = [f"{check.id}: {check.message}" for check in (*invalid, *caps, *qualify)]
    if strict and any(check.severity == WARNING for check in invalid):
        reasons.append("--strict: a warning is enough to make the measurement invalid")
    return state, reasons + [
        f"{check.id}: waived because {check.waived}" for check in checks if check.waived is not None and decides(check)
    ]


def decides(check: CheckResult) -> bool:
    """Whether the check would decide if it were not waived."""
    return check.severity in (WARNING, INVALID) or (check.severity == UNKNOWN and check.id in REQUIRED)


def _needed(
    accounts: Sequence[Account], lanes: Sequence[LaneVerdict], worst: LaneVerdict | None, requirement: Requirement
) -> Needed | None:
    """Activations, and time at the lane's interval, needed to show p with the exceedances seen so far; None for p = 0."""
    k = worst.exceedances + worst.possible if worst is not None else 0
    n = samples_needed(requirement.p, requirement.confidence, k)
    if n is None:
        return None
    interval = accounts[lanes.index(worst)].interval_ns if worst is not None else None
    return Needed(n, n * interval / NS_PER_S if interval else None)


def _about(lane: LaneVerdict | None, requirement: Requirement, needed: Needed | None) -> list[str]:
    """Why the worst lane is judged as it is."""
    if lane is None or lane.due == 0:
        return ["no activation was due"]
    limit, percent = format_time(requirement.deadline_ns), f"{requirement.confidence:.3g}"
    seen = f"{lane_words(lane.name, lane.cpu)}: {lane.exceedances} of {lane.due} activations reached {limit}"
    if lane.possible:
        seen += f", and {lane.possible} more may have"
    if lane.state == VIOLATED:
        return [f"{seen}; p is at least {lane.p_lower:.3g} at confidence {percent}, {requirement.p:g} is allowed"]
    reasons = [f"{seen}; p is at most {lane.p_upper:.3g} at confidence {percent}, {requirement.p:g} is allowed"]
    if lane.state == HOLDS:
        return reasons
    if lane.p_upper > requirement.p:
        reasons.append(_missing(lane, needed))
    elif lane.events is None:
        reasons.append("the order of the exceedances is not known, so they cannot be bounded as events")
    elif lane.p_upper_by_events is not None:
        reasons.append(f"{lane.events} events of several exceedances each only bound p by {lane.p_upper_by_events:.3g}")
    return reasons


def _missing(lane: LaneVerdict, needed: Needed | None) -> str:
    if needed is None:
        return "no measurement can show that p is 0"
    time = f", {needed.duration_s / 3600:.3g} h in all at this interval" if needed.duration_s is not None else ""
    further = " further" if lane.exceedances else ""
    return f"{needed.n} activations without{' a' + further if further else ' an'} exceedance would show it{time}"
