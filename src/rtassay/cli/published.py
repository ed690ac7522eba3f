"""rtassay published: results that others published, and the doubts about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import click

from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo, echo_table
from rtassay.model.errors import UsageError
from rtassay.model.published import Published, PublishedCheck
from rtassay.reports.text_table import figures, name, words


@click.command("published")
@click.argument("words", nargs=-1, metavar="[FILTER]...")
@click.option("--board", metavar="NAME", help="As people name it: pi5, pi3b+, rk3588, am62x.")
@click.option("--kernel", metavar="NAME", help="rt, stock, or a part of the kernel's name.")
@click.option("--load", metavar="TEXT", help="A part of the load; 'none' for idle boards.")
@click.option("--tool", metavar="TEXT", help="A part of the tool's name: cyclictest, oslat.")
@click.option(
    "--check", "checking", is_flag=True, help="Show the findings of the consistency checks on these rows, not the rows."
)
@json_option
def command(
    words: tuple[str, ...],
    board: str | None,
    kernel: str | None,
    load: str | None,
    tool: str | None,
    checking: bool,
    as_json: bool,
) -> int:
    """List results that others published, with source and verification. FILTER: words that any field holds.

    Figures are as printed by their source, in us: <50, ~90, 75-100, 5/5/4/4 (one per CPU). `rtassay report REC --against published:pi5`
    puts a recording beside them.

    \b
      rtassay published
      rtassay published --board pi5 --kernel rt
    """
    from rtassay.analysis.many.published import check, choose
    from rtassay.published import load as load_published

    every = load_published()
    rows = choose(every, board=board, kernel=kernel, load=load, tool=tool, text=words)
    if not rows:
        raise UsageError("no published result matches", hint="rtassay published lists all of them")
    chosen = {row.id for row in rows}
    found = tuple(result for result in check(every) if chosen & set(result.rows))
    if as_json:
        data = {
            "schema": "rtassay/published/1",
            "results": [asdict(row) for row in rows],
            "checks": [asdict(c) for c in found],
        }
        print_json(data)
    elif checking:
        _print_checks(found, len(rows))
    else:
        _print_rows(rows, found)
    return 0


def _print_rows(rows: tuple[Published, ...], found: tuple[PublishedCheck, ...]) -> None:
    doubts = Counter(row for result in found for row in result.rows)
    columns = [name("id"), *(words(title) for title in ("board", "kernel", "preempt", "load", "tool", "for"))]
    columns += [figures("min us"), figures("avg us"), figures("max us"), name("!"), words("scope, source")]
    echo_table(columns, (_cells(row, doubts[row.id]) for row in rows))
    if found:
        echo(f"! {len(doubts)} of {len(rows)} rows with doubts: rtassay published --check", err=True)


def _cells(row: Published, doubts: int) -> tuple[str, ...]:
    figures = (row.min_us or "-", row.avg_us or "-", row.max_us or "-")
    source = f"{row.scope}; {row.source}" if row.scope else row.source
    load = row.load or "not stated"
    return (
        row.id,
        row.system,
        row.kernel,
        row.preempt,
        load,
        row.tool,
        row.duration,
        *figures,
        "!" * (doubts > 0),
        source,
    )


def _print_checks(found: tuple[PublishedCheck, ...], rows: int) -> None:
    for result in found:
        echo(f"{result.severity:8} {result.id:20} {','.join(result.rows)}: {result.message}")
    echo(f"{len(found)} findings in {rows} published results", err=True)
