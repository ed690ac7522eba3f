"""A trace to attributions: for each hit one owner for every nanosecond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from rtassay.causes import formats, pages
from rtassay.causes.late_timers import with_late_timer
from rtassay.causes.ordinary import Ordinary, ordinary
from rtassay.causes.owners import LANE, NOBODY, OBSERVERS, Owner, Rules
from rtassay.causes.places import place
from rtassay.causes.stalls import with_stalls
from rtassay.causes.stretches import Cutter, Stretch, without_ordinary
from rtassay.causes.symbols import Symbols, symbols
from rtassay.causes.timeline import Timeline, timeline
from rtassay.causes.wakeups import Wakeup, as_traced, wakeup
from rtassay.model.causes import (
    BEGINS_LATE,
    EVENTS_LOST,
    EVIDENCE,
    NEVER_SLEPT,
    NO_PAGES,
    NO_SWITCH,
    NO_WAKING,
    UNATTRIBUTED,
    WAKE_UP,
    WOKEN_ELSEWHERE,
    WOKEN_OUTSIDE_INTERRUPT,
    Attribution,
    Cause,
    Hit,
    Moved,
    Part,
    Trace,
)


def attribute(
    trace: Trace,
    *,
    virtual: bool,
    realtime: bool | None = None,
    preemptible: bool | None = None,
    moved: Sequence[Moved] = (),
) -> tuple[Attribution, ...]:
    """Who owned each nanosecond of each hit, in the order of `trace.hits`.

    virtual: the board is one, so that silence may be a stall of its host. realtime: the kernel is PREEMPT_RT (None: told from
    the formats where they can). preemptible: the kernel is preemptible outside of locks (PREEMPT, lazy). moved: counters of
    SMIs and stolen time. Pages that are damaged or missing make hits incomplete; they are no error. Raises NotATrace if
    header_page or a format is not one.
    """
    layout = formats.page_layout(trace.header_page)
    by = pages.decoder(layout, trace.formats)
    lines = {cpu: timeline(pages.decode(some, by).events) for cpu, some in trace.pages.items()}
    lines = {cpu: line for cpu, line in lines.items() if line.slices}
    if realtime is None and "common_preempt_lazy_count" in trace.formats[pages.SWITCH]:
        realtime = True
    observers = (*OBSERVERS, LANE) if pages.TIMERLAT in trace.formats else OBSERVERS
    rules = Rules(symbols(trace.kallsyms), realtime, preemptible, observers, trace.followed)
    hits = tuple(as_traced(lines, hit) for hit in trace.hits) if trace.followed else trace.hits
    usual = _ordinary_of_lanes(lines, hits)
    found = [wakeup(lines, hit) if _covered(lines, hit) else None for hit in hits]
    cuts = [_cut(lines, hit, seen, rules, usual, virtual) for hit, seen in zip(hits, found, strict=True)]
    cuts = with_stalls(lines, hits, cuts, moved, virtual)
    each = zip(hits, found, cuts, strict=True)
    return tuple(_attribution(lines, rules.symbols, *one, virtual) for one in each)


def _covered(lines: Mapping[int, Timeline], hit: Hit) -> bool:
    """Whether the trace of the hit's CPU reaches into the hit."""
    return hit.cpu in lines and lines[hit.cpu].end_ns >= hit.due_ns and lines[hit.cpu].starts[0] <= hit.woke_ns


def _ordinary_of_lanes(lines: Mapping[int, Timeline], hits: Iterable[Hit]) -> dict[tuple[int, int], Ordinary]:
    lanes: dict[tuple[int, int], list[Hit]] = defaultdict(list)
    for hit in hits:
        lanes[hit.cpu, hit.tid].append(hit)
    return {lane: ordinary(lines, some) for lane, some in lanes.items() if lane[0] in lines}


