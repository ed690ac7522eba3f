"""JSON: the object of `rtassay compare --json` with the pooled histograms added."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from typing import Any

from rtassay.model.comparison import Comparison, Group


class JsonComparison:
    """Schema rtassay/compare/1 plus `histograms`: per group bin i holds `count[i]` in [lower_ns[i], lower_ns[i] + width_ns[i])."""

    name = "json"
    suffix = ".json"
    summary = "comparison and pooled histograms as one JSON object (schema rtassay/compare/1)"

    def render(self, comparison: Comparison) -> bytes:
        light = replace(comparison, a=replace(comparison.a, histogram=None), b=replace(comparison.b, histogram=None))
        data = asdict(light)
        data = {"schema": data.pop("schema"), **data}
        for side in ("a", "b"):
            del data[side]["histogram"]
        lines = [f"{_dump(key)}: {_value(item)}" for key, item in data.items()]
        groups = ",\n".join(f"  {_dump(_histogram(group))}" for group in (comparison.a, comparison.b))
        lines.append(f'"histograms": [\n{groups}\n ]')
        return ("{\n " + ",\n ".join(lines) + "\n}\n").encode()


def _value(value: Any) -> str:
    """Lists one item a line, so that two reports can be compared with diff."""
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {_dump(item)}" for item in value) + "\n ]"
    return _dump(value)


def _dump(value: Any) -> str:
    return json.dumps(_finite(value), ensure_ascii=True, allow_nan=False)


def _finite(value: Any) -> Any:
    """NaN and infinities are not known: null."""
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _histogram(group: Group) -> dict[str, Any]:
    histogram = group.histogram
    if histogram is None:
        return {"group": group.name, "over": None, "limit_ns": None, "lower_ns": [], "width_ns": [], "count": []}
    return {
        "group": group.name,
        "over": histogram.over,
        "limit_ns": histogram.limit_ns,
        "lower_ns": histogram.lower_ns.tolist(),
        "width_ns": histogram.width_ns.tolist(),
        "count": histogram.counts.tolist(),
    }
