"""A part of a hit to its place in the kernel, by the stacks of the trace.

Two events have a stack: a timer interrupt (what it interrupted lies behind the entry code of interrupts), and the switch to
the measured thread (of the thread that left).

| cause | stack | what it tells |
| --- | --- | --- |
| `interrupts-off` | of the first interrupt after it | where interrupts came back on |
| `preemption-off`, `bottom-halves-off` | of the switch, if turning preemption back on led to it | where preemption came back on |
| | else of the last interrupt in it | where the CPU was then |
| `no-preemption-point` | of the last interrupt in it, else of the switch | where the CPU was then, or the preemption point at which it ended |
| `softirq` | of the last interrupt in it | where the CPU was then |

No stack of another time is taken: without one of these a part has no place.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from rtassay.causes.symbols import Symbols
from rtassay.causes.timeline import Slice, Timeline
from rtassay.model.causes import (
    AT_END,
    BOTTOM_HALVES_OFF,
    INSIDE,
    INTERRUPTS_OFF,
    NO_PREEMPTION_POINT,
    PREEMPTION_OFF,
    SOFTIRQ,
    Hit,
    Part,
    Place,
)

NAMEABLE = frozenset((INTERRUPTS_OFF, PREEMPTION_OFF, BOTTOM_HALVES_OFF, NO_PREEMPTION_POINT, SOFTIRQ))
"""Kinds of causes that have a place."""
MOST_FRAMES = 16

_ENTRY = re.compile(
    r"asm_sysvec_\w+|asm_common_interrupt|asm_spurious_interrupt|asm_exc_\w+|apic_timer_interrupt|common_interrupt|ret_from_intr"  # x86
    r"|el[01]t?h?_(64_|32_)?irq(_naked)?"  # arm64
    r"|__irq_(svc|usr)"  # arm
    r"|ret_from_exception|handle_exception"  # riscv
)
"""The entry code of interrupts: what was interrupted lies behind it."""
_SCHEDULER = re.compile(r"trace_\w+|__traceiter_\w+|__schedule|_{0,3}preempt_schedule\w*")
_PREEMPTED = re.compile(r"_{0,3}preempt_schedule(?!_irq)\w*")
"""The scheduler, called because preemption came back on, or at a preemption point."""
_POINT = re.compile(r"\w*cond_resched\w*")
_PASSED_OVER = re.compile(
    r"trace_\w+|__traceiter_\w+|__schedule|schedule|\w*cond_resched\w*|_{1,3}preempt_\w+|preempt_(schedule|count)\w*|migrate_(en|dis)able"
    r"|_raw_\w+|__raw_\w+|rt_(spin|read|write)_\w+|_?_?local_bh_enable\w*|(native_)?queued_\w+_slowpath|arch_local_\w+"
    r"|(native|pv|xen|kvm)_(irq|save|restore|safe|queued)\w*|(__)?rcu_read_(un)?lock\w*"
    r"|ktime_get\w*|read_tsc|read_hpet|(kvm|pv)_?clock\w*|(native_)?sched_clock\w*|arch_(timer|counter)_\w+"
    r"|(__)?(const_)?[un]?delay\w*|delay_\w+|__timer_delay|__x86_(indirect|return)_thunk\w*"
)
"""Locks, clocks, waits and the scheduler itself: who called them is what is looked for."""
_SUFFIX = re.compile(r"\.(isra|constprop|part|cold|llvm)\b.*")


def place(line: Timeline, hit: Hit, part: Part, symbols: Symbols) -> Place | None:
    """Where in the kernel `part` of `hit` was spent. `line`: of the CPU of that part."""
    if not line.stacks or part.cause.kind not in NAMEABLE:
        return None
    first = bisect_right(line.starts, part.start_ns) - 1
    if first < 0:
        return None
    if part.cause.kind == INTERRUPTS_OFF:
        return _came_back_on(line, hit, first, part, symbols)
    inside = _found_inside(line, hit, first, part, symbols)
    if part.cause.kind == SOFTIRQ or (part.cause.kind == NO_PREEMPTION_POINT and inside is not None):
        return inside
    left = _at_switch(line, first, symbols)
    point = part.cause.kind == NO_PREEMPTION_POINT
    return _named(left, AT_END) if left is not None and _preempted(left, at_a_point=point) else inside


Frames = Sequence[tuple[str, str]]
"""Of a stack, innermost first: the function's name alone, and with offset and module."""


