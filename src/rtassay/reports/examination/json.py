"""JSON: the object of `rtassay doctor --json`."""

from __future__ import annotations

from rtassay.model.knobs import Examination, examination_dict
from rtassay.reports import json_lines


class JsonExamination:
    """Schema rtassay/doctor/1."""

    name = "examination.json"
    suffix = ".json"
    summary = "every setting with its state as one JSON object (schema rtassay/doctor/1)"

    def render(self, subject: Examination) -> bytes:
        return json_lines.document(examination_dict(subject))
