"""JSON: the object of `rtassay gate --json`, which a later gate takes as its base."""

from __future__ import annotations

from rtassay.model.gate import Gate, gate_dict
from rtassay.reports import json_lines


class JsonGate:
    """Schema rtassay/gate/1."""

    name = "gate.json"
    suffix = ".json"
    summary = "everything as one JSON object (schema rtassay/gate/1); a base for later gates"

    def render(self, subject: Gate) -> bytes:
        return json_lines.document(gate_dict(subject))
