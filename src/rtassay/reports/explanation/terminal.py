"""An explanation on one screen: the threads, who delayed them, and what to do."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rtassay.model.explanation import Explanation
from rtassay.model.foreign import one_line
from rtassay.reports import text_table
from rtassay.reports.causes import causes_text
from rtassay.reports.explanation import explanation_text as text
from rtassay.reports.text_table import Column, figures, name, number, words


class TerminalExplanation:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "explanation.terminal"
    suffix = ".txt"
    summary = "one screen of text"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Explanation) -> bytes:
        lines = [self._bold(one_line(text.headline(subject)))]
        lines += self._without_trace(subject) if text.untraced(subject) else self._traced(subject)
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _traced(self, found: Explanation) -> list[str]:
        titles = [name(text.THREAD_COLUMNS[0]), words(text.THREAD_COLUMNS[1]), *map(number, text.THREAD_COLUMNS[2:])]
        lines = [*self._wrap(text.level(found)), "", *self._table(titles, text.thread_rows(found))]
        if (more := text.threads_left_out(found)) is not None:
            lines += self._wrap(more)
        lines.append("")
        if found.ranking.answered:
            lines += self._causes(found)
        else:
            why, do = text.why_not(found)
            lines += self._wrap(f"No cause is known: {why}. Next: {do}.")
        for note in text.notes(found):
            lines += self._wrap(note)
        return lines

    def _causes(self, found: Explanation) -> list[str]:
        titles: list[Column] = [words(text.CAUSE_COLUMNS[0]), *map(figures, text.CAUSE_COLUMNS[1:])]
        lines = [] if (whose := text.whose(found)) is None else self._wrap(whose)
        lines += self._table(titles, text.cause_rows(found))
        if (more := causes_text.left_out(found.ranking)) is not None:
            lines += self._wrap(more)
        first, *rest = text.LATE_COLUMNS
        titles = [name(first), *map(number, rest[:3]), words(rest[3]), number(rest[4])]
        lines += ["", "The longest delays", *self._table(titles, text.late_rows(found)), ""]
        for cause, step in causes_text.steps(found.ranking):
            lines += self._wrap(f"Next, {cause}: {step}.")
        return lines

    def _without_trace(self, found: Explanation) -> list[str]:
        why, do = text.why_not(found)
        lines = self._wrap(f"No single wake-up was seen and no cause is known: {why}. Next: {do}.")
        rows = text.waited_rows(found)
        if rows:
            titles = [
                name(text.WAITED_COLUMNS[0]),
                words(text.WAITED_COLUMNS[1]),
                *map(number, text.WAITED_COLUMNS[2:]),
            ]
            lines += self._wrap("What is left is /proc/PID/task/TID/schedstat: how long each thread waited for a CPU.")
            lines += ["", *self._table(titles, rows)]
        for note in text.notes(found):
            lines += self._wrap(note)
        return lines

    def _table(self, columns: list[Column], rows: Sequence[tuple[str, ...]]) -> list[str]:
        head, *body = text_table.lines(columns, rows, self.width)
        return [self._bold(head), *body]

    def _wrap(self, sentence: str) -> list[str]:
        line = one_line(sentence)
        if self.width is None:
            return [line]
        return textwrap.wrap(line, max(self.width, 40), subsequent_indent="  ", break_on_hyphens=False)

    def _bold(self, line: str) -> str:
        return f"\x1b[1m{line}\x1b[0m" if self.color else line
