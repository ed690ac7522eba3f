"""Causes as Markdown, fit for an issue or a mailing list."""

from __future__ import annotations

from rtassay.model.foreign import markdown
from rtassay.model.ranking import Ranking
from rtassay.reports.causes import causes_text as text
from rtassay.reports.causes import crosschecks, functions
from rtassay.reports.markdown_text import document, text_table


class MarkdownCauses:
    """Tables of causes, shares, predictions and steps."""

    name = "causes.markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, subject: Ranking) -> bytes:
        return document([f"## {markdown(text.headline(subject))}", *sections(subject)])


def sections(ranking: Ranking) -> list[str]:
    """All but the headline."""
    parts: list[str] = []
    if ranking.answered:
        parts += [
            markdown(" ".join(text.counts(ranking))),
            text_table(text.columns(ranking), text.rows(ranking), numbers=True),
            *(
                f"> {markdown(note)}"
                for note in (text.left_out(ranking), text.now(ranking), text.spread_note(ranking))
                if note is not None
            ),
        ]
        if named := functions.rows(ranking):
            parts.append(text_table(functions.COLUMNS, named))
        if (note := functions.note(ranking)) is not None:
            parts.append(f"> {markdown(note)}")
        if checked := crosschecks.rows(ranking):
            parts.append(text_table(crosschecks.COLUMNS, checked))
        parts += [f"> {markdown(note)}" for note in crosschecks.notes(ranking)]
        for columns, rows in (text.quantile_table(ranking), text.group_table(ranking)):
            if rows:
                parts += ["Share of the lateness:", text_table(columns, rows, numbers=True)]
        parts += [markdown(text.masked(pair)) for pair in ranking.masked]
        parts.append("\n".join(f"- Next, {markdown(cause)}: {markdown(step)}" for cause, step in text.steps(ranking)))
    else:
        parts.append(text.LEFT)
    for run in ranking.runs:
        if run.state != "traced":
            why, do = text.why_not(run)
            parts.append(f"- {markdown(run.id)}: {markdown(why)}. Next: {markdown(do)}")
        elif (cost := text.observer(run)) is not None:
            parts.append(markdown(cost if len(ranking.runs) == 1 else f"{run.id}: {cost}"))
    return parts
