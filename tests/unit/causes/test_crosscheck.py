"""Our attribution beside the kernel's tracer timerlat, on a real trace that has both (tests/data/causes/README.md)."""

from __future__ import annotations

import base64
import json
import lzma
from dataclasses import replace
from functools import cache

import pytest
from cause_traces import DATA

from rtassay.causes.attribution import attribute
from rtassay.causes.crosscheck import crosscheck
from rtassay.model import ranking as codes
from rtassay.model.causes import Attribution, Cause, Hit, Part, Trace
from rtassay.model.ranking import CrossCheck, Ranking
from rtassay.reports.causes.html import HtmlCauses
from rtassay.reports.causes.markdown import MarkdownCauses
from rtassay.reports.causes.terminal import TerminalCauses

from ...support.attributions import IRQ, US, attribution, ranked, run


@cache
def real() -> tuple[Trace, tuple[Attribution, ...]]:
    data = json.loads(lzma.decompress((DATA / "tracer" / "timerlat-rt.json.xz").read_bytes()))
    pages = {0: tuple(base64.b64decode(page) for page in data["pages"])}
    trace = Trace(
        data["header_page"], data["formats"], pages, tuple(Hit(**hit) for hit in data["hits"]), data["kallsyms"]
    )
    return trace, attribute(trace, virtual=False, realtime=True)


def checked(trace: Trace, found: tuple[Attribution, ...]) -> CrossCheck:
    one = crosscheck(trace, found, "run")
    assert one is not None
    return one


def agreed(one: CrossCheck) -> dict[str, int]:
    return {part.part: part.agreed for part in one.parts}


def test_both_say_the_same_of_faults_that_were_injected() -> None:
    trace, found = real()
    assert {one.top.kind for one in found} == {"interrupts-off", "preemption-off", "hrtimer", "thread"}
    one = checked(trace, found)
    # The record of one thread lies behind the last page of its hit.
    assert (one.hits, one.compared, one.agrees) == (8, 7, True)
    assert all(part.tracer_ns > 1_000_000 for part in one.parts if part.part in (codes.TIMER_INTERRUPT, codes.THREADS))


def test_an_owner_that_the_tracer_does_not_know_is_a_disagreement_of_that_size() -> None:
    trace, found = real()
    wrong = tuple(
        replace(one, parts=tuple(replace(p, cause=IRQ) if p.cause.kind == "thread" else p for p in one.parts))
        for one in found
    )
    one = checked(trace, wrong)
    fifo = sum(one.top.kind == "thread" for one in found) - 1  # one of them is not compared
    assert not one.agrees
    assert agreed(one) == {"timer-interrupt": 7, "interrupts": 7 - fifo, "softirqs": 7, "threads": 7 - fifo}
    (threads,) = (part for part in one.parts if part.part == codes.THREADS)
    assert threads.worst_ns < -900_000


def test_the_tracer_s_own_thread_is_no_noise_to_it() -> None:
    """It ran longer than usual between its switch and its reading of the clock: our part of phase D, and nothing of the tracer's."""
    trace, found = real()
    longer = []
    for one in found:
        own = Part("D", Cause("thread", "timerlat/0", pid=one.hit.tid, priority=9), one.hit.woke_ns, 2_000_000)
        longer.append(replace(one, parts=(*one.parts, own)))
    assert agreed(checked(trace, tuple(longer)))["threads"] == 7
    others = [
        replace(one, parts=(*one.parts[:-1], replace(one.parts[-1], cause=replace(one.parts[-1].cause, pid=1))))
        for one in longer
    ]
    assert agreed(checked(trace, tuple(others)))["threads"] == 0


def test_a_stall_of_the_machine_is_the_tracer_s_thread() -> None:
    trace, found = real()
    stalled = tuple(
        replace(one, parts=tuple(replace(p, cause=Cause("smi")) if p.cause == one.top else p for p in one.parts))
        for one in found
    )
    assert agreed(checked(trace, stalled))["threads"] < 7


def test_a_tracer_that_lost_its_records_is_not_compared() -> None:
    trace, found = real()
    other = tuple(replace(one, hit=replace(one.hit, woke_ns=one.hit.woke_ns + 1)) for one in found)
    one = checked(trace, other)
    assert (one.hits, one.compared, one.parts, one.agrees) == (8, 0, (), False)


def test_without_a_tracer_there_is_nothing_to_compare() -> None:
    trace, found = real()
    without = {name: text for name, text in trace.formats.items() if name != "ftrace/timerlat"}
    assert crosscheck(replace(trace, formats=without), found, "run") is None


def ranking_with(one: CrossCheck) -> Ranking:
    return replace(ranked(run(attribution(1, (IRQ, 900 * US)))), crosschecks=(one,))


@pytest.mark.parametrize("report", [TerminalCauses(None), MarkdownCauses(), HtmlCauses()], ids=lambda r: r.name)
def test_every_report_says_whether_they_agree_and_where_not(
    report: TerminalCauses | MarkdownCauses | HtmlCauses,
) -> None:
    trace, found = real()
    one = checked(trace, found)
    same = report.render(ranking_with(one)).decode()
    assert "timerlat AGREES: 7 of 8 late wake-ups compared" in same and "threads after that" in same
    worse = replace(
        one, parts=(*one.parts[:3], replace(one.parts[3], agreed=2, worst_ns=-5_000_000, worst_lane=1, worst_k=4711))
    )
    differs = report.render(ranking_with(worse)).decode()
    assert "DISAGREES" in differs and "5ms less by rtassay in activation 4,711 of lane 1" in differs
    nothing = report.render(ranking_with(CrossCheck("run", "timerlat", 3, 0, ()))).decode()
    assert "nothing to compare with" in nothing
