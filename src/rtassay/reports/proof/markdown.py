"""Markdown: what each setting is worth, as tables."""

from __future__ import annotations

from rtassay.model.foreign import markdown
from rtassay.model.proving import Proof
from rtassay.model.units import format_us
from rtassay.reports.markdown_text import document, folded, text_table
from rtassay.reports.proof import proof_text as text


class MarkdownProof:
    """GitHub-flavoured Markdown."""

    name = "proof.markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, subject: Proof) -> bytes:
        parts = [f"## {markdown(text.headline(subject))}", markdown(text.conditions(subject))]
        parts.append(text_table(text.COLUMNS, [text.row(worth) for worth in subject.campaign.worths]))
        if subject.causes:
            parts.append(text_table(text.CAUSE_COLUMNS, [text.cause_row(one) for one in subject.causes]))
        parts.append(_list([f"{title}: {words}" for title, words in text.sides(subject)]))
        parts.append(_list([*text.cost(subject), *text.doubts(subject)]))
        parts.append(_list([text.stage_line(judged) for judged in subject.campaign.stages]))
        rows = [
            (
                run.recording,
                run.stage,
                str(run.block),
                run.arm,
                "-" if run.value_ns is None else format_us(round(run.value_ns)),
            )
            for run in subject.runs
        ]
        columns = ("recording", "stage", "block", "settings", f"{text.quantile(subject)} (us)")
        parts.append(folded(f"{len(rows)} runs", text_table(columns, rows)))
        return document(parts)


def _list(sentences: list[str]) -> str:
    return "\n".join(f"- {markdown(sentence)}" for sentence in sentences)
