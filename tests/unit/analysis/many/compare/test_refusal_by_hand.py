"""What is refused, what is rounded, and the question of a build server: texts and bounds from made-up runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.compare import few_runs, regressions
from rtassay.analysis.many.compare.refusal import incomparable, rounding, unlike_measures
from rtassay.analysis.many.compare.rounding import common_width_ns, rounded
from rtassay.model.comparison import A_BETTER, B_BETTER, QuantileRatio
from rtassay.model.recording import Lane

from ...build import US, account, block_lane, histogram, skip_lane


def run(name: str = "r", width: int = 1000, policy: str = "skip", stalled: bool = False, *measures: str) -> Any:
    source = SimpleNamespace(late_policy=policy)
    lanes = [SimpleNamespace(entry=SimpleNamespace(measure=measure)) for measure in measures]
    recording = SimpleNamespace(manifest=SimpleNamespace(bin_width_ns=width, source=source), lanes=lanes)
    return SimpleNamespace(id=name, recording=recording, stalled=stalled)


@pytest.mark.parametrize(
    ("widths", "common"),
    [((1000,), 1000), ((1, 1000), 1000), ((500, 1000, 250), 1000), ((1000, 1500), None), ((400, 1000), None)],
)
def test_a_width_that_all_others_divide(widths: tuple[int, ...], common: int | None) -> None:
    assert common_width_ns([run(width=width).recording for width in widths]) == common


def test_bins_that_are_refused_or_rounded() -> None:
    a, b = [run(width=1500)], [run(width=1000), run(width=500)]
    assert incomparable(a, b) == (
        "the bins of A are 1.5us wide, those of B 500ns and 1us, and neither divides the other",
    )
    fine, coarse = [run(width=1)], [run(width=1000), run(width=500)]
    assert incomparable(fine, coarse) == () and rounding(fine, fine) is None
    assert (
        rounding(fine, coarse)
        == "the bins of A are 1ns wide, those of B 500ns and 1us: all values are rounded down to 1us"
    )


def test_late_policies_matter_where_latencies_reach_the_interval() -> None:
    skip, counted = run("s", policy="skip"), run("c", policy="counted")
    late, later = run("late", policy="counted", stalled=True), run("later", policy="skip", stalled=True)
    assert incomparable([skip], [counted]) == () and incomparable([late], [counted]) == ()
    begin = "after a late wake-up A does 'skip', B 'counted', and latencies reach the interval"
    assert incomparable([skip], [late]) == (f"{begin} (late)",)
    assert incomparable([later, later], [late]) == (f"{begin} (later and 2 more)",)
    both = incomparable([skip, counted], [late])
    assert both == (
        "after a late wake-up A does 'counted and skip', B 'counted', and latencies reach the interval (late)",
    )


def test_groups_without_a_measure_in_common() -> None:
    def of(*measures: str) -> Any:
        return run("r", 1, "skip", False, *measures)

    assert unlike_measures([of("wake-up")], [of("wake-up")]) is None
    assert unlike_measures([of("wake-up", "noise")], [of("noise")]) is None
    assert unlike_measures([of()], [of("noise")]) is None and unlike_measures([of()], [of()]) is None
    assert unlike_measures([of("wake-up"), of("wake-up")], [of("noise"), of("timer-irq", "noise")]) == (
        ("wake-up",), ("noise", "timer-irq"),
    )  # fmt: skip


def test_values_are_rounded_down_and_added_up() -> None:
    fine = account(block_lane({900: 1, 1000: 2, 1999: 3, 2000: 4, 3500: 5}))
    coarse = rounded(fine, 1000)
    assert (coarse.lower.tolist(), coarse.width.tolist(), coarse.counts.tolist()) == (
        [0, 1000, 2000, 3000],
        [1000] * 4,
        [1, 5, 4, 5],
    )
    assert (coarse.top.tolist(), coarse.top_sorted, coarse.bin_width_ns) == ([1000, 2000, 3000, 4000], True, 1000)
    assert (coarse.entry.min_ns, coarse.entry.max_ns, coarse.entry.sum_ns) == (0, 3000, None)
    same = account(block_lane({900: 1}))
    assert rounded(same, 1) is same


def test_wide_bins_reach_as_far_as_their_top() -> None:
    """Bins from 900 to 1600 ns and from 1700 to 2400 ns end at 2 us and 3 us."""
    lane = block_lane({900: 1, 1700: 2})
    uneven = Lane(lane.entry, histogram({900: 1, 1700: 2}, 700))
    found = rounded(account(uneven), 1000)
    assert (found.lower.tolist(), found.top.tolist(), found.width.tolist()) == ([0, 1000], [2000, 3000], [2000, 2000])
    both = rounded(account(Lane(lane.entry, histogram({1100: 1, 1700: 2}, 700))), 1000)
    assert (both.lower.tolist(), both.top.tolist(), both.counts.tolist()) == ([1000], [3000], [3])
    imported = account(skip_lane({5: 1}), bin_width_ns=US)
    assert rounded(imported, US) is imported and np.array_equal(rounded(imported, 5 * US).lower, [5 * US])


def compared(a: int, b: int, *rows: QuantileRatio) -> Any:
    groups = [SimpleNamespace(runs=(None,) * count) for count in (a, b)]
    return SimpleNamespace(a=groups[0], b=groups[1], quantiles=rows)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (3, 3, None),
        (3, 9, None),
        (2, 3, "A has 2 runs, B 3: a regression takes 3 runs of each, better 5"),
        (1, 1, "A has 1 run, B 1: a regression takes 3 runs of each, better 5"),
        (9, 2, "A has 9 runs, B 2: a regression takes 3 runs of each, better 5"),
    ],
)
def test_runs_that_are_too_few_for_a_regression(a: int, b: int, words: str | None) -> None:
    assert few_runs(compared(a, b)) == words


def test_a_regression_is_shown_and_beyond_the_tolerance() -> None:
    def row(q: float, lo: float | None, shown: str | None) -> QuantileRatio:
        return QuantileRatio(q, 1, 1, 2.0, lo, 9.0, "exact", shown=shown)

    rows = (
        row(0.5, 1.25, A_BETTER),
        row(0.9, 1.5, A_BETTER),
        row(0.99, 1.5, B_BETTER),
        row(0.999, 1.5, None),
        row(0.7, None, A_BETTER),
    )
    found = compared(3, 3, *rows)
    assert regressions(found) == (0.5, 0.9) and regressions(found, 25) == (0.9,) and regressions(found, 50) == ()