def _cut(
    lines: Mapping[int, Timeline],
    hit: Hit,
    found: Wakeup | None,
    rules: Rules,
    usual: Mapping[tuple[int, int], Ordinary],
    virtual: bool,
) -> list[Stretch]:
    if hit.latency_ns <= 0:
        return []
    if found is None:
        return [Stretch("A", hit.due_ns, hit.woke_ns, Owner(NOBODY, (NO_PAGES,)), None)]
    cutter = Cutter(lines, hit, found, rules)
    its = usual[hit.cpu, hit.tid]
    cut = without_ordinary(cutter.stretches(), its, rules, hit.tid, cutter.by_itself)
    timed = not found.awake and found.waking is not None and found.timer_ns is not None
    return with_late_timer(cut, its.entry_ns, virtual) if timed else cut


def _attribution(
    lines: Mapping[int, Timeline],
    known: Symbols,
    hit: Hit,
    found: Wakeup | None,
    cut: Sequence[Stretch],
    virtual: bool,
) -> Attribution:
    parts = _placed(lines, known, hit, found, _parts(cut))
    total: dict[Cause, int] = defaultdict(int)
    for part in parts:
        total[part.cause] += part.ns
    top = max(total, key=lambda cause: total[cause]) if total else NOBODY
    mine = [stretch for stretch in cut if stretch.owner.cause == top]
    codes = {code for stretch in mine for code in stretch.owner.evidence} | _about(lines, hit, found)
    lacks = {code for stretch in cut for code in stretch.owner.evidence} & {EVENTS_LOST, BEGINS_LATE}
    lost = found is not None and lines[hit.cpu].lost_between(hit.due_ns, hit.woke_ns)
    whole = found is not None and found.switch is not None and (found.awake or found.waking is not None)
    silent = bool(mine) and 2 * max(stretch.ns for stretch in mine) >= total[top]
    return Attribution(
        hit=hit,
        parts=parts,
        top=top,
        evidence=tuple(code for code in EVIDENCE if code in codes | lacks),
        complete=whole and not lost and not lacks,
        events_lost=lost,
        stall_possible=virtual and silent and top.kind not in (UNATTRIBUTED, WAKE_UP),
    )


def _about(lines: Mapping[int, Timeline], hit: Hit, found: Wakeup | None) -> set[str]:
    """What the wake-up as a whole shows or lacks."""
    if found is None:
        return {NO_PAGES}
    codes = {NEVER_SLEPT} if found.awake else set()
    if not found.awake and found.waking is None:
        codes.add(NO_WAKING)
    if found.switch is None:
        codes.add(NO_SWITCH)
    if found.waking is None or found.waking_cpu is None:
        return codes
    if found.waking_cpu != hit.cpu:
        codes.add(WOKEN_ELSEWHERE)
    if not any(frame.hard for frame in found.waker_frames(lines)):
        codes.add(WOKEN_OUTSIDE_INTERRUPT)
    return codes


def _placed(
    lines: Mapping[int, Timeline], known: Symbols, hit: Hit, found: Wakeup | None, parts: tuple[Part, ...]
) -> tuple[Part, ...]:
    """The parts with the places that stacks name. Phases A and B pass on the CPU that woke the thread."""
    if found is None:
        return parts
    waker = hit.cpu if found.waking_cpu is None else found.waking_cpu
    return tuple(
        replace(part, place=place(lines[waker if part.phase in "AB" else hit.cpu], hit, part, known)) for part in parts
    )


def _parts(cut: Sequence[Stretch]) -> tuple[Part, ...]:
    parts: list[Part] = []
    for stretch in cut:
        before = parts[-1] if parts else None
        if before is not None and (before.phase, before.cause) == (stretch.phase, stretch.owner.cause):
            parts[-1] = Part(before.phase, before.cause, before.start_ns, before.ns + stretch.ns)
        elif stretch.ns > 0:
            parts.append(Part(stretch.phase, stretch.owner.cause, stretch.start_ns, stretch.ns))
    return tuple(parts)
