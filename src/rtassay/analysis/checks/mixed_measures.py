"""Are the numbers wake-up latencies at all?"""

from __future__ import annotations

from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    NOTE,
    OPTIMISM,
    RECORDED,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context
from rtassay.analysis.lane.measures import pooled_measure
from rtassay.model.measures import (
    GPIO,
    JOB_EXECUTION,
    JOB_RESPONSE,
    MIXTURE,
    TIMER_IRQ,
    TIMER_THREAD,
    TIMER_USER,
    UNKNOWN,
    WAKE_UP,
    is_response,
    measure_words,
)

_APART = (TIMER_IRQ, TIMER_THREAD, TIMER_USER, JOB_RESPONSE, JOB_EXECUTION, *GPIO)


@check(
    id="MIXED-MEASURES",
    condition="a tool added several quantities into one histogram (rteval's timerlat), the numbers are no latency of a thread (osnoise, oslat), or lanes of several measures stand side by side (a note)",
    kind=OPTIMISM,
    severity=WARNING,
    explanation="Three readings of one activation in one histogram triple the samples and thin out the late ones: invalid. Noise and gaps of a busy loop "
    "are worth knowing, and are not the latency of a woken thread. rtla's IRQ, thread and user latencies are separate lanes (a note): only one "
    "of them is pooled for display, the thread's where there is one. A response is a latency of its own: the verdict names it.",
    remedy="Import rtla's own output instead of rteval's summary; measure wake-up latency for a deadline on it.",
    proof=RECORDED,
    unwaivable="numbers of another quantity cannot show a deadline on wake-up latency",
)
def mixed_measures(context: Context) -> Outcome:
    """A histogram that mixes several quantities, or that holds another quantity than wake-up latency."""
    measures = [lane.entry.measure for lane in context.accounts]
    if not measures:
        return unknown("no lane")
    kinds = set(measures)
    facts = {"measures": sorted(kinds)}
    if MIXTURE in kinds:
        text = "IRQ, thread and user latencies were added into one histogram by the tool: its probabilities and quantiles are of no one quantity"
        return Outcome(INVALID, text, facts, OPTIMISM)
    other = sorted(kind for kind in kinds - {WAKE_UP, UNKNOWN, *_APART} if not is_response(kind))
    if other:
        words = ", ".join(measure_words(kind) for kind in other)
        return Outcome(
            WARNING,
            f"the numbers are {words}, not wake-up latency: a deadline on wake-up latency cannot be shown with them",
            facts,
            OPTIMISM,
        )
    if UNKNOWN in kinds:
        return unknown("the source does not tell what its numbers are (import has --measure)", **facts)
    if len(kinds) > 1:
        shown = measure_words(pooled_measure(measures) or UNKNOWN)
        text = f"{', '.join(measure_words(kind) for kind in sorted(kinds))} stand side by side; 'all' is {shown} only"
        return Outcome(NOTE, text, facts, INTEGRITY)
    return passed(f"every lane is {measure_words(kinds.pop())}", **facts)
