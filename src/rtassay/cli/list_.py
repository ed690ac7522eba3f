"""rtassay list: lists the recordings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo, echo_table
from rtassay.model.errors import UsageError
from rtassay.model.units import format_us
from rtassay.reports.text_table import name, number, words

if TYPE_CHECKING:
    from rtassay.store.index import IndexEntry


@click.command("list")
@click.option("--dir", "directory", metavar="DIR", help="Directory to list instead of rtassay's own.")
@json_option
def command(directory: str | None, as_json: bool) -> int:
    """List the recordings, oldest first."""
    from rtassay import store
    from rtassay.store import index

    home = Path(directory) if directory else store.home()
    if not home.is_dir():
        raise UsageError(f"--dir {directory}: there is no such directory")
    entries = index.entries(home)
    if as_json:
        print_json({"schema": "rtassay/list/1", "home": str(home), "recordings": [asdict(e) for e in entries]})
        return 0
    if not entries:
        echo(f"no recordings in {home}; rtassay run makes one", err=True)
        return 0
    columns = [name("id"), words("board"), words("kernel"), words("load")]
    columns += [number("length s"), number("n"), number("max us"), number("D* us"), words("state")]
    echo_table(columns, (_cells(entry) for entry in entries))
    return 0


def _cells(e: IndexEntry) -> tuple[str, ...]:
    length = "-" if e.duration_s is None else f"{e.duration_s:.0f}"
    state = e.state or ("-" if e.sealed else "unsealed")
    times = (format_us(e.max_ns), format_us(e.demonstrated_ns))
    return (e.id, e.board, e.kernel or "-", e.load, length, str(e.n), *times, state)
