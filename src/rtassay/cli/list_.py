"""rtassay list: lists the recordings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.units import format_us


@click.command("list")
@click.option("--dir", "directory", metavar="DIR", help="Directory to list instead of rtassay's own.")
@json_option
def command(directory: str | None, as_json: bool) -> int:
    """List the recordings, oldest first."""
    from rtassay import store
    from rtassay.store import index

    home = Path(directory) if directory else store.home()
    entries = index.entries(home)
    if as_json:
        print_json({"schema": "rtassay/list/1", "home": str(home), "recordings": [asdict(e) for e in entries]})
        return 0
    if not entries:
        echo(f"no recordings in {home}; rtassay run makes one", err=True)
        return 0
    echo(f"{'id':24} {'board':8} {'kernel':24} {'load':10} {'length s':>9} {'n':>11} {'max us':>9} {'D* us':>9}  state")
    for e in entries:
        length = "-" if e.duration_s is None else f"{e.duration_s:.0f}"
        echo(
            f"{e.id:24} {e.board[:8]:8} {(e.kernel or '-')[:24]:24} {e.load.split(':')[0][:10]:10} {length:>9} {e.n:>11} "
            f"{format_us(e.max_ns):>9} {format_us(e.demonstrated_ns):>9}  {e.state or ('-' if e.sealed else 'unsealed')}"
        )
    return 0
