"""What rtassay says about simulated data: the only module here that calls its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structures import DEADLINE_NS, Above

from data import accounts_of, lane_of, recording_of
from rtassay.analysis.judge.verdict import HOLDS, VIOLATED, Requirement, judge_deadline
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.many.repeats import Repeats, judge_repeats
from rtassay.model.findings import AS_SEEN, Assumption

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Answer:
    """A verdict in numbers. None: no claim. `conditional`: it says that it assumes more than what was late itself shows."""

    state: str
    p_upper: float | None
    rate_upper_per_h: float | None
    conditional: bool

    @property
    def holds(self) -> bool:
        return self.state == HOLDS

    @property
    def violated(self) -> bool:
        return self.state == VIOLATED


def judge_run(accounts: Sequence[Account], p: float, deadline_ns: int = DEADLINE_NS) -> Answer:
    """The verdict over the lanes of one run."""
    top = max(account.max_ns or 0 for account in accounts)
    verdict = judge_deadline(accounts, Requirement(deadline_ns, p, CONFIDENCE), (), top)
    return Answer(verdict.state, verdict.p_upper, verdict.rate_upper_per_h, _conditional(verdict.assumes))


def judge_runs(runs: Sequence[Sequence[Above]], ordered: bool, p: float, deadline_ns: int = DEADLINE_NS) -> Answer:
    """The verdict over several runs taken together. `runs`: the lanes of each."""
    found = _repeats(runs, ordered, p, deadline_ns)
    assert found.state is not None
    return Answer(found.state, found.p_upper, found.rate_upper_per_h, _conditional(found.assumes))


def _conditional(assumes: Sequence[Assumption]) -> bool:
    return any(one.code != AS_SEEN for one in assumes)


def _repeats(runs: Sequence[Sequence[Above]], ordered: bool, p: float, deadline_ns: int) -> Repeats:
    recordings = [
        recording_of([lane_of(above, i, ordered) for i, above in enumerate(lanes)], ordered, f"run-{number}")
        for number, lanes in enumerate(runs)
    ]
    return judge_repeats(recordings, (), deadline_ns=deadline_ns, p=p, confidence=CONFIDENCE)


def judge_lanes(lanes: Sequence[Above], ordered: bool, p: float) -> tuple[tuple[Account, ...], Answer]:
    """(accounts of one run, its verdict)."""
    accounts = accounts_of([lane_of(above, i, ordered) for i, above in enumerate(lanes)], ordered)
    return accounts, judge_run(accounts, p)


def star_disagrees(accounts: Sequence[Account], p: float, answer: Answer) -> str | None:
    """How D* of the lanes contradicts the verdicts; None where it agrees.

    D* must HOLD, one ns less must not, and the stated deadline holds exactly if it is not below D*.
    """
    stars = [demonstrated([account], p, CONFIDENCE).deadline_ns for account in accounts]
    if None in stars:
        return "HOLDS without D*" if answer.holds else None
    star = max(star for star in stars if star is not None)
    if not judge_run(accounts, p, star).holds:
        return "D* does not hold"
    if star > 1 and judge_run(accounts, p, star - 1).holds:
        return "holds below D*"
    if answer.holds != (star <= DEADLINE_NS):
        return "HOLDS below D*" if answer.holds else "no HOLDS above D*"
    return None


def runs_star_disagrees(runs: Sequence[Sequence[Above]], ordered: bool, p: float, answer: Answer) -> str | None:
    """The same for several runs taken together."""
    star = _repeats(runs, ordered, p, DEADLINE_NS).demonstrated_ns
    if star is None:
        return "HOLDS without D*" if answer.holds else None
    if not judge_runs(runs, ordered, p, star).holds:
        return "D* does not hold"
    if star > 1 and judge_runs(runs, ordered, p, star - 1).holds:
        return "holds below D*"
    if answer.holds != (star <= DEADLINE_NS):
        return "HOLDS below D*" if answer.holds else "no HOLDS above D*"
    return None
