"""The rules: who owns one stretch between two events, by what ran and what the measured thread was doing.

| the measured thread | what runs | owner |
| --- | --- | --- |
| any | an interrupt, IPI, hrtimer function; on a kernel without PREEMPT_RT a softirq | that |
| any | what woke it: its timer's interrupt and function | `wake-up` |
| sleeps, the timer's interrupt has not begun | a thread | `interrupts-off` in that thread |
| | idle | `idle-exit` |
| wants to run | a thread of its priority or above, at the switch to or from that thread | `thread` |
| | a thread of lower priority, or idle, which the scheduler chose meanwhile, or before while it held a real-time thread back | `throttling` |
| | idle from before, and the next interrupt finds no request to reschedule | `throttling` |
| | idle from before | `idle-exit` |
| | a thread of lower priority from before | by the last interrupt's record: `preemption-off` (preempt_count), `bottom-halves-off` (flag, not on PREEMPT_RT), `softirq` (flag); else `no-preemption-point`, but on a kernel that is preemptible everywhere `preemption-off` if the next interrupt found it so |
| runs | it | `wake-up` |
| sleeps again before it read the clock | any thread | `page-fault` if it had one since it was switched to; else `thread`, itself |

What no rule names is `unattributed`. A thread of the measurement itself is an `observer`, whatever it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rtassay.causes.symbols import Symbols
from rtassay.causes.timeline import BOTTOM_HALVES, IN_SOFTIRQ, NEED_RESCHED, Frame, Seen, Slice, Stay
from rtassay.model.causes import (
    BH_FLAG,
    BOTTOM_HALVES_OFF,
    CHOSEN_INSTEAD,
    FROM_IDLE,
    HRTIMER,
    IDLE_EXIT,
    INSIDE,
    INTERRUPTS_OFF,
    IRQ,
    NO_EVENT,
    NO_PREEMPTION_POINT,
    NOT_TO_LEAVE,
    OBSERVER,
    OWN_THREAD,
    PAGE_FAULT,
    PAGE_FAULT_EVENT,
    PREEMPT_COUNT,
    PREEMPTION_OFF,
    PRIORITY_ABOVE,
    PRIORITY_BELOW,
    SOFTIRQ,
    THREAD,
    THROTTLING,
    UNATTRIBUTED,
    WAKE_UP,
    Cause,
)

NOBODY = Cause(UNATTRIBUTED)
ORDINARY = Cause(WAKE_UP)
OBSERVERS = ("rtprobe-trace", "rtprobe-writer", "rtprobe-keeper", "rtprobe-follow")
"""Threads of the measurement. Not the lanes, which are what is measured, and not the built-in load."""
LANE = "rtprobe-lane"
"""A lane's thread. Where a tracer of the kernel measures a thread of its own, it only reads the samples, and belongs to the measurement as well."""


class Owner(NamedTuple):
    """An owner and what says so."""

    cause: Cause
    evidence: tuple[str, ...] = ()


UNKNOWN = Owner(NOBODY)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the rules need to know of the kernel. realtime: PREEMPT_RT; preemptible: everywhere outside of locks; None: not
    known. observers: names of threads of the measurement. followed: a foreign program is, by `rtassay explain`, without a load of ours."""

    symbols: Symbols
    realtime: bool | None
    preemptible: bool | None
    observers: tuple[str, ...] = OBSERVERS
    followed: bool = False

    def observes(self, name: str) -> bool:
        """Whether a thread of this name belongs to the measurement. What has no name of its own (guard, spool) is named as the file on the board."""
        return name in self.observers or (self.followed and name.startswith("rtprobe"))


@dataclass(frozen=True, slots=True)
class Waiter:
    """A thread that wants to run since `since_ns`. remote: another CPU woke it; enqueued_ns: when this CPU heard of it."""

    priority: int | None
    since_ns: int
    remote: bool = False
    enqueued_ns: int | None = None


def thread_cause(rules: Rules, kind: str, stay: Stay) -> Cause:
    """A cause that names a thread."""
    kind = OBSERVER if rules.observes(stay.name) else kind
    return Cause(kind, stay.name, None, stay.pid, stay.priority)


def frame_cause(rules: Rules, frame: Frame) -> Cause:
    """What interrupts a thread, as a cause."""
    if frame.kind == HRTIMER:
        return Cause(HRTIMER, "" if frame.number is None else rules.symbols.name(frame.number))
    if not frame.name:
        return NOBODY
    return Cause(frame.kind, frame.name, frame.number if frame.kind == IRQ else None)


def of_frames(rules: Rules, piece: Slice, path: frozenset[Frame]) -> Owner | None:
    """The owner if something interrupts the thread, else None. On PREEMPT_RT a softirq is part of its thread."""
    frames = piece.frames
    if not frames or (rules.realtime and not any(frame.hard for frame in frames)):
        return None
    if frames[-1] in path:
        return Owner(ORDINARY)
    return Owner(frame_cause(rules, frames[-1]), (INSIDE,))


def while_asleep(rules: Rules, piece: Slice) -> Owner:
    """Before the timer's interrupt: nothing but closed interrupts, or a CPU that sleeps deeply, keeps it away."""
    if piece.stay.pid == 0:
        return Owner(Cause(IDLE_EXIT), (NO_EVENT, FROM_IDLE))
    return Owner(thread_cause(rules, INTERRUPTS_OFF, piece.stay), (NO_EVENT,))


