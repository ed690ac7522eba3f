"""JSON: the object of `rtassay extrapolate --json`."""

from __future__ import annotations

from dataclasses import asdict

from rtassay.model.extrapolation import Extrapolation
from rtassay.reports import json_lines


class JsonExtrapolation:
    """Schema rtassay/extrapolate/1."""

    name = "extrapolation.json"
    suffix = ".json"
    summary = "levels, refusals, tests and thresholds as one JSON object (schema rtassay/extrapolate/1)"

    def render(self, subject: Extrapolation) -> bytes:
        data = asdict(subject)
        return json_lines.document({"schema": data.pop("schema"), **data})
