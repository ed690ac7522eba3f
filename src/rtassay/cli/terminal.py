"""All text of verbs to the terminal is written here, so that text from a board, a file or a user passes the filter."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence

import click

from rtassay.model.foreign import printable
from rtassay.reports import text_table


def echo(text: object = "", *, err: bool = False) -> None:
    """One text and a newline on stdout, or on stderr, without control characters."""
    click.echo(printable(str(text)), err=err)


def echo_rendered(report: bytes) -> None:
    """Write a report unchanged: its renderer has already filtered foreign text, and may have added colour."""
    click.echo(report.decode(), nl=False, color=True)


def screen_width() -> int | None:
    """Columns of the terminal that stdout is; None for a file or a pipe, where nothing is cut or wrapped."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else None


def report_width() -> int | None:
    """The width of a report on stdout: that of the terminal between 80 and 140 columns; None for a file or a pipe."""
    width = screen_width()
    return None if width is None else min(max(width, 80), 140)


def echo_table(columns: Sequence[text_table.Column], rows: Iterable[Sequence[str]]) -> None:
    """A table on stdout; columns of words wrap where the terminal is narrow."""
    for line in text_table.lines(columns, list(rows), screen_width()):
        echo(line)
