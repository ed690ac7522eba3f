"""A hit's time cut into stretches, each between two events and of one phase, each with its owner."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter

from rtassay.causes.ordinary import USUAL_NS, Ordinary
from rtassay.causes.owners import (
    ORDINARY,
    UNKNOWN,
    Owner,
    Rules,
    Waiter,
    frame_cause,
    itself,
    of_frames,
    while_asleep,
    while_waiting,
)
from rtassay.causes.timeline import Seen, Slice, Stay, Timeline
from rtassay.causes.wakeups import Wakeup
from rtassay.model.causes import (
    BEGINS_LATE,
    EVENTS_LOST,
    INSIDE,
    IPI,
    PAGE_FAULT,
    PRIORITY_ABOVE,
    SOFTIRQ,
    THREAD,
    THROTTLING,
    Hit,
)

_NS = attrgetter("ns")


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start_ns` to `end_ns` nothing was traced. piece: None before the first event of the trace."""

    phase: str
    start_ns: int
    end_ns: int
    owner: Owner
    piece: Slice | None

    @property
    def ns(self) -> int:
        """Its length."""
        return self.end_ns - self.start_ns


class Cutter:
    """Cuts the time of one hit."""

    def __init__(self, lines: Mapping[int, Timeline], hit: Hit, found: Wakeup, rules: Rules) -> None:
        self.hit, self.found, self.rules = hit, found, rules
        self.own = lines[hit.cpu]
        self.waker = self.own if found.waking_cpu is None else lines[found.waking_cpu]
        self.remote = self.waker is not self.own
        waking = found.waking
        self.woken_ns = None if waking is None else _clamp(waking.ns, hit)
        self.switch_ns = None if found.switch is None else _clamp(found.switch.ns, hit)
        timer_ns = self.woken_ns if found.timer_ns is None else _clamp(found.timer_ns, hit)
        self.timer_ns = timer_ns if timer_ns is None or self.woken_ns is None else min(timer_ns, self.woken_ns)
        self.priority = self._priority()
        self.waker_stay = self.waker.slices[waking.at - 1].stay if waking is not None and waking.at else None

    def stretches(self) -> list[Stretch]:
        """All of the hit's time, in order, without a gap."""
        cut = []
        for phase, line, start, end in self._phases():
            for piece, a, b in _pieces(line, start, end):
                cut.append(Stretch(phase, a, b, self._owner(phase, line, piece, a), piece))
        return cut

    def own_stay(self) -> Stay | None:
        """The measured thread on the CPU, as far as it was seen there within the hit."""
        for piece, _, _ in _pieces(self.own, self.hit.due_ns, self.hit.woke_ns):
            if piece is not None and piece.stay.pid == self.hit.tid:
                return piece.stay
        return None

    def _phases(self) -> Iterator[tuple[str, Timeline, int, int]]:
        due, woke = self.hit.due_ns, self.hit.woke_ns
        switch = woke if self.switch_ns is None else self.switch_ns
        if self.woken_ns is None or self.timer_ns is None:
            yield "C" if self.found.awake else "A", self.own, due, switch
        else:
            yield "A", self.waker, due, self.timer_ns
            yield "B", self.waker, self.timer_ns, self.woken_ns
            yield "C", self.own, self.woken_ns, switch
        yield "D", self.own, switch, woke

    def _owner(self, phase: str, line: Timeline, piece: Slice | None, start_ns: int) -> Owner:
        if piece is None:
            return Owner(UNKNOWN.cause, (BEGINS_LATE,))
        if not piece.known:
            return Owner(UNKNOWN.cause, (EVENTS_LOST,))
        interrupted = of_frames(self.rules, piece, self.found.path)
        if interrupted is not None:
            return interrupted
        if piece.stay.pid == self.hit.tid and line is self.own:
            return itself(self.rules, piece.stay, self.hit.tid) if phase == "A" else Owner(ORDINARY)
        if phase == "A" and self.found.awake:
            return self._late_to_sleep(piece, start_ns)
        if phase == "A":
            timed = self.found.waking is not None and self.found.timer_ns is not None
            return while_asleep(self.rules, piece) if timed else UNKNOWN
        if phase == "B":
            return self._before_a_waking_outside_interrupts(piece)
        if phase == "C":
            return while_waiting(self.rules, piece, self._waiter(), _found_after(line, piece, start_ns))
        return self._after_the_switch(piece, start_ns)

    def _late_to_sleep(self, piece: Slice, start_ns: int) -> Owner:
        """The thread was awake at the due time, and slept for a moment or was kept from it."""
        switches = self.own.switches.get(self.hit.tid, [])
        at = bisect_right(switches, start_ns, key=_NS)
        if at and switches[at - 1].out == self.hit.tid and switches[at - 1].runnable:
            return while_waiting(self.rules, piece, Waiter(self.priority, switches[at - 1].ns))
        return while_asleep(self.rules, piece)

    def _before_a_waking_outside_interrupts(self, piece: Slice) -> Owner:
        """Another thread does the waking, and may itself have to wait for the CPU."""
        if self.waker_stay is None or piece.stay.pid == self.waker_stay.pid or self.timer_ns is None:
            return Owner(ORDINARY)
        return while_waiting(self.rules, piece, Waiter(self.waker_stay.priority, self.timer_ns))

    def _waiter(self) -> Waiter:
        if self.woken_ns is None:
            before = self.own.switches.get(self.hit.tid, [])
            at = bisect_right(before, self.hit.due_ns, key=_NS)
            return Waiter(self.priority, before[at - 1].ns if at else self.hit.due_ns)
        return Waiter(self.priority, self.woken_ns, self.remote, self._heard_ns() if self.remote else None)

    def _heard_ns(self) -> int | None:
        """The first interrupt from another CPU after the waking."""
        assert self.woken_ns is not None
        later = bisect_left(self.own.interrupts, self.woken_ns, key=lambda frame: frame.start_ns)
        for frame in self.own.interrupts[later:]:
            if frame.start_ns > self.hit.woke_ns:
                return None
            if frame.kind == IPI:
                return frame.start_ns
        return None

    def _after_the_switch(self, piece: Slice, start_ns: int) -> Owner:
        """The thread ran and lost the CPU again before it read the clock."""
        tid = self.hit.tid
        switches = self.own.switches.get(tid, [])
        at = bisect_right(switches, start_ns, key=_NS)
        if not at or switches[at - 1].out != tid:
            return UNKNOWN
        out = switches[at - 1]
        if out.runnable:
            return while_waiting(self.rules, piece, Waiter(self.priority, out.ns))
        wakings = self.own.wakings.get(tid, [])
        woken = wakings[bisect_right(wakings, out.ns, key=_NS) :]
        if woken and woken[0].ns <= start_ns:
            return while_waiting(self.rules, piece, Waiter(self.priority, woken[0].ns))
        return self.by_itself(out.ns)

    def by_itself(self, ns: int) -> Owner:
        """The measured thread at `ns`: its page fault, if it had one since it was switched to, or what else it does."""
        faults = self.own.page_faults.get(self.hit.tid, [])
        since_ns = self.hit.due_ns if self.switch_ns is None else self.switch_ns
        fault = bisect_right(faults, ns) > bisect_left(faults, since_ns)
        return itself(self.rules, self.own_stay(), self.hit.tid, page_fault=fault)

    def _priority(self) -> int | None:
        if self.found.switch is not None:
            return self.found.switch.priority
        return None if self.found.waking is None else self.found.waking.priority


