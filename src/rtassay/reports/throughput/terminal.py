"""Throughput and latency of two groups on one screen."""

from __future__ import annotations

import textwrap

from rtassay.model.foreign import one_line
from rtassay.model.throughput import Throughput
from rtassay.reports import text_table
from rtassay.reports.throughput import throughput_text as text


class TerminalThroughput:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "throughput.terminal"
    suffix = ".txt"
    summary = "one screen of text"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Throughput) -> bytes:
        lines = [self._bold(text.headline(subject)), *self._wrap(subject.sentence), ""]
        if subject.parts:
            lines += self._table(text.columns(subject), text.rows(subject), words=(0, 1))
        if subject.latency and subject.b is not None:
            lines += ["", *self._table(text.LATENCY, text.latency_rows(subject), words=(0,))]
        if subject.energy:
            lines += ["", *self._table(text.energy_columns(subject), text.energy_rows(subject), words=(0,))]
        lines += ["", *self._wrap(text.explained(subject))]
        for note in subject.notes:
            lines += self._wrap(f"Note: {note}.")
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _table(self, columns: tuple[str, ...], rows: list[tuple[str, ...]], words: tuple[int, ...]) -> list[str]:
        kinds = [text_table.words(c) if at in words else text_table.number(c) for at, c in enumerate(columns)]
        return text_table.lines(kinds, rows, self.width)

    def _wrap(self, words: str) -> list[str]:
        line = one_line(words, 600)
        if self.width is None:
            return [line]
        return textwrap.wrap(line, max(self.width, 60), subsequent_indent="  ", break_on_hyphens=False) or [""]

    def _bold(self, words: str) -> str:
        return f"\x1b[1m{words}\x1b[0m" if self.color else words
