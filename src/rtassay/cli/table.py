"""rtassay table: recordings as tables for papers."""

from __future__ import annotations

import click

from rtassay.cli.figure import format_of, open_all
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError

KINDS = ("cores", "summary", "tail")


@click.command("table")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("recordings", type=RECORDING, nargs=-1, required=True, metavar="RECORDING...")
@click.option(
    "-o",
    "--output",
    default="-",
    show_default=True,
    metavar="FILE",
    help="File to write: .md or .csv; '-' is stdout, as Markdown.",
)
@json_option
def command(kind: str, recordings: tuple[str, ...], output: str, as_json: bool) -> int:
    """Write one table of RECORDINGs (paths, ids, a directory of recordings, or kernel=rt, board=pi5, label=value). Times are in us.

    \b
    cores     Total, Min, Avg, Max of every CPU, with missed activations and overflow
    summary   min, mean, max and standard deviation per recording
    tail      average, 99 ... 99.99999 % and maximum per recording, with 95 % intervals

    \b
      rtassay table cores before
      rtassay table tail before after -o tail.csv
    """
    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout", hint="add -o FILE")
    from rtassay import api
    from rtassay.cli.report import write_bytes
    from rtassay.figures import tables

    format_name = "md" if output == "-" else format_of(output, tables.FORMATS)
    opened = open_all(recordings)
    write_bytes(output, tables.render(kind, api.shots(opened), format_name))
    if as_json:
        print_json(
            {
                "schema": "rtassay/table/1",
                "kind": kind,
                "path": output,
                "format": format_name,
                "ids": [one.id for one in opened],
            }
        )
    elif output != "-":
        echo(output)
    return 0
