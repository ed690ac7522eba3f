"""What stopped the whole machine: firmware (SMI) or a hypervisor. Nothing of it is traced, it lies inside whatever ran.

It is told by one of: several CPUs without an event that came back at the same moment; a count of SMIs, or of stolen time,
that moved around a stretch without an event.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rtassay.causes.owners import Owner
from rtassay.causes.stretches import Stretch
from rtassay.causes.timeline import Timeline
from rtassay.model.causes import (
    HOLE_ON_ALL_CPUS,
    HYPERVISOR,
    IDLE_EXIT,
    INTERRUPTS_OFF,
    NO_PREEMPTION_POINT,
    OBSERVER,
    PREEMPTION_OFF,
    PRIORITY_ABOVE,
    SMI,
    SMI_COUNT,
    STEAL_TIME,
    UNATTRIBUTED,
    WAKE_UP,
    Cause,
    Hit,
    Moved,
)

_SILENT = (INTERRUPTS_OFF, IDLE_EXIT, PREEMPTION_OFF, NO_PREEMPTION_POINT, UNATTRIBUTED)
"""Kinds whose stretches rest on silence: a stall of the machine looks the same."""

Cut = list[Stretch]


def with_stalls(
    lines: Mapping[int, Timeline], hits: Sequence[Hit], cuts: Sequence[Cut], moved: Sequence[Moved], virtual: bool
) -> list[Cut]:
    """The cuts of all hits, with the long silent stretches that a stall explains given to it."""
    long = [_longest(cut) for cut in cuts]
    result = [list(cut) for cut in cuts]
    silences = sorted((cuts[at][where].end_ns, at, where) for at, where in enumerate(long) if where is not None)
    by_stop = Owner(Cause(HYPERVISOR if virtual else SMI), (HOLE_ON_ALL_CPUS,))
    owners = {
        at: by_stop if _hole(lines, hits, cuts, silences, at, cuts[at][where]) else None for _, at, where in silences
    }
    for at, owner in _counted(hits, cuts, long, moved).items():
        owners[at] = owners.get(at) or owner
    for at, found in owners.items():
        where = long[at]
        if found is not None and where is not None:
            result[at][where] = replace(cuts[at][where], owner=found)
    return result


def _longest(cut: Cut) -> int | None:
    """The stretch that is half or more of what the hit has beyond the ordinary path, if it rests on silence."""
    beyond = [i for i, stretch in enumerate(cut) if stretch.owner.cause.kind != WAKE_UP]
    if not beyond:
        return None
    at = max(beyond, key=lambda i: cut[i].ns)
    whole = sum(cut[i].ns for i in beyond)
    kind, evidence = cut[at].owner.cause.kind, cut[at].owner.evidence
    by_silence = kind in _SILENT or (kind == OBSERVER and PRIORITY_ABOVE not in evidence)
    silent = by_silence and cut[at].piece is not None and cut[at].piece.known  # type: ignore[union-attr]
    return at if silent and 2 * cut[at].ns >= whole else None


def _hole(
    lines: Mapping[int, Timeline],
    hits: Sequence[Hit],
    cuts: Sequence[Cut],
    silences: Sequence[tuple[int, int, int]],
    at: int,
    mine: Stretch,
) -> bool:
    """Whether another CPU was silent at the same time, came back at the same moment, and no CPU had an event meanwhile."""
    reach_ns = _together_ns(mine.ns)
    first = bisect_left(silences, (mine.end_ns - reach_ns, -1, -1))
    for end_ns, other, where in silences[first:]:
        if end_ns > mine.end_ns + reach_ns:
            return False
        theirs = cuts[other][where]
        together_ns = _together_ns(min(mine.ns, theirs.ns))
        start, end = max(mine.start_ns, theirs.start_ns), min(mine.end_ns, end_ns) - together_ns
        close = hits[other].cpu != hits[at].cpu and abs(mine.end_ns - end_ns) <= together_ns
        if close and end > start and not any(_events(line, start, end) for line in lines.values()):
            return True
    return False


def _together_ns(silence_ns: int) -> int:
    """How far apart two CPUs may come back: 20 us, or 2 % of a longer silence."""
    return max(20_000, silence_ns // 50)


def _events(line: Timeline, start_ns: int, end_ns: int) -> int:
    """How many events lie strictly between."""
    return max(0, bisect_left(line.starts, end_ns) - bisect_left(line.starts, start_ns + 1))


def _counted(
    hits: Sequence[Hit], cuts: Sequence[Cut], long: Sequence[int | None], moved: Sequence[Moved]
) -> dict[int, Owner]:
    """A counter that moved by n explains at most n stretches, or n ns of them: the longest go first, but those of the observer
    last, which has interrupts off each time it takes a page."""
    found: dict[int, Owner] = {}
    for count in moved:
        inside = []
        for at, where in enumerate(long):
            if where is None or at in found or count.cpu not in (None, hits[at].cpu):
                continue
            stretch = cuts[at][where]
            if stretch.start_ns < count.end_ns and stretch.end_ns > count.start_ns:
                inside.append((stretch.owner.cause.kind != OBSERVER, stretch.ns, at))
        left = count.by
        for _, ns, at in sorted(inside, reverse=True):
            if count.counter == "smi" and left > 0:
                found[at], left = Owner(Cause(SMI), (SMI_COUNT,)), left - 1
            elif count.counter == "steal" and 2 * left >= ns:
                found[at], left = Owner(Cause(HYPERVISOR), (STEAL_TIME,)), left - ns
    return found
