"""Known faults by the kernel's tracer timerlat and by our attribution of the same wake-ups: both say the same (docs/method/causes.md)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import known_causes
import pytest
import rtfault

from rtassay.boards.binaries import probe_path
from rtassay.causes.attribution import attribute
from rtassay.causes.crosscheck import crosscheck

pytestmark = pytest.mark.full

# What keeps a thread of PREEMPT_RT waiting, with the interrupt in time or not. For two intervals: rtprobe's own thread, which reads pages for up to
# 1.2 ms, may let a fault begin late, and one that is no longer than an interval can then fall between two wake-ups.
FAULTS = tuple(replace(fault, lengths_us=(2000,)) for fault in known_causes.FAULTS if fault.letter in "iphf")
# A traced wake-up of this thread takes up to 130 us undisturbed. A level below it makes 50 of them a hit in one second, and there the cap is.
ABOVE_NS = 200_000


def test_the_tracer_says_the_same_of_known_faults(tmp_path: Path) -> None:
    module = rtfault.build("rt", tmp_path)
    answer = known_causes.run("rt", module, probe_path("x86_64"), FAULTS, method="timerlat", above_ns=ABOVE_NS)
    assert answer.not_captured == 0
    for cell in answer.cells:
        assert (cell.injected, cell.hits, cell.wrong) == (known_causes.HITS, known_causes.HITS, ()), cell.fault.name
    trace, realtime = known_causes.trace_of(answer.stream)
    found = attribute(trace, virtual=False, realtime=realtime)
    beside = crosscheck(trace, found, "known")
    assert beside is not None and beside.compared >= 0.9 * len(found)
    assert beside.agrees, beside
