"""Our attribution beside the readings that the kernel's tracer timerlat took of the same wake-ups.

`rtprobe timerlat --trace-above` has both in one ring: the events that we attribute by, and the tracer's records with those of osnoise. Nothing is shared between the two
ways: the tracer reads the clock in its timer's function and in its thread, and adds up interruptions as they end. See docs/method/causes.md.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from rtassay.causes import formats, pages
from rtassay.causes.pages import Event
from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Hit, Trace
from rtassay.model.ranking import INTERRUPTS, SOFTIRQS, THREADS, TIMER_INTERRUPT, Compared, CrossCheck

_NS = attrgetter("ns")
_IRQ_CONTEXT, _THREAD_CONTEXT = 0, 1
_NEAR_NS = 1_000_000
"""A record is written so soon after its latency was taken, on a slow board too."""
_SLACK_NS = 10_000
_SHARE = 0.05
_PARTS: Final = (TIMER_INTERRUPT, INTERRUPTS, SOFTIRQS, THREADS)
_NOISE: Final = {
    pages.NMI_NOISE: INTERRUPTS,
    pages.IRQ_NOISE: INTERRUPTS,
    pages.SOFTIRQ_NOISE: SOFTIRQS,
    pages.THREAD_NOISE: THREADS,
}
_OURS: Final = {
    **dict.fromkeys((kinds.IRQ, kinds.IPI, kinds.HRTIMER), INTERRUPTS),
    kinds.SOFTIRQ: SOFTIRQS,
    **dict.fromkeys(
        (
            kinds.THREAD, kinds.PREEMPTION_OFF, kinds.BOTTOM_HALVES_OFF, kinds.NO_PREEMPTION_POINT, kinds.INTERRUPTS_OFF,
            kinds.PAGE_FAULT, kinds.OBSERVER, kinds.IDLE_EXIT, kinds.THROTTLING,
        ),
        THREADS,
    ),
}  # fmt: skip
"""Where time after the waking belongs. Stalls of the machine are the tracer's time of whatever they hit: in no part."""

Amounts = dict[str, int]


@dataclass(frozen=True, slots=True)
class _Both:
    hit: Hit
    ours: Amounts
    tracer: Amounts
    path_ns: int

    def agree(self, part: str) -> bool:
        """The ordinary path of the wake-up is a cause for the tracer and none for us."""
        ours, tracer = self.ours[part], self.tracer[part]
        return abs(ours - tracer) <= self.path_ns + max(_SLACK_NS, _SHARE * max(ours, tracer))


def crosscheck(trace: Trace, attributions: Sequence[Attribution], of: str) -> CrossCheck | None:
    """Of the run `of`; None if no tracer measured it. Raises NotATrace as `attribute` does."""
    if pages.TIMERLAT not in trace.formats:
        return None
    by = pages.decoder(formats.page_layout(trace.header_page), trace.formats)
    records = {
        cpu: [event for event in pages.decode(some, by).events if event.name in pages.TRACERS]
        for cpu, some in trace.pages.items()
    }
    pairs = [(one, _readings(records, one.hit)) for one in attributions if one.complete]
    both = [
        _Both(one.hit, amounts(one), found, sum(part.ns for part in one.parts if part.cause.kind == kinds.WAKE_UP))
        for one, found in pairs
        if found is not None
    ]
    return CrossCheck(
        id=of,
        tracer="timerlat",
        hits=len(attributions),
        compared=len(both),
        parts=tuple(_compared(part, both) for part in _PARTS) if both else (),
    )


def _readings(records: Mapping[int, Sequence[Event]], hit: Hit) -> Amounts | None:
    """What the tracer says of the wake-up; None if its two records of it are not in the pages."""
    line = records.get(hit.cpu, ())
    own = line[bisect_left(line, hit.due_ns, key=_NS) : bisect_right(line, hit.woke_ns + _NEAR_NS, key=_NS)]
    latest = [event for event in own if _is(event, _THREAD_CONTEXT) and event.values[2] == hit.latency_ns]
    if not latest:
        return None
    ran = latest[0]
    begun = [event for event in own if _is(event, _IRQ_CONTEXT) and event.values[0] == ran.values[0]]
    if not begun:
        return None
    found = dict.fromkeys(_PARTS, 0)
    found[TIMER_INTERRUPT] = int(begun[0].values[2])
    for event in own:
        if event.name in _NOISE and begun[0].ns < event.ns <= ran.ns:
            found[_NOISE[event.name]] += min(int(event.values[0]), event.ns - begun[0].ns)
    return found


def _is(event: Event, context: int) -> bool:
    return event.name == pages.TIMERLAT and event.values[1] == context


def amounts(one: Attribution) -> Amounts:
    """Our parts of one wake-up, named as the tracer's."""
    found = dict.fromkeys(_PARTS, 0)
    for part in one.parts:
        if part.phase in "AB":
            found[TIMER_INTERRUPT] += part.ns
        elif part.cause.kind == kinds.THREAD and part.cause.pid == one.hit.tid:
            continue  # between its switch and its reading of the clock: the tracer's own thread is no noise to it
        elif part.cause.kind in _OURS:
            found[_OURS[part.cause.kind]] += part.ns
    return found


def _compared(part: str, both: Sequence[_Both]) -> Compared:
    worst = max(both, key=lambda one: abs(one.ours[part] - one.tracer[part]))
    return Compared(
        part=part,
        ours_ns=sum(one.ours[part] for one in both),
        tracer_ns=sum(one.tracer[part] for one in both),
        agreed=sum(one.agree(part) for one in both),
        worst_ns=worst.ours[part] - worst.tracer[part],
        worst_lane=worst.hit.lane,
        worst_k=worst.hit.k,
    )
