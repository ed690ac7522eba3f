"""Events of one CPU to a line of slices: from each event to the next, which thread was on the CPU and what interrupted it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rtassay.causes import pages
from rtassay.causes.pages import Event
from rtassay.model.causes import HRTIMER, IPI, IRQ, SOFTIRQ

IN_INTERRUPT: Final = 0x08
IN_SOFTIRQ: Final = 0x10
NEED_RESCHED: Final = 0x04
BOTTOM_HALVES: Final = 0x80
"""Bits of common_flags (include/linux/trace_events.h)."""
LEAD_NS: Final = 2_000_000
"""The pages of a hit reach back at least this far from its due time (wire/STREAM.md)."""

_SOFTIRQS: Final = ("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU")
_STATES: Final = 0xFF
"""Bits of prev_state that name a sleep; the bits above say that a runnable thread was preempted."""
_REALTIME: Final = 100
"""Priorities of the kernel below this are real-time ones; -1 is a deadline."""
_IPIS: Final = ("reschedule", "call_function", "call_function_single", "irq_work", "ipi")


class Frame(NamedTuple):
    """Something that interrupts a thread. number: of an irq; the address of an hrtimer's function. hard: in an interrupt,
    not in a thread's softirq. mark: the flags that the records inside of it have."""

    kind: str
    name: str
    number: int | None
    start_ns: int
    mark: int

    @property
    def hard(self) -> bool:
        """Whether it is an interrupt or lies in one."""
        return bool(self.mark & IN_INTERRUPT)


class Seen(NamedTuple):
    """What the record of an interrupt tells about the thread that it interrupted. depth: of preemption off."""

    flags: int
    depth: int


@dataclass(slots=True)
class Stay:
    """One stay of a thread on the CPU. switched_in: its start was seen. chosen_at: its priority then. priority: at its end,
    where that was seen, since a thread may change its own or lose a boost. over_realtime: it has no real-time priority and
    began while the scheduler held a real-time thread back that could run."""

    pid: int
    name: str
    priority: int | None
    start_ns: int
    switched_in: bool
    chosen_at: int | None = None
    over_realtime: bool = False


class Slice(NamedTuple):
    """From `start_ns` to the start of the next one. frames: what is interrupted, outermost first. known False: events are
    missing here. seen: the last interrupt of this stay, None before the first."""

    start_ns: int
    known: bool
    stay: Stay
    frames: tuple[Frame, ...]
    seen: Seen | None


class Waking(NamedTuple):
    """A thread was woken, by what ran in the slice before number `at`."""

    ns: int
    pid: int
    priority: int
    at: int


class Switch(NamedTuple):
    """The CPU went from thread `out` to thread `into`. runnable: `out` still wanted to run."""

    ns: int
    out: int
    runnable: bool
    into: int
    priority: int
    at: int


@dataclass(slots=True)
class Timeline:
    """One CPU: slices in the order of time. `wakings` and `page_faults` by thread; `switches` in the order of time; `end_ns`: the last event.
    `stacks`: addresses of functions by the number of the slice that began with that event; of a switch, those of the thread
    that left."""

    slices: list[Slice] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    wakings: dict[int, list[Waking]] = field(default_factory=dict)
    page_faults: dict[int, list[int]] = field(default_factory=dict)
    switches: dict[int, list[Switch]] = field(default_factory=dict)
    interrupts: list[Frame] = field(default_factory=list)
    losses: list[tuple[int, int]] = field(default_factory=list)
    page_starts: list[int] = field(default_factory=list)
    stacks: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def sure_since(self, due_ns: int) -> int:
        """Since when the pages sent for a hit follow each other without a gap: the start of the page of `LEAD_NS` before."""
        at = bisect_right(self.page_starts, due_ns - LEAD_NS)
        return self.page_starts[at - 1] if at else 0

    @property
    def end_ns(self) -> int:
        """The last event; 0 without one."""
        return self.starts[-1] if self.starts else 0

    def lost_between(self, start_ns: int, end_ns: int) -> bool:
        """Whether events of the time are missing."""
        at = bisect_left(self.losses, (start_ns, -1))
        before = at > 0 and self.losses[at - 1][1] > start_ns
        return before or (at < len(self.losses) and self.losses[at][0] < end_ns)


