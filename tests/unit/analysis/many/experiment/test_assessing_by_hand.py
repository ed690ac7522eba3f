"""What is gathered over all cells: checks, versions, boards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rtassay.analysis.many.experiment import assess, scorecard_dict
from rtassay.analysis.many.experiment.assessing import check_rows, not_covered
from rtassay.analysis.many.experiment.cells import Design, Measured
from rtassay.model.experiment import Scorecard
from rtassay.model.findings import CheckResult
from rtassay.model.manifest import LoadEntry, Source
from rtassay.model.recording import Recording

from ...build import US, block_lane, inventory, recording
from .cells_of import design_of, measured

RESULT: dict[str, Any] = {"cells_total": 1, "cells_sealed": 1, "cells_skipped": 0, "acceptance": None, "combinations": [], "repeat": "again"}  # fmt: skip


def run(**changes: Any) -> Recording:
    return recording(block_lane({10 * US: 3000}), **changes)


def firing(scenario: str, *checks: tuple[str, str] | tuple[str, str, str]) -> Measured:
    """A cell in which these checks gave (id, severity[, waived])."""
    cell = measured(scenario, 1, run())
    rows = tuple(CheckResult(one[0], one[1], "integrity", f"{one[0]} of {scenario}", waived=one[2] if len(one) > 2 else None) for one in checks)  # fmt: skip
    return replace(cell, findings=replace(cell.findings, checks=rows))


def fired(*cells: Measured) -> list[tuple[str, str, int, int, tuple[str, ...], str, str | None]]:
    rows = check_rows(cells, design_of(cells)[0])
    assert all(row.kind == "integrity" for row in rows)
    return [(row.id, row.severity, row.cells, row.of, row.where, row.message, row.waived) for row in rows]


def test_a_check_is_told_where_it_was_worst() -> None:
    cells = (
        firing("a", ("X", "warning")),
        firing("b", ("X", "invalid")),
        firing("c", ("X", "invalid"), ("X", "warning")),
    )
    assert fired(*cells) == [("X", "invalid", 2, 3, ("b", "c"), "X of b", None)]
    assert fired(firing("a", ("X", "note"), ("Y", "pass")), firing("b")) == []


def test_the_worst_checks_stand_first_and_of_those_the_most_frequent() -> None:
    cells = (
        firing("a", ("P", "warning"), ("Q", "warning"), ("R", "unknown")),
        firing("b", ("Q", "warning"), ("S", "invalid")),
    )
    assert [(row[0], row[2]) for row in fired(*cells)] == [("S", 1), ("Q", 2), ("P", 1), ("R", 1)]


def test_what_was_waived_stands_apart() -> None:
    cells = firing("a", ("X", "warning", "known")), firing("b", ("X", "warning"))
    assert [(row[4], row[6]) for row in fired(*cells)] == [(("a",), "known"), (("b",), None)]


def assessed(*cells: Measured, **changes: Any) -> Scorecard:
    design, _ = design_of(cells)
    return assess(cells, replace(design, **changes), RESULT)


def test_versions_of_all_tools_are_joined() -> None:
    one = run(tool_versions={"stress-ng": "0.15", "gcc": "12"}, source=Source("timerlat", None, "stream", "counted"))
    other = run(tool_versions={"stress-ng": "0.17", "gcc": "12"}, source=Source("rtprobe", "0.2", "stream", "counted"))
    card = assessed(measured("a", 1, one), measured("b", 1, other))
    assert card.versions == {"gcc": "12", "rtprobe": "0.2", "stress-ng": "0.15, 0.17", "timerlat": "not known"}
    assert list(card.versions) == sorted(card.versions)


def test_each_board_and_kernel_has_one_fingerprint() -> None:
    told = inventory(model="Pi", os="", cmdline=None)
    first, again = (measured(name, 1, run(inventory=told, board="pi5")) for name in "ab")
    silent = measured("c", 1, run(inventory={}, board="pi4"))
    card = assessed(first, again, silent)
    assert card.boards[0] == {
        "board": "pi5", "kernel": "6.12.48", "version": "#1 SMP PREEMPT_DYNAMIC", "preempt_model": "PREEMPT_DYNAMIC", "config_rt": False,
        "cpus": (0, 1, 2, 3), "model": "Pi", "virtualisation": "none", "clocksource": "tsc",
        "governors": {"cpu0": "performance", "cpu1": "performance"}, "rt_runtime_us": -1,
    }  # fmt: skip
    assert card.boards[1:] == ({"board": "pi4", "kernel": "not known"},)


def test_the_scorecard_carries_what_was_asked() -> None:
    card = assessed(measured("a", 1, run()), per_hour=2.0, confidence=0.9, p=1e-2)
    assert (card.p, card.per_hour, card.confidence, card.p_each) == (1e-2, 2.0, 0.9, 1e-2)
    assert len(card.answers) == 5 and len(card.combinations) == 1 and card.grade.letter == "C"
    assert card.checks == check_rows([measured("a", 1, run())], design_of([measured("a", 1, run())])[0])
    data = scorecard_dict(card)
    assert data["combinations"][0]["n"] == 3000 and "histogram" not in data["combinations"][0]


def test_loads_that_do_not_tell_what_they_stress_are_named_in_order() -> None:
    loads = tuple(LoadEntry(name, ()) for name in ("zeta", "beta", "alpha", "gamma"))
    cell = measured("a", 1, run(loads=loads))
    design, combinations = design_of([cell])
    assert "what exactly was loaded: alpha, beta, gamma, zeta does not tell which classes it stresses" in not_covered([cell], combinations, design, RESULT)  # fmt: skip


def test_nothing_measured_has_a_scorecard_too() -> None:
    card = assess([], Design(None, 1e-3, 0.95, "cell", {}), RESULT)
    assert (card.p_each, card.combinations, card.versions, card.boards, card.checks) == (None, (), {}, (), ())
