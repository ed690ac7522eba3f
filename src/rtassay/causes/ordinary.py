"""How long the ordinary path of a lane's wake-up takes, measured in the same trace.

A late wake-up runs the same code as one in time: the interrupt's entry, the timer's function, the scheduler, the return. That
share is no cause. It is the median over the lane's wake-ups that were not late, which lie in the same pages; with fewer than
`ENOUGH` of them, a constant. Only a stretch longer than twice the ordinary one counts as a cause, and then without the
ordinary share.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from rtassay.causes.timeline import Slice, Switch, Timeline, Waking
from rtassay.causes.wakeups import path_of
from rtassay.model.causes import Hit

ENOUGH: Final = 3
USUAL_NS: Final = 10_000
"""Where it could not be measured: more than boards of today need for any one of the steps."""


@dataclass(frozen=True, slots=True)
class Ordinary:
    """Nanoseconds of the ordinary path.

    entry: due to the timer's interrupt, out of a running thread. inside: the longest stretch without an event in the timer's
    interrupt. switch: the stretch without an event before the switch. own: from the switch to the thread's next sleep.
    """

    entry_ns: int = USUAL_NS
    inside_ns: int = USUAL_NS
    switch_ns: int = USUAL_NS
    own_ns: int = USUAL_NS


@dataclass(slots=True)
class _Seen:
    from_thread: list[int]
    from_idle: list[int]
    inside: list[int]
    switch: list[int]
    own: list[int]


def ordinary(lines: Mapping[int, Timeline], hits: Sequence[Hit]) -> Ordinary:
    """Of one lane: its hits, all on one CPU and of one thread."""
    seen = _Seen([], [], [], [], [])
    line, tid = lines[hits[0].cpu], hits[0].tid
    grid = _grid(hits)
    late = sorted((hit.due_ns, hit.woke_ns) for hit in hits)
    switches = line.switches.get(tid, [])
    for waking in line.wakings.get(tid, []):
        at = bisect_right(switches, waking.ns, key=lambda s: s.ns)
        if not _within(late, waking.ns) and at + 1 < len(switches) and switches[at].into == tid:
            _look(line, waking, switches[at], switches[at + 1], grid, seen)
    entry = _middle(seen.from_thread) or min(_middle(seen.from_idle) or USUAL_NS, USUAL_NS)
    return Ordinary(
        entry,
        _middle(seen.inside) or USUAL_NS,
        _middle(seen.switch) or USUAL_NS,
        _middle(seen.own) or USUAL_NS,
    )


def _look(
    line: Timeline, waking: Waking, switch: Switch, out: Switch, grid: tuple[int, int] | None, seen: _Seen
) -> None:
    if line.lost_between(waking.ns - 1, out.ns) or not waking.at:
        return
    timer_ns, path = path_of(line, waking, waking.ns)
    pieces = line.slices[max(0, waking.at - 64) : switch.at]
    spans = list(zip(pieces, (*(p.start_ns for p in pieces[1:]), switch.ns), strict=True))
    inside = [end - piece.start_ns for piece, end in spans if piece.frames and piece.frames[-1] in path]
    if inside:
        seen.inside.append(max(inside))
    if not pieces[-1].frames:
        seen.switch.append(switch.ns - pieces[-1].start_ns)
    seen.own.append(out.ns - switch.ns)
    if grid is None or timer_ns is None:
        return
    first_ns, interval_ns = grid
    entry = (timer_ns - first_ns) % interval_ns
    before = _before(pieces, timer_ns)
    if before is not None and entry < interval_ns // 2:
        (seen.from_idle if before.stay.pid == 0 else seen.from_thread).append(entry)


def _before(pieces: Sequence[Slice], ns: int) -> Slice | None:
    """The last slice that began before then."""
    found = [piece for piece in pieces if piece.start_ns < ns]
    return found[-1] if found else None


def _grid(hits: Sequence[Hit]) -> tuple[int, int] | None:
    """A due time and the interval, where two hits of the lane tell it."""
    first, last = min(hits, key=lambda hit: hit.k), max(hits, key=lambda hit: hit.k)
    apart = last.k - first.k
    if apart <= 0 or (last.due_ns - first.due_ns) // apart <= 0:
        return None
    return first.due_ns, (last.due_ns - first.due_ns) // apart


def _within(spans: Sequence[tuple[int, int]], ns: int) -> bool:
    at = bisect_right(spans, (ns, 1 << 64))
    return at > 0 and ns <= spans[at - 1][1]


def _middle(values: Sequence[int]) -> int | None:
    return round(median(values)) if len(values) >= ENOUGH else None