def timeline(events: Sequence[Event]) -> Timeline:
    """The line of one CPU. Events that contradict each other end what was known until then."""
    walk = _Walk()
    for event in events:
        walk.step(event)
    walk.name_the_unnamed()
    return walk.line


class _Walk:
    """The state of a CPU, moved from event to event."""

    def __init__(self) -> None:
        self.line = Timeline()
        self.names: dict[int, str] = {0: "idle"}
        self.soft: dict[int, tuple[Frame, ...]] = {}
        self.frames: tuple[Frame, ...] = ()
        self.stay = Stay(-1, "", None, 0, False)
        self.seen: Seen | None = None
        self.known = False
        self.realtime_held = False
        self.preempted: dict[int, list[Stay]] = {}
        self.last_ns = 0
        self.new_page = False
        self.before: Event | None = None

    def step(self, event: Event) -> None:
        if event.name in pages.TRACERS:
            return  # the tracer's own readings: `crosscheck` sets them beside ours
        before, self.before = self.before, event
        if event.name == pages.STACK:
            self._stack(event, before)
            return
        if event.name == pages.LOST:
            self._lose(event.ns)
            return
        if event.name == pages.PAGE:
            self.line.page_starts.append(event.ns)
            self.new_page = True
            return
        if not self.known:
            self._begin(event)
        elif event.pid != self.stay.pid:
            if not self.new_page:
                self._lose(event.ns)
            self._forget()
            self._begin(event)
        elif self.frames:
            self.frames = _marked(self.frames, event.flags)
        self.new_page = False
        self._apply(event)
        self.last_ns = event.ns
        self._slice(event.ns)

    def _stack(self, event: Event, before: Event | None) -> None:
        """Of the event before it, where that is one of those that have a stack."""
        if before is not None and before.name in (pages.HRTIMER_ENTRY, pages.SWITCH) and before.pid == event.pid:
            self.line.stacks[len(self.line.slices) - 1] = _ints(event.values)

    def name_the_unnamed(self) -> None:
        for piece in self.line.slices:
            if not piece.stay.name:
                piece.stay.name = self.names.get(piece.stay.pid, "")

    def _slice(self, ns: int) -> None:
        self.line.starts.append(ns)
        self.line.slices.append(Slice(ns, self.known, self.stay, self.frames, self.seen))

    def _lose(self, ns: int) -> None:
        """From the last event until the next one nothing is known."""
        if self.known:
            self.line.slices[-1] = self.line.slices[-1]._replace(known=False)
            self.line.losses.append((self.last_ns, ns))
        self.known = False
        self._forget()

    def _forget(self) -> None:
        self.frames = ()
        self.soft.clear()
        self.seen = None
        self.realtime_held = False
        self.preempted.clear()

    def _begin(self, event: Event) -> None:
        """The record itself tells which thread it interrupted."""
        if self.line.losses and self.line.losses[-1][0] == self.last_ns:
            self.line.losses[-1] = (self.last_ns, event.ns)
        self.known = True
        self.stay = Stay(event.pid, "", None, event.ns, False)
        if event.flags & IN_INTERRUPT and not event.name.endswith("_entry"):
            self.frames = (Frame(IRQ, "", None, event.ns, IN_INTERRUPT),)

    def _apply(self, event: Event) -> None:
        name, values = event.name, event.values
        if name == pages.SWITCH:
            self._switch(event)
        elif name == pages.WAKING:
            pid, priority = _ints(values)
            found = Waking(event.ns, pid, priority, len(self.line.slices))
            self.line.wakings.setdefault(pid, []).append(found)
            self.preempted.pop(pid, None)
        elif name in pages.PAGE_FAULTS:
            self.line.page_faults.setdefault(event.pid, []).append(event.ns)
        elif name == pages.NMI:
            self._nmi(event.ns, _ints(values)[0])
        elif name.endswith("_entry"):
            self._enter(event)
        else:
            self._leave(event)

    def _switch(self, event: Event) -> None:
        prev_name, prev_pid, prev_prio, prev_state, next_name, next_pid, next_prio = event.values
        out, into = int(prev_pid), int(next_pid)
        self.stay.priority, self.stay.name = int(prev_prio), "idle" if out == 0 else str(prev_name)
        self.names[out] = self.stay.name
        self.names[into] = "idle" if into == 0 else str(next_name)
        found = Switch(event.ns, out, not int(prev_state) & _STATES, into, int(next_prio), len(self.line.slices))
        self.line.switches.setdefault(out, []).append(found)
        if into != out:
            self.line.switches.setdefault(into, []).append(found)
        kept = tuple(frame for frame in self.frames if not frame.hard)
        if kept:
            self.soft[out] = kept
        self.frames = self.soft.pop(into, ())
        self.stay = Stay(into, self.names[into], int(next_prio), event.ns, True, int(next_prio))
        self._hold_realtime(found, int(prev_prio))
        self.seen = None

    def _hold_realtime(self, found: Switch, out_priority: int) -> None:
        """Whether a real-time thread that could run was passed over: it was switched from, or comes back later without a waking."""
        for stay in self.preempted.pop(found.into, ()):
            stay.over_realtime = True
        if found.runnable and _realtime(out_priority):
            self.preempted[found.out] = []
            self.realtime_held = True
        if _realtime(found.priority):
            self.realtime_held = False
            return
        self.stay.over_realtime = self.realtime_held
        for passed_over in self.preempted.values():
            passed_over.append(self.stay)

    def _enter(self, event: Event) -> None:
        kind, name, number = _what(event)
        frame = Frame(kind, name, number, event.ns, event.flags & (IN_INTERRUPT | IN_SOFTIRQ))
        if frame.hard:
            if not any(frame.hard for frame in self.frames):
                self.seen = Seen(event.flags, event.depth & 0x0F)
            self.line.interrupts.append(frame)
        self.frames = (*self.frames, frame)

    def _leave(self, event: Event) -> None:
        kind, name, number = _what(event)
        for at in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[at]
            if event.name == pages.IRQ_EXIT:
                found = frame.kind in (IRQ, IPI) and frame.number == number
            else:
                found = frame.kind == kind and (kind == HRTIMER or frame.name == name)
            if found:
                self.frames = self.frames[:at]
                return

    def _nmi(self, ns: int, spent_ns: int) -> None:
        """The event comes at the end of the NMI and tells how long it took."""
        start = max(self.last_ns, ns - max(spent_ns, 0))
        frame = Frame(IRQ, "NMI", None, start, IN_INTERRUPT)
        self.line.starts.append(start)
        self.line.slices.append(Slice(start, self.known, self.stay, (*self.frames, frame), self.seen))