def without_ordinary(
    cut: list[Stretch], usual: Ordinary, rules: Rules, tid: int, own: Callable[[int], Owner]
) -> list[Stretch]:
    """The share of the ordinary path becomes `wake-up`: see `ordinary`. own: the owner of what the measured thread `tid` does
    from a moment on."""
    result: list[Stretch] = []
    for at, stretch in enumerate(cut):
        is_last = _ends_on_the_path(stretch, cut[at + 1] if at + 1 < len(cut) else None)
        if stretch.phase == "A" and _at_thread_level(stretch):
            result += _keep_excess(stretch, usual.entry_ns, is_last)
        elif stretch.phase in "BCD" and _at_thread_level(stretch):
            result += _keep_excess(stretch, usual.switch_ns, is_last)
        elif stretch.owner.cause == ORDINARY and stretch.piece is not None and stretch.piece.frames:
            result += _blame_excess(stretch, usual.inside_ns, rules)
        else:
            result.append(stretch)
    return _own_excess(result, usual.own_ns, tid, own)


def _ends_on_the_path(stretch: Stretch, after: Stretch | None) -> bool:
    """Whether the ordinary path follows: the interrupt of the timer, or a switch."""
    if after is None or after.phase != stretch.phase:
        return True
    return stretch.piece is not None and after.piece is not None and stretch.piece.stay is not after.piece.stay


