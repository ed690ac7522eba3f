"""HTML: an extrapolation as one self-contained page with a figure for each lane."""

from __future__ import annotations

from typing import Any

from rtassay.model.extrapolation import Extrapolation, LaneExtrapolation, Refusal
from rtassay.model.foreign import one_line
from rtassay.reports import page
from rtassay.reports.extrapolation import drawings
from rtassay.reports.extrapolation import extrapolation_text as text


class HtmlExtrapolation:
    """The page for people: levels with intervals, or refusals; return levels drawn; thresholds; tests."""

    name = "extrapolation.html"
    suffix = ".html"
    summary = "self-contained page with figures"

    def render(self, subject: Extrapolation) -> bytes:
        given: dict[str, Any] = {
            "headline": text.headline(subject),
            "tone": "open" if all(lane.answered for lane in subject.lanes) else "void",
            "about": text.about(subject),
            "confidence": f"{100 * subject.confidence:g} %",
            "level_columns": text.LEVEL_COLUMNS,
            "threshold_columns": text.THRESHOLD_COLUMNS,
            "lanes": [_lane(lane) for lane in subject.lanes],
            "schema": subject.schema,
            "has_plots": False,
        }
        return page.render("extrapolation.html.j2", ("report.css", "comparison.css", "extrapolation.css"), given)


def _lane(lane: LaneExtrapolation) -> dict[str, Any]:
    places = text.digits(lane)
    refusals: list[Refusal] = [*lane.refusals, *(level.refusal for level in lane.levels if level.refusal)]
    return {
        "name": text.lane_name(lane),
        "measured": text.measured(lane),
        "levels": [text.level_cells(level, places) for level in lane.levels],
        "refusals": [(row.code, one_line(row.reason), one_line(row.remedy)) for row in refusals],
        "sentences": text.sentences(lane),
        "figure": page.drawn(lambda narrow: drawings.return_levels(lane, narrow=narrow)),
        "band": lane.band is not None,
        "thresholds": [text.threshold_cells(row, places) for row in lane.thresholds],
        "tests": [
            (test.code, "not run" if test.p is None else f"{test.p:.2g}", f"{test.alpha:g}") for test in lane.tests
        ],
        "blocks": None
        if lane.blocks is None
        else f"{lane.blocks.blocks} blocks of {lane.blocks.length:,} wake-ups; shape {lane.blocks.xi:.3f}",
    }
