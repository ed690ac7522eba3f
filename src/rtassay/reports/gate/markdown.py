"""A gate as Markdown: a page, and a few lines for a pull request."""

from __future__ import annotations

from rtassay.model.foreign import markdown
from rtassay.model.gate import Gate
from rtassay.reports.gate import gate_text as text
from rtassay.reports.markdown_text import document, text_table


class MarkdownGate:
    """The whole result."""

    name = "gate.markdown"
    suffix = ".md"
    summary = "a Markdown page"

    def render(self, subject: Gate) -> bytes:
        firsts = text.first_rows(subject)
        return document(
            [
                f"# {markdown(text.headline(subject))}",
                text_table(text.COLUMNS, text.rows(subject)),
                *_holders(subject, "##"),
                f"## Where the two part, by activation\n\n{text_table(text.FIRST_COLUMNS, firsts)}" if firsts else "",
                "## Conditions",
                "\n".join(f"- {markdown(words)}" for words in text.conditions(subject)),
                "\n".join(f"- {name}: `{value}`" for name, value in _hashes(subject)),
            ]
        )


class SummaryGate:
    """A few lines of Markdown for a pull request or a job's summary page."""

    name = "gate.summary"
    suffix = ".md"
    summary = "a few lines of Markdown for a pull request"

    def render(self, subject: Gate) -> bytes:
        return document(
            [
                f"### {markdown(text.headline(subject))}",
                text_table(text.COLUMNS, text.rows(subject)),
                *_holders(subject, "####"),
                markdown(text.conditions(subject)[-1]),
            ]
        )


def _holders(gate: Gate, level: str) -> list[str]:
    functions = text.function_rows(gate)
    followed = (
        f"{level} {text.FUNCTIONS}, instruction by instruction\n\n{text_table(text.FUNCTION_COLUMNS, functions)}"
        if functions
        else ""
    )
    rows = text.holder_rows(gate)
    table = f"{level} Who holds the time\n\n{text_table(text.HOLDER_COLUMNS, rows)}" if rows else ""
    return [followed, table, "\n".join(f"- {markdown(words)}" for words in text.why_nobody(gate))]


def _hashes(gate: Gate) -> list[tuple[str, str]]:
    """SHA-256 of all that decides the result."""
    told = [("kernel", gate.kernel.sha256), ("userland", gate.userland_sha256), ("rtprobe", gate.probe_sha256)]
    return told if gate.base is None else [told[0], ("base", gate.base.sha256), *told[1:]]
