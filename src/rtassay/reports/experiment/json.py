"""JSON: the object of schema rtassay/experiment/1, as `rtassay experiment show --json` prints it."""

from __future__ import annotations

import json

from rtassay.model.experiment import ExperimentReport


class JsonExperiment:
    """For programs."""

    name = "experiment.json"
    suffix = ".json"
    summary = "the result for programs"

    def render(self, subject: ExperimentReport) -> bytes:
        return (json.dumps(subject.result, indent=1, allow_nan=False) + "\n").encode()
