"""Cells and their design from recordings made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rtassay.analysis.judge import judge
from rtassay.analysis.many.experiment.cells import FACTORS, Design, Measured, combine
from rtassay.model.recording import Recording

P = 1e-3


def measured(scenario: str, repeat: int, made: Recording, kernel: str | None = None, load: str = "all") -> Measured:
    levels = {"board": "local", "kernel": kernel, "load": load, "probe": "rtprobe", "scenario": scenario}
    return Measured(f"{scenario}-{repeat}", levels, repeat, repeat, made, judge(made))


def design_of(cells: Sequence[Measured]) -> tuple[Design, Any]:
    """The design these cells fill, and their combinations."""
    planned: dict[tuple[str | None, ...], int] = {}
    for cell in cells:
        planned[cell.combination] = planned.get(cell.combination, 0) + 1
    levels = {f: tuple(dict.fromkeys(str(cell.levels[f]) for cell in cells)) for f in FACTORS}
    design = Design(None, P, 0.95, "combination", planned, levels)
    return design, combine(cells, design, P)


def with_plan(made: Recording, **changes: Any) -> Recording:
    return replace(made, manifest=replace(made.manifest, plan=replace(made.manifest.plan, **changes)))
