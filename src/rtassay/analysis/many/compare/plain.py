"""A comparison as plain JSON values, and the one question a build server asks of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from rtassay.analysis.judge.plain import plain
from rtassay.analysis.many.compare.ratios import LEAST_RUNS
from rtassay.model.comparison import A_BETTER, Comparison


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """The object of `rtassay compare --json`, with `schema` first; pooled histograms are left out."""
    light = replace(comparison, a=replace(comparison.a, histogram=None), b=replace(comparison.b, histogram=None))
    data: dict[str, Any] = plain(asdict(light))
    for side in ("a", "b"):
        del data[side]["histogram"]
    return {"schema": data.pop("schema"), **data}


def few_runs(comparison: Comparison) -> str | None:
    """Why no regression can be told from so few runs; None if it can."""
    a, b = len(comparison.a.runs), len(comparison.b.runs)
    if min(a, b) >= LEAST_RUNS:
        return None
    return f"A has {a} run{'s' * (a != 1)}, B {b}: a regression takes {LEAST_RUNS} runs of each, better 5"


def regressions(comparison: Comparison, percent: float = 0.0) -> tuple[float, ...]:
    """Quantiles of the ladder at which B is later than A by more than `percent`.

    A step counts if its difference is shown (the primary step alone, the others after Holm's correction) and the lower end of the ratio's
    95 % interval is above 1 + percent / 100. Empty where the comparison was refused. It takes `LEAST_RUNS` runs of each group: one run
    a side differs by chance in up to half of all comparisons (`few_runs`).
    """
    limit = 1 + percent / 100
    return tuple(
        step.q for step in comparison.quantiles if step.shown == A_BETTER and step.lo is not None and step.lo > limit
    )
