"""JSON: the object of `rtassay compare --json` with the pooled histograms added."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from rtassay.model.comparison import Comparison, Group
from rtassay.reports import json_lines


class JsonComparison:
    """Schema rtassay/compare/1 plus `histograms`: per group bin i holds `count[i]` in [lower_ns[i], lower_ns[i] + width_ns[i])."""

    name = "comparison.json"
    suffix = ".json"
    summary = "comparison and pooled histograms as one JSON object (schema rtassay/compare/1)"

    def render(self, subject: Comparison) -> bytes:
        light = replace(subject, a=replace(subject.a, histogram=None), b=replace(subject.b, histogram=None))
        data = asdict(light)
        data = {"schema": data.pop("schema"), **data}
        for side in ("a", "b"):
            del data[side]["histogram"]
        return json_lines.document({**data, "histograms": [_histogram(group) for group in (subject.a, subject.b)]})


def _histogram(group: Group) -> dict[str, Any]:
    histogram = group.histogram
    if histogram is None:
        return {"group": group.name, "over": None, "limit_ns": None, "lower_ns": [], "width_ns": [], "count": []}
    return {
        "group": group.name,
        "over": histogram.over,
        "limit_ns": histogram.limit_ns,
        **json_lines.bins(histogram.lower_ns, histogram.width_ns, histogram.counts),
    }
