"""Stalls by our attribution beside the gaps that the kernel's tracer hwlat found in another run (docs/method/causes.md)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rtassay import rankings
from rtassay.model.causes import HYPERVISOR, SMI, Attribution, Cause
from rtassay.model.errors import UsageError
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.model.measures import HARDWARE_GAP
from rtassay.model.ranking import Below
from rtassay.model.recording import Histogram, Lane, Recording
from rtassay.reports.causes.html import HtmlCauses
from rtassay.reports.causes.markdown import MarkdownCauses
from rtassay.reports.causes.terminal import TerminalCauses

from ...support.attributions import IRQ, MS, US, attribution, ranked, run

S = 1_000 * MS
ABOVE = 200 * US
STALL, STEAL = Cause(SMI), Cause(HYPERVISOR)


def looked(*gaps_ns: int, windows: int = 100, width_ns: int | None = 300 * MS) -> Recording:
    """A run of hwlat with windows of 1 s: these gaps, and no other."""
    values, counts = np.unique(np.array([*gaps_ns, *[0] * (windows - len(gaps_ns))], np.int64), return_counts=True)
    entry = LaneEntry(
        0, "0", 0, S, windows, due=windows, missed=0, dropped=0, truncated=0, over=0,
        min_ns=0, max_ns=max(gaps_ns, default=0), first_due_ns=0, measure=HARDWARE_GAP,
    )  # fmt: skip
    facts = {"settings": {"threshold": 10 * US} | ({} if width_ns is None else {"width": width_ns})}
    manifest = Manifest("hw", "", Source("rtprobe", None, "rtw", "counted"), Plan(interval_ns=S), facts=facts)
    return Recording(manifest, (Lane(entry, Histogram(values, np.ones(len(values), np.int64), counts)),))


def traced(*hits: Attribution, n: int = 10_000) -> Recording:
    return run(*hits, n=n).recording


def test_what_each_found_is_counted_from_where_a_stall_delays_any_wake_up() -> None:
    ours = traced(
        attribution(1, (STALL, 5 * MS)),
        attribution(100, (STEAL, 900 * US), (IRQ, 600 * US)),  # half a stall
        attribution(200, (IRQ, 4 * MS), stall=True),
    )
    one = rankings.below([ours], looked(3 * MS, 1200 * US, 1199 * US, 20 * US), ABOVE)
    assert one.level_ns == ABOVE + MS
    assert (one.windows, one.gaps, one.longest_ns) == (100, 2, 3 * MS)
    assert (one.stalls, one.largest_ns, one.possible) == (1, 5 * MS, 1)
    assert one.looked_ns == 100 * 300 * MS
    missed = 5 + 1 + 4
    assert one.traced_ns == (10_000 + missed) * MS
    assert one.stalls_expected == pytest.approx(2 * one.traced_ns / one.looked_ns)
    assert one.gaps_expected == pytest.approx(one.looked_ns / one.traced_ns)


def test_without_a_width_hwlat_looks_for_half_of_each_window() -> None:
    assert rankings.below([traced()], looked(width_ns=None), ABOVE).looked_ns == 100 * 500 * MS


def test_a_run_of_another_probe_is_refused() -> None:
    with pytest.raises(UsageError, match="was not measured by hwlat"):
        rankings.below([traced()], traced(), ABOVE)


FEW = Below("hw", MS, 100, 0, 0, 30 * S, 0, 0, 0, 30 * S)


@pytest.mark.parametrize(
    ("one", "agrees"),
    [
        (FEW, True),
        (replace(FEW, gaps=1, stalls=9), True),
        (replace(FEW, gaps=3), False),
        (replace(FEW, gaps=2), None),
        (replace(FEW, gaps=2, traced_ns=45 * S), False),
        (replace(FEW, gaps=3, possible=1), None),
        (replace(FEW, stalls=3), False),
        (replace(FEW, stalls=3, looked_ns=29 * S), None),
        (replace(FEW, looked_ns=0), None),
        (replace(FEW, traced_ns=0), None),
    ],
)
def test_they_disagree_where_one_found_what_the_other_must_have_met(one: Below, agrees: bool | None) -> None:
    assert one.agrees is agrees


@pytest.mark.parametrize("report", [TerminalCauses(None), MarkdownCauses(), HtmlCauses()], ids=lambda r: r.name)
def test_every_report_says_whether_hwlat_fits(report: TerminalCauses | MarkdownCauses | HtmlCauses) -> None:
    def told(**changes: int) -> str:
        some = ranked(run(attribution(1, (IRQ, 900 * US))))
        return report.render(replace(some, below=(replace(FEW, **changes),))).decode()

    assert "0 of 100 windows with a gap of 1ms or more" in told() and "they agree" in told()
    assert "and 5 were to be expected: they DISAGREE" in told(gaps=5, longest_ns=2 * MS)
    assert "hwlat should have found 7: they DISAGREE" in told(stalls=7, largest_ns=3 * MS)
    assert "too short a time to tell" in told(gaps=1)
    assert "4 marked as a possible stall: possible stalls may be these gaps" in told(gaps=9, possible=4)


def test_a_page_of_causes_says_of_which_runs() -> None:
    ranking = rankings.rank([traced()])
    (run,) = ranking.runs
    assert f"<span>1 run: {run.id}</span>" in HtmlCauses().render(ranking).decode()
    many = replace(ranking, runs=tuple(replace(run, id=f"run{at}") for at in range(10)))
    assert "<span>10 runs: run0, run1, run2, run3, run4, run5, run6, run7 and 2 more</span>" in (
        HtmlCauses().render(many).decode()
    )
