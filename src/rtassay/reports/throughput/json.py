"""JSON: the object of `rtassay throughput --json`."""

from __future__ import annotations

from dataclasses import asdict

from rtassay.model.throughput import Throughput
from rtassay.reports import json_lines


class JsonThroughput:
    """Schema rtassay/throughput/1."""

    name = "throughput.json"
    suffix = ".json"
    summary = "works, ratios and D* as one JSON object (schema rtassay/throughput/1)"

    def render(self, subject: Throughput) -> bytes:
        data = asdict(subject)
        return json_lines.document({"schema": data.pop("schema"), **data})
