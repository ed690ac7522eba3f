"""HTML: throughput and latency of two groups as one self-contained page."""

from __future__ import annotations

from typing import Any

from rtassay.model.foreign import one_line
from rtassay.model.throughput import Throughput
from rtassay.reports import page
from rtassay.reports.throughput import drawings
from rtassay.reports.throughput import throughput_text as text


class HtmlThroughput:
    """The page for people: what latency costs in one picture, then in numbers."""

    name = "throughput.html"
    suffix = ".html"
    summary = "self-contained page with the picture"

    def render(self, subject: Throughput) -> bytes:
        given: dict[str, Any] = {
            "headline": text.headline(subject),
            "tone": text.TONES[subject.conclusion] if subject.b is not None else "none",
            "sentence": one_line(subject.sentence, 600),
            "a": one_line(subject.a),
            "b": None if subject.b is None else one_line(subject.b),
            "figure": page.drawn(lambda narrow: drawings.cost(subject, narrow=narrow)),
            "columns": text.columns(subject),
            "rows": text.rows(subject),
            "latency_columns": text.LATENCY,
            "latency_rows": text.latency_rows(subject),
            "energy_columns": text.energy_columns(subject),
            "energy_rows": text.energy_rows(subject),
            "explained": text.explained(subject),
            "notes": [one_line(note, 400) for note in subject.notes],
            "schema": subject.schema,
            "has_plots": False,
        }
        return page.render("throughput.html.j2", ("report.css", "comparison.css", "experiment.css"), given)
