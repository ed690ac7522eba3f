"""The scorecard of an experiment of known numbers: D*, load sensitivity, grade, answers, and what is not said."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay import reports
from rtassay.analysis.lane.bounds import p_upper, samples_needed
from rtassay.analysis.lane.dispersion import widening
from rtassay.analysis.many.experiment import assess, scorecard_dict
from rtassay.analysis.many.experiment.answers import BETTER, HOLDS, REPEAT, UNCOVERED, WORST
from rtassay.analysis.many.experiment.effects import ratio_of
from rtassay.analysis.many.experiment.grade import capped, grade
from rtassay.cli import experiment_tables
from rtassay.model.experiment import Grade, Kpi, Scorecard
from rtassay.model.findings import CheckResult
from rtassay.reports.experiment import experiment_text

from ..compare.groups import scaled
from .synthetic import COST, COUNTS, GAIN, N, factor_of, make

made = functools.cache(make)


def kpi(card: Scorecard, id_: str) -> Kpi:
    return next(one for one in card.kpis if one.id == id_)


def answer(card: Scorecard, question: str) -> str:
    return next(one.text for one in card.answers if one.question == question)


def star_by_hand(load: str, kernel: str, repeats: int, p: float) -> int:
    """D* of the later lane (1.1 times the other): the value above which no more samples lie than p and confidence allow, where p is smaller
    by as much as the runs differ among their 1,000 largest samples."""
    factors = [factor_of(load, kernel, repeat) for repeat in range(1, repeats + 1)]
    runs = [scaled(scaled(COUNTS, factor), 1.1) for factor in factors]
    each = [np.repeat(np.array(sorted(run)), [run[value] for value in sorted(run)]) for run in runs]
    ordered = np.sort(np.concatenate(each))
    largest = [int((run >= ordered[-1000]).sum()) for run in each]
    wider = widening(np.array(largest), np.array([N] * repeats), 0.95)
    allowed = next(k for k in range(1000, -1, -1) if p_upper(k, N * repeats, 0.95) * wider <= p)
    return int(ordered[-allowed - 1]) + 1


def test_d_star_of_every_combination_is_the_order_statistic_of_its_worst_cpu() -> None:
    card = made().scorecard
    assert card.p_each == 1e-5  # 400,000 activations a run: enough for 1e-5, not for 1e-6
    assert (samples_needed(1e-5, 0.95) or 0) <= N < (samples_needed(1e-6, 0.95) or 0)
    for one in card.combinations:
        by_hand = star_by_hand(str(one.levels["load"]), str(one.levels["kernel"]), 5, 1e-5)
        assert one.star_ns == by_hand, one.title
        assert len(one.runs) == one.planned == 5 and one.boots == 5
        assert one.n == 2 * 5 * N and one.hours == pytest.approx(5 * N / 1000 / 3600, rel=1e-3)


def test_d_star_follows_a_requirement_in_events() -> None:
    """360 events an hour at 1 kHz are a share of 1e-4; no order is known, so each late activation may be an event."""
    known = made()
    card = assess(known.cells, replace(known.design, per_hour=360.0), known.result, known.compared)
    for one in card.combinations:
        assert one.star_ns == star_by_hand(str(one.levels["load"]), str(one.levels["kernel"]), 5, 1e-4), one.title
    assert {row.note for row in kpi(card, "A3").rows} == {"for 360 events an hour"}
    assert "for 360 events an hour" in answer(card, HOLDS)
    page = experiment_text.asked(card)
    assert page == "at most 360 events per hour"


def test_the_load_costs_what_it_was_made_to_cost() -> None:
    card = made().scorecard
    assert [(row.load, row.where) for row in card.sensitivity] == [("all", "stock"), ("all", "rt")] or [
        (row.load, row.where) for row in card.sensitivity
    ] == [("all", "rt"), ("all", "stock")]
    for row in card.sensitivity:
        assert row.ratio == pytest.approx(COST, rel=1e-3)
        assert row.lo is not None and row.hi is not None and 1 < row.lo < COST < row.hi
        assert (row.p, row.runs, row.baseline_runs) == (1e-5, 5, 5)
    rows = kpi(card, "D1").rows
    assert {row.where for row in rows} == {"all / idle (stock)", "all / idle (rt)"}


def test_kernels_are_compared_and_their_cost_is_told() -> None:
    card = made().scorecard
    throughput = kpi(card, "E1").rows
    assert [row.value for row in throughput] == [pytest.approx(0.9)]
    median = {row.where: row for row in kpi(card, "E2").rows}
    p50 = 5_000 + 2_000 * math.log(2)
    assert median["rt - stock (idle)"].value == pytest.approx((GAIN - 1) * 1.05 * p50, rel=0.01)
    assert not kpi(card, "E3").rows and kpi(card, "E3").why == "no crossover is shown"
    assert "rt (B) has the lower latency" in answer(card, BETTER)
    assert all(row.value == pytest.approx(1.1, rel=1e-3) for row in kpi(card, "D7").rows)


def test_every_kpi_has_rows_or_a_reason() -> None:
    for card in (made().scorecard, made(sealed=0).scorecard, made(repeats=1).scorecard):
        assert [one.id for one in card.kpis] == sorted({one.id for one in card.kpis})
        for one in card.kpis:
            assert bool(one.rows) != bool(one.why), one


def test_the_verdict_follows_from_the_data() -> None:
    holds, violated = made(), made(deadline="60us")
    assert holds.result["acceptance"]["state"] == "HOLDS"
    assert answer(holds.scorecard, HOLDS).startswith("Yes, under these conditions (HOLDS, if late ones come singly)")
    assert violated.result["acceptance"]["state"] == "VIOLATED"
    said = answer(violated.scorecard, HOLDS)
    assert said.startswith("No (VIOLATED)") and "Decided by: stock, all" in said
    late = sum(
        count
        for repeat in range(1, 6)
        for value, count in scaled(scaled(COUNTS, factor_of("all", "stock", repeat)), 1.1).items()
        if value >= 60_000
    )
    assert f"{late:,} of {5 * N:,} activations" in said
    verdicts = {row.where: row.words for row in kpi(violated.scorecard, "A1").rows}
    assert verdicts["stock, all"] == "VIOLATED" and verdicts["rt, idle"] == "HOLDS"


@pytest.mark.parametrize(
    ("given", "words"),
    [({"extra": (CheckResult("LOAD-WINDOW", "unknown", "optimism", "words"),)},
      "The numbers would do (p <= 1.9e-6), but LOAD-WINDOW (unknown) stands against it."),
     ({"p": "1e-8"}, "activations of each lane without a further late one would show it, "),
     ({"extra": (CheckResult("CO-MISSED", "invalid", "integrity", "words"),)}, ". CO-MISSED (invalid) stands against it.")],
)  # fmt: skip
def test_what_keeps_an_experiment_from_holding_is_named(given: dict[str, Any], words: str) -> None:
    found = make(**given)
    assert words in answer(found.scorecard, HOLDS)
    assert words.strip(". ")[1:] in found.result["acceptance"]["why"]


def test_the_worst_load_is_named_with_its_cost() -> None:
    said = answer(made().scorecard, WORST)
    assert said.startswith("all: D* ") and "3 times that of idle" in said and "kernel stock" in said
    assert "does not differ" not in said and "do not show" not in said


def test_grades() -> None:
    assert made().scorecard.grade.letter == "B"  # no load of memory, disk, network
    assert any("5 boots of 8" in text for text in made().scorecard.grade.next)
    few = made(repeats=2).scorecard.grade
    assert few.letter == "C" and few.because[0].startswith("2 runs of 2 boots of a combination") and few.thin
    bad = CheckResult("NOT-RT-POLICY", "invalid", "integrity", "policy other")
    spoilt = make(repeats=1, extra=(bad,)).scorecard.grade
    assert spoilt.letter == "X" and spoilt.because[0].startswith("NOT-RT-POLICY at ")
    waived = CheckResult("NOT-RT-POLICY", "invalid", "integrity", "policy other", waived="this is how it is deployed")
    assert make(repeats=1, extra=(waived,)).scorecard.grade.letter == "C"


def of_boots(boots: int | None, repeats: int = 5) -> Grade:
    """The grade of so many runs of so many boots; the runs beyond the fifth repeat the first ones."""
    card = made()
    rows = [replace(one, boots=boots, runs=(one.runs * 2)[:repeats]) for one in card.scorecard.combinations]
    return grade(card.cells, rows, card.design, card.scorecard.checks)


def test_runs_of_few_boots_are_no_evidence_of_what_the_next_boot_does() -> None:
    """Five or eight runs of one boot are one draw of it (docs/method/experiments.md): B needs five boots, A eight."""
    assert {one.boots for one in made(repeats=2, boots=1).scorecard.combinations} == {1}
    one_boot = of_boots(1)
    assert one_boot.letter == "C" and one_boot.because[0].startswith("5 runs of 1 boot of a combination; 5 boots")
    assert "1 boot of 8" in one_boot.next and not one_boot.thin  # as one long run, they may HOLD
    four = of_boots(4, 8)
    assert four.letter == "C" and four.because[0].startswith("8 runs of 4 boots")
    assert of_boots(5, 8).letter == of_boots(8, 8).letter == "B"
    unsaid = of_boots(None)
    assert unsaid.letter == "C" and "not known" in unsaid.because[0]


def test_a_warning_of_a_strict_experiment_is_no_valid_measurement() -> None:
    warned = CheckResult("VM-STEAL", "warning", "integrity", "in a VM")
    found = make(repeats=1, extra=(warned,), strict=True)
    assert found.scorecard.grade.letter == "X"
    assert {row["state"] for row in found.result["combinations"]} == {"INVALID MEASUREMENT"}
    assert all(cell["invalid"] for cell in found.result["cells"])
    plain = make(repeats=1, extra=(warned,))
    assert plain.scorecard.grade.letter == "C" and not any(cell["invalid"] for cell in plain.result["cells"])


@pytest.mark.parametrize(
    ("state", "given", "p", "expected"),
    [
        ("HOLDS", Grade("C", (), thin=True), 1e-6, "NOT DEMONSTRATED"),
        ("HOLDS", Grade("C", (), thin=True), 1e-5, "HOLDS"),
        ("HOLDS", Grade("C", ()), 1e-7, "HOLDS"),
        ("HOLDS", Grade("B", ()), 1e-7, "HOLDS"),
        ("HOLDS", Grade("X", ()), 1e-3, "NOT DEMONSTRATED"),
        ("VIOLATED", Grade("C", (), thin=True), 1e-6, "VIOLATED"),
        ("INVALID MEASUREMENT", Grade("X", ()), 1e-6, "INVALID MEASUREMENT"),
    ],
)
def test_weak_evidence_never_holds(state: str, given: Grade, p: float, expected: str) -> None:
    assert capped(state, given, p) == expected


def test_what_was_not_measured_is_not_covered() -> None:
    part = made(sealed=7)
    assert part.scorecard.not_covered[0] == "13 of 20 planned cells: they are not measured"
    assert part.result["acceptance"]["state"] == "NOT DEMONSTRATED"
    whole = answer(made().scorecard, UNCOVERED)
    assert "loads of memory, disk, network" in whole and "other kernels" not in whole
    nothing = made(sealed=0)
    assert nothing.scorecard.combinations == () and nothing.scorecard.grade.letter == "C"
    assert "rtassay experiment run /x/experiment.toml" in answer(nothing.scorecard, REPEAT)


def test_checks_are_counted_over_cells_and_named_with_their_place() -> None:
    note = CheckResult("X-TEST", "warning", "integrity", "words")
    rows = {row.id: row for row in make(repeats=1, extra=(note,)).scorecard.checks}
    assert (rows["X-TEST"].cells, rows["X-TEST"].of, len(rows["X-TEST"].where)) == (4, 4, 4)
    assert all(row.severity not in ("pass", "note") for row in rows.values())


def test_a_ratio_of_one_run_each_has_no_interval() -> None:
    single = ratio_of([10.0], [20.0])
    assert single is not None and (single.ratio, single.lo, single.hi) == (pytest.approx(2.0), None, None)
    assert ratio_of([], [1.0]) is None and ratio_of([0.0], [1.0]) is None
    rows = made(repeats=1).scorecard.sensitivity
    assert rows and all(row.lo is None for row in rows)


def test_the_object_is_plain_json() -> None:
    import json

    data = scorecard_dict(made().scorecard)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert "histogram" not in data["combinations"][0]
    assert data["grade"]["letter"] == "B"


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (CheckResult("A", "invalid", "integrity", "so", {}), "X"),
        (CheckResult("A", "invalid", "optimism", "so", {}), "C"),
        (CheckResult("A", "invalid", "integrity", "so", {}, "it does not matter"), "C"),
    ],
)
def test_only_an_integrity_check_that_nobody_waived_makes_it_no_measurement(check: CheckResult, expected: str) -> None:
    assert make(repeats=1, extra=(check,)).scorecard.grade.letter == expected


def test_few_runs_hold_of_these_runs_in_the_first_line_of_every_report() -> None:
    """Three runs of each combination at a p that they show; five of them say no such thing."""
    for repeats, said in (
        (3, "HOLDS of these 3 runs, if late ones come singly"),
        (5, "HOLDS, if late ones come singly"),
    ):
        one = made(deadline="5ms", p="1e-3", repeats=repeats)
        verdicts = {
            row[experiment_text.ANSWER_COLUMNS.index("Verdict")] for row in experiment_text.answer_rows(one.report)
        }
        assert said in verdicts
        assert (f"  {said}\n" in experiment_tables.result_text(one.result)) and ("of these" in said) == (
            "of these runs" in one.scorecard.answers[0].text
        )
        assert "(HOLDS, if late ones come singly" in one.scorecard.answers[0].text
        assert experiment_tables.result_text(one.result).splitlines()[-1].startswith(f"{said} (deadline")
        for name in ("markdown", "summary"):
            assert (
                reports.load(type(one.report), name).render(one.report).decode().splitlines()[0].endswith(f": {said}")
            )
        for name in ("junit", "ktap"):
            text = reports.load(type(one.report), name).render(one.report).decode()
            assert f"{said}\n" in text or f">{said}<" in text, name
        assert f"</span> {said}</p>" in reports.load(type(one.report), "html").render(one.report).decode()
