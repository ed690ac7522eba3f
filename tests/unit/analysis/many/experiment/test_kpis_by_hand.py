"""Every KPI that needs no recordings, from combinations with numbers set by hand: value, interval and note."""

from __future__ import annotations

import pytest

from rtassay.analysis.many.experiment.kpis import Facts, scorecard
from rtassay.model.comparison import BootVariance
from rtassay.model.experiment import Kpi, KpiRow, Sensitivity

from .by_hand import combination, design, facts, numbers, step

MS = 1_000_000


def kpi(id_: str, given: Facts) -> Kpi:
    return next(one for one in scorecard(given) if one.id == id_)


def rows(id_: str, given: Facts) -> list[KpiRow]:
    return list(kpi(id_, given).rows)


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
        "E1": "no two kernels under a load that counts its work",
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


def test_every_kpi_of_an_external_instrument_says_what_it_needs() -> None:
    card = {one.id: one for one in scorecard(facts([], design()))}
    assert all(card[id_].why.startswith("needs ") and not card[id_].rows for id_ in ("C1", "C2", "C3", "C4"))
    assert card["F"].rows and not card["F"].why
