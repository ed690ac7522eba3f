"""Tables as text: columns of words wrap where the terminal is narrow, numbers and names are never cut or broken."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.model.foreign import one_line

GAP = "  "
_NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `words` wraps if need be, a `number` is aligned right, anything else stays whole on the left.

    With both, text around a number wraps between its words only.
    """

    title: str
    words: bool = False
    number: bool = False


def words(title: str) -> Column:
    """A column of text that may wrap."""
    return Column(title, words=True)


def number(title: str) -> Column:
    """A column of numbers; its title has the unit."""
    return Column(title, number=True)


def figures(title: str) -> Column:
    """A column of numbers with remarks, as a source printed them."""
    return Column(title, words=True, number=True)


def name(title: str) -> Column:
    """A column of names that a person copies: never broken."""
    return Column(title)


def lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """Title and rows. Without a width (a file or a pipe) each row is one line; with one, columns of words wrap to fit it.

    Numbers and names that do not fit even then run over the width: nothing is ever left out.
    """
    table = [[one_line(cell) for cell in row] for row in ([column.title for column in columns], *rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns))]
    if width is not None:
        _narrow(columns, widths, table, width - len(GAP) * (len(columns) - 1))
    return [line for row in table for line in _row(columns, row, widths)]


def _narrow(columns: Sequence[Column], widths: list[int], table: Sequence[Sequence[str]], room: int) -> None:
    """Takes from the widest column of words until all fit or none can give more."""
    least = [
        _least(column, [row[i] for row in table]) if column.words else widths[i] for i, column in enumerate(columns)
    ]
    while sum(widths) > room:
        givers = [i for i in range(len(columns)) if widths[i] > least[i]]
        if not givers:
            return
        widths[max(givers, key=lambda i: widths[i])] -= 1


def _least(column: Column, cells: Sequence[str]) -> int:
    return max(len(word) for cell in cells for word in (cell.split() or [""])) if column.number else _NARROWEST


def _row(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [
        (textwrap.wrap(cell, size, break_on_hyphens=not column.number) or [""]) if column.words else [cell]
        for column, cell, size in zip(columns, row, widths, strict=True)
    ]
    height = max(len(cell) for cell in cells)
    told = []
    for at in range(height):
        parts = [
            text.rjust(size) if column.number else text.ljust(size)
            for column, cell, size in zip(columns, cells, widths, strict=True)
            for text in (cell[at] if at < len(cell) else "",)
        ]
        told.append(GAP.join(parts).rstrip())
    return told
