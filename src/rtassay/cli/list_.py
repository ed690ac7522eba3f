"""rtassay list: lists the recordings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rtassay.cli.names import CONDITION
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo, echo_table
from rtassay.model.errors import UsageError
from rtassay.model.findings import state_words
from rtassay.model.units import format_us
from rtassay.reports.text_table import name, number, words

if TYPE_CHECKING:
    from rtassay.store.index import IndexEntry

# What a list can be sorted by. None and an empty text stand at the end, in either direction.
ORDERS: Final[dict[str, Callable[[IndexEntry], Any]]] = {
    "started": lambda entry: entry.created,
    "name": lambda entry: entry.name or entry.file,
    "board": lambda entry: entry.board,
    "kernel": lambda entry: entry.kernel,
    "load": lambda entry: entry.load,
    "verdict": lambda entry: entry.state,
    "worst": lambda entry: entry.max_ns,
    "demonstrated": lambda entry: entry.demonstrated_ns,
    "length": lambda entry: entry.duration_s,
    "n": lambda entry: entry.n,
}


class _Conditions(click.Command):
    """Who types a condition as an option, as `--kernel rt`, is told how it is written."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from rtassay.store.selecting import FACTS, SINCE, UNTIL

            key = error.option_name.lstrip("-")
            if key not in (*FACTS, SINCE, UNTIL, "label"):
                raise
            written = "KEY=VALUE" if key == "label" else f"{key}=VALUE"
            raise UsageError(
                f"rtassay list has no option --{key}", hint=f"a condition has no dashes: rtassay list {written}"
            ) from error


@click.command("list", cls=_Conditions)
@click.argument("conditions", type=CONDITION, nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--sort", type=click.Choice(list(ORDERS)), default="started", show_default=True, help="The order of rows."
)
@click.option("--reverse", is_flag=True, help="The other way round: the newest or the largest first.")
@click.option("--dir", "directory", metavar="DIR", help="Directory to list instead of rtassay's own.")
@json_option
def command(conditions: tuple[str, ...], sort: str, reverse: bool, directory: str | None, as_json: bool) -> int:
    """List the recordings for which every KEY=VALUE holds, oldest first.

    Keys: board, kernel (rt, stock or a release), load, tool, probe, verdict (violated, holds, not-demonstrated, invalid, none), name,
    experiment, since and until (a date), and every label. rtassay compare takes the same conditions.

    \b
      rtassay list kernel=rt verdict=violated
      rtassay list --sort worst --reverse
      rtassay list board=pi5 since=2026-11-01 until=2026-11-30
    """
    home = _place(directory)
    found, why = _chosen(home, directory is None, conditions)
    found = arranged(found, sort, reverse)
    if as_json:
        print_json({"schema": "rtassay/list/1", "home": str(home), "recordings": [asdict(e) for e in found]})
        return 0
    if not found:
        echo(f"no recordings in {home}; rtassay run makes one" if not conditions else f"no recording: {why}", err=True)
        return 0
    columns = [name("id"), words("name"), words("board"), words("kernel"), words("load")]
    columns += [number("length s"), number("n"), number("max us"), number("D* us"), words("state")]
    echo_table(columns, (_cells(entry) for entry in found))
    return 0


def arranged(entries: Sequence[IndexEntry], sort: str, reverse: bool) -> list[IndexEntry]:
    """In the order of one of ORDERS; entries without that value are last."""
    key = ORDERS[sort]
    told = [entry for entry in entries if key(entry) not in (None, "")]
    blank = [entry for entry in entries if key(entry) in (None, "")]
    return sorted(told, key=key, reverse=reverse) + blank


def _place(directory: str | None) -> Path:
    from rtassay import store

    home = Path(directory) if directory else store.home()
    if not home.is_dir():
        raise UsageError(f"--dir {directory}: there is no such directory")
    return home


def _chosen(home: Path, own: bool, texts: Sequence[str]) -> tuple[list[IndexEntry], str]:
    """The recordings that fulfil all conditions and, if there is none, what there is instead. `own`: `home` is rtassay's own directory,
    beside which experiments are looked for."""
    from rtassay.store import selecting

    place = None if own else home
    found = selecting.matching(texts, place)
    return found, "" if found else selecting.why_none(texts, place)


def _cells(e: IndexEntry) -> tuple[str, ...]:
    from rtassay.store.index import called

    length = "-" if e.duration_s is None else f"{e.duration_s:.0f}"
    state = state_words(e.state, e.assumes, e.per_hour) if e.state else "-" if e.sealed else "unsealed"
    times = (format_us(e.max_ns), format_us(e.demonstrated_ns))
    return (e.id, called(e) or "-", e.board, e.kernel or "-", e.load, length, str(e.n), *times, state)
