"""All text of verbs to the terminal is written here, so that text from a board, a file or a user passes the filter."""

from __future__ import annotations

import click

from rtassay.model.foreign import printable


def echo(text: object = "", *, err: bool = False) -> None:
    """One text and a newline on stdout, or on stderr, without control characters."""
    click.echo(printable(str(text)), err=err)


def echo_rendered(report: bytes) -> None:
    """Write a report unchanged: its renderer has already filtered foreign text, and may have added colour."""
    click.echo(report.decode(), nl=False, color=True)
