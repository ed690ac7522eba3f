"""rtassay throughput: fixed works on a board, measured; and two groups of runs against each other, beside their D*."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.compare import spread
from rtassay.cli.names import BOARD, RECORDING
from rtassay.cli.options import json_option, print_json, setting_option, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, UsageError

if TYPE_CHECKING:
    from rtassay.model.recording import Recording
    from rtassay.model.throughput import Throughput


class GroupsCommand(click.Command):
    """Lets --of and --with take all names that follow them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(spread(args, "--of"), "--with"))


@click.command("throughput", cls=GroupsCommand)
@click.argument("board", type=BOARD, default="local")
@click.option(
    "--work",
    "works",
    multiple=True,
    metavar="NAME[:ARGS]",
    help="builtin, hackbench, stress-ng, compile, fio or iperf3; several by several --work.  [default: all that the board has]",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Runs of each work, in turns; with --kernel boots of each kernel.  [default: 1; with --kernel 3]",
)
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="NAME",
    help="Twice: boot these kernels of BOARD in turns (A B B A ...), each time anew, and compare them. `stock`, `rt`, or as `rtassay kernel list` names them.",
)
@setting_option(
    "duration",
    help="Of each run: no round starts after it, the one under way may finish.  [default: 20s]",
    stated_only=True,
)
@click.option("--rounds", type=click.IntRange(1, 999_999), metavar="N", help="End a run earlier, after so many rounds.")
@setting_option("cpus", help="CPUs that the works may use.  [default: all]")
@click.option("--label", "labels", multiple=True, metavar="K=V", help="A fact to keep with the recordings: kernel=rt.")
@click.option("--note", help="A sentence to keep with the recordings.")
@click.option(
    "--of",
    "a",
    type=RECORDING,
    multiple=True,
    metavar="A...",
    help="Measure nothing: show these recordings, works and wake-ups: everything up to the next option.",
)
@click.option("--with", "b", type=RECORDING, multiple=True, metavar="B...", help="Compare them with these.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write a report; the suffix names the format (.html, .md, .json, .txt)."
)
@click.option("--quiet", is_flag=True, help="No progress.")
@json_option
def command(
    board: str, a: tuple[str, ...], b: tuple[str, ...], output: str | None, as_json: bool, **options: Any
) -> int:
    """What BOARD gets done: fixed works, repeated; and what real time costs, beside the latency that it buys.

    \b
      rtassay throughput --work builtin --duration 5s      measure here, one recording for each work
      rtassay throughput pi@board --label kernel=rt        on a board, all works that it has
      rtassay throughput pi@board --kernel stock --kernel rt -o cost.html
      rtassay throughput --of kernel=stock --with kernel=rt -o cost.html
      rtassay experiment run rt-cost --board pi@board --kernel stock --kernel rt

    A work is a fixed amount (messages, operations, bytes), done again and again as ordinary processes; what is told is work per second and CPU time. With --of and --with the
    groups may hold wake-ups, too: D* is then shown beside the throughput. The boot is what is repeated: an answer needs three boots of each kernel, better five, in turns. --kernel does that for works; the experiment rt-cost also measures wake-ups, and goes on after a failure.

    Exit codes: 0 done; 2 usage, no such work; 3 board, or a program is missing; 5 no run came to a whole round; 130 interrupted.
    """
    from rtassay.analysis.many.throughput import throughput

    if b and not a:
        raise UsageError("--with needs --of", hint="rtassay throughput --of kernel=stock --with kernel=rt")
    if output is not None:
        _format_of(output)
    if a and options["kernels"]:
        raise UsageError("--of shows recordings, --kernel measures", hint="leave one of them out")
    if a:
        from rtassay.cli.throughput_runs import Runs

        runs = Runs()
        sides = [_open(names) for names in (a, b)]
        titles = (_title(a), _title(b))
    else:
        from rtassay.cli.throughput_runs import measure

        runs = measure(board, options)
        sides, titles = [_opened(paths) for paths in runs.sides], runs.titles
    result = throughput(sides[0], sides[1], titles)
    _tell(result, runs.paths, output, as_json)
    if runs.stopped:
        return EXIT_INTERRUPTED
    return EXIT_OK if result.parts else EXIT_INVALID


def _opened(paths: list[Path]) -> list[Recording]:
    from rtassay import store

    return [store.open_recording(path) for path in paths]


def _open(names: tuple[str, ...]) -> list[Recording]:
    """The recordings of a group, each once."""
    from rtassay import store
    from rtassay.cli.compare import find_group
    from rtassay.cli.judging import parser_for

    paths = {path.resolve(): path for name in names for path in find_group(name)}
    return [store.open_recording(path, parser_for=parser_for) for path in paths.values()]


def _title(names: tuple[str, ...]) -> str | None:
    from rtassay.store import selecting

    return names[0] if len(names) == 1 and selecting.conditions(names[0]) is not None else None


def _format_of(output: str) -> str:
    from rtassay import reports
    from rtassay.model.throughput import Throughput

    return reports.format_of(Throughput, output)


def _tell(result: Throughput, paths: list[Path], output: str | None, as_json: bool) -> None:
    from rtassay import reports
    from rtassay.model.throughput import Throughput

    if output is not None:
        from rtassay.cli.report import write_bytes

        write_bytes(output, reports.load(Throughput, _format_of(output)).render(result))
    if as_json:
        from dataclasses import asdict

        data = asdict(result)
        print_json({"schema": data.pop("schema"), **data, "recordings": [str(path) for path in paths]})
        return
    from rtassay.reports.throughput.terminal import TerminalThroughput

    echo_rendered(TerminalThroughput(report_width(), wants_colour()).render(result))
    if output is not None:
        echo(shlex.quote(output), err=True)
