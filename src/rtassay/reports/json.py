"""JSON: the object of `rtassay show --json` with the histograms added."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rtassay.model.findings import Findings
from rtassay.model.recording import Lane, Recording


class JsonReport:
    """Schema rtassay/show/1 plus `histograms`: per lane, bin i holds `count[i]` in [lower_ns[i], lower_ns[i] + width_ns[i]).

    One key a line, one histogram a line. NaN and infinity never appear: what is not known is null.
    """

    name = "json"
    suffix = ".json"
    summary = "findings and exact histograms as one JSON object (schema rtassay/show/1)"

    def render(self, findings: Findings, recording: Recording) -> bytes:
        lines = [f"{_dump(key)}: {_value(value)}" for key, value in asdict(findings).items()]
        histograms = ",\n".join(f"  {_dump(_histogram(lane))}" for lane in recording.lanes)
        lines.append(f'"histograms": [\n{histograms}\n ]')
        return ("{\n " + ",\n ".join(lines) + "\n}\n").encode()


def _value(value: Any) -> str:
    """Lists and tuples one item a line, so that two reports can be compared with diff."""
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {_dump(item)}" for item in value) + "\n ]"
    return _dump(value)


def _dump(value: Any) -> str:
    # Lone surrogates in foreign text must not make the object unwritable: ASCII escapes carry them.
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _histogram(lane: Lane) -> dict[str, Any]:
    histogram = lane.histogram
    return {
        "lane": lane.entry.name,
        "cpu": lane.entry.cpu,
        "over": histogram.over,
        "under": histogram.under,
        "limit_ns": histogram.limit_ns,
        "lower_ns": histogram.lower_ns.tolist(),
        "width_ns": histogram.width_ns.tolist(),
        "count": histogram.counts.tolist(),
    }