def _realtime(priority: int) -> bool:
    return 0 <= priority < _REALTIME


def _ints(values: tuple[int | str, ...]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _marked(frames: tuple[Frame, ...], flags: int) -> tuple[Frame, ...]:
    """The frames that a record with these flags can lie in: the exit of an interrupt may not have been traced."""
    for at, frame in enumerate(frames):
        if frame.mark & ~flags:
            return frames[:at]
    return frames


def _what(event: Event) -> tuple[str, str, int | None]:
    """Kind, name and number of what an entry or exit event is about."""
    values = event.values
    if event.name in (pages.IRQ_ENTRY, pages.IRQ_EXIT):
        name = str(values[1]) if len(values) > 1 else ""
        return IPI if name == "IPI" else IRQ, name, int(values[0])
    if event.name in (pages.SOFTIRQ_ENTRY, pages.SOFTIRQ_EXIT):
        vector = int(values[0])
        return SOFTIRQ, _SOFTIRQS[vector] if 0 <= vector < len(_SOFTIRQS) else str(vector), vector
    if event.name in (pages.HRTIMER_ENTRY, pages.HRTIMER_EXIT):
        return HRTIMER, "", int(values[0]) if values else None
    name = event.name.split("/")[1].rpartition("_")[0]
    return (IPI, "IPI" if name == "ipi" else name, None) if name in _IPIS else (IRQ, name, None)
