"""Markdown: throughput and latency of two groups as tables."""

from __future__ import annotations

from rtassay.model.foreign import markdown
from rtassay.model.throughput import Throughput
from rtassay.reports.markdown_text import document, pipe_table
from rtassay.reports.throughput import throughput_text as text


class MarkdownThroughput:
    """GitHub-flavoured Markdown: the conclusion, D* by load, every work."""

    name = "throughput.markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, subject: Throughput) -> bytes:
        parts = [f"## {markdown(text.headline(subject))}", markdown(subject.sentence)]
        parts.append(pipe_table(text.columns(subject), text.texts(text.rows(subject), markdown), numbers=True))
        if subject.latency and subject.b is not None:
            parts.append(pipe_table(text.LATENCY, text.texts(text.latency_rows(subject), markdown), numbers=True))
        if subject.energy:
            rows = text.texts(text.energy_rows(subject), markdown)
            parts.append(pipe_table(text.energy_columns(subject), rows, numbers=True))
        parts.append(markdown(text.explained(subject)))
        if subject.notes:
            parts.append("\n".join(f"- {markdown(note)}" for note in subject.notes))
        return document(parts)
