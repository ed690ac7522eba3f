"""Every KPI that needs no recordings, from combinations with numbers set by hand: value, interval and note."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.many.experiment.cells import Measured
from rtassay.analysis.many.experiment.kpis import TABLE, Facts, scorecard
from rtassay.model.comparison import NO_DIFFERENCE, REFUSED, BootVariance, Comparison, Crossover, Group, QuantileRatio
from rtassay.model.experiment import Combination, Compared, Kpi, KpiRow, Sensitivity
from rtassay.model.findings import Gap, Jitter, JitterStep, Noise, Quantile
from rtassay.model.manifest import LoadEntry, WorkPart

from ...build import block_lane, recording
from .by_hand import combination, design, facts, numbers, step

MS = 1_000_000


def kpi(id_: str, given: Facts) -> Kpi:
    return next(one for one in scorecard(given) if one.id == id_)


def rows(id_: str, given: Facts) -> list[KpiRow]:
    return list(kpi(id_, given).rows)


def rounded(id_: str, given: Facts) -> list[KpiRow]:
    """Values that went through logarithms."""
    return [replace(row, value=round(row.value or 0, 9)) for row in rows(id_, given)]


def test_verdicts_of_single_runs_are_counted_in_their_order() -> None:
    runs = [numbers(verdict=state) for state in ("HOLDS", "VIOLATED", "HOLDS", None)]
    each = facts([combination("all", *runs)], design(MS, per="cell"))
    assert rows("A1", each) == [KpiRow("all", words="2 x HOLDS, 1 x VIOLATED")]
    seen = {"exceedances": 0, "due": 1, "lane": "CPU0", "p_lower": 0.0, "p_upper": 1.0}
    judged = [{"load": "all", "state": "HOLDS"} | seen, {"load": "idle", "state": None}]
    together = facts([combination()], design(MS), result={"combinations": judged})
    assert rows("A1", together) == [KpiRow("all", words="HOLDS")]
    assert kpi("A1", facts([], design())).why == "no deadline was stated"
    assert kpi("A1", facts([], design(MS))).why == "nothing was measured"


def test_the_bound_of_misses_names_what_was_seen() -> None:
    row = {
        "load": "all",
        "state": "HOLDS",
        "exceedances": 12,
        "due": 34_567,
        "lane": "CPU1",
        "p_lower": 0.1,
        "p_upper": 0.2,
    }
    made = facts([combination()], design(MS), result={"combinations": [row, {"load": "idle"}]})
    assert rows("A2", made) == [KpiRow("all", 0.2, 0.1, 0.2, note="12 of 34,567 due on CPU1")]
    assert kpi("A2", facts([], design())).why == "no deadline was stated"


def test_d_star_at_the_asked_p_or_at_a_larger_one() -> None:
    reached = combination("all", star_ns=500, quantiles=(step(0.999, 300), step(0.9999, 400)))
    weak = combination("idle", star_each_ns=90)
    none = combination("disk")
    made = facts([reached, weak, none], design(), p_each=1e-3)
    assert rows("A3", made) == [
        KpiRow("all", 500, 399, 500, note="for p = 0.0001"),
        KpiRow("idle", 90, note="for p = 0.001 only: too few activations for p = 0.0001"),
    ]
    assert rows("A3", facts([weak], design())) == []
    events = rows("A3", facts([reached], design(per_hour=0.5)))
    assert events == [KpiRow("all", 500, None, 500, note="for 0.5 events an hour")]


def test_the_safety_factor_is_the_deadline_over_the_maximum() -> None:
    known = combination("all", max_ns=250_000, star_ns=400_000, n=1234)
    made = facts([known, combination("idle", max_ns=500_000), combination("disk")], design(MS))
    assert rows("A4", made) == [
        KpiRow("all", 4.0, note="D / maximum of 1,234; D / D* = 2.5"),
        KpiRow("idle", 2.0, note="D / maximum of 100,000"),
    ]
    assert kpi("A4", facts([known], design())).why == "no deadline was stated"


def test_the_chance_of_a_new_record() -> None:
    made = facts([combination("all", hours=3.0), combination("idle", hours=0.05), combination("disk")], design())
    assert rows("A5", made) == [
        KpiRow("all", 0.25, note="25 % in the next 1 h, 77 % in the next 10 h"),
        KpiRow("idle", 1 / 1.05, note="95 % in the next 1 h, > 99 % in the next 10 h"),
    ]


def test_the_grade_is_told_with_its_reasons() -> None:
    assert rows("A6", facts([], design())) == [KpiRow("", words="C", note="few runs; old")]


def quantiles(load: str, factor: int) -> tuple[str, tuple[object, ...]]:
    return load, (
        step(0.5, 10 * factor),
        step(0.99, 20 * factor),
        step(0.999, 30 * factor),
        step(0.9999, 40 * factor, "lower"),
    )


def test_quantiles_all_of_few_combinations_and_the_highest_exact_one_of_many() -> None:
    three = [combination(load, quantiles=quantiles(load, i + 1)[1]) for i, load in enumerate(("a", "b", "c"))]
    few = rows("B1", facts(three, design()))
    assert len(few) == 9 and few[:3] == [
        KpiRow("a: p50", 10, 9, 11.0),
        KpiRow("a: p99.9", 30, 29, 31.0),
        KpiRow("a: p99.99", 40, 39, 41.0, at_least=True),
    ]
    many = rows("B1", facts([*three, combination("d")], design()))
    assert many == [
        KpiRow(f"{load}: p99.9", 30 * k, 30 * k - 1, 30.0 * k + 1) for k, load in ((1, "a"), (2, "b"), (3, "c"))
    ]


def test_the_worst_over_the_loads_at_every_step() -> None:
    one = combination("a", quantiles=(step(0.5, 99), step(0.999, 30), step(0.9999, 40)), max_ns=70, n=2000)
    other = combination("b", quantiles=(step(0.5, 10), step(0.999, 20), step(0.9999, 50, "lower")), max_ns=60)
    given = facts([one, other], design(loads=("a", "b")))
    assert rows("B2", given) == [
        KpiRow("p99.9", 30, 29, 31.0, note="a"),
        KpiRow("p99.99", 50, 49, 51.0, at_least=True, note="b"),
        KpiRow("maximum", 70, note="a, of 2,000 samples"),
    ]
    assert kpi("B2", facts([one], design(loads=("a",)))).why == "one load only"
    bare = [combination("a"), combination("b")]
    assert kpi("B2", facts(bare, design(loads=("a", "b")))).why == "there are no samples"


def test_tail_weight_jitter_and_missed_activations() -> None:
    one = combination(
        "a", quantiles=(step(0.5, 10), step(0.999999, 250, "lower")), jitter_ns=77, n=10_000, missed=3, due=6000
    )
    zero = combination("b", quantiles=(step(0.5, 0), step(0.999999, 250)), jitter_ns=7, n=9_999, missed=0, due=0)
    given = facts([one, zero, combination("c", missed=None, due=5)], design())
    assert rows("B3", given) == [KpiRow("a", 25.0, at_least=True)]
    assert rows("B4", given) == [KpiRow("a", 77)]
    assert rows("B5", given) == [KpiRow("a", 500_000.0, note="3 of 6,000")]


def test_the_cost_of_a_load_is_told_against_idle() -> None:
    cost = Sensitivity("all", "idle", "kernel rt", 1e-3, 3.0, 2.0, 4.0, 5, 5)
    plain = Sensitivity("disk", "idle", "", 1e-3, 1.5, None, None, 1, 1)
    given = facts([], design(loads=("idle", "all")), sensitivity=(cost, plain))
    assert rows("D1", given) == [
        KpiRow("all / idle (kernel rt)", 3.0, 2.0, 4.0, note="at p = 0.001"),
        KpiRow("disk / idle", 1.5, note="at p = 0.001"),
    ]
    assert kpi("D1", facts([], design(loads=("idle", "all")))).why == "a run has no D*"
    assert kpi("D1", facts([], design(loads=("idle",)))).why == "one load only"
    assert kpi("D1", facts([], design(loads=("a", "b")))).why == "no idle level to compare with"


def test_the_share_of_boots_is_that_of_the_highest_step() -> None:
    low, high = (BootVariance(q, 4, 12, 0.2, 0.1, share, 0.1, 0.9) for q, share in ((0.99, 0.3), (0.999, 0.6)))
    given = facts([combination("a", boot_variance=(low, high)), combination("b")], design())
    assert rows("D5", given) == [KpiRow("a: p99.9", 0.6, 0.1, 0.9, note="4 boots, 12 runs")]


def drifting(hours: float, growth: float, count: int = 4) -> list[KpiRow]:
    """Runs evenly spread over so many hours whose quantile grows by a factor a day."""
    runs = []
    for i in range(count):
        at = hours * i / (count - 1)
        stamp = f"2026-11-{1 + int(at // 24):02d}T{int(at % 24):02d}:00:00Z"
        runs.append(numbers(started=stamp, quantiles=(step(0.99, round(1e9 * growth ** (int(at) / 24))),)))
    return rows("D6", facts([combination("a", *runs, cv_q=0.99), combination("b", *runs)], design()))


def test_the_drift_over_a_day_is_the_slope_it_was_made_with() -> None:
    [row] = drifting(24, 1.1)
    assert (row.where, row.note) == ("a", "p99 of 4 runs") and row.value == pytest.approx(0.1, rel=1e-6)
    [falling] = drifting(48, 0.9, 5)
    assert falling.value == pytest.approx(-0.1, rel=1e-6) and falling.note == "p99 of 5 runs"
    assert len(drifting(21, 1.1)) == 1 and drifting(19, 1.1) == [] and drifting(24, 1.1, 3) == []


def test_the_asymmetry_of_cpus_needs_all_of_them() -> None:
    both = combination("a", lanes=(("CPU0", 50), ("CPU1", 100), ("CPU2", 75)))
    part = combination("b", lanes=(("CPU0", 50), ("CPU1", None)))
    given = facts([both, part, combination("c", lanes=(("CPU0", 50),))], design(), p_each=1e-3)
    assert rows("D7", given) == [KpiRow("a", 2.0, note="CPU1 / CPU0, at p = 0.001")]


def test_gains_and_penalties_need_two_levels() -> None:
    one = combination("all", numbers(100), numbers(110), kernel="stock")
    given = facts([one], design())
    why = {id_: kpi(id_, given).why for id_ in ("D2", "E1", "E2", "E3")}
    assert why == {
        "D2": "no isolated and shared CPUs under one load",
        "E1": "no two kernels with fixed works (preset rt-cost), nor under a load that counts its work",
        "E2": "no two kernels were compared",
        "E3": "no two kernels were compared",
    }


def test_the_response_is_the_highest_quantile_of_each_carrier() -> None:
    steps = (step(0.5, 20_000), step(0.99, 45_000), step(0.999, 60_000, bound="at_least"))
    given = facts(
        [
            combination("futex", measure="response:futex", quantiles=steps),
            combination("idle", measure="wake-up", quantiles=steps),
        ],
        design(),
    )
    [row] = rows("C5", given)
    assert (row.where, row.value, row.note) == ("futex: p99", 45_000, "response by futex")
    assert kpi("C5", facts([], design())).why == "needs runs of the probe response"


def test_the_response_to_an_edge_is_that_of_its_answer() -> None:
    reached = combination("all", measure="gpio-answer", quantiles=(step(0.99, 45_000),))
    given = facts([reached, combination("idle", measure="wake-up")], design())
    [row] = rows("C1", given)
    assert (row.where, row.value, row.note) == ("all: p99", 45_000, "answer to an edge")


def test_period_jitter_is_the_highest_quantile_that_the_pairs_reach() -> None:
    steps = (JitterStep(0.5, 10, "exact"), JitterStep(0.99, 30_000, "exact"), JitterStep(0.999, 90_000, "at_least"))
    known = combination("all", period_jitter=Jitter(1234, 15.0, 90_000, steps))
    [row] = rows("C4", facts([known, combination("idle")], design()))
    assert (row.where, row.value, row.note) == ("all: p99", 30_000, "worst 90us of 1,234")
    assert kpi("C4", facts([combination("idle")], design())).why == "needs runs of rtprobe that kept their samples"


def test_noise_is_the_mean_share_of_the_worst_lane_of_each_run() -> None:
    def run(*lanes: tuple[float | None, int]) -> Any:
        found = [SimpleNamespace(noise=Noise(share, 9, 1, (Gap(5, length),))) for share, length in lanes]
        return SimpleNamespace(
            levels=combination("all").levels, findings=SimpleNamespace(lanes=[*found, SimpleNamespace(noise=None)])
        )

    cells = [run((0.02, 7000), (0.04, 50_000)), run((0.01, 9000), (0.02, 8000)), run((None, 60_000))]
    given = replace(facts([combination("all"), combination("idle")], design()), cells=cells)
    noise = next(make for id_, *_, make in TABLE if id_ == "C3")
    [row] = noise(given)[0]
    assert (row.where, row.note) == ("all", "longest gap 60us") and row.value == pytest.approx(0.03)
    assert kpi("C3", facts([], design())).why == "needs runs of the probe noise or osnoise"


def test_the_parts_of_an_activation_are_told_each_from_its_due_time() -> None:
    def lane(measure: str, median_ns: int, max_ns: int) -> Any:
        return SimpleNamespace(measure=measure, n=9, quantiles=(step(0.5, median_ns),), max_ns=max_ns)

    def run(levels: Any, *lanes: Any) -> Any:
        return SimpleNamespace(levels=levels, findings=SimpleNamespace(lanes=lanes))

    timers, plain, edges = (combination(name) for name in ("timers", "plain", "edges"))
    cells = [
        run(timers.levels, lane("timer-irq", 2_000, 50_000), lane("timer-thread", 5_000, 60_000)),
        run(timers.levels, lane("timer-irq", 3_000, 40_000), lane("timer-thread", 4_000, 70_000)),
        run(plain.levels, lane("wake-up", 1_000, 2_000), lane("noise", 1, 2)),
        run(edges.levels, lane("gpio-edge", 1_000, 2_000), lane("gpio-answer", 4_000, 8_000)),
    ]
    given = replace(facts([timers, plain, edges], design()), cells=cells)
    parts = next(make for id_, *_, make in TABLE if id_ == "C2")
    assert [(row.where, row.words) for row in parts(given)[0]] == [
        ("timers", "latency of the timer's interrupt: median 3us, worst 50us"),
        ("timers", "latency of the timer's kernel thread: median 5us, worst 70us"),
        ("edges", "latency of an edge's interrupt: median 1us, worst 2us"),
        ("edges", "answer to an edge: median 4us, worst 8us"),
    ]
    assert kpi("C2", facts([], design())).why == "needs runs of the probe response, gpio, timerlat or rtla-timerlat"


def test_the_kpi_of_wired_lines_says_what_it_needs() -> None:
    card = {one.id: one for one in scorecard(facts([], design()))}
    assert card["C1"].why == "needs runs of the probe gpio" and not card["C1"].rows
    assert card["F"].rows and not card["F"].why


def test_a_kpi_has_rows_or_a_reason() -> None:
    made = facts([combination("all", max_ns=MS)], design(MS))
    assert (rows("A4", made), kpi("A4", made).why) == ([KpiRow("all", 1.0, note="D / maximum of 100,000")], "")
    none = kpi("A4", facts([combination("all")], design(MS)))
    assert (none.rows, none.why) == ((), "no maximum is known")


def test_a_chance_is_never_rounded_up_to_a_certainty() -> None:
    """1 h after 1/99 h: exactly 99 %; after less, more."""
    notes = [rows("A5", facts([combination("all", hours=hours)], design()))[0].note for hours in (1 / 99, 0.01)]
    assert notes == [f"{told} in the next 1 h, > 99 % in the next 10 h" for told in ("99 %", "> 99 %")]


def test_of_many_combinations_the_highest_of_three_exact_steps() -> None:
    steps = (step(0.5, 10), step(0.999, 30), step(0.9999, 40), step(0.99999, 50, "lower"))
    four = [combination(load, quantiles=steps) for load in "abcd"]
    assert rows("B1", facts(four, design())) == [KpiRow(f"{load}: p99.99", 40, 39, 41.0) for load in "abcd"]
    open_ = (*steps[:2], Quantile(0.9999, 40, 39, None, "exact"))
    carried = combination("futex", measure="response:futex", quantiles=open_)
    assert rows("C5", facts([carried], design())) == [KpiRow("futex: p99.99", 40, 39, None, note="response by futex")]
    closed = combination("futex", measure="response:futex", quantiles=steps)
    assert rows("C5", facts([closed], design())) == [KpiRow("futex: p99.99", 40, 39, 41.0, note="response by futex")]
    assert rows("B1", facts([carried], design()))[-1] == KpiRow("futex: p99.99", 40, 39, None)


def test_a_median_of_a_nanosecond_is_one() -> None:
    one = combination("a", quantiles=(step(0.5, 1), step(0.999999, 250)))
    assert rows("B3", facts([one], design())) == [KpiRow("a", 250.0)]


def test_the_share_of_boots_is_that_of_the_last_of_three_steps() -> None:
    three = [
        BootVariance(q, 4, 12, 0.2, 0.1, share, 0.1, 0.9) for q, share in ((0.99, 0.3), (0.999, 0.6), (0.9999, 0.7))
    ]
    [row] = rows("D5", facts([combination("a", boot_variance=tuple(three))], design()))
    assert (row.where, row.value) == ("a: p99.99", 0.7)


def drift(*runs: tuple[str | None, float], q: float = 0.99) -> list[KpiRow]:
    """Runs that began at these times, ln of their quantile in tenths."""
    made = [numbers(started=at and f"2026-11-{at}:00Z", quantiles=(step(0.99, round(1e12 * math.exp(tenths / 10))),)) for at, tenths in runs]  # fmt: skip
    return rows("D6", facts([combination("a", *made, cv_q=q)], design()))


def test_the_drift_is_the_median_of_all_slopes() -> None:
    """0, 4, 5, 2 at 0, 8, 16 and 24 h: slopes of 8 h are 4, 2.5, 2/3, 1, -1 and -3, their median 5/6; 2.5 tenths a day."""
    [row] = drift(("01T00:00", 0), ("01T08:00", 4), ("01T16:00", 5), ("02T00:00", 2))
    assert row.value == pytest.approx(math.expm1(0.25), rel=1e-9)
    [twice] = drift(("01T00:00", 0), ("01T00:00", 9), ("01T08:00", 4), ("02T00:00", 2))
    # of 8 h: 4, -5, 2/3, -7/3 and -1: two that began at once have no slope
    assert twice.value == pytest.approx(math.expm1(-0.3), rel=1e-9)


def test_twenty_hours_are_a_soak() -> None:
    hours = ("01T00:00", "01T08:00", "01T16:00")
    assert len(drift(*((at, 0) for at in (*hours, "01T20:00")))) == 1
    assert drift(*((at, 0) for at in (*hours, "01T19:30"))) == []
    assert drift(*((at, 0) for at in (*hours, None))) == [], "when one run began is not known"
    assert kpi("D6", facts([], design())).why == "no combination was run over 20 h or more (preset soak)"


def test_two_cpus_are_enough_for_an_asymmetry_and_one_unknown_is_too_many() -> None:
    two = combination("a", lanes=(("CPU0", 100), ("CPU1", 50)))
    part = combination("b", lanes=(("CPU0", 50), ("CPU1", 75), ("CPU2", None)))
    given = facts([two, part], design(), p_each=1e-3)
    assert rows("D7", given) == [KpiRow("a", 2.0, note="CPU0 / CPU1, at p = 0.001")]


def compared(
    *steps: QuantileRatio,
    factor: str = "kernel",
    where: str = "",
    conclusion: str = NO_DIFFERENCE,
    turn: Crossover | None = None,
) -> Compared:
    sides = [Group(name, name, (), 0, None, None, None, None, ()) for name in "AB"]
    result = Comparison(sides[0], sides[1], steps, turn, (), conclusion, "", (), ())
    return Compared(factor, "stock", "rt", where, result)


def ladder(q: float, a: int | None, b: int | None, **changes: Any) -> QuantileRatio:
    return replace(QuantileRatio(q, a, b, None, None, None, "exact"), **changes)


def test_the_median_penalty_is_the_difference_of_medians() -> None:
    high = ladder(0.99, 70, 90)
    found = [
        compared(high, ladder(0.5, 50, 80, ratio=1.6, lo=1.5, hi=1.75)),
        compared(ladder(0.5, 80, 50, ratio=0.625, lo=None, hi=0.75), where="load all"),
        compared(ladder(0.5, 80, 50, lo=0.5, hi=None)),
        compared(ladder(0.5, None, 50)),
        compared(ladder(0.5, 50, None)),
        compared(high),
        compared(ladder(0.5, 1, 2), factor="load"),
        compared(ladder(0.5, 1, 2), conclusion=REFUSED),
    ]
    assert rows("E2", facts([], design(), compared=found)) == [
        KpiRow("rt - stock", 30, note="ratio 1.6 [1.5, 1.75]"),
        KpiRow("rt - stock (load all)", -30, note="ratio 0.625"),
        KpiRow("rt - stock", -30),
    ]


def test_a_crossover_is_told_where_it_is_shown() -> None:
    turn = Crossover(0.75, 95_040, "b", "a", True)
    found = [
        compared(turn=turn),
        compared(turn=turn, where="load all"),
        compared(turn=replace(turn, shown=False)),
        compared(),
        compared(turn=turn, factor="load"),
        compared(turn=turn, conclusion=REFUSED),
    ]
    assert rows("E3", facts([], design(), compared=found)) == [
        KpiRow("stock / rt", 0.25, note="at 95.0 us"),
        KpiRow("stock / rt (load all)", 0.25, note="at 95.0 us"),
    ]
    assert kpi("E3", facts([], design(), compared=found[2:])).why == "no crossover is shown"
    assert kpi("E3", facts([], design(), compared=found[4:])).why == "no two kernels were compared"


def working(of: Combination, *operations: float | None, isolated: bool = False) -> list[Measured]:
    """Cells of a combination whose load did so many operations in 100 s."""
    found = []
    for done in operations:
        parts = () if done is None else (WorkPart("cpu", done, "operations", 100.0),)
        made = recording(block_lane({5: 9}), loads=(LoadEntry("x", (), parts=parts),))
        found.append(Measured("c", of.levels, 1, 1, made, judge(made), isolated))
    return found


def test_the_throughput_of_the_second_kernel_over_the_first() -> None:
    stock, rt, other = (combination("all", numbers(), kernel=name) for name in ("stock", "rt", "old"))
    cells = [*working(stock, 800.0), *working(rt, 600.0), *working(other, None)]
    given = replace(facts([stock, rt, other], design(levels={"kernel": ("stock", "rt", "old")})), cells=cells)
    assert rounded("E1", given) == [KpiRow("all / all", 0.75)]
    assert rows("E1", replace(given, design=design(levels={"kernel": ("stock",)}))) == []
    two = replace(given, design=design(levels={"kernel": ("stock", "rt")}))
    assert rounded("E1", two) == [KpiRow("all / all", 0.75)]


def stressing(recording: Any, classes: tuple[str, ...]) -> Any:
    """The recording with loads of these classes alone."""
    manifest = recording.manifest
    return replace(
        recording, manifest=replace(manifest, loads=tuple(replace(one, classes=classes) for one in manifest.loads))
    )


def test_the_gain_of_isolation_under_a_load() -> None:
    shared, alone = (
        combination("all", numbers(star), scenario=name) for name, star in (("shared", 300), ("alone", 100))
    )
    cells = [*working(shared, 800.0), *working(alone, 600.0, isolated=True)]
    given = replace(facts([shared, alone], design()), cells=cells)
    assert rounded("D2", given) == [KpiRow("all / all", 3.0, note="work of the loads with isolation: 0.75 times")]
    loaded = [replace(cell, recording=stressing(cell.recording, ("cache", "vm"))) for cell in cells]
    (row,) = rounded("D2", replace(given, cells=loaded))
    assert row.note == "work of the loads with isolation: 0.75 times; of caches and memory alone: 0.75 times"
    mixed = [replace(cell, recording=stressing(cell.recording, ("cache", "fork"))) for cell in cells]
    assert "alone" not in rounded("D2", replace(given, cells=mixed))[0].note
    idle = [replace(one, levels=one.levels | {"load": "idle"}) for one in (shared, alone)]
    assert rows("D2", replace(given, combinations=idle)) == [], "an idle board shares nothing"
    unknown = replace(shared, runs=(numbers(None),))
    assert rows("D2", replace(given, combinations=[unknown, alone])) == []
    several = [*working(shared, 800.0, 880.0), *working(alone, 600.0, 660.0, isolated=True)]
    assert rows("D2", replace(given, cells=several))[0].note.startswith(
        "work of the loads with isolation: 0.75 times ["
    )
