"""The verdict in four states: that of the worst lane, as far as the checks allow it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from rtassay.analysis.checks import REQUIRED
from rtassay.analysis.checks.base import ASSUMPTION, INTEGRITY, INVALID, OPTIMISM, UNKNOWN, WARNING
from rtassay.analysis.judge.lane_verdict import (
    HOLDS,
    INVALID_MEASUREMENT,
    NOT_DEMONSTRATED,
    VIOLATED,
    assumed_of,
    judge_lane,
    most_events_per_h,
    worst_of,
)
from rtassay.analysis.judge.reasons import about
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import samples_needed
from rtassay.analysis.lane.claim import Requirement
from rtassay.model.findings import CHECK, SAFETY_FACTOR, STRICT, WAIVED, CheckResult, Needed, Reason, Verdict

KEEP_THEIR_ANSWER = ("N-TOO-SMALL",)
"""Checks that answer NOT DEMONSTRATED with the missing hours, also under --strict (docs/method/verdict.md)."""


def judge_deadline(
    accounts: Sequence[Account],
    requirement: Requirement,
    checks: Sequence[CheckResult],
    max_ns: int | None,
    strict: bool = False,
) -> Verdict:
    """The whole verdict except its sentence. Without lanes it is NOT DEMONSTRATED."""
    lanes = [judge_lane(account, requirement, len(accounts)) for account in accounts]
    worst = worst_of(lanes, requirement)
    state, capped_by, reasons = under_checks(worst.state if worst else NOT_DEMONSTRATED, checks, strict)
    factor = requirement.deadline_ns / max_ns if max_ns else None
    assumes = assumed_of(lanes, worst) if worst else ()
    reasons = [*about(worst, requirement, assumes), *reasons]
    if factor is not None:
        reasons.append(Reason(SAFETY_FACTOR, {"factor": factor}))
    return Verdict(
        state=state,
        lane=worst.name if worst else None,
        deadline_ns=requirement.deadline_ns,
        p_target=requirement.p,
        per_hour=requirement.per_hour,
        confidence=requirement.confidence,
        due=worst.due if worst else None,
        exceedances=worst.exceedances if worst else None,
        events=worst.events if worst else None,
        p_lower=worst.p_lower if worst else None,
        p_upper=worst.p_upper if worst else None,
        rate_upper_per_h=most_events_per_h(lanes),
        rate_lower_per_h=worst.rate_lower_per_h if worst else None,
        needed=worst.needed if worst else _of_a_clean_run(requirement),
        reasons=tuple(reasons),
        safety_factor=factor,
        lanes=tuple({**asdict(lane), "assumes": [asdict(one) for one in lane.assumes]} for lane in lanes),
        assumes=assumes,
        basis=worst.basis if worst else None,
        gap=worst.gap if worst else None,
        theta=worst.theta if worst else None,
        theta_lower=worst.theta_lower if worst else None,
        theta_n=worst.theta_n if worst else None,
        theta_above_ns=worst.theta_above_ns if worst else None,
        capped_by=capped_by,
        lacks=worst.lacks if worst else None,
    )


def _of_a_clean_run(requirement: Requirement) -> Needed | None:
    n = samples_needed(requirement.p, requirement.confidence) if requirement.per_hour is None else None
    return None if n is None else Needed(n, None)


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


def under_checks(
    base: str, checks: Sequence[CheckResult], strict: bool = False
) -> tuple[str, tuple[str, ...], list[Reason]]:
    """(state, ids of the checks that forbid a better one, reasons): INVALID before VIOLATED before NOT DEMONSTRATED before HOLDS.

    Strict: an optimism check makes it invalid too, but still never hides VIOLATED; checks in KEEP_THEIR_ANSWER and assumptions only cap it.
    """
    invalid, caps = invalidating(checks, strict), too_good(checks)
    if strict and base != VIOLATED:
        invalid += [check for check in caps if check.id not in KEEP_THEIR_ANSWER]
        caps = [check for check in caps if check.id in KEEP_THEIR_ANSWER]
    if strict:
        caps += [c for c in checks if c.kind == ASSUMPTION and c.severity in (WARNING, INVALID) and c.waived is None]
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
    reasons = [Reason(CHECK, {"id": check.id, "message": check.message}) for check in (*invalid, *caps, *qualify)]
    if strict and any(check.severity == WARNING for check in invalid):
        reasons.append(Reason(STRICT))
    reasons += [
        Reason(WAIVED, {"id": check.id, "because": check.waived})
        for check in checks
        if check.waived is not None and decides(check)
    ]
    deciding = invalid if invalid else caps if state == NOT_DEMONSTRATED else []
    return state, tuple(dict.fromkeys(check.id for check in deciding)), reasons


def decides(check: CheckResult) -> bool:
    """Whether the check would decide if it were not waived."""
    return check.severity in (WARNING, INVALID) or (check.severity == UNKNOWN and check.id in REQUIRED)
