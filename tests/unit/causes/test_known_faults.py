"""Real hits of Debian's kernels whose cause was injected: the cause is found, its size is right, the parts sum exactly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cause_traces import FAULTS, known

from rtassay.causes.attribution import attribute
from rtassay.model.causes import WAKE_UP, Attribution, Part


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.name.split(".")[0])
def test_the_injected_cause_is_found_with_its_size(path: Path) -> None:
    case = known(path)
    found = attribute(case.trace, virtual=False, realtime=case.realtime, preemptible=case.realtime)
    assert len(found) == len(case.trace.hits) == 3
    for one, (start, end) in zip(found, case.faults, strict=True):
        assert (one.top.kind, one.top.name) == case.expected
        assert one.complete and not one.events_lost and not one.stall_possible
        assert_sums(one)
        own = sum(part.ns for part in one.parts if part.cause == one.top)
        # The timer's interrupt and the waking pass inside the fault, but are not its doing.
        inside = sum(overlap(part, start, end) for part in one.parts if part.cause.kind == WAKE_UP)
        injected = min(end, one.hit.woke_ns) - max(start, one.hit.due_ns) - inside
        assert abs(own - injected) <= max(10_000, injected // 20)


def overlap(part: Part, start: int, end: int) -> int:
    return max(0, min(part.start_ns + part.ns, end) - max(part.start_ns, start))


def assert_sums(one: Attribution) -> None:
    at = one.hit.due_ns
    for part in one.parts:
        assert part.start_ns == at and part.ns > 0
        at += part.ns
    assert at == one.hit.woke_ns


def test_on_a_virtual_board_silence_is_marked() -> None:
    case = known(next(path for path in FAULTS if "interrupts-off" in path.name))
    assert all(one.stall_possible for one in attribute(case.trace, virtual=True))


@pytest.mark.parametrize("path", FAULTS[:3], ids=lambda path: path.name.split(".")[0])
def test_every_cut_of_the_pages_still_sums(path: Path) -> None:
    case = known(path)
    pages = case.trace.pages[0]
    for drop in range(len(pages)):
        trace = replace(case.trace, pages={0: pages[:drop] + pages[drop + 1 :]})
        for one in attribute(trace, virtual=False):
            assert_sums(one)
    for one in attribute(replace(case.trace, pages={}), virtual=False):
        assert_sums(one)
        assert (one.top.kind, one.evidence, one.complete) == ("unattributed", ("no-pages",), False)
