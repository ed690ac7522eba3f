"""Does the histogram hold every sample, as far as its tool reports?"""

from __future__ import annotations

from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    OPTIMISM,
    RECORDED,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context, named
from rtassay.analysis.lane.account import Account
from rtassay.model.units import format_time


@check(
    id="HIST-TRUNCATED",
    condition="samples lie above the last bin, or the maximum does",
    kind=OPTIMISM,
    severity=WARNING,
    required=True,
    explanation="The size of samples in overflow is not known: quantiles that reach there are lower bounds. With a deadline at or above the "
    "last bin exceedances cannot be counted, and the check is invalid.",
    remedy="Measure with a higher histogram limit (cyclictest -h), or with rtprobe, which has none.",
    proof=RECORDED,
)
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
        imports = context.manifest.probe_facts.imports
        if imports is not None and imports.kind == "summary":
            text = f"only minimum, average and maximum of {over} samples were kept"
        if context.deadline_ns is not None and any(_uncountable(lane, context.deadline_ns) for lane in lanes):
            return Outcome(INVALID, f"{text}, and the deadline does too: exceedances cannot be counted", facts)
        return Outcome(WARNING, f"{text}: quantiles that reach there are lower bounds", facts)
    if any(lane.stripped for lane in context.accounts):
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


@check(
    id="TRAILER-STRIPPED",
    condition="an imported histogram has no Total, Max and Overflow lines",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Without them it is not known whether samples lay above the last bin; HIST-TRUNCATED stays unknown.",
    remedy="Import the original output of the tool.",
    proof=RECORDED,
)
def trailer_stripped(context: Context) -> Outcome:
    """An imported histogram without its closing lines."""
    if not context.accounts:
        return unknown("no lane")
    lanes = [lane for lane in context.accounts if lane.stripped]
    if lanes:
        return Outcome(WARNING, f"{named(lanes)}: no Total, Max and Overflow lines; ask for the original file")
    return passed("the source tells its totals")
