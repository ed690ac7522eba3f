"""JSON: the object of schema rtassay/experiment/1, as `rtassay experiment show --json` prints it."""

from __future__ import annotations

import json

from rtassay.model.experiment import ExperimentReport


class JsonExperiment:
    """For programs."""

    name = "json"
    suffix = ".json"
    summary = "the result for programs"

    def render(self, report: ExperimentReport) -> bytes:
        return (json.dumps(report.result, indent=1, allow_nan=False) + "\n").encode()
