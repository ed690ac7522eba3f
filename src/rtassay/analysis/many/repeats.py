"""Runs of one combination taken together: more activations than any of them has alone, judged as one.

Lanes of the same CPU (or name) and the same measure are pooled over the runs. The run stays the unit of replication for comparisons;
here only the exposure adds up (docs/method/verdict.md), and what spoils one run spoils the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.analysis.judge.verdict import _WORST_FIRST as WORST_FIRST
from rtassay.analysis.judge.verdict import NOT_DEMONSTRATED, Requirement, _state, _under_checks
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import p_lower, p_upper
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.lane.events import event_p_upper, events
from rtassay.analysis.lane.exceedance import exceedances, total
from rtassay.analysis.many.lanes import by_lane
from rtassay.model.findings import SEVERITIES, CheckResult
from rtassay.model.recording import Recording

CURED_BY_MORE = ("N-TOO-SMALL", "PERCENTILE-UNSUPPORTED")


@dataclass(frozen=True, slots=True)
class Repeats:
    """Several runs judged as one. `demonstrated_ns`: D* of the worst lane, None if the data demonstrate none or a lane has none.

    `state` and what belongs to it are None without a deadline; `lane` is the worst one.
    """

    runs: int
    demonstrated_ns: int | None
    state: str | None = None
    lane: str | None = None
    due: int | None = None
    exceedances: int | None = None
    p_lower: float | None = None
    p_upper: float | None = None
    reasons: tuple[str, ...] = ()


def judge_repeats(
    recordings: Sequence[Recording],
    checks: Sequence[CheckResult],
    *,
    deadline_ns: int | None,
    p: float,
    confidence: float,
    answered: Sequence[str] = (),
    strict: bool | None = None,
) -> Repeats:
    """`checks`: those of all the runs; one that invalidates or caps a run does so to the sum. `answered`: ids of checks that other
    runs of the experiment answer (NO-LOAD of an idle combination, where loaded ones are judged too). `strict`: warnings make it
    invalid; None: as the runs were asked for, and one that was asked to be strict makes their sum so."""
    if strict is None:
        strict = any(recording.manifest.plan.strict for recording in recordings)
    lanes = by_lane(recordings)
    stars = [demonstrated(parts, p, confidence).deadline_ns for parts in lanes.values()]
    known = [star for star in stars if star is not None]
    star = max(known) if known and len(known) == len(stars) else None
    if deadline_ns is None or not lanes:
        return Repeats(len(recordings), star)
    requirement = Requirement(deadline_ns, p, confidence)
    rows = [_judge(name, parts, requirement) for name, parts in lanes.items()]
    state, name, due, seen, low, high = min(rows, key=lambda row: (WORST_FIRST.index(row[0]), -row[5]))
    final, reasons = _under_checks(
        state, _first_of_each([check for check in checks if check.id not in answered]), strict
    )
    if state == NOT_DEMONSTRATED and final == state:
        reasons.insert(0, f"{name}: {seen} of {due} activations; p is at most {high:.3g}, {p:g} is allowed")
    return Repeats(len(recordings), star, final, name, due, seen, low, high, tuple(dict.fromkeys(reasons)))


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


def _judge(name: str, parts: list[Account], requirement: Requirement) -> tuple[str, str, int, int, float, float]:
    seen = [exceedances(part, requirement.deadline_ns) for part in parts]
    summed = total(seen)
    low = p_lower(summed.certain, summed.due, requirement.confidence)
    high = p_upper(summed.most, summed.due, requirement.confidence)
    counts = [events(part, requirement.deadline_ns, one) for part, one in zip(parts, seen, strict=True)]
    clusters = None if None in counts else sum(count or 0 for count in counts)
    by_events = event_p_upper(summed, clusters, requirement.confidence) if clusters else None
    state = _state(summed, low, high, by_events, requirement)
    return state, name, summed.due, summed.certain, low, high
