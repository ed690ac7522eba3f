"""JSON: the object of `rtassay causes --json`."""

from __future__ import annotations

from rtassay.model.ranking import Ranking, ranking_dict
from rtassay.reports import json_lines


class JsonCauses:
    """Schema rtassay/causes/1."""

    name = "causes.json"
    suffix = ".json"
    summary = "shares, predictions and what was traced as one JSON object (schema rtassay/causes/1)"

    def render(self, subject: Ranking) -> bytes:
        return json_lines.document(ranking_dict(subject))
