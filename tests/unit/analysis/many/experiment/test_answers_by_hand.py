"""The five questions of an experiment, answered from numbers set by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.analysis.checks.load_work import COVERAGE
from rtassay.analysis.many.experiment.answers import BETTER, HOLDS, WORST, answers
from rtassay.analysis.many.experiment.assessing import not_covered
from rtassay.analysis.many.experiment.kpis import Facts
from rtassay.model.comparison import NO_DIFFERENCE, REFUSED, RUNS_T, Comparison, Group, QuantileRatio
from rtassay.model.experiment import Compared, Grade, Sensitivity
from rtassay.model.findings import THESE_RUNS
from rtassay.model.manifest import LoadEntry

from .by_hand import combination, design, facts, numbers

MS = 1_000_000


def said(given: Facts, question: str) -> str:
    return next(one.text for one in answers(given, ("the sea",)) if one.question == question)


def test_d_star_is_told_where_all_have_one_and_the_worst_is_named() -> None:
    rows = [combination("a", star_ns=300_000), combination("b", star_ns=500_000)]
    assert said(facts(rows, design()), HOLDS) == (
        "Not judged: no deadline was stated. Demonstrated everywhere at 95 % confidence: 500us for p = 0.0001 (worst: b)."
    )
    weak = [combination("a", star_ns=300_000, star_each_ns=40_000), combination("b", star_each_ns=20_000)]
    assert said(facts(weak, design(), p_each=1e-2), HOLDS) == (
        "Not judged: no deadline was stated. The runs are too short for p = 0.0001; for p = 0.01 they demonstrate 40us (worst: a)."
    )
    part = [combination("a", star_ns=300_000, star_each_ns=40_000), combination("b")]
    assert said(facts(part, design()), HOLDS) == "Not judged: no deadline was stated."
    spoilt = facts(part, design(), grade=Grade("X", ("E at x",)))
    assert said(spoilt, HOLDS).endswith("stated. Some of it is no valid measurement and not to be used: E at x.")


@pytest.mark.parametrize(
    ("state", "begin"),
    [
        (
            "HOLDS",
            "Yes, under these conditions (HOLDS). Asked: every wake-up within 1ms but for a share of 0.0001 at the most, at 95 %",
        ),
        ("VIOLATED", "No (VIOLATED). "),
        ("NOT DEMONSTRATED", "Not shown (NOT DEMONSTRATED). "),
        ("INVALID MEASUREMENT", "Not answered: the measurement is invalid (INVALID MEASUREMENT). "),
    ],
)
def test_a_verdict_names_where_it_was_decided_and_why(state: str, begin: str) -> None:
    row = {"load": "a", "state": state, "exceedances": 3, "due": 4_000, "lane": "CPU1", "p_lower": 0.25, "p_upper": 0.5}
    other = row | {"load": "b", "due": 9}
    accepted = {"state": state, "at": {"load": "a"}, "why": "too late"}
    made = facts([], design(MS, loads=("b", "a")), result={"acceptance": accepted, "combinations": [other, row]})
    text = said(made, HOLDS)
    assert text.startswith(begin) and text.endswith(
        " Decided by: a. Too late. There 3 of 4,000 activations of CPU1 were late: the probability is between 0.25 and 0.5."
    )


def test_a_verdict_without_a_place_has_no_numbers() -> None:
    accepted: dict[str, Any] = {"state": "VIOLATED", "at": None, "why": ""}
    row = {"load": "a", "state": "VIOLATED", "due": 9}
    made = facts([], design(MS, per_hour=0.25), result={"acceptance": accepted, "combinations": [row]})
    assert said(made, HOLDS) == (
        "No (VIOLATED). Asked: every wake-up within 1ms but for 0.25 events an hour at the most, at 95 % confidence."
    )
    uncounted = {"state": "VIOLATED", "at": {"load": "a"}, "why": ""}
    silent = facts(
        [], design(MS, loads=("a",)), result={"acceptance": uncounted, "combinations": [row | {"due": None}]}
    )
    assert said(silent, HOLDS).endswith("confidence. Decided by: a.")


def cost(lo: float | None, hi: float | None, load: str = "b") -> Sensitivity:
    return Sensitivity(load, "idle", "", 1e-3, 2.5, lo, hi, 2, 2)


def worst(rows: Any, *costs: Sensitivity, loads: tuple[str, ...] = ("idle", "b"), **more: Any) -> str:
    return said(facts(rows, design(loads=loads, **more), p_each=1e-3, sensitivity=costs), WORST)


def test_the_worst_load_and_what_its_interval_shows() -> None:
    rows = [combination("idle", star_each_ns=10_000), combination("b", star_each_ns=20_000), combination("c")]
    assert worst(rows, cost(2.0, 3.0)) == "b: D* 20us for p = 0.001, 2.5 times that of idle [2, 3]."
    open_ = "; the interval holds 1, so the runs do not show that it differs."
    for lo, hi, told in ((1.0, 3.0, open_), (0.5, 1.0, open_), (0.5, 0.9, "."), (1.1, 2.0, ".")):
        assert worst(rows, cost(lo, hi)).endswith(f"[{lo:g}, {hi:g}]{told}")
    assert worst(rows, cost(None, None)).endswith("2.5 times that of idle; one run of each gives no interval.")
    assert worst(rows, cost(2.0, 3.0, "c")) == "b: D* 20us for p = 0.001."
    varied = worst(rows, levels={"load": ("idle", "b"), "kernel": ("rt", "stock")})
    assert varied == "b: D* 20us for p = 0.001 at kernel None."


def test_an_idle_board_may_be_the_worst() -> None:
    rows = [combination("idle", star_each_ns=30_000), combination("b", star_each_ns=20_000)]
    begin = "idle: D* 30us for p = 0.001 - later than under load"
    assert worst(rows, cost(0.5, 0.9)) == f"{begin}."
    assert worst(rows, cost(0.5, 1.0)) == f"{begin}, but the runs do not show a difference."
    assert worst(rows) == f"{begin}, but the runs do not show a difference."


def test_one_load_is_no_choice() -> None:
    one = [combination("b", star_each_ns=20_000)]
    assert worst(one, loads=("b",)) == "There is only one load level, b."
    assert worst(one, loads=("idle",)) == (
        "There is only one load level, idle. The board was idle: this says nothing about a loaded one."
    )
    assert worst([combination("b"), combination("idle")]) == "Not known: no combination has a D*."


def covered(
    *loads: LoadEntry,
    asked: tuple[str, ...] = (),
    of: dict[str, Any] | None = None,
    runs: Any = (),
    boards: tuple[str, ...] = ("b",),
    **result: int,
) -> tuple[str, ...]:
    recording = SimpleNamespace(manifest=SimpleNamespace(loads=loads))
    cells: Any = [SimpleNamespace(recording=recording, levels={"board": board}) for board in boards]
    made = design(asked_kernels=asked, levels=of or {})
    told = {"cells_total": 5, "cells_sealed": 5, "cells_skipped": 0} | result
    return not_covered(cells, [combination("all", *runs)], made, told)


def test_what_was_not_measured_is_named() -> None:
    everything = LoadEntry("all", (), classes=tuple(kind for kinds in COVERAGE.values() for kind in kinds))
    last = "other boards, of this kind too"
    whole = covered(
        everything, of={"kernel": ("a", "b")}, runs=[numbers(boot="a"), numbers(boot="b")], boards=("b", "c")
    )
    assert whole == ("graphics, devices and your own application", "temperature: the board tells none")
    assert covered(everything, cells_sealed=3)[0] == "2 of 5 planned cells: they are not measured"
    assert covered(everything, cells_sealed=3, cells_skipped=2)[0] == "other kernels and configurations"
    only = "other kernels: it was made to compare kernels, and only the one that ran was measured"
    assert covered(everything, asked=("a", "b"))[0] == only
    assert covered(everything, asked=("a", "b"), of={"kernel": ("a", "b")})[0].startswith("graphics")
    assert covered(everything, asked=("a",))[0] == "other kernels and configurations"
    assert "any load: the board was idle" in covered()
    cpu = LoadEntry("x", (), classes=("cpu",))
    assert any(row.startswith("loads of ") and "memory" in row for row in covered(cpu))
    silent = covered(cpu, LoadEntry("mine", ()))
    assert "what exactly was loaded: mine does not tell which classes it stresses" in silent
    assert not any(row.startswith("loads of ") for row in silent)
    assert "other boots: all runs are of one" in covered(runs=[numbers(boot="a"), numbers(boot="a")])
    assert "other boots: which boot a run is of is not known" in covered(runs=[numbers(boot="a"), numbers(boot=None)])
    warm = replace(numbers(), temperature_c=40.0)
    assert "other temperatures" in covered(runs=[numbers(), warm]) and covered()[-1] == last


def compared(count: int, where: str = "load all", conclusion: str = NO_DIFFERENCE) -> str:
    step = QuantileRatio(0.999, 1, 1, 1.0, None, None, "exact", method=RUNS_T)
    group = Group("A", "A", (numbers(),) * 3, 0, None, None, None, None, ())  # type: ignore[arg-type]
    result = Comparison(
        group, replace(group, name="B", title="B"), (step,), None, (), conclusion, "", (), (), refusals=("no",)
    )
    return said(facts([], design(), compared=[Compared("kernel", "x", "y", where, result)] * count), BETTER)


def test_comparisons_are_told_with_their_place_up_to_four() -> None:
    told = "no difference shown at p99.9, the step named beforehand, and the data could not show one."
    assert compared(1) == f"kernel x (A) against y (B) at load all: {told}"
    assert compared(1, "") == f"kernel x (A) against y (B): {told}"
    assert compared(1, "", REFUSED) == "kernel x (A) against y (B): Not compared: no."
    assert compared(4).count("against") == 4 and compared(4).endswith(told)
    assert compared(6).count("against") == 4 and compared(6).endswith(f"{told} 2 more comparisons are below.")


def test_nothing_was_compared() -> None:
    none = "Nothing was compared: no factor to be compared has two levels."
    asked = "Nothing was compared: kernels were to be compared, and none was named (--kernel A --kernel B)."
    assert said(facts([], design()), BETTER) == said(facts([], design(asked_kernels=("a",))), BETTER) == none
    assert said(facts([], design(asked_kernels=("a", "b"))), BETTER) == asked
    assert said(facts([], design(asked_kernels=("a", "b"), levels={"kernel": ("a", "b")})), BETTER) == none


def test_a_few_runs_that_hold_speak_of_themselves() -> None:
    def of(*rows: dict[str, Any], state: str = "HOLDS", per: str = "combination") -> str:
        told = {"acceptance": {"state": state, "at": None, "why": ""}, "combinations": list(rows)}
        return said(facts([], design(MS, per=per), result=told), HOLDS).partition(" Asked")[0]

    few = [{"runs": runs, "assumes": [{"code": "x"}, {"code": THESE_RUNS}]} for runs in (4, 3)]
    many = {"runs": 2, "assumes": [{"code": "x"}]}, {"runs": 1}
    assert of(*few, *many) == "Yes, under these conditions (HOLDS, of these runs: 3 do not tell what other boots do)."
    assert of(*many) == of(*few, per="cell") == "Yes, under these conditions (HOLDS)."
    assert of(*few, state="VIOLATED") == "No (VIOLATED)."
