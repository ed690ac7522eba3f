"""Markdown: an extrapolation as tables."""

from __future__ import annotations

from rtassay.model.extrapolation import Extrapolation, LaneExtrapolation, Refusal
from rtassay.model.foreign import markdown
from rtassay.reports.extrapolation import extrapolation_text as text
from rtassay.reports.markdown_text import document, folded, pipe_table


class MarkdownExtrapolation:
    """GitHub-flavoured Markdown: the levels of each lane with their intervals, refusals, thresholds."""

    name = "extrapolation.markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, subject: Extrapolation) -> bytes:
        parts = [f"## {markdown(text.headline(subject))}", markdown(text.about(subject))]
        for lane in subject.lanes:
            parts += _lane(lane)
        parts.append(f"Intervals: {100 * subject.confidence:g} %, two-sided. Levels in us.")
        return document(parts)


def _lane(lane: LaneExtrapolation) -> list[str]:
    places = text.digits(lane)
    parts = [f"### {markdown(text.lane_name(lane))}: {markdown(text.measured(lane))}"]
    if lane.levels:
        parts.append(
            pipe_table(text.LEVEL_COLUMNS, [text.level_cells(level, places) for level in lane.levels], numbers=True)
        )
    refusals = [*lane.refusals, *(level.refusal for level in lane.levels if level.refusal)]
    if refusals:
        parts.append("\n".join(map(_refusal, refusals)))
    parts.append(markdown(" ".join(text.sentences(lane))))
    if lane.thresholds:
        rows = [text.threshold_cells(row, places) for row in lane.thresholds]
        parts.append(folded("Thresholds (* chosen)", pipe_table(text.THRESHOLD_COLUMNS, rows, numbers=True)))
    return parts


def _refusal(refusal: Refusal) -> str:
    return f"- **{refusal.code}**: {markdown(refusal.reason)}. Would help: {markdown(refusal.remedy)}."
