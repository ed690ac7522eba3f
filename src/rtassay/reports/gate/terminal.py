"""A gate on a screen."""

from __future__ import annotations

import textwrap

from rtassay.model.foreign import one_line
from rtassay.model.gate import Gate
from rtassay.reports import text_table
from rtassay.reports.gate import gate_text as text

_LEFT = ("load", "result", "who holds the time now", "function", "called by", "counts")


class TerminalGate:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "gate.terminal"
    suffix = ".txt"
    summary = "text: a row a load and seed, who holds the time, where the streams part"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Gate) -> bytes:
        lines = [self._bold(one_line(text.headline(subject))), ""]
        lines += self._table(text.COLUMNS, text.rows(subject))
        for title, columns, rows in (
            (
                f"{text.FUNCTIONS.upper()}, instruction by instruction",
                text.FUNCTION_COLUMNS,
                text.function_rows(subject),
            ),
            ("WHO HOLDS THE TIME (traced, with stacks)", text.HOLDER_COLUMNS, text.holder_rows(subject)),
            ("WHERE THE TWO PART, by activation", text.FIRST_COLUMNS, text.first_rows(subject)),
        ):
            if rows:
                lines += ["", self._bold(title), *self._table(columns, rows)]
        lines += [
            "",
            *(line for words in (*text.why_nobody(subject), *text.conditions(subject)) for line in self._wrap(words)),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _table(self, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
        made = [text_table.words(name) if name in _LEFT else text_table.number(name) for name in columns]
        return text_table.lines(made, rows, self.width)

    def _wrap(self, sentence: str) -> list[str]:
        line = one_line(sentence)
        return [line] if self.width is None else textwrap.wrap(line, max(self.width, 40), break_on_hyphens=False)

    def _bold(self, line: str) -> str:
        return f"\x1b[1m{line}\x1b[0m" if self.color else line
