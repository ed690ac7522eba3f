"""Are the numbers wake-up latencies at all?"""

from __future__ import annotations

from rtassay.analysis.checks.base import INTEGRITY, INVALID, NOTE, OPTIMISM, WARNING, Context, Outcome, passed, unknown
from rtassay.analysis.lane.measures import WAKE_UP, measure_of, pooled_measure

_APART = ("irq", "thread", "user")
_WORDS = {"noise": "time taken from a busy thread", "stall": "gaps in a busy loop"}


def mixed_measures(context: Context) -> Outcome:
    """A histogram that adds up several quantities, or one that is not wake-up latency."""
    lanes = {lane.entry.name: measure_of(context.manifest, lane.entry.name) for lane in context.accounts}
    if not lanes:
        return unknown("no lane")
    kinds = set(lanes.values())
    facts = {"measures": sorted(kinds)}
    if "mixture" in kinds:
        text = "IRQ, thread and user latencies were added into one histogram by the tool: its probabilities and quantiles are of no one quantity"
        return Outcome(INVALID, text, facts, OPTIMISM)
    other = sorted(kinds - {WAKE_UP, *_APART})
    if other:
        words = ", ".join(_WORDS.get(kind, kind) for kind in other)
        return Outcome(
            WARNING,
            f"the numbers are {words}, not wake-up latency: a deadline on wake-up latency cannot be shown with them",
            facts,
            OPTIMISM,
        )
    if len(kinds) > 1:
        text = f"lanes of {', '.join(sorted(kinds))} latency stand side by side; 'all' is that of {pooled_measure(tuple(lanes.values()))} only"
        return Outcome(NOTE, text, facts, INTEGRITY)
    return passed(
        "every lane is wake-up latency" if kinds <= {WAKE_UP} else f"every lane is {kinds.pop()} latency", **facts
    )
