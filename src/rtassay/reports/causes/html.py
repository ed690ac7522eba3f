"""HTML: the causes of one or several runs as one self-contained page."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from rtassay.model.ranking import Ranking
from rtassay.model.recording import Recording
from rtassay.reports import page
from rtassay.reports.causes import causes_text as text
from rtassay.reports.causes import crosschecks, functions, outliers

_IDS = 8


class HtmlCauses:
    """The page for people: shares, predictions, what to do. The page of a single recording shows each late wake-up, too."""

    name = "causes.html"
    suffix = ".html"
    summary = "self-contained page of causes"

    def render(self, subject: Ranking) -> bytes:
        given = {
            "causes": section(subject),
            "of": _of([run.id for run in subject.runs]),
            "tone": "none" if subject.answered else "open",
            "has_plots": False,
        }
        return page.render("causes.html.j2", ("report.css", "causes.css"), given)


def _of(ids: list[str]) -> str:
    """Whose causes these are: `2 runs: A, B`; of many, the first ones."""
    more = len(ids) - _IDS
    return f"{len(ids)} run{'s' * (len(ids) != 1)}: {', '.join(ids[:_IDS])}{f' and {more} more' if more > 0 else ''}"


def section(ranking: Ranking, recording: Recording | None = None) -> dict[str, Any]:
    """What templates/causes_section.html.j2 shows. With a recording, its worst wake-ups too."""
    quantile_columns, quantile_rows = text.quantile_table(ranking)
    group_columns, group_rows = text.group_table(ranking)
    runs = ranking.runs
    return {
        "headline": text.headline(ranking),
        "answered": ranking.answered,
        "counts": text.counts(ranking) if ranking.answered else [text.LEFT],
        "columns": text.columns(ranking),
        "rows": text.rows(ranking),
        "function_columns": functions.COLUMNS,
        "functions": functions.rows(ranking),
        "stack_note": functions.note(ranking),
        "crosscheck_columns": crosschecks.COLUMNS,
        "crosschecks": crosschecks.rows(ranking),
        "crosscheck_notes": crosschecks.notes(ranking),
        "left_out": text.left_out(ranking) if ranking.answered else None,
        "notes": [note for note in (text.now(ranking), text.spread_note(ranking)) if note] if ranking.answered else [],
        "shares": [
            {"columns": columns, "rows": rows}
            for columns, rows in ((quantile_columns, quantile_rows), (group_columns, group_rows))
            if rows
        ],
        "masked": [text.masked(pair) for pair in ranking.masked],
        "steps": text.steps(ranking) if ranking.answered else [],
        "untraced": [(run.id, *text.why_not(run)) for run in runs if run.state != "traced"],
        "observers": [
            cost if len(runs) == 1 else f"{run.id}: {cost}" for run in runs if (cost := text.observer(run)) is not None
        ],
        "hits": [] if recording is None else _hits(recording, ranking),
        "hits_of": 0 if recording is None else len(recording.causes),
        "legend": outliers.legend(ranking),
        "part_columns": outliers.PART_COLUMNS,
    }


def _hits(recording: Recording, ranking: Ranking) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id, "at": row.at, "where": row.where, "latency": row.latency, "owner": row.owner,
            "bar": Markup(row.bar), "wide": Markup(row.wide), "parts": row.parts, "notes": row.notes,
        }
        for row in outliers.rows(recording, ranking)
    ]  # fmt: skip
