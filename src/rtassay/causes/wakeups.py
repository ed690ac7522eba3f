"""One wake-up in the timelines: when the timer's interrupt began, who woke the thread, when it was switched to."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeVar

from rtassay.causes.timeline import Frame, Switch, Timeline, Waking
from rtassay.model.causes import HRTIMER, IRQ, Hit

_NS = attrgetter("ns")
_EARLY_NS = 1000
"""The trace's clock and the thread's may differ by this: a waking so little before the due time belongs to it."""
_SAME_EVENT_NS = 1_000_000
"""So far apart may two rings stamp one event: a stall of the host may come between."""


@dataclass(frozen=True, slots=True)
class Wakeup:
    """What the trace shows of a wake-up of one thread on one CPU.

    waking_cpu: where it was woken, None if that was not seen. timer_ns: start of the interrupt that woke it, or of the timer
    interrupt before a waking outside of one. path: frames of the waking itself, which are the ordinary path. awake: the
    thread did not sleep at the due time. switch: to the thread, None if not seen.
    """

    waking: Waking | None
    waking_cpu: int | None
    timer_ns: int | None
    path: frozenset[Frame]
    switch: Switch | None
    awake: bool

    def waker_frames(self, lines: Mapping[int, Timeline]) -> tuple[Frame, ...]:
        """What was interrupted when the thread was woken."""
        if self.waking is None or self.waking_cpu is None or not self.waking.at:
            return ()
        return lines[self.waking_cpu].slices[self.waking.at - 1].frames


def wakeup(lines: Mapping[int, Timeline], hit: Hit) -> Wakeup:
    """The wake-up of `hit`."""
    own = lines[hit.cpu]
    switches = own.switches.get(hit.tid, [])
    at = bisect_right(switches, hit.due_ns, key=_NS)
    before = switches[at - 1] if at and switches[at - 1].ns >= own.sure_since(hit.due_ns) else None
    awake = before is not None and (before.into == hit.tid or before.runnable)
    cpu, waking = _waking(lines, hit, hit.due_ns if awake else max(hit.due_ns - _EARLY_NS, before.ns if before else 0))
    if waking is None or cpu is None:
        in_time = before is not None and before.into == hit.tid
        switch = before if in_time else _switch_to(switches, hit.tid, hit.due_ns, hit.woke_ns)
        return Wakeup(None, None, None, frozenset(), switch, awake)
    timer_ns, path = path_of(lines[cpu], waking, hit.due_ns)
    return Wakeup(waking, cpu, timer_ns, path, _after(switches, waking, hit), awake)


def as_traced(lines: Mapping[int, Timeline], hit: Hit) -> Hit:
    """The hit of a followed thread by the stamps of this trace: from the start of the interrupt that woke the thread, else from its
    waking, until the switch to it. As it is where the trace does not show them.
    """
    if hit.cpu not in lines:
        return hit
    switches = [switch for switch in lines[hit.cpu].switches.get(hit.tid, []) if switch.into == hit.tid]
    switch = _nearest(switches, hit.woke_ns)
    wakings = [(cpu, _nearest(lines[cpu].wakings.get(hit.tid, []), hit.due_ns)) for cpu in sorted(lines)]
    seen = [(cpu, waking) for cpu, waking in wakings if waking is not None]
    if switch is None or not seen:
        return hit
    cpu, waking = min(seen, key=lambda one: abs(one[1].ns - hit.due_ns))
    begun_ns, _ = path_of(lines[cpu], waking, waking.ns)
    due_ns = waking.ns if begun_ns is None else begun_ns
    return replace(hit, due_ns=due_ns, woke_ns=switch.ns) if due_ns <= waking.ns <= switch.ns else hit


_Stamped = TypeVar("_Stamped", Waking, Switch)


def _nearest(rising: Sequence[_Stamped], ns: int) -> _Stamped | None:
    """The event of this moment, which two rings stamp one after the other."""
    at = bisect_left(rising, ns, key=_NS)
    close = [event for event in rising[max(0, at - 1) : at + 1] if abs(event.ns - ns) <= _SAME_EVENT_NS]
    return min(close, key=lambda event: abs(event.ns - ns), default=None)


def _after(switches: list[Switch], waking: Waking, hit: Hit) -> Switch | None:
    """The switch after the waking. A thread that had not left the CPU yet, on its way to sleep, has it at the waking."""
    at = bisect_right(switches, waking.ns, key=_NS)
    if at and switches[at - 1].into == hit.tid and switches[at - 1].ns <= waking.ns:
        return switches[at - 1]._replace(ns=waking.ns, at=waking.at)
    return _switch_to(switches, hit.tid, waking.ns, hit.woke_ns)


def path_of(line: Timeline, waking: Waking, due_ns: int) -> tuple[int | None, frozenset[Frame]]:
    """Start of the interrupt in which the waking took place, and its frames from there on.

    A waking in a softirq or a thread has the first timer interrupt since the due time instead: the one that started it all.
    """
    frames = line.slices[waking.at - 1].frames if waking.at else ()
    hard = [at for at, frame in enumerate(frames) if frame.hard]
    if hard:
        # Of nested interrupts the innermost woke the thread: the timer's functions lie above it.
        irqs = [at for at in hard if frames[at].kind == IRQ]
        first = irqs[-1] if irqs else hard[0]
        return frames[first].start_ns, frozenset(frames[first:])
    for frame in line.interrupts[bisect_left(line.interrupts, due_ns, key=lambda f: f.start_ns) :]:
        if frame.start_ns >= waking.ns:
            break
        if frame.kind == HRTIMER or "timer" in frame.name:
            return frame.start_ns, frozenset((*frames, frame))
    return None, frozenset(frames)


def _waking(lines: Mapping[int, Timeline], hit: Hit, since_ns: int) -> tuple[int | None, Waking | None]:
    """The first waking since then; the hit's own CPU goes first."""
    others = sorted(cpu for cpu in lines if cpu != hit.cpu)
    for cpu in (hit.cpu, *others):
        wakings = lines[cpu].wakings.get(hit.tid, [])
        at = bisect_left(wakings, since_ns, key=_NS)
        if at < len(wakings) and wakings[at].ns <= hit.woke_ns:
            return cpu, wakings[at]
    return None, None


def _switch_to(switches: list[Switch], tid: int, since_ns: int, until_ns: int) -> Switch | None:
    for switch in switches[bisect_left(switches, since_ns, key=_NS) :]:
        if switch.ns > until_ns:
            return None
        if switch.into == tid:
            return switch
    return None
