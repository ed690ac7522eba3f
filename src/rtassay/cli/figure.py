"""rtassay figure: recordings as figures for papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json, setting_option
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError

if TYPE_CHECKING:
    from rtassay.api import OpenRecording

KINDS = ("latency", "tail", "ccdf", "cdf", "time", "overlay", "measures", "trend")
_FORMATS = ("png", "svg", "pdf")


@click.command("figure")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("recordings", type=RECORDING, nargs=-1, required=True, metavar="RECORDING...")
@click.option("-o", "--output", required=True, metavar="FILE", help="File to write: .png (300 dpi), .svg or .pdf.")
@click.option(
    "--width",
    type=click.Choice(("column", "page")),
    default="page",
    show_default=True,
    help="One column of a paper (89 mm) or its page (182 mm).",
)
@click.option(
    "--by",
    metavar="KEY",
    help="Recordings with the same value share a colour and a bar: kernel, load, board, tool or the key of a label.",
)
@click.option(
    "--panels", metavar="KEY", help="tail: one pair of axes for each value, for example of the label scenario."
)
@click.option(
    "--scale",
    type=click.Choice(("auto", "linear", "log")),
    default="auto",
    show_default=True,
    help="The axis of latencies.",
)
@setting_option("deadline", help="A line at this latency.")
@click.option("--title", metavar="TEXT", help="A title above the figure; papers put it in the caption.")
@json_option
def command(
    kind: str,
    recordings: tuple[str, ...],
    output: str,
    width: str,
    by: str | None,
    panels: str | None,
    scale: str,
    deadline_ns: int | None,
    title: str | None,
    as_json: bool,
) -> int:
    """One figure of RECORDINGs (paths, ids, a directory of recordings, or kernel=rt, board=pi5, label=value).

    \b
    latency   OSADL latency plot: samples per latency, log, a step line per CPU with its maximum
    tail      bars of average, 99 ... 99.99999 % and maximum, with 95 % intervals
    ccdf      share of samples at or above a latency, log-log, quantiles with their intervals
    cdf       share of samples up to a latency
    time      latency over the time of a run: extremes of every second, outliers (needs a source with order)
    overlay   histograms over each other, pooled per recording
    measures  a panel for each measure: what several tools found, on one axis of time
    trend     maximum per run over dates (--label date=2026-11-21 at import, if the file has none)

    Maximum and overflow are always in the picture. The same recordings give the same bytes.

    \b
      rtassay figure latency before -o latency.png
      rtassay figure tail kernel=rt kernel=stock --by kernel -o tail.pdf
    """
    from rtassay import api
    from rtassay.cli.report import write_bytes

    format_name = format_of(output, _FORMATS)
    opened = open_all(recordings)
    figure = api.plot(kind, opened, width=width, scale=scale, title=title, deadline=deadline_ns, by=by, panels=panels)
    write_bytes(output, figure.to_bytes(format_name))
    if as_json:
        print_json(
            {
                "schema": "rtassay/figure/1",
                "kind": kind,
                "path": output,
                "format": format_name,
                "ids": [one.id for one in opened],
            }
        )
    else:
        echo(output)
    return 0


def format_of(output: str, known: tuple[str, ...]) -> str:
    """The format that a file's suffix names. Raises UsageError for another."""
    suffix = Path(output).suffix.lower().removeprefix(".")
    if suffix not in known:
        raise UsageError(
            f"'{output}' does not tell a format", hint=f"end it in {', '.join('.' + name for name in known)}"
        )
    return suffix


def open_all(names: tuple[str, ...]) -> list[OpenRecording]:
    """The recordings of the names, each once, in the order of the names."""
    from rtassay.api import OpenRecording
    from rtassay.cli.compare import find_group

    paths: dict[Path, Path] = {}
    for name in names:
        for path in find_group(name):
            paths.setdefault(path.resolve(), path)
    return [OpenRecording(path) for path in paths.values()]