def _at_thread_level(stretch: Stretch) -> bool:
    """Whether the stretch lies on the ordinary path from or to a thread: not in an interrupt, not another thread's turn."""
    cause = stretch.owner.cause
    evidence = stretch.owner.evidence
    by_order = (
        cause.kind in (THREAD, THROTTLING, SOFTIRQ, PAGE_FAULT) or PRIORITY_ABOVE in evidence or cause == ORDINARY
    )
    return not by_order and INSIDE not in evidence and stretch.piece is not None and stretch.piece.known


def _keep_excess(stretch: Stretch, usual_ns: int, is_last: bool) -> list[Stretch]:
    if stretch.ns <= 2 * usual_ns:
        return [replace(stretch, owner=Owner(ORDINARY))]
    if not is_last:
        return [stretch]
    cut_ns = stretch.end_ns - usual_ns
    return [replace(stretch, end_ns=cut_ns), replace(stretch, start_ns=cut_ns, owner=Owner(ORDINARY))]


def _blame_excess(stretch: Stretch, usual_ns: int, rules: Rules) -> list[Stretch]:
    """The timer's interrupt itself took long."""
    assert stretch.piece is not None
    if stretch.ns <= 2 * usual_ns + USUAL_NS:
        return [stretch]
    cut_ns = stretch.end_ns - usual_ns
    owner = Owner(frame_cause(rules, stretch.piece.frames[-1]), (INSIDE,))
    return [replace(stretch, end_ns=cut_ns, owner=owner), replace(stretch, start_ns=cut_ns)]


def _own_excess(cut: list[Stretch], usual_ns: int, tid: int, own: Callable[[int], Owner]) -> list[Stretch]:
    """The thread itself ran for long before it read the clock: a page fault, its own code. The last of it is the ordinary share."""
    running = [at for at, stretch in enumerate(cut) if _runs(stretch, tid)]
    if sum(cut[at].ns for at in running) <= 2 * usual_ns:
        return cut
    long = [at for at in running if cut[at].ns > usual_ns]
    result: list[Stretch] = []
    for at, stretch in enumerate(cut):
        if at not in long:
            result.append(stretch)
            continue
        cut_ns = stretch.end_ns - (usual_ns if at == long[-1] else 0)
        result.append(replace(stretch, end_ns=cut_ns, owner=own(stretch.start_ns)))
        if cut_ns < stretch.end_ns:
            result.append(replace(stretch, start_ns=cut_ns))
    return result


def _runs(stretch: Stretch, pid: int) -> bool:
    piece = stretch.piece
    return piece is not None and stretch.owner.cause == ORDINARY and not piece.frames and piece.stay.pid == pid


def _found_after(line: Timeline, piece: Slice, ns: int) -> Seen | None:
    """What the interrupt found that ended the piece at `ns`; None if something else did."""
    at = bisect_right(line.starts, ns)
    after = line.slices[at] if at < len(line.slices) else None
    if after is None or after.stay is not piece.stay or len(after.frames) <= len(piece.frames):
        return None
    return after.seen if after.frames[-1].hard else None


def _pieces(line: Timeline, start_ns: int, end_ns: int) -> Iterator[tuple[Slice | None, int, int]]:
    """Slices of the time, cut to it; without empty ones."""
    at = bisect_right(line.starts, start_ns) - 1
    while start_ns < end_ns:
        until = line.starts[at + 1] if at + 1 < len(line.starts) else end_ns
        until = min(until, end_ns)
        if until > start_ns:
            yield (line.slices[at] if at >= 0 else None), start_ns, until
            start_ns = until
        at += 1


def _clamp(ns: int, hit: Hit) -> int:
    return min(max(ns, hit.due_ns), hit.woke_ns)
