"""Causes on one screen: who owned the late time, what each is worth, and what to do."""

from __future__ import annotations

import textwrap

from rtassay.model.foreign import one_line
from rtassay.model.ranking import Ranking
from rtassay.reports import text_table
from rtassay.reports.causes import causes_text as text
from rtassay.reports.causes import crosschecks, functions
from rtassay.reports.text_table import Column, figures, number, words


class TerminalCauses:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "causes.terminal"
    suffix = ".txt"
    summary = "one screen of text"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Ranking) -> bytes:
        lines = [self._bold(one_line(text.headline(subject)))]
        if subject.answered:
            lines += self._answered(subject)
        else:
            lines += self._wrap(text.LEFT)
        for run in subject.runs:
            if run.state != "traced":
                why, do = text.why_not(run)
                lines += self._wrap(f"{run.id}: {why}. Next: {do}")
        for run in subject.runs:
            if (cost := text.observer(run)) is not None:
                lines += self._wrap(cost if len(subject.runs) == 1 else f"{run.id}: {cost}")
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _answered(self, ranking: Ranking) -> list[str]:
        lines = [line for sentence in text.counts(ranking) for line in self._wrap(sentence)]
        titles: list[Column] = [words(text.COLUMNS[0]), *(figures(title) for title in text.columns(ranking)[1:])]
        lines += ["", *self._table(titles, text.rows(ranking))]
        if (more := text.left_out(ranking)) is not None:
            lines += self._wrap(more)
        if named := functions.rows(ranking):
            titles = [
                *map(words, functions.COLUMNS[:3]),
                *map(figures, functions.COLUMNS[3:5]),
                words(functions.COLUMNS[5]),
            ]
            lines += ["", *self._table(titles, named)]
        if (note := functions.note(ranking)) is not None:
            lines += self._wrap(note)
        if checked := crosschecks.rows(ranking):
            lines += [
                "",
                *self._table([words(crosschecks.COLUMNS[0]), *map(figures, crosschecks.COLUMNS[1:])], checked),
            ]
        for note in crosschecks.notes(ranking):
            lines += self._wrap(note)
        for columns, table in (text.quantile_table(ranking), text.group_table(ranking)):
            if table:
                titles = [words(columns[0]), *(number(title) for title in columns[1:])]
                lines += ["", "Share of the lateness", *self._table(titles, table)]
        lines.append("")
        for note in (text.now(ranking), text.spread_note(ranking), *(text.masked(pair) for pair in ranking.masked)):
            lines += [] if note is None else self._wrap(note)
        for cause, step in text.steps(ranking):
            lines += self._wrap(f"Next, {cause}: {step}.")
        return lines

    def _table(self, columns: list[Column], rows: list[tuple[str, ...]]) -> list[str]:
        head, *body = text_table.lines(columns, rows, self.width)
        return [self._bold(head), *body]

    def _wrap(self, sentence: str) -> list[str]:
        line = one_line(sentence)
        if self.width is None:
            return [line]
        return textwrap.wrap(line, max(self.width, 40), subsequent_indent="  ", break_on_hyphens=False)

    def _bold(self, line: str) -> str:
        return f"\x1b[1m{line}\x1b[0m" if self.color else line
