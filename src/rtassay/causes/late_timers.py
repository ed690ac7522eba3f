"""A timer whose interrupt came late although interrupts were on: nothing that the kernel did kept it away.

The scheduler turns interrupts on right after it has switched to a thread. A timer that was due by then interrupts that thread at
once. If it does not, then no thread had interrupts off: the timer itself was late. On a virtual board the host is what
brings a timer; elsewhere nothing in the trace tells who it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rtassay.causes.ordinary import USUAL_NS
from rtassay.causes.owners import Owner
from rtassay.causes.stretches import Stretch
from rtassay.model.causes import (
    HYPERVISOR,
    INTERRUPTS_OFF,
    OBSERVER,
    SWITCHED_MEANWHILE,
    UNATTRIBUTED,
    WAKE_UP,
    Cause,
)

_CLAIMED = (INTERRUPTS_OFF, OBSERVER, WAKE_UP)


def with_late_timer(cut: Sequence[Stretch], usual_ns: int, virtual: bool) -> list[Stretch]:
    """The cut of a thread that slept at its due time, with what threads ran of phase A given to the late timer, if it was.

    usual_ns: from the due time to the timer's interrupt, out of a running thread.
    """
    waited = [stretch for stretch in cut if stretch.phase == "A"]
    turns = [
        stretch.piece.stay.start_ns for stretch in waited if stretch.piece is not None and _began_within(stretch, cut)
    ]
    if not turns or waited[-1].end_ns - turns[0] <= 2 * usual_ns + USUAL_NS:
        return list(cut)
    owner = Owner(Cause(HYPERVISOR if virtual else UNATTRIBUTED), (SWITCHED_MEANWHILE,))
    return [replace(stretch, owner=owner) if _by_a_thread(stretch) else stretch for stretch in cut]


def _began_within(stretch: Stretch, cut: Sequence[Stretch]) -> bool:
    """Whether a thread was switched to after the due time, and ran in this stretch."""
    piece = stretch.piece
    return (
        piece is not None
        and piece.known
        and piece.stay.switched_in
        and piece.stay.pid != 0
        and piece.stay.start_ns >= cut[0].start_ns
    )


def _by_a_thread(stretch: Stretch) -> bool:
    piece = stretch.piece
    return (
        stretch.phase == "A"
        and piece is not None
        and piece.known
        and piece.stay.pid != 0
        and stretch.owner.cause.kind in _CLAIMED
    )
