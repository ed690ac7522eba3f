"""A campaign on a screen: the sentence that is quoted, then each setting, then what it rests on."""

from __future__ import annotations

import textwrap

from rtassay.model.foreign import one_line
from rtassay.model.proving import Proof
from rtassay.reports import text_table
from rtassay.reports.proof import proof_text as text


class TerminalProof:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "proof.terminal"
    suffix = ".txt"
    summary = "text: what each setting is worth"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Proof) -> bytes:
        lines = [self._bold(one_line(text.headline(subject))), *self._wrap(text.conditions(subject)), ""]
        columns = [
            text_table.name("setting"),
            text_table.words("finding"),
            text_table.number("factor"),
            text_table.name("95 %"),
            text_table.number("on D*"),
            text_table.words("shown by"),
        ]
        head, *body = text_table.lines(columns, [text.row(worth) for worth in subject.campaign.worths], self.width)
        lines += [self._bold(head), *body]
        if subject.causes:
            columns = [text_table.name(text.CAUSE_COLUMNS[0]), text_table.words(text.CAUSE_COLUMNS[1])]
            columns += [text_table.number(name) for name in text.CAUSE_COLUMNS[2:5]]
            columns.append(text_table.words(text.CAUSE_COLUMNS[5]))
            head, *body = text_table.lines(columns, [text.cause_row(one) for one in subject.causes], self.width)
            lines += ["", self._bold(head), *body, ""]
        for title, words in text.sides(subject):
            lines += self._wrap(f"{title}: {words}")
        for sentence in (*text.cost(subject), *text.doubts(subject)):
            lines += self._wrap(sentence)
        lines += ["", self._bold("stages")]
        for judged in subject.campaign.stages:
            lines += self._wrap(text.stage_line(judged))
        lines += ["", *self._wrap(f"{subject.path}")]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _wrap(self, sentence: str) -> list[str]:
        line = one_line(sentence)
        if self.width is None:
            return [line]
        return textwrap.wrap(
            line, max(self.width, 40), subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
        )

    def _bold(self, line: str) -> str:
        return f"\x1b[1m{line}\x1b[0m" if self.color else line
