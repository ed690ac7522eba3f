"""JSON: the object of `rtassay show --json` with the histograms added."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rtassay.model.ranking import ranking_dict
from rtassay.model.recording import Lane
from rtassay.reports import json_lines
from rtassay.reports.base import JudgedRecording


class JsonRecording:
    """Schema rtassay/show/1 plus, of a traced run, `causes` (schema rtassay/causes/1), and `histograms`: per lane, bin i holds `count[i]` in [lower_ns[i], lower_ns[i] + width_ns[i]).

    One key a line, one histogram a line. NaN and infinity never appear: what is not known is null.
    """

    name = "recording.json"
    suffix = ".json"
    summary = "findings and exact histograms as one JSON object (schema rtassay/show/1)"

    def render(self, subject: JudgedRecording) -> bytes:
        histograms = [_histogram(lane) for lane in subject.recording.lanes]
        causes = {} if subject.causes is None else {"causes": ranking_dict(subject.causes)}
        return json_lines.document({**asdict(subject.findings), **causes, "histograms": histograms})


def _histogram(lane: Lane) -> dict[str, Any]:
    histogram = lane.histogram
    return {
        "lane": lane.entry.name,
        "cpu": lane.entry.cpu,
        "over": histogram.over,
        "under": histogram.under,
        "limit_ns": histogram.limit_ns,
        **json_lines.bins(histogram.lower_ns, histogram.width_ns, histogram.counts),
    }