def _came_back_on(line: Timeline, hit: Hit, first: int, part: Part, symbols: Symbols) -> Place | None:
    """By the first stack after the part, while its thread stays on the CPU."""
    stay = line.slices[first].stay
    for at in range(bisect_left(line.starts, part.start_ns + part.ns), bisect_right(line.starts, hit.woke_ns)):
        piece = line.slices[at]
        if at in line.stacks and (piece.stay is not stay or _hard(piece)):
            return _named(_interrupted(_frames(line.stacks[at], symbols)), AT_END)
        if piece.stay is not stay:
            return None
    return None


def _found_inside(line: Timeline, hit: Hit, first: int, part: Part, symbols: Symbols) -> Place | None:
    """By the last interrupt of the hit until the end of the part, while the same thread was on the CPU."""
    stay = line.slices[first].stay
    at = bisect_right(line.starts, part.start_ns + part.ns)
    while at > 0 and line.starts[at - 1] >= hit.due_ns:
        at -= 1
        piece = line.slices[at]
        if piece.stay is stay and at in line.stacks and _hard(piece) and _in_softirq(piece, part):
            found = _named(_interrupted(_frames(line.stacks[at], symbols)), INSIDE)
            if found is not None and found.function:
                return found
    return None


def _at_switch(line: Timeline, first: int, symbols: Symbols) -> Frames | None:
    """The stack with which the thread of slice `first` left the CPU."""
    stay = line.slices[first].stay
    for at in range(first + 1, len(line.slices)):
        if line.slices[at].stay is not stay:
            return _frames(line.stacks[at], symbols) if at in line.stacks else None
    return None


def _hard(piece: Slice) -> bool:
    return bool(piece.frames) and piece.frames[-1].hard


def _in_softirq(piece: Slice, part: Part) -> bool:
    """Whether the interrupt came in the softirq that the part is about; True for parts about a thread."""
    cause = part.cause
    if cause.kind != SOFTIRQ or not cause.name:
        return True
    return any(frame.kind == SOFTIRQ and frame.name == cause.name for frame in piece.frames)


def _preempted(frames: Frames, *, at_a_point: bool) -> bool:
    """Whether the scheduler was called at a preemption point, or because preemption came back on: not by an interrupt, and not in order
    to sleep."""
    preempted = False
    for name, _ in frames:
        if not _SCHEDULER.fullmatch(name):
            return preempted and at_a_point == (_POINT.fullmatch(name) is not None)
        preempted = preempted or _PREEMPTED.fullmatch(name) is not None
    return False


def _interrupted(frames: Frames) -> Frames | None:
    """What the innermost interrupt interrupted: empty in user space; None where no interrupt's entry is in the stack."""
    for at, (name, _) in enumerate(frames):
        if _ENTRY.fullmatch(name):
            return frames[at + 1 :]
    return None


def _named(frames: Frames | None, at: str) -> Place | None:
    """The innermost function that is none of those to be passed over; None if there is no other, as in a stack that breaks off."""
    if frames is None:
        return None
    own = [shown for name, shown in frames if not _PASSED_OVER.fullmatch(name)]
    if frames and not own:
        return None
    return Place(own[0] if own else "", at, tuple(shown for _, shown in frames[:MOST_FRAMES]))


def _frames(addresses: Sequence[int], symbols: Symbols) -> Frames:
    return list(_each(addresses, symbols))


def _each(addresses: Sequence[int], symbols: Symbols) -> Iterator[tuple[str, str]]:
    for address in addresses:
        yield _SUFFIX.sub("", symbols.function(address)), symbols.name(address)
