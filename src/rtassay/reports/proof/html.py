"""HTML: a campaign as one self-contained page with the forest plot of its settings."""

from __future__ import annotations

from typing import Any

from rtassay.model.proving import Proof
from rtassay.model.units import format_us
from rtassay.reports import page
from rtassay.reports.proof import drawings
from rtassay.reports.proof import proof_text as text

_TONES = {"HOLDS": "good", "VIOLATED": "bad", "NOT DEMONSTRATED": "open", "INVALID MEASUREMENT": "void"}


class HtmlProof:
    """The page for people: what helped, what did nothing, what harmed, and the runs it rests on."""

    name = "proof.html"
    suffix = ".html"
    summary = "self-contained page with a forest plot of the settings"

    def render(self, subject: Proof) -> bytes:
        state = None if subject.after is None else subject.after.state
        given: dict[str, Any] = {
            "headline": text.headline(subject),
            "tone": _TONES.get(state or "", "none"),
            "conditions": text.conditions(subject),
            "sides": text.sides(subject),
            "cost": text.cost(subject),
            "doubts": text.doubts(subject),
            "figure": page.drawn(lambda narrow: drawings.forest(subject, narrow=narrow)),
            "confirmed": subject.campaign.confirmed is not None,
            "columns": text.COLUMNS,
            "worths": [
                (*text.row(worth), subject.title(worth.id), _recordings(worth)) for worth in subject.campaign.worths
            ],
            "cause_columns": text.CAUSE_COLUMNS,
            "causes": [text.cause_row(one) for one in subject.causes],
            "stages": [text.stage_line(judged) for judged in subject.campaign.stages],
            "quantile": text.quantile(subject),
            "runs": [
                (
                    run.recording,
                    run.stage,
                    run.block,
                    run.arm,
                    "-" if run.value_ns is None else format_us(round(run.value_ns)),
                    run.left_out or "",
                )
                for run in subject.runs
            ],
            "path": subject.path,
            "schema": "rtassay/prove/1",
            "has_plots": False,
        }
        return page.render("proof.html.j2", ("report.css", "comparison.css", "proof.css"), given)


def _recordings(worth: Any) -> str:
    return "" if worth.answer is None else ", ".join(worth.answer.recordings)
