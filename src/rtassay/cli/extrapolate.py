"""rtassay extrapolate: latencies beyond the data, with an interval or a refusal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rtassay.cli.options import json_option, print_json, setting_option, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK, UsageError

if TYPE_CHECKING:
    from rtassay.model.extrapolation import Extrapolation

LEVELS = (1e-6, 1e-7, 1e-8)


@click.command("extrapolate")
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING...")
@click.option(
    "--level",
    "levels",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    multiple=True,
    metavar="P",
    help="The latency that one wake-up in 1/P exceeds; repeat it for several.  [default: 1e-6, 1e-7, 1e-8]",
)
@setting_option("confidence", help="Confidence of each two-sided interval.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Write a page with figures; the suffix names the format (.html, .md, .json, .txt). '-' is stdout (HTML).",
)
@json_option
def command(
    recordings: tuple[str, ...], levels: tuple[float, ...], confidence: float, output: str | None, as_json: bool
) -> int:
    """What is exceeded once in 1e8 wake-ups: a level beyond the data with an interval, or a refusal with its reason.

    RECORDINGs (paths, ids, a directory, k=v) are runs of one board, kernel and load; three or more tell whether runs are alike.
    The answer is about the causes that were measured: no mode rarer than 3/n is excluded. It never makes a deadline HOLD.

    \b
      rtassay extrapolate kernel=rt --level 1e-8
      rtassay extrapolate run1 run2 run3 -o tail.html

    Exit codes: 0 every lane has an answer; 4 a lane was refused one.
    """
    from rtassay import api
    from rtassay.cli.figure import open_all

    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout")
    opened = open_all(recordings)
    if sys.stderr.isatty() and len(opened) > 3:
        echo(f"rtassay: judging {len(opened)} recordings ...", err=True)
    result = api.extrapolate(opened, levels or LEVELS, confidence)
    if output is not None:
        _write(output, result)
    if as_json:
        from dataclasses import asdict

        print_json(asdict(result) | ({"path": output} if output is not None else {}))
    elif output is None:
        from rtassay.reports.extrapolation.terminal import TerminalExtrapolation

        echo_rendered(TerminalExtrapolation(report_width(), wants_colour()).render(result))
    elif output != "-":
        echo(output)
    return EXIT_OK if result.lanes and all(lane.answered for lane in result.lanes) else EXIT_NOT_DEMONSTRATED


def _write(output: str, result: Extrapolation) -> None:
    from rtassay import reports
    from rtassay.cli.report import write_bytes
    from rtassay.model.extrapolation import Extrapolation

    name = "html" if output == "-" else reports.format_of(Extrapolation, output)
    write_bytes(output, reports.load(Extrapolation, name).render(result))
