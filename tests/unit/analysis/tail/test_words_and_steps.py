"""What a lane without an answer is told, word by word, and the steps between runs and an answer."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.lane.account import Account
from rtassay.analysis.tail import doubts, extrapolate, extrapolate_recordings, refusals
from rtassay.analysis.tail.clusters import Run, Tail
from rtassay.analysis.tail.extrapolating import _lowest, _notes, _seen
from rtassay.analysis.tail.reading import run_of
from rtassay.analysis.tail.thresholds import SIZES, candidates
from rtassay.model import extrapolation
from rtassay.model.errors import UsageError
from rtassay.model.extrapolation import LaneExtrapolation, Refusal
from rtassay.model.measures import NOISE_TOTAL
from rtassay.model.recording import Histogram, Lane, Recording

from ..build import account, block_lane, counted_lane, recording, spills_of


def run(positions: Any, values: Any, n: int = 1000, **changes: Any) -> Run:
    index = None if positions is None else np.array(positions, np.int64)
    return replace(Run("r", n, index, np.array(values, np.int64), 0, 1), **changes)


def test_values_that_are_missing() -> None:
    tail = Tail((run([1], [5], over=1000, lost=3), run([1], [5], over=500, lost=2000)))
    assert refusals.unusable(tail) == [
        Refusal(
            "OVERFLOW-IN-TAIL",
            "1,500 samples lie above the histogram: the largest values are not known",
            "measure again with a wider histogram (rtprobe needs none; cyclictest: -h 10000)",
            {"over": 1500},
        ),
        Refusal(
            "LOST-IN-TAIL",
            "2,003 due activations have no value (dropped or truncated): they may be the latest ones",
            "find what starved the lane or the writer (rtassay show), then measure again",
            {"lost": 2003},
        ),
    ]
    assert refusals.unusable(Tail((run([1], [5]),))) == []
    assert [one.code for one in refusals.unusable(Tail((run([1], [5], lost=1),)))] == ["LOST-IN-TAIL"]


def test_recordings_that_are_invalid() -> None:
    one = refusals.invalid({"a": ("VM-STEAL", "CLOCK-STEP")})
    assert one == Refusal(
        "INVALID-MEASUREMENT",
        "CLOCK-STEP, VM-STEAL: 1 of the recordings is no valid measurement",
        "rtassay show tells what each check found and what to do",
        {"checks": {"a": ["VM-STEAL", "CLOCK-STEP"]}},
    )
    two = refusals.invalid({"a": ("X",), "b": ("X", "A")})
    assert two.reason == "A, X: 2 of the recordings are no valid measurement"
    assert two.facts == {"checks": {"a": ["X"], "b": ["X", "A"]}}


def test_too_few_bursts_or_values() -> None:
    tail = Tail((run(np.arange(1, 50) * 2000, np.arange(49), 100_000),))
    assert refusals.few(tail) == Refusal(
        "FEW-EXCEEDANCES",
        "49 samples of the tail are known one by one, in 49 bursts: 50 bursts are needed above a threshold that at most 1 % exceed",
        "keep every sample (rtassay run --samples), or measure longer under the same load",
        {"kept": 49, "bursts": 49, "needed": 50},
    )
    coarse = Tail((run(np.arange(1, 51) * 1900, [20_000] * 20 + [40_000] * 30, 100_000, tick_ns=20_000),))
    assert refusals.few(coarse) == Refusal(
        "FEW-VALUES",
        "2 different values in the tail, 20us apart or more: the clock is too coarse, no threshold has 5 of them and 50 to 600 bursts above it",
        "measure with a finer clock: rtprobe keeps nanoseconds",
        {"distinct": 2, "tick_ns": 20_000},
    )
    one = Tail((run(np.arange(1, 51) * 1900, [40_000] * 50, 100_000, tick_ns=1),))
    assert refusals.few(one).reason.startswith(
        "1 different value in the tail: the clock is too coarse, no threshold"
    ), "a file may tell ns and hold coarse values"
    different = Tail((run(np.arange(1, 51) * 1900, np.arange(50), 100_000),))
    assert refusals.few(different).code == "FEW-EXCEEDANCES", "as many values as bursts: no tick is in the way"
    most = Tail((run(None, np.arange(100), 5_000),))
    assert refusals.few(most).facts == {"kept": 100, "bursts": 50, "needed": 50}, "1 % of 5000 lie above"
    assert refusals.few(Tail((run(None, np.arange(100), 5_000, floor_ns=60),))).facts["bursts"] == 40


def test_the_other_reasons_in_their_words() -> None:
    assert refusals.no_threshold([0.0123456, 1e-9]) == Refusal(
        "NOT-A-GPD",
        "above no threshold do the values follow the distribution that extrapolation assumes",
        "find the cause of the largest values (rtassay report lists them), or measure longer under the same load, so that higher thresholds have enough values",
        {"p_shape": [0.0123, 1e-9]},
    )
    assert refusals.heavy(0.41234, 0.61234) == Refusal(
        "HEAVY-TAIL",
        "the shape is 0.41, and may be as large as 0.61: above 0.5 a level beyond the data has no useful limit",
        "find the cause of the largest values, or measure longer under the same load",
        {"xi": 0.412, "xi_hi": 0.612},
    )
    fit = SimpleNamespace(xi=0.12345)
    assert refusals.routes((1000.4, 500.0, 2000.6), (9000.0, 8000.0, 10_000.0), 1e-7, fit) == Refusal(  # type: ignore[arg-type]
        "ROUTES-DISAGREE",
        "exceedances and block maxima disagree on the level exceeded with 1e-07: 1us [500ns, 2.001us] and 9us [8us, 10us]",
        "look for bursts or slow changes (rtassay report)",
        {"pot_ns": [1000, 500, 2001], "blocks_ns": [9000, 8000, 10_000], "xi_blocks": 0.123},
    )
    assert refusals.too_far(1e-9, 1_000_000) == Refusal(
        "LEVEL-TOO-FAR",
        "1 in 1,000,000,000 is 1,000 times the 1,000,000 measured wake-ups: more than 100 times",
        "measure 9,000,000 more wake-ups",
        {"beyond": 1000.0},
    )


@pytest.mark.parametrize(
    ("code", "facts", "reason", "remedy"),
    [
        (
            "MIXTURE",
            {"threshold_ns": 30_000, "likelihood_ratio": 9.1},
            "the largest values above 30us are not of one kind with those below them: a second, rarer cause shows in the tail",
            "find the cause of the largest values (rtassay report lists them), remove it or measure until it has 50 of its own",
        ),
        (
            "DRIFT",
            {"distance": 0.2, "bursts_by_third": [1, 2, 30]},
            "late wake-ups are not spread evenly over the runs: 1, 2, 30 bursts in the thirds",
            "let the board settle (--warm-up), keep temperature and load constant, and measure again",
        ),
        (
            "RUNS-DIFFER",
            {"bursts": [4, 40], "p_count": 0.1, "p_size": 0.2},
            "the runs differ by more than chance: 4, 40 bursts",
            "find what differs (rtassay compare), or measure more runs and treat each as its own",
        ),
        (
            "UNSTABLE",
            {"threshold_ns": 1500, "xi": 0.5, "xi_chosen": 0.1},
            "the shape depends on the threshold: 0.1 at the chosen one, 0.5 above 1.5us",
            "measure longer under the same load",
        ),
        (
            "HALVES-DISAGREE",
            {"expected": 5.0, "above_upper_limit": 1, "above_lower_limit": 19},
            "the second half contradicts the first: 19 bursts reach the lower and 1 the upper limit of a level where about 5.0 were expected",
            "keep the conditions constant, and measure again",
        ),
    ],
)
def test_a_test_that_fails_is_told_with_its_facts(code: str, facts: dict[str, Any], reason: str, remedy: str) -> None:
    assert refusals.failed(extrapolation.Test(code, 0.00123456, 0.01, facts)) == Refusal(
        code, reason, remedy, {**facts, "p": 0.00123}
    )
    assert refusals.failed(extrapolation.Test(code, None, 0.01, facts)).facts["p"] is None


EXPONENTIAL = 10_000 + np.random.default_rng(2).exponential(5000, 3000)
PLACES = np.sort(np.random.default_rng(1).choice(1_000_000, 3000, replace=False))


@functools.cache
def lane(levels: tuple[float, ...] = (1e-7, 1e-5), figure: bool = True) -> LaneExtrapolation:
    made = run(PLACES, EXPONENTIAL, 1_000_000, interval_ns=1_000_000)
    return extrapolate("lane 0", (made,), levels, 0.95, figure=figure)


def test_an_answer_has_all_its_parts() -> None:
    """10 + 5 ln(0.003 / p) us, to a tenth: one of 3000 in a million lies above 10 us."""
    found = lane()
    assert (found.name, found.runs, found.n, found.interval_ns, found.tick_ns) == (
        "lane 0",
        ("r",),
        1_000_000,
        1_000_000,
        1,
    )
    assert (found.max_ns, found.p_mode, found.refusals) == (int(EXPONENTIAL.max()), 3e-6, ())
    assert found.assumes == ("FEW-RUNS",)
    assert [test.code for test in found.tests] == ["MIXTURE", "UNSTABLE", "HALVES-DISAGREE", "DRIFT", "RUNS-DIFFER"]
    assert [one.p for one in found.levels] == [1e-5, 1e-7] and [one.beyond for one in found.levels] == pytest.approx(
        [0.1, 10]
    )
    (chosen,) = [row for row in found.thresholds if row.chosen]
    for at, one in enumerate(found.levels):
        truth = 10_000 + 5000 * math.log(0.003 / one.p)
        assert one.level_ns == pytest.approx(truth, rel=0.1) and one.lo_ns < truth < one.hi_ns  # type: ignore[operator]
        assert one.second_ns == pytest.approx(truth, rel=0.15) and one.refusal is None
        assert one.events_per_h == pytest.approx(one.p * chosen.theta * 3.6e6)
        assert chosen.levels_ns and chosen.lo_ns and chosen.hi_ns
        assert (chosen.levels_ns[at], chosen.lo_ns[at], chosen.hi_ns[at]) == (one.level_ns, one.lo_ns, one.hi_ns)
    assert (chosen.exceedances, chosen.clusters) == (500, math.ceil(500 * chosen.theta)) and 480 < chosen.distinct < 497
    assert (
        chosen is found.thresholds[0]
        and chosen.theta == pytest.approx(1.0, abs=0.05)
        and chosen.theta_k == pytest.approx(1.0, abs=0.05)
        and chosen.theta_minutes is None
    )
    assert chosen.xi == pytest.approx(0, abs=0.15) and chosen.sigma_ns == pytest.approx(5000, rel=0.15)
    assert found.xi_lo is not None and found.xi_hi is not None and found.xi_lo < chosen.xi < found.xi_hi
    assert found.xi_hi - found.xi_lo == pytest.approx(2 * 1.96 * (1 + chosen.xi) / math.sqrt(chosen.clusters), rel=0.15)
    assert found.blocks is not None and (found.blocks.blocks, found.blocks.length) == (100, 10_000)
    assert found.blocks.mu_ns == pytest.approx(10_000 + 5000 * math.log(30), rel=0.06)
    assert found.blocks.sigma_ns == pytest.approx(5000, rel=0.25) and found.blocks.xi == pytest.approx(0, abs=0.2)


def test_the_curves_of_a_figure() -> None:
    found = lane()
    band = found.band
    assert band is not None and {len(band.p), len(band.level_ns), len(band.lo_ns), len(band.hi_ns)} == {40}
    (chosen,) = [row for row in found.thresholds if row.chosen]
    assert band.p[0] == pytest.approx(0.999 * chosen.exceedances / 1_000_000) and band.p[-1] == pytest.approx(1e-7)
    assert np.allclose(np.diff(np.log(band.p)), np.log(band.p[1] / band.p[0]))
    assert all(a < b for a, b in zip(band.level_ns, band.level_ns[1:], strict=False))
    assert all(lo <= best <= hi for lo, best, hi in zip(band.lo_ns, band.level_ns, band.hi_ns, strict=True))
    assert (band.level_ns[-1], band.lo_ns[-1], band.hi_ns[-1]) == (
        found.levels[1].level_ns, found.levels[1].lo_ns, found.levels[1].hi_ns,
    )  # fmt: skip
    assert lane((1e-10,)).band is not None and lane((1e-10,)).band.p[-1] == pytest.approx(1e-8), "100 times the data"  # type: ignore[union-attr]
    near = lane((0.5,)).band
    assert near is not None and near.p[-1] == pytest.approx(chosen.exceedances / 2_000_000), "a level within the data"
    plain = lane(figure=False)
    assert plain.band is None and plain.levels == found.levels and plain.notes == ()
    assert all(row.levels_ns is None is row.lo_ns for row in plain.thresholds)
    assert found.seen_ns[0] == found.max_ns and found.seen_p[0] == 1e-6 and found.seen_p[-1] == 0.003


def test_a_level_within_the_data_is_the_threshold() -> None:
    (one,) = lane((0.5,)).levels
    (chosen,) = [row for row in lane((0.5,)).thresholds if row.chosen]
    assert one.level_ns == one.lo_ns == one.hi_ns == chosen.threshold_ns and one.second_ns is None


def test_a_level_of_exactly_100_times_the_data_has_an_answer() -> None:
    near, far = lane((1e-8, 0.99e-8)).levels
    assert near.level_ns is not None and near.beyond == pytest.approx(100)
    assert (far.level_ns, far.lo_ns, far.hi_ns, far.events_per_h, far.second_ns) == (None,) * 5
    assert far.refusal == refusals.too_far(0.99e-8, 1_000_000)


def test_what_could_not_be_tested_is_assumed() -> None:
    made = run(PLACES, EXPONENTIAL, 1_000_000)
    three = tuple(replace(made, name=name) for name in "abc")
    assert "FEW-RUNS" not in extrapolate("x", three, (1e-7,), 0.95).assumes
    assert extrapolate("x", three[:2], (1e-7,), 0.95).assumes == ("FEW-RUNS",)
    blind = extrapolate("x", (replace(made, index=None, stripped=True),), (1e-7,), 0.95)
    assert blind.assumes == ("ORDER-UNKNOWN", "OVERFLOW-UNKNOWN", "FEW-RUNS", "HALVES-DISAGREE-UNTESTED")
    assert blind.interval_ns is None and blind.levels[0].events_per_h is None and blind.levels[0].second_ns is None
    one_stripped = extrapolate("x", (replace(made, stripped=True), made), (1e-7,), 0.95)
    assert one_stripped.assumes == ("OVERFLOW-UNKNOWN", "FEW-RUNS")


def test_a_refused_lane_keeps_what_was_found() -> None:
    early = extrapolate("x", (run([], [], 100, lost=1),), (1e-7,), 0.95)
    assert (early.max_ns, early.p_mode, early.seen_ns, early.seen_p, early.thresholds) == (None, 0.03, (), (), ())
    assert (early.tests, early.blocks, early.band, early.levels) == ((), None, None, ())
    assert [one.code for one in early.refusals] == ["LOST-IN-TAIL"]
    assert extrapolate("x", (run([0], [5], 2),), (1e-7,), 0.95).p_mode == 1.0
    assert extrapolate("x", (run([], [], 0),), (1e-7,), 0.95).p_mode is None
    heavy = 10_000 + 5000 * np.random.default_rng(8).pareto(1.2, 3000)
    late = extrapolate("x", (run(PLACES, heavy, 1_000_000),), (1e-7,), 0.95)
    assert "HEAVY-TAIL" in {one.code for one in late.refusals} and len(late.tests) == 5
    assert late.thresholds and late.blocks is not None and late.notes == () and (late.xi_lo, late.xi_hi) == (None, None)


def row(level_ns: int | None, xi: float = 0.1) -> Any:
    return SimpleNamespace(levels_ns=None if level_ns is None else (1, level_ns), xi=xi)


def test_when_the_level_depends_on_the_threshold() -> None:
    spread = ("THRESHOLDS-SPREAD",)
    assert _notes((row(1000), row(1250)), 0) == () and _notes((row(1000), row(1251)), 0) == spread
    assert _notes((row(1000), row(1251)), 1) == (), "a quarter of the chosen one"
    assert _notes((row(1000, 0.0), row(1000, 0.1)), 0) == () and _notes((row(1000, 0.0), row(1000, 0.11)), 0) == spread
    assert _notes((row(1000), row(9999)), None) == () == _notes((row(None), row(None, 9)), 0)


def test_the_largest_values_for_a_figure_are_thinned() -> None:
    few = Tail((run(None, [5, 9, 7], 10),))
    assert _seen(few) == ((9, 7, 5), (0.1, 0.2, 0.3))
    many, shares = _seen(Tail((run(None, np.arange(100_000), 1_000_000),)))
    assert (many[:3], many[-1], shares[-1]) == ((99_999, 99_998, 99_997), 0, 0.1) and 250 < len(many) <= 400


def test_tests_of_many_bursts_take_all_that_is_kept_up_to_one_percent() -> None:
    tail = Tail((run(None, np.arange(5000), 100_000),))
    assert _lowest(tail.above(4900)).size == 1000
    assert _lowest(Tail((run(None, np.arange(5000), 100_000, floor_ns=4500),)).above(4900)).size == 500
    assert _lowest(Tail((run(None, np.arange(50_000), 10_000_000),)).above(49_000)).size == 20_000
    high = Tail((run([*range(0, 9000, 90), *range(90_001, 90_051)], [100] * 100 + [50] * 50, 100_000),)).above(100)
    assert high.clusters == 100 > high.tail.above(50).clusters and _lowest(high) is high, "one burst joins the others"


def test_thresholds_have_so_many_bursts() -> None:
    tail = Tail((run(None, np.random.default_rng(3).permutation(5000), 100_000),))
    assert [one.clusters for one in candidates(tail)] == list(SIZES) and SIZES[-1] == 50
    assert [one.threshold_ns for one in candidates(tail)] == [5000 - size for size in SIZES]
    less = Tail((run(None, np.arange(5000), 20_000),))
    assert [one.clusters for one in candidates(less)] == [200, 175, 125, 90, 65, 50], "1 % of the samples"
    assert candidates(Tail((run(None, np.arange(49), 100_000),))) == []
    assert [one.clusters for one in candidates(Tail((run(None, np.arange(50), 100_000),)))] == [50]
    for distinct, found in ((4, []), (5, [60])):
        values = np.minimum(np.arange(60), distinct - 1)
        assert [one.clusters for one in candidates(Tail((run(None, values, 100_000),)))] == found
    ties = np.repeat(np.arange(12), [4000, 601, 100, 100, 100, 50, 50, 50, 50, 50, 25, 25])
    assert [one.clusters for one in candidates(Tail((run(None, ties, 1_000_000),)))] == [500, 400, 250, 200]
    broad = np.repeat(np.arange(8), [4000, 101, 900, 100, 100, 100, 100, 99])
    assert [one.clusters for one in candidates(Tail((run(None, broad, 1_000_000),)))] == [499], "1399 are too many"
    full = np.repeat(np.arange(50), 30)
    assert [one.size for one in candidates(Tail((run(None, full, 20_000),)))] == [180, 150], "210 are more than 1 %"


def test_bursts_and_not_samples_are_counted_for_a_threshold() -> None:
    """Five neighbours each: 100 bursts take 500 samples."""
    rng = np.random.default_rng(5)
    index = ((np.arange(990) * 1000 + rng.integers(0, 900, 990))[:, None] + np.arange(5)).ravel()
    values = ((rng.permutation(990) * 10)[:, None] + np.array([3, 9, 5, 1, 0])).ravel()
    found = candidates(Tail((run(index, values, 1_000_000),)))
    for size, one in zip(SIZES, found, strict=True):
        assert one.clusters == pytest.approx(size, rel=0.05) and one.size == pytest.approx(5 * size, rel=0.05)


def of(lane_: Lane, **changes: Any) -> Account:
    return account(lane_, **changes)


def test_a_run_of_a_lane_whose_samples_were_kept() -> None:
    values = [*([10_000] * 100), *range(20_000, 20_060)]
    kept = of(counted_lane(values, spill_from=20_000))
    made = run_of(kept, "a", 40)
    assert (made.name, made.n, made.floor_ns, made.tick_ns, made.interval_ns) == ("a", 160, 10_001, 40, 1_000_000)
    assert made.index is not None and made.index.tolist() == list(range(100, 160))
    assert (made.value_ns.tolist(), made.over, made.lost, made.stripped) == (list(range(20_000, 20_060)), 0, 0, False)
    assert run_of(kept, "a").tick_ns == 1 and run_of(of(counted_lane(values), bin_width_ns=100), "a", 40).tick_ns == 100
    assert run_of(of(counted_lane(values)), "a").floor_ns == 0


def test_order_counts_from_fifty_kept_samples_on() -> None:
    """Of fewer the histogram is taken: its largest, 50 at least and at most 1 % of all."""
    values = [*([10_000] * 9900), *range(20_000, 20_100)]
    for spill_from, ordered in ((20_050, True), (20_051, False)):
        made = run_of(of(counted_lane(values, spill_from=spill_from)), "a")
        assert (made.index is not None) is ordered, spill_from
        assert made.value_ns.size == (50 if ordered else 100)
    assert made.floor_ns == 20_000 and made.value_ns.tolist() == list(range(20_099, 19_999, -1))
    few = run_of(of(counted_lane([5, 6, 7])), "a")
    assert few.index is not None and few.value_ns.size == 3, "all there are"
    none = run_of(of(block_lane({5: 2000})), "a")
    assert none.index is None and none.value_ns.size == 0 and none.floor_ns == 2**62


def test_a_coarse_bin_is_the_tick_of_a_lane_without_order() -> None:
    wide = Histogram(np.array([0, 1000, 1500]), np.array([1000, 500, 2000]), np.array([9, 5, 2]), over=3)
    entry = replace(counted_lane([5]).entry, n=19, due=30, dropped=4, truncated=5)
    made = run_of(of(Lane(entry, wide)), "a", 40)
    assert made.tick_ns == 2000 and sorted(made.value_ns.tolist()) == [*[0] * 9, *[1000] * 5, 1500, 1500]
    assert (made.n, made.over, made.lost, made.floor_ns) == (30, 3, 11, 0)
    assert run_of(of(Lane(replace(entry, due=None), wide)), "a").n == 28


def test_activations_after_the_last_due_one_are_counted() -> None:
    """A clock that jumped: positions beyond `due`."""
    made = counted_lane([5] * 60)
    moved = Lane(replace(made.entry, due=40), made.histogram, None, spills_of([(k, 5, 0) for k in range(60)]))
    assert run_of(of(moved), "a").n == 60
    later = Lane(made.entry, made.histogram, None, spills_of([(k + 100, 5, 0) for k in range(60)]))
    assert run_of(of(later), "a").n == 160


def named(identity: str, created: str, *lanes: Lane, **changes: Any) -> Recording:
    return recording(*lanes, id=identity, created=created, **changes)


def test_recordings_in_order_of_time_with_board_and_kernel_of_the_first() -> None:
    early = named("b", "2026-01-01", counted_lane([5] * 9), board="pi", labels={"kernel": "mine"}, inventory={})
    late = named("a", "2026-01-02", counted_lane([5] * 9), board="other")
    found = extrapolate_recordings([late, early], (1e-5,), 0.5)
    assert (found.ids, found.board, found.kernel, found.confidence) == (("b", "a"), "pi", "mine", 0.5)
    assert extrapolate_recordings([late], (1e-5,), 0.95).kernel == "6.12.48"
    (one,) = found.lanes
    assert one.runs == ("b", "a") and one.n == 18


def test_unlike_measures_of_one_name_are_lanes_of_their_own() -> None:
    plain, noise = counted_lane([5] * 9), counted_lane([5] * 9)
    noise = replace(noise, entry=replace(noise.entry, measure=NOISE_TOTAL))
    found = extrapolate_recordings([named("a", "1", plain, noise), named("b", "2", plain)], (1e-5,), 0.95)
    assert [(one.name, one.runs) for one in found.lanes] == [
        ("CPU0 (wake-up latency)", ("a", "b")),
        ("CPU0 (time taken from a busy thread in a window)", ("a",)),
    ]
    alone = extrapolate_recordings([named("a", "1", plain, counted_lane([], index=1))], (1e-5,), 0.95)
    assert len(alone.lanes) == 1 and "(" not in alone.lanes[0].name, "a lane without samples is none"


@pytest.mark.parametrize(
    ("levels", "confidence", "what", "why", "hint"),
    [
        ((1e-6, 0.0), 0.95, "level 0", "a probability between 0 and 1 is needed", "1e-8: one wake-up in 100 million"),
        ((1.0,), 0.95, "level 1", "a probability between 0 and 1 is needed", "1e-8: one wake-up in 100 million"),
        ((1e-6,), 0.499, "confidence 0.499", "it must be at least 0.5 and below 1", "0.95 is usual"),
        ((1e-6,), 1.0, "confidence 1", "it must be at least 0.5 and below 1", "0.95 is usual"),
    ],
)
def test_what_cannot_be_asked(levels: tuple[float, ...], confidence: float, what: str, why: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        extrapolate_recordings([recording(counted_lane([5]))], levels, confidence)
    assert (caught.value.what, caught.value.why, caught.value.hint) == (what, why, hint)


def test_recordings_without_samples_are_told() -> None:
    with pytest.raises(UsageError) as caught:
        extrapolate_recordings([recording(counted_lane([]))], (1e-6,), 0.95)
    assert caught.value.what == "the recordings hold no lane with samples"
    with pytest.raises(UsageError) as caught:
        extrapolate_recordings([], (1e-6,), 0.95)
    assert (caught.value.what, caught.value.hint) == (
        "no recording to extrapolate from",
        "rtassay list shows all recordings",
    )


def test_only_checks_that_failed_take_the_answer_away() -> None:
    made = [recording(counted_lane([5] * 9))]
    plain = extrapolate_recordings(made, (1e-5,), 0.95, {"r": []})
    assert [one.code for one in plain.lanes[0].refusals] == ["FEW-EXCEEDANCES"]
    told = extrapolate_recordings(made, (1e-5,), 0.95, {"r": [], "s": ["VM-STEAL"]})
    assert [one.code for one in told.lanes[0].refusals] == ["INVALID-MEASUREMENT", "FEW-EXCEEDANCES"]
    assert told.lanes[0].refusals[0].facts == {"checks": {"s": ["VM-STEAL"]}} and told.lanes[0].levels == ()


def test_the_two_routes_disagree_where_their_limits_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart: by more than a tick. Or each estimate outside of the other's limits."""
    from rtassay.analysis.tail import extrapolating

    made = run(PLACES, EXPONENTIAL, 1_000_000, tick_ns=10)
    work = extrapolating._Work("x", Tail((made,)), (1e-5, 1e-7), 0.95, False)
    fit = SimpleNamespace(fit=SimpleNamespace(xi=0.0))
    asked: list[float] = []

    def disagree(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
        def limits(row: Any, p: float) -> Any:
            asked.append(p)
            return first

        monkeypatch.setattr(work, "limits", limits)
        monkeypatch.setattr(work, "_by_blocks", lambda *more: second)
        return bool(work._disagreement(None, fit, 1000, 1.0))  # type: ignore[arg-type]

    assert not disagree((150, 100, 200), (150, 100, 200)) and set(asked) == {1e-7}, "1e-5 lies within the data"
    assert disagree((150, 100, 200), (250, 211, 300)) and disagree((250, 211, 300), (150, 100, 200))
    assert not disagree((195, 100, 200), (205, 205, 300)), "a tick apart"
    assert disagree((150, 100, 200), (250, 190, 300)), "each estimate lies outside of the other's limits"
    assert not disagree((150, 100, 200), (210, 190, 300)) and disagree((150, 100, 200), (211, 190, 300))
    assert not disagree((180, 100, 200), (250, 190, 300)) and disagree((179, 100, 200), (250, 190, 300))
    work.levels = (1e-6, 0.99e-8)
    asked.clear()
    assert not disagree((150, 100, 200), (950, 900, 990)) and asked == [], "not beyond the data, and too far"
    assert doubts.HEAVY == 0.5
