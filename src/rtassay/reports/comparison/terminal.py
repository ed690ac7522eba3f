"""A comparison on one screen: conclusion, ladder with intervals, checks, next step."""

from __future__ import annotations

import textwrap

from rtassay.model.comparison import Comparison
from rtassay.model.findings import CheckResult
from rtassay.model.foreign import one_line, printable
from rtassay.reports import severities
from rtassay.reports.comparison import comparison_text

_COLOURS = {"a_better": "1;32", "b_better": "1;32", "crosses": "1;33", "no_difference_shown": "1", "refused": "1;35"}
_LINES = {"invalid": 4, "warning": 3, "note": 3, "unknown": 1, "pass": 1}
_SEVERITY_COLOURS = {"invalid": "35", "warning": "33", "note": "36", "unknown": "2"}


class TerminalComparison:
    """Plain text of at most `width` columns (None: as wide as it needs, for files and pipes), ANSI colour only where asked; conclusion and severities are always words too."""

    name = "comparison.terminal"
    suffix = ".txt"
    summary = "one screen of text"

    def __init__(self, width: int | None = 100, color: bool = False) -> None:
        self.width = None if width is None else max(width, 60)
        self.color = color

    def render(self, subject: Comparison) -> bytes:
        comparison = subject
        lines = [
            self._paint(_COLOURS[comparison.conclusion], comparison_text.headline(comparison)),
            *self._wrap(comparison.sentence),
            "",
            *self._ladder(comparison),
            *self._below(comparison),
            "",
            self._cut(f"Checks: {comparison_text.check_summary(comparison)}"),
            *(
                line
                for c in severities.by_severity(comparison.checks)
                if c.severity != "pass"
                for line in self._check(c)
            ),
            *self._wrap(f"Not covered: {'; '.join(comparison.not_covered)}."),
            *self._wrap(f"Next: {comparison_text.next_step(comparison)}"),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

    def _ladder(self, comparison: Comparison) -> list[str]:
        if not comparison.quantiles:
            return []
        keep = comparison_text.ladder_columns(comparison)
        rows = [comparison_text.LADDER_COLUMNS, *comparison_text.ladder_rows(comparison)]
        table = [[row[i].replace("≥ ", ">=").replace("∞", "inf") for i in keep] for row in rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(keep))]
        hidden: list[str] = []
        while self.width is not None and sum(widths) + 2 * (len(widths) - 1) > self.width and len(widths) > 6:
            hidden.insert(0, table[0][-1])
            table, widths = [row[:-1] for row in table], widths[:-1]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))])
            for row in table
        ]
        if hidden:
            lines += self._wrap(f"({', '.join(hidden)}: no room in {self.width} columns)")
        return [self._paint("1", lines[0]), *lines[1:]]

    def _below(self, comparison: Comparison) -> list[str]:
        lines = [
            line
            for text in (comparison_text.crossover(comparison), comparison_text.tests(comparison))
            if text
            for line in self._wrap(text)
        ]
        return lines

    def _check(self, check: CheckResult) -> list[str]:
        lines = [f"  {check.severity:<7} {check.id}: {one_line(check.message)}"]
        if self.width is not None:
            lines = textwrap.wrap(
                lines[0],
                self.width,
                subsequent_indent=" " * 10,
                break_on_hyphens=False,
                max_lines=_LINES[check.severity],
                placeholder=" ...",
            )
        head = 2 + len(check.severity)
        lines[0] = "  " + self._paint(_SEVERITY_COLOURS.get(check.severity, "0"), check.severity) + lines[0][head:]
        return lines

    def _wrap(self, text: str) -> list[str]:
        if self.width is None:
            return [one_line(text)]
        return textwrap.wrap(one_line(text), self.width, subsequent_indent="  ", break_on_hyphens=False) or [""]

    def _cut(self, text: str) -> str:
        text = printable(text)
        return text if self.width is None or len(text) <= self.width else text[: self.width - 3] + "..."

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text