def while_waiting(rules: Rules, piece: Slice, waiter: Waiter, after: Seen | None = None) -> Owner:
    """The thread that waits may run, and another one has the CPU. after: what the interrupt found that ended the piece."""
    stay = piece.stay
    chosen = _chosen_meanwhile(stay, waiter)
    if stay.pid == 0 and chosen:
        return Owner(Cause(THROTTLING), (CHOSEN_INSTEAD,))
    if stay.pid == 0:
        # A waking asks idle to reschedule. The request is gone and idle still there: the scheduler has passed over the thread.
        passed = after is not None and not after.flags & NEED_RESCHED and not waiter.remote
        return Owner(Cause(THROTTLING), (NOT_TO_LEAVE,)) if passed else Owner(Cause(IDLE_EXIT), (FROM_IDLE,))
    if stay.priority is None or waiter.priority is None:
        return UNKNOWN
    if min(stay.priority, stay.priority if stay.chosen_at is None else stay.chosen_at) <= waiter.priority:
        return Owner(thread_cause(rules, THREAD, stay), (PRIORITY_ABOVE,))
    if chosen:
        return Owner(Cause(THROTTLING), (PRIORITY_BELOW, CHOSEN_INSTEAD))
    return _kept_on(rules, piece, waiter, after)


def _chosen_meanwhile(stay: Stay, waiter: Waiter) -> bool:
    since = waiter.enqueued_ns if waiter.remote else waiter.since_ns
    return stay.over_realtime or (stay.switched_in and since is not None and stay.start_ns >= since)


def _kept_on(rules: Rules, piece: Slice, waiter: Waiter, after: Seen | None) -> Owner:
    """A thread of lower priority was on the CPU and stays there."""
    stay, seen = piece.stay, piece.seen
    if waiter.remote and (waiter.enqueued_ns is None or piece.start_ns < waiter.enqueued_ns):
        return Owner(thread_cause(rules, INTERRUPTS_OFF, stay), (NO_EVENT, PRIORITY_BELOW))
    if seen is not None and seen.depth:
        return Owner(thread_cause(rules, PREEMPTION_OFF, stay), (PREEMPT_COUNT, PRIORITY_BELOW))
    if seen is not None and not rules.realtime:
        if seen.flags & BOTTOM_HALVES:
            return Owner(thread_cause(rules, BOTTOM_HALVES_OFF, stay), (BH_FLAG, PRIORITY_BELOW))
        if seen.flags & IN_SOFTIRQ:
            return Owner(Cause(SOFTIRQ), (PRIORITY_BELOW,))
    if rules.realtime or rules.preemptible:
        # It was to leave at once: what kept it began then.
        off = after is not None and after.depth
        return Owner(thread_cause(rules, PREEMPTION_OFF, stay), (PREEMPT_COUNT, PRIORITY_BELOW)) if off else UNKNOWN
    return Owner(thread_cause(rules, NO_PREEMPTION_POINT, stay), (PRIORITY_BELOW,))


def itself(rules: Rules, stay: Stay | None, tid: int, *, page_fault: bool = False) -> Owner:
    """The measured thread, which sleeps or takes long although it was woken, since a page fault or not."""
    kind = PAGE_FAULT if page_fault else THREAD
    cause = Cause(kind, "", None, tid) if stay is None else thread_cause(rules, kind, stay)
    return Owner(cause, (OWN_THREAD, PAGE_FAULT_EVENT) if page_fault else (OWN_THREAD,))
