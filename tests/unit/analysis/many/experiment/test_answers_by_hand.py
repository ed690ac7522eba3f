"""The five questions of an experiment, answered from numbers set by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rtassay.analysis.many.experiment.answers import HOLDS, WORST, answers
from rtassay.analysis.many.experiment.kpis import Facts
from rtassay.model.experiment import Grade, Sensitivity

from .by_hand import combination, design, facts

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
