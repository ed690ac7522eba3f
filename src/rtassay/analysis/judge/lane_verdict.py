"""The judgement of one lane by its numbers alone; the checks come after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import p_upper, poisson_upper, samples_needed
from rtassay.analysis.lane.claim import Claim, Requirement, evidence
from rtassay.analysis.lane.dispersion import FEW_RUNS
from rtassay.model.findings import ACTIVATIONS, FEWER_LATE, SINGLE_LATE, THESE_RUNS, Assumption, Needed, weakest
from rtassay.model.units import NS_PER_H, NS_PER_S

VIOLATED, HOLDS, NOT_DEMONSTRATED, INVALID_MEASUREMENT = "VIOLATED", "HOLDS", "NOT DEMONSTRATED", "INVALID MEASUREMENT"
WORST_FIRST = (VIOLATED, NOT_DEMONSTRATED, HOLDS)


@dataclass(frozen=True, slots=True)
class LaneVerdict:
    """One lane's judgement, over one run or several; asdict of it is a row of Verdict.lanes. Its fields are those of Verdict."""

    name: str
    cpu: int | None
    measure: str
    state: str
    due: int
    exceedances: int
    possible: int
    events: int | None
    gap: int | None
    p_lower: float
    p_upper: float
    basis: str
    rate_upper_per_h: float | None
    rate_lower_per_h: float | None
    theta: float | None
    theta_lower: float | None
    theta_n: int | None
    theta_above_ns: int | None
    assumes: tuple[Assumption, ...]
    lacks: str | None
    needed: Needed | None
    runs_differ: bool


def judge_lane(account: Account, requirement: Requirement, lanes: int = 1) -> LaneVerdict:
    """One lane of a run with so many `lanes`: `analysis.lane.claim` has the rule."""
    return judge_runs([account], requirement, lanes)


def judge_runs(accounts: Sequence[Account], requirement: Requirement, lanes: int = 1) -> LaneVerdict:
    """One lane over several runs, an account for each."""
    claim = evidence(accounts, requirement.confidence, lanes).claim(requirement.deadline_ns)
    state = VIOLATED if claim.violates(requirement) else HOLDS if claim.holds(requirement) else NOT_DEMONSTRATED
    account, seen, trace = accounts[0], claim.seen, claim.upper.trace or claim.trace
    return LaneVerdict(
        name=account.entry.name,
        cpu=account.entry.cpu,
        measure=account.entry.measure,
        state=state,
        due=seen.due,
        exceedances=seen.certain,
        possible=seen.most - seen.certain,
        events=claim.events,
        gap=None if claim.events is None else claim.gap,
        p_lower=claim.p_lower,
        p_upper=claim.upper.p,
        basis=claim.upper.basis,
        rate_upper_per_h=claim.rate_upper_per_h,
        rate_lower_per_h=claim.rate_lower_per_h,
        theta=trace.theta if trace else None,
        theta_lower=trace.theta_lower if trace else None,
        theta_n=trace.n if trace else None,
        theta_above_ns=trace.above_ns if trace else None,
        assumes=_assumes(claim, state, len(accounts)),
        lacks=_lacks(claim, requirement, account.interval_ns) if state == NOT_DEMONSTRATED else None,
        needed=_needed(claim, requirement, account.interval_ns),
        runs_differ=claim.runs_differ,
    )


def _assumes(claim: Claim, state: str, runs: int) -> tuple[Assumption, ...]:
    """VIOLATED assumes nothing."""
    code = claim.upper.assumes
    if state == VIOLATED:
        return ()
    found = Assumption(code, asdict(claim.upper.trace) if claim.upper.trace is not None else {})
    return (found, Assumption(THESE_RUNS, {"runs": runs})) if 1 < runs < FEW_RUNS else (found,)


def _lacks(claim: Claim, requirement: Requirement, interval_ns: int | None) -> str:
    """Why the numbers do not show the requirement."""
    seen = claim.seen
    if requirement.per_hour is not None:
        hours = seen.due * (interval_ns or 0) / NS_PER_H
        return ACTIVATIONS if poisson_upper(0, requirement.confidence) > hours * requirement.per_hour else FEWER_LATE
    least = samples_needed(requirement.p, requirement.confidence)
    if least is None or seen.due < least:
        return ACTIVATIONS
    return SINGLE_LATE if p_upper(seen.most, seen.due, requirement.confidence) <= requirement.p else FEWER_LATE


def _needed(claim: Claim, requirement: Requirement, interval_ns: int | None) -> Needed | None:
    """None where no number of activations would do."""
    n = claim.needed(requirement, interval_ns)
    return None if n is None else Needed(n, n * interval_ns / NS_PER_S if interval_ns else None)


def assumed_of(lanes: Sequence[LaneVerdict], worst: LaneVerdict) -> tuple[Assumption, ...]:
    """What the answer assumes: HOLDS needs every lane, so what any of them assumes; else what the bound of the worst one does."""
    return weakest([worst.assumes, *(lane.assumes for lane in lanes)]) if worst.state == HOLDS else worst.assumes


def most_events_per_h(lanes: Sequence[LaneVerdict]) -> float | None:
    """The largest bound of events per hour of any lane, which need not be that of the worst lane: p counts sizes too. None: one is not known."""
    rates = [lane.rate_upper_per_h for lane in lanes]
    known = [rate for rate in rates if rate is not None]
    return max(known) if known and len(known) == len(rates) else None


def worst_of(lanes: Sequence[LaneVerdict], requirement: Requirement) -> LaneVerdict | None:
    """The worst state decides, then the largest bound of what the requirement asks for: p, or events per hour, where one that is not known is the largest."""

    def bound(lane: LaneVerdict) -> float:
        if requirement.per_hour is None:
            return lane.p_upper
        return math.inf if lane.rate_upper_per_h is None else lane.rate_upper_per_h

    return min(lanes, key=lambda lane: (WORST_FIRST.index(lane.state), -bound(lane), -lane.p_upper), default=None)
