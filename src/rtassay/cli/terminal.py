"""The only place where verbs write text to the terminal, so that text from a board, a file or a user passes the filter."""

from __future__ import annotations

import click

from rtassay.model.foreign import printable


def echo(text: object = "", *, err: bool = False) -> None:
    """One text and a newline on stdout, or on stderr, without control characters."""
    click.echo(printable(str(text)), err=err)


def echo_rendered(report: bytes) -> None:
    """A report on stdout as it is: its renderer has filtered what is foreign, and may have added colour."""
    click.echo(report.decode(), nl=False, color=True)
