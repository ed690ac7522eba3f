"""An extrapolation on one screen: the levels of each lane, or why there are none."""

from __future__ import annotations

import textwrap

from rtassay.model.extrapolation import Extrapolation, LaneExtrapolation, Refusal
from rtassay.model.foreign import one_line
from rtassay.reports.extrapolation import extrapolation_text as text


class TerminalExtrapolation:
    """Plain text, wrapped at `width` (None: not wrapped), ANSI colour only where asked."""

    name = "extrapolation.terminal"
    suffix = ".txt"
    summary = "one screen of text"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width, self.color = width, color

    def render(self, subject: Extrapolation) -> bytes:
        lines = [self._bold(text.headline(subject)), *self._wrap(text.about(subject))]
        for lane in subject.lanes:
            lines += ["", *self._lane(lane, subject.confidence)]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _lane(self, lane: LaneExtrapolation, confidence: float) -> list[str]:
        lines = [self._bold(f"{text.lane_name(lane)}: {text.measured(lane)}")]
        if lane.levels:
            places = text.digits(lane)
            columns = tuple(
                f"{100 * confidence:g} % interval (us)" if name == "Interval (us)" else name
                for name in text.LEVEL_COLUMNS
            )
            table = [columns, *(text.level_cells(level, places) for level in lane.levels)]
            widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
            lines += [
                "  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table
            ]
            for level in lane.levels:
                lines += self._refusal(level.refusal) if level.refusal else []
        for refusal in lane.refusals:
            lines += self._refusal(refusal)
        return [*lines, *(line for sentence in text.sentences(lane) for line in self._wrap(sentence, "  "))]

    def _refusal(self, refusal: Refusal) -> list[str]:
        return [
            *self._wrap(f"REFUSED {refusal.code}: {refusal.reason}", "  "),
            *self._wrap(f"would help: {refusal.remedy}", "    "),
        ]

    def _wrap(self, words: str, indent: str = "") -> list[str]:
        line = indent + one_line(words)
        if self.width is None:
            return [line]
        return textwrap.wrap(
            line, max(self.width, 60), initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False
        )

    def _bold(self, words: str) -> str:
        return f"\x1b[1m{words}\x1b[0m" if self.color else words
