"""Combinations, runs and facts with numbers set by hand, for tests of single KPIs, answers and grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rtassay.analysis.many.experiment.cells import FACTORS, Design
from rtassay.analysis.many.experiment.kpis import Facts
from rtassay.model.experiment import Combination, Compared, Grade, RunNumbers, Sensitivity
from rtassay.model.findings import Quantile

P = 1e-4


def step(q: float, value_ns: int, bound: str = "exact") -> Quantile:
    """A quantile with an interval of one ns to each side."""
    return Quantile(q, value_ns, value_ns - 1, value_ns + 1, bound)


def numbers(
    star_ns: int | None = None,
    *,
    verdict: str | None = None,
    started: str | None = None,
    boot: str | None = "a",
    quantiles: Sequence[Quantile] = (),
) -> RunNumbers:
    """One run; what is not named is of no interest."""
    blank: dict[str, Any] = {"mean_ns": None, "max_ns": None, "temperature_c": None, "missed": None, "duration_s": None}
    fixed = {"id": "r", "cell": "c", "repeat": 1, "order": 1, "n": 1}
    return RunNumbers(
        **fixed, **blank, star_ns=star_ns, verdict=verdict, started=started, boot=boot, quantiles=tuple(quantiles)
    )  # fmt: skip


def levels(load: str = "all", kernel: str | None = None, scenario: str | None = None) -> dict[str, str | None]:
    return {"board": "b", "kernel": kernel, "load": load, "probe": "rtprobe", "scenario": scenario}


def combination(load: str = "all", *runs: RunNumbers, **changes: Any) -> Combination:
    """All runs of one load. `kernel`, `scenario`: its other levels."""
    of = levels(load, changes.pop("kernel", None), changes.pop("scenario", None))
    blank: dict[str, Any] = dict.fromkeys(
        ("due", "missed", "over", "min_ns", "mean_ns", "sd_ns", "max_ns", "star_ns", "star_each_ns", "boots")
    )
    rest = {"planned": len(runs), "n": 100_000, "quantiles": (), "lanes": (), "hours": 0.0}
    return Combination(**{"title": load, "levels": of, "runs": runs, **blank, **rest, **changes})


def design(deadline_ns: int | None = None, *, loads: Sequence[str] = ("all",), **changes: Any) -> Design:
    """Loads vary, `idle` is idle."""
    planned = {tuple(levels(load).get(name) for name in FACTORS): 1 for load in loads}
    return Design(deadline_ns, P, 0.95, **{"per": "combination", "planned": planned, "levels": {"load": tuple(loads)}, "idle": ("idle",), **changes})  # fmt: skip


def facts(
    combinations: Sequence[Combination],
    made: Design,
    *,
    result: dict[str, Any] | None = None,
    p_each: float | None = None,
    sensitivity: Sequence[Sensitivity] = (),
    compared: Sequence[Compared] = (),
    grade: Grade | None = None,
) -> Facts:
    told = {"combinations": [], "acceptance": None, "repeat": "again"} | (result or {})
    return Facts((), combinations, made, told, p_each, sensitivity, compared, grade or Grade("C", ("few runs", "old")))
