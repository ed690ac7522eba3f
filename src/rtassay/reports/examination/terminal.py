"""Settings of a board on a screen: what is wrong, with all that a decision needs; what is unknown, and why; what is fine."""

from __future__ import annotations

import textwrap

from rtassay.model.foreign import one_line
from rtassay.model.knobs import ABSENT, OK, UNKNOWN, WRONG, Examination, Found
from rtassay.reports import text_table
from rtassay.reports.examination import examination_text as text

_INDENT = 12


class TerminalExamination:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "examination.terminal"
    suffix = ".txt"
    summary = "text: what is wrong, unknown and fine"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Examination) -> bytes:
        lines = [self._bold(one_line(text.headline(subject))), *self._wrap(text.conditions(subject))]
        for number, found in enumerate(subject.of(WRONG), 1):
            if number == 1:
                lines += ["", self._bold("WRONG, the most important first")]
            lines += self._block(number, found)
        lines += self._group(
            "UNKNOWN: not read, or no source tells what is right",
            ("setting", "why"),
            text.by_reason(subject.of(UNKNOWN)),
        )
        lines += self._group("NOT THERE", ("setting", "why"), text.by_reason(subject.of(ABSENT)))
        lines += self._group("FINE", ("setting", "now"), [(one.id, one.now) for one in subject.of(OK)])
        lines += ["", *self._last(subject)]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _block(self, number: int, found: Found) -> list[str]:
        rows = [
            ("now", [found.now]),
            ("", text.details(found)),
            ("wanted", [found.wanted or ""]),
            ("why", [found.why]),
            ("effect", [f"{found.effect} ({text.weight(found)})"]),
            ("harm", [found.harm]),
            (found.scope, text.changes(found)),
            ("proof", [text.proof(found)]),
            ("source", list(found.sources)),
        ]
        lines = ["", self._bold(f"{number:2}. {found.id}: {found.title}")]
        for title, sentences in rows:
            for at, sentence in enumerate(sentences):
                lines += self._wrap(sentence, f"  {title if at == 0 else '':{_INDENT - 2}}", " " * _INDENT)
        return lines

    def _group(self, title: str, columns: tuple[str, str], rows: list[tuple[str, str]]) -> list[str]:
        if not rows:
            return []
        head, *body = text_table.lines([text_table.words(name) for name in columns], rows, self.width)
        return ["", self._bold(title), head, *body]

    def _last(self, subject: Examination) -> list[str]:
        if subject.unknown_required:
            names = ", ".join(one.id for one in subject.unknown_required)
            return self._wrap(f"Unknown and important: {names}. Without them nobody can say that the board is right.")
        return self._wrap(
            "Nothing was changed. An advice without data (evidence C, V, X, F) may do nothing on this board: measure before and after."
        )

    def _wrap(self, sentence: str, first: str = "", rest: str = "  ") -> list[str]:
        line = one_line(sentence)
        if self.width is None:
            return [f"{first}{line}".rstrip()]
        room = max(self.width, 40)
        wrapped = textwrap.wrap(
            line, room, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=False
        )
        return wrapped or [first.rstrip()]

    def _bold(self, line: str) -> str:
        return f"\x1b[1m{line}\x1b[0m" if self.color else line
