"""Cells to combinations, each number worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.many.experiment.cells import (
    FACTORS,
    Design,
    Measured,
    combine,
    power,
    quantile_of,
    smallest_common_p,
    star,
)
from rtassay.analysis.many.lanes import by_lane
from rtassay.model.experiment import Combination
from rtassay.model.recording import Recording, Series

from ...build import MS, SECOND, US, block_lane, cyclictest, facts, inventory, recording, skip_lane
from .by_hand import step
from .cells_of import measured

P = 1e-3


def run(
    *lanes: Mapping[int, int], boot: str | None = None, zones: Mapping[str, float] | None = None, **changes: Any
) -> Recording:
    telemetry = tuple(
        Series("temperature", name, "degC", np.array([0, SECOND]), np.array([value, value]))
        for name, value in (zones or {}).items()
    )
    made = [block_lane(counts, index=i) for i, counts in enumerate(lanes)]
    return recording(*made, inventory=inventory(boot_id=boot), telemetry=telemetry, **changes)


def combined(*made: Recording, p_each: float | None = P, **changes: Any) -> Combination:
    cells = [measured("s", i, one) for i, one in enumerate(made)]
    rest = {"planned": {cells[0].combination: len(cells)}, "levels": {"load": ("all",)}} | changes
    (found,) = combine(cells, Design(None, P, 0.95, "combination", **rest), p_each)
    return found


@pytest.mark.parametrize(
    ("p", "words"),
    [(None, "-"), (1e-6, "1e-6"), (1.5e-12, "1.5e-12"), (1e-10, "1e-10"), (0.05, "0.05"), (1e-3, "0.001")],
)
def test_probabilities_as_people_write_them(p: float | None, words: str) -> None:
    assert power(p) == words


def test_what_a_design_varies_and_asks() -> None:
    made = Design(None, 1e-6, 0.95, "cell", {}, {"scenario": ("x", "y"), "kernel": ("rt", "stock"), "load": ("all",)})
    assert made.varying == ("kernel", "scenario") and made.asked == "p = 1e-6"
    assert made.title({"kernel": "rt", "scenario": "x", "load": "all"}) == "rt, x"
    alone = replace(made, levels={}, per_hour=0.25)
    assert alone.title({"kernel": "rt", "load": "all"}) == "all" and alone.asked == "0.25 events an hour"


@pytest.mark.parametrize(
    ("lanes", "asked", "p"),
    [
        ((28,), 1e-6, None),  # ln 0.05 / ln(1 - p): 28.4, 298.1, 2994.2
        ((29,), 1e-6, 1e-1),
        ((298,), 1e-6, 1e-1),
        ((299,), 1e-6, 1e-2),
        ((2994,), 1e-6, 1e-2),
        ((2995,), 1e-6, 1e-3),
        ((2995,), 5e-2, 5e-2),
        ((2995, 29), 1e-6, 1e-1),
    ],
)
def test_the_smallest_p_that_every_lane_can_demonstrate(lanes: tuple[int, ...], asked: float, p: float | None) -> None:
    cell = measured("s", 1, run(*({10 * US: n} for n in lanes)))
    assert smallest_common_p([cell], 0.95, asked) == pytest.approx(p)
    each = [measured("s", i, run({10 * US: n})) for i, n in enumerate(lanes)]
    assert smallest_common_p(each, 0.95, asked) == pytest.approx(p)


def test_without_cells_there_is_no_common_p() -> None:
    assert smallest_common_p([], 0.95, 1e-6) is None


def test_d_star_is_that_of_the_worst_lane_and_needs_all() -> None:
    """3000 samples demonstrate their maximum for p = 1e-3."""
    lanes = by_lane([run({10 * US: 3000}, {30 * US: 3000}, {20 * US: 3000})])
    assert star(lanes, P, 0.95) == 30 * US + 1 or star(lanes, P, 0.95) == 30 * US
    assert star(lanes, None, 0.95) is None and star({}, P, 0.95) is None
    assert star(by_lane([run({10 * US: 3000}, {30 * US: 300})]), P, 0.95) is None


def test_what_is_added_up_over_runs_and_lanes() -> None:
    two = [
        run({8 * US: 1000, 20 * US: 1000}, {10 * US: 3000}, boot="x"),
        run({6 * US: 4000}, {40 * US: 1000}, boot="y"),
    ]
    found = combined(*two)
    assert (found.title, found.planned, found.n, found.due, found.missed, found.over) == (
        "all",
        2,
        10_000,
        10_000,
        0,
        0,
    )
    assert (found.min_ns, found.max_ns, found.boots, found.measure) == (6 * US, 40 * US, 2, "wake-up")
    # (8 + 20 + 3 x 10 + 4 x 6 + 40) / 10
    assert found.mean_ns == pytest.approx(12_200)
    squares = 8**2 + 20**2 + 3 * 10**2 + 4 * 6**2 + 40**2
    assert found.sd_ns == pytest.approx(1000 * math.sqrt(squares / 10 - 12.2**2), rel=1e-3)
    # the longer lane of a run: 2999 and 3999 intervals of 1 ms
    assert found.hours == pytest.approx((2.999 + 3.999) / 3600)
    assert found.histogram is not None and found.histogram.total == 10_000
    assert [run.repeat for run in found.runs] == [0, 1] and [run.boot for run in found.runs] == ["x", "y"]
    assert combined(*two, run({6 * US: 10})).boots is None, "one run does not tell"
    assert [name for name, _ in found.lanes] == ["CPU0", "CPU1"]


def test_lanes_have_d_star_of_their_own_at_the_common_p() -> None:
    found = combined(run({10 * US: 3000}, {30 * US: 3000}), run({20 * US: 3000}, {15 * US: 3000}))
    assert [ns for _, ns in found.lanes] == [
        star({"x": lane}, P, 0.95) for lane in by_lane([run({10 * US: 3000}), run({20 * US: 3000})]).values()
    ] + [star(by_lane([run({30 * US: 3000}), run({15 * US: 3000})]), P, 0.95)]
    assert found.star_each_ns == max(ns or 0 for _, ns in found.lanes)
    assert found.star_ns == found.star_each_ns
    assert [run.star_ns for run in found.runs] == [star(by_lane([run({v * US: 3000})]), P, 0.95) for v in (30, 20)]
    surer = combined(run({10 * US: 3000}), sure={("local", None, "all", "rtprobe", "s"): 0.99})
    assert surer.star_ns is None and surer.star_each_ns is not None, "0.99 takes 4603 samples"
    events = combined(run({10 * US: 3000}), per_hour=1.0)
    assert events.star_ns is None, "3 s tell nothing of an hour"
    assert combined(run({10 * US: 3000}), p_each=None).star_each_ns is None


def test_jitter_is_the_range_between_two_ranks() -> None:
    """Of 20000: rank 2 and rank 19998."""
    counts = {1 * US: 1, 2 * US: 1, 10 * US: 19_995, 20 * US: 1, 30 * US: 1, 40 * US: 1}
    assert combined(run(counts)).jitter_ns == 18 * US
    assert combined(cyclictest(skip_lane({5: 10}))).jitter_ns == 0
    cut = combined(cyclictest(skip_lane({5: 10}, over=3, max_ns=None)))
    assert (cut.jitter_ns, cut.max_ns, cut.over, cut.n) == (None, None, 3, 13)
    both = combined(cyclictest(skip_lane({5: 10}, over=3, max_ns=None)), cyclictest(skip_lane({5: 10})))
    assert (both.max_ns, both.min_ns) == (None, 5 * US)
    none = combined(cyclictest(skip_lane({})))
    assert (none.jitter_ns, none.n, none.min_ns) == (None, 0, None)


def test_a_file_that_tells_no_length_ran_for_its_samples_at_least() -> None:
    lanes = [
        replace(skip_lane({5: n}), entry=replace(skip_lane({5: n}).entry, index=i, name=str(i)))
        for i, n in enumerate((10, 7200))
    ]
    assert combined(cyclictest(*lanes)).hours == pytest.approx(7.2 / 3600)
    assert combined(cyclictest(skip_lane({5: 10}, interval=None))).hours == 0.0
    assert combined(cyclictest(skip_lane({5: 10}, interval=None))).runs[0].duration_s is None


def test_the_scatter_between_runs_is_that_of_the_highest_step_that_all_have() -> None:
    """Of 20000 samples p99.99 is the third largest; of 2000, p99.9."""
    found = combined(run({10_000: 19_990, 100_000: 10}), run({10_000: 19_990, 120_000: 10}))
    assert found.cv_q == 0.9999 and found.cv == pytest.approx(math.sqrt(200) / 110)
    shorter = combined(run({10_000: 19_990, 100_000: 10}), run({10_000: 1_990, 120_000: 10}))
    assert shorter.cv_q == 0.999 and shorter.cv == pytest.approx(math.sqrt(2) * 55_000 / 65_000)
    assert (combined(run({10_000: 20_000})).cv_q, combined(run({10_000: 20_000})).cv) == (None, None)
    assert combined(run({0: 20_000}), run({0: 20_000})).cv_q is None
    same = combined(run({1: 20_000}), run({1: 20_000}))
    assert (same.cv_q, same.cv) == (0.9999, 0.0)


def test_boots_need_two_of_two_runs_and_a_coarse_clock_hides_scatter() -> None:
    def of(step_ns: int | None, *rows: tuple[str, int]) -> Combination:
        told = facts(clock={"id": "monotonic", "step_ns": step_ns})
        return combined(*(run({value: 20_000}, boot=boot, facts=told) for boot, value in rows))

    rows = (("x", 10_000), ("x", 10_000), ("y", 20_000), ("y", 20_000))
    assert of(1, *rows[:2]).boot_variance == of(1, *rows[:3]).boot_variance == ()
    sharp, coarse = of(None, *rows).boot_variance[-1], of(1000, *rows).boot_variance[-1]
    assert (sharp.boots, sharp.runs, sharp.within_sd) == (2, 4, 0.0)
    # the mean of ln(1 + 1000 / value), evenly spread
    assert coarse.within_sd == pytest.approx((math.log1p(0.1) + math.log1p(0.05)) / 2 / math.sqrt(12))


def test_each_run_tells_its_own() -> None:
    made = run({10 * US: 3000}, zones={"a": 40.0, "b": 50.0}, wall_start="2026-11-01T00:00:00Z")
    cell = Measured("cell-1", measured("s", 2, made).levels, 2, 7, made, judge(made, deadline_ns=MS, p_target=P))
    design = Design(MS, P, 0.95, "cell", {cell.combination: 1, ("other", None, "x", "y", "z"): 1})
    (found,) = combine([cell], design, P)
    (one,) = found.runs
    assert (one.cell, one.repeat, one.order, one.started, one.n) == ("cell-1", 2, 7, "2026-11-01T00:00:00Z", 3000)
    assert (one.temperature_c, one.verdict, one.missed, one.mean_ns, one.max_ns) == (50.0, "HOLDS", 0, 10_000.0, 10_000)
    bare = combined(run({10 * US: 3000})).runs[0]
    assert (bare.temperature_c, bare.verdict, bare.duration_s) == (None, None, pytest.approx(2.999))


def test_runs_stand_in_the_order_of_their_repeats() -> None:
    made = run({10 * US: 10})
    cells = [
        replace(measured("s", repeat, made), order=order, cell=name)
        for name, repeat, order in (("c", 2, 1), ("b", 1, 9), ("a", 1, 3))
    ]
    (found,) = combine(cells, Design(None, P, 0.95, "cell", {cells[0].combination: 3}), None)
    assert [one.cell for one in found.runs] == ["a", "b", "c"]
    assert cells[0].combination == tuple(cells[0].levels[name] for name in FACTORS)


def test_a_step_by_its_quantile() -> None:
    steps = (step(0.5, 1), step(0.9, 2))
    assert quantile_of(steps, 0.9) == steps[1] and quantile_of(steps, 0.99) is None
