"""rtassay zoom: a recorded run once more, with stacks of the kernel, so that causes get the names of functions."""

from __future__ import annotations

import asyncio
import signal

import click

from rtassay import runs
from rtassay.cli.names import BOARD, RECORDING
from rtassay.cli.options import TimeType, json_option, print_json, setting_option, wants_colour
from rtassay.cli.run import measured, new_run
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_INTERRUPTED, EXIT_NOT_DEMONSTRATED, EXIT_OK, EXIT_TERMINATED
from rtassay.model.zoom import Zoomed, zoomed_dict


@click.command("zoom")
@click.argument("recording", type=RECORDING)
@click.argument("board", type=BOARD, required=False)
@click.option(
    "--above",
    "above_ns",
    type=TimeType(),
    metavar="TIME",
    help="Keep stacks of wake-ups as late as this.  [default: the recording's level, at least four times the median of a traced wake-up]",
)
@setting_option(
    "duration", help="How long to measure; the first half has no trace.  [default: as the recording, at most 10min]"
)
@click.option("--output", metavar="DIR", help="Directory for the recording (default: where rtassay keeps them).")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@json_option
def command(
    recording: str,
    board: str | None,
    above_ns: int | None,
    duration_ns: int | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Measure once more as RECORDING was measured, with stacks of the kernel, and name the functions that kept the CPU.

    Board, kernel, load, interval, priority and CPUs are those of the recording; BOARD takes another way to it. Interrupts off, preemption
    off, bottom halves off, kernel code without a preemption point and softirqs get a function, with offset and module. The new recording has the
    label zoom=RECORDING.

    \b
      rtassay zoom 20261122T180000-ffffff
      rtassay zoom 20261122T180000-ffffff root@192.168.1.7 --above 300us --duration 5min

    It needs root and tracefs, and the kernel of the recording. An imported recording, or one of another tool, cannot be repeated.

    Exit codes: 0 at least one function has a name; 2 the recording cannot be repeated; 3 the board, or it runs another kernel, or gives no
    stacks; 4 no function is known, and the reason is told.
    """
    from rtassay import store, zooms

    recorded = store.open_recording(store.find(recording))
    words = ["rtassay", "zoom", recorded.manifest.id, *([board] if board is not None else [])]
    asked = zooms.request(recorded, board=board, above_ns=above_ns, duration_ns=duration_ns, output=output, argv=words)
    stopped_by, path = asyncio.run(measured(new_run(asked, quiet=quiet), quiet))
    zoom, _ = runs.judged(path)
    found = zooms.compare(recorded, zoom)
    if as_json:
        print_json(zoomed_dict(found) | {"path": str(path)})
    else:
        _tell(found)
        echo(f"recording: {path}", err=True)
    if stopped_by is not None:
        return EXIT_TERMINATED if stopped_by == signal.SIGTERM else EXIT_INTERRUPTED
    return EXIT_OK if found.named else EXIT_NOT_DEMONSTRATED


def _tell(found: Zoomed) -> None:
    from rtassay.reports import text_table
    from rtassay.reports.causes import zoom_text
    from rtassay.reports.causes.terminal import TerminalCauses

    echo_rendered(TerminalCauses(report_width(), wants_colour()).render(found.causes))
    columns = zoom_text.columns(found)
    titles = [text_table.words(columns[0]), *map(text_table.number, columns[1:])]
    for line in ("", zoom_text.headline(found), *text_table.lines(titles, zoom_text.rows(found), report_width())):
        echo(line)
    for note in zoom_text.notes(found):
        echo(note)
