"""Did the run come to its planned end?"""

from __future__ import annotations

from typing import Any

from rtassay.analysis.checks.base import OPTIMISM, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.checks.context import Context
from rtassay.analysis.checks.counts import SHARE_OF_COUNT, START_AND_STOP_NS
from rtassay.analysis.lane.account import Account
from rtassay.model.findings import lane_words
from rtassay.model.manifest import PLANNED_ENDS, Plan

_WORDS = {
    "signal": "a signal",
    "owner": "its guard, because its owner was gone",
    "error": "an error",
    "cut": "the loss of its stream",
    "gone": "the end of the program that was followed",
}


@check(
    id="ENDED-EARLY",
    condition="the run was ended by something else than its duration, its count or a hit of --break-above; or fewer activations were "
    "due in a lane than its duration or count asks for (less 0.1 % and 200 ms for start and stop)",
    kind=OPTIMISM,
    severity=WARNING,
    explanation="Who ended the run may have ended it because of what would have been measured next: a person who saw a good number, a "
    "watchdog, the kernel when memory ran out, a crash. What came before is measured; that the deadline holds is not shown by it.",
    remedy="Run again to the planned end. If you stopped it yourself, for a reason that has nothing to do with the numbers, waive the check.",
    proof=SYNTHETIC,
)
def ended_early(context: Context) -> Outcome:
    """A run that did not come to its planned end."""
    reason, plan = context.manifest.end_reason, context.manifest.plan
    planned = {lane.entry.index: count for lane in context.accounts if (count := _planned(plan, lane)) is not None}
    traced = {lane.entry.index: lane.entry.due or 0 for lane in context.recording.traced}
    due = {lane.entry.index: (lane.entry.due or 0) + traced.get(lane.entry.index, 0) for lane in context.accounts}
    short = [
        lane
        for lane in context.accounts
        if lane.entry.index in planned and _is_short(due[lane.entry.index], lane, planned[lane.entry.index])
    ]
    if context.manifest.look is not None:
        return passed(
            f"the run ended at planned look {context.manifest.look} of {plan.looks}", look=context.manifest.look
        )
    facts: dict[str, Any] = {"end_reason": reason}
    if short:
        worst = min(short, key=lambda lane: due[lane.entry.index] / planned[lane.entry.index])
        facts |= {"due": due[worst.entry.index], "planned": planned[worst.entry.index]}
        share = f"{lane_words(worst.entry.name, worst.entry.cpu)}: {facts['due']} of {facts['planned']} planned activations were due"
    else:
        share = "about as many activations were due as planned"
    if reason is not None and reason not in PLANNED_ENDS:
        return Outcome(
            WARNING, f"the run was ended by {_WORDS.get(reason, 'something unknown')}, not by its plan; {share}", facts
        )
    if short and reason != "break":
        return Outcome(WARNING, f"the run was shorter than planned; {share}", facts)
    if reason is None and not planned:
        return unknown("the source does not state how long the run was to be, nor how it ended")
    return passed("the run came to its planned end", **facts)


def _planned(plan: Plan, lane: Account) -> int | None:
    """Activations that the plan asks for; None if it does not say, or if those that were due are not known."""
    if lane.entry.due is None or not lane.interval_ns:
        return None
    by_time = None if plan.duration_ns is None else plan.duration_ns // lane.interval_ns
    return min((count for count in (by_time, plan.count) if count is not None), default=None)


def _is_short(due: int, lane: Account, planned: int) -> bool:
    """`due`: of the whole run, a traced part included."""
    slack = max(2.0, SHARE_OF_COUNT * planned, START_AND_STOP_NS / (lane.interval_ns or 1))
    return due < planned - slack
