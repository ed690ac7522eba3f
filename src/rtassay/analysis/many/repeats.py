"""Runs of one combination taken together: more activations than any of them has alone, judged as one.

Lanes of the same CPU (or name) and the same measure are pooled over the runs. The run stays the unit of replication for comparisons;
here only the exposure adds up (docs/method/verdict.md), and what spoils one run spoils the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rtassay.analysis.judge.lane_verdict import (
    NOT_DEMONSTRATED,
    LaneVerdict,
    assumed_of,
    judge_runs,
    most_events_per_h,
    worst_of,
)
from rtassay.analysis.judge.reasons import about
from rtassay.analysis.judge.verdict import under_checks
from rtassay.analysis.lane.claim import Requirement
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.many.lanes import by_lane
from rtassay.model.findings import SEVERITIES, Assumption, CheckResult, Needed, Reason
from rtassay.model.recording import Recording

CURED_BY_MORE = ("N-TOO-SMALL", "PERCENTILE-UNSUPPORTED")


@dataclass(frozen=True, slots=True)
class Repeats:
    """Several runs judged as one. `demonstrated_ns`: D* of the worst lane, None if the data demonstrate none or a lane has none.

    `state` and what belongs to it are None without a deadline; `lane` is the worst one. The rest is as in `Verdict`. `runs_differ`: the
    share of late activations is not the same in all runs, and the bound is that of the worst one. `look` of `looks`: the planned look
    that it is judged at; `confidence` is then that look's.
    """

    runs: int
    demonstrated_ns: int | None
    state: str | None = None
    lane: str | None = None
    due: int | None = None
    exceedances: int | None = None
    events: int | None = None
    gap: int | None = None
    p_lower: float | None = None
    p_upper: float | None = None
    basis: str | None = None
    rate_upper_per_h: float | None = None
    rate_lower_per_h: float | None = None
    theta_lower: float | None = None
    needed: Needed | None = None
    assumes: tuple[Assumption, ...] = ()
    capped_by: tuple[str, ...] = ()
    lacks: str | None = None
    runs_differ: bool = False
    reasons: tuple[Reason, ...] = ()
    confidence: float = 0.95
    look: int | None = None
    looks: int = 1


def judge_repeats(
    recordings: Sequence[Recording],
    checks: Sequence[CheckResult],
    *,
    deadline_ns: int | None,
    p: float,
    confidence: float,
    answered: Sequence[str] = (),
    strict: bool | None = None,
    per_hour: float | None = None,
) -> Repeats:
    """`checks`: those of all the runs; one that invalidates or caps a run does so to the sum. `answered`: ids of checks that other
    runs of the experiment answer (NO-LOAD of an idle combination, where loaded ones are judged too). `strict`: warnings make it
    invalid; None: as the runs were asked for, and one that was asked to be strict makes their sum so."""
    if strict is None:
        strict = any(recording.manifest.plan.strict for recording in recordings)
    lanes = by_lane(recordings)
    stars = [
        demonstrated(parts, p, confidence, per_hour=per_hour, lanes=len(lanes)).deadline_ns for parts in lanes.values()
    ]
    known = [star for star in stars if star is not None]
    star = max(known) if known and len(known) == len(stars) else None
    if deadline_ns is None or not lanes:
        return Repeats(len(recordings), star, confidence=confidence)
    requirement = Requirement(deadline_ns, p, confidence, per_hour)
    rows = {name: judge_runs(parts, requirement, len(lanes)) for name, parts in lanes.items()}
    worst = worst_of(list(rows.values()), requirement)
    assert worst is not None
    name = next(name for name, row in rows.items() if row is worst)
    deciding = _first_of_each([check for check in checks if check.id not in answered])
    state, capped_by, reasons = under_checks(worst.state, deciding, strict)
    if worst.state == NOT_DEMONSTRATED == state:
        reasons = [*about(worst, requirement), *reasons]
    found = _repeats(len(recordings), star, state, name, worst, capped_by, reasons, confidence)
    every = list(rows.values())
    return replace(found, rate_upper_per_h=most_events_per_h(every), assumes=assumed_of(every, worst))


def _repeats(
    runs: int,
    star_ns: int | None,
    state: str,
    name: str,
    worst: LaneVerdict,
    capped_by: tuple[str, ...],
    reasons: Sequence[Reason],
    confidence: float,
) -> Repeats:
    return Repeats(
        runs=runs,
        demonstrated_ns=star_ns,
        state=state,
        lane=name,
        due=worst.due,
        exceedances=worst.exceedances,
        events=worst.events,
        gap=worst.gap,
        p_lower=worst.p_lower,
        p_upper=worst.p_upper,
        basis=worst.basis,
        rate_lower_per_h=worst.rate_lower_per_h,
        theta_lower=worst.theta_lower,
        needed=worst.needed,
        capped_by=capped_by,
        lacks=worst.lacks,
        runs_differ=worst.runs_differ,
        reasons=tuple(reasons),
        confidence=confidence,
    )


def _first_of_each(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """The worst result of every check, but those of one run's length: together the runs are as long as they are.

    What was waived in one run is kept apart: it does not excuse the run in which it was not.
    """
    found: dict[tuple[str, str | None], CheckResult] = {}
    for check in checks:
        known = found.get((check.id, check.waived))
        if known is None or SEVERITIES.index(check.severity) < SEVERITIES.index(known.severity):
            found[check.id, check.waived] = check
    return [check for check in found.values() if check.id not in CURED_BY_MORE]
