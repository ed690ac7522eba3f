"""A comparison as plain JSON values, and the one question a build server asks of it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from rtassay.analysis.judge.plain import plain
from rtassay.model.comparison import A_BETTER, Comparison


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """The object of `rtassay compare --json`, with `schema` first; pooled histograms are left out."""
    light = replace(comparison, a=replace(comparison.a, histogram=None), b=replace(comparison.b, histogram=None))
    data: dict[str, Any] = plain(asdict(light))
    for side in ("a", "b"):
        del data[side]["histogram"]
    return {"schema": data.pop("schema"), **data}


def regressions(comparison: Comparison, percent: float = 0.0) -> tuple[float, ...]:
    """Quantiles of the ladder at which B is later than A by more than `percent`.

    A step counts if the difference stands after Holm's correction over the ladder and the lower end of the ratio's 95 % interval
    is above 1 + percent / 100. None where the comparison was refused.
    """
    limit = 1 + percent / 100
    return tuple(
        step.q for step in comparison.quantiles if step.shown == A_BETTER and step.lo is not None and step.lo > limit
    )
