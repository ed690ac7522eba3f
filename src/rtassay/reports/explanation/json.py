"""JSON: the object of `rtassay explain --json`."""

from __future__ import annotations

from rtassay.model.explanation import Explanation, explanation_dict
from rtassay.reports import json_lines


class JsonExplanation:
    """Schema rtassay/explanation/1."""

    name = "explanation.json"
    suffix = ".json"
    summary = "threads, late wake-ups and causes as one JSON object (schema rtassay/explanation/1)"

    def render(self, subject: Explanation) -> bytes:
        return json_lines.document(explanation_dict(subject))
