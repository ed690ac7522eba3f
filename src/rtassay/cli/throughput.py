"""rtassay throughput: fixed works on a board, measured; and two groups of runs against each other, beside their D*."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.compare import spread
from rtassay.cli.names import BOARD, RECORDING
from rtassay.cli.options import json_option, print_json, setting_option, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model import rooms
from rtassay.model.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, ToolMissing, UsageError

if TYPE_CHECKING:
    from rtassay.model.recording import Recording
    from rtassay.model.throughput import Throughput

_DEFAULT_DURATION_NS = 20_000_000_000


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
    "--repeats", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs of each work, in turns."
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
      rtassay throughput --of kernel=stock --with kernel=rt -o cost.html
      rtassay experiment run rt-cost --board pi@board --kernel stock --kernel rt

    A work is a fixed amount (messages, operations, bytes), done again and again as ordinary processes; what is told is work per second and CPU time. With --of and --with the
    groups may hold wake-ups, too: D* is then shown beside the throughput. The boot is what is repeated: an answer needs three boots of each kernel, better five, in turns: the experiment rt-cost does all that.

    Exit codes: 0 done; 2 usage, no such work; 3 board, or a program is missing; 5 no run came to a whole round; 130 interrupted.
    """
    from rtassay.analysis.many.throughput import throughput

    if b and not a:
        raise UsageError("--with needs --of", hint="rtassay throughput --of kernel=stock --with kernel=rt")
    if output is not None:
        _format_of(output)
    stopped = False
    paths: list[Path] = []
    if a:
        sides = [_open(names) for names in (a, b)]
        titles = (_title(a), _title(b))
    else:
        paths, stopped = _measure(board, options)
        sides, titles = [_opened(paths), []], (None, None)
    result = throughput(sides[0], sides[1], titles)
    _tell(result, paths, output, as_json)
    if stopped:
        return EXIT_INTERRUPTED
    return EXIT_OK if result.parts else EXIT_INVALID


def _measure(board: str, options: dict[str, Any]) -> tuple[list[Path], bool]:
    """The sealed recordings, and whether it was stopped. A work that was not asked for by name is left out where its program is missing."""
    from rtassay import runs
    from rtassay.cli.run import measured, new_run

    asked = options["works"] or tuple(rooms.table("works"))
    for work in asked:  # before the board is asked for anything
        rooms.load("works", work.partition(":")[0])
    requests = [(work, runs.make_request(board, _values(board, work, options))) for work in asked]
    missing: set[str] = set()
    paths: list[Path] = []
    for repeat in range(options["repeats"]):
        for work, _ in requests if repeat % 2 == 0 else requests[::-1]:
            if work in missing:
                continue
            if not options["quiet"]:
                echo(f"{work}, run {repeat + 1} of {options['repeats']}", err=True)
            request = runs.make_request(board, _values(board, work, options))
            try:
                signalled, path = asyncio.run(measured(new_run(request, quiet=options["quiet"]), options["quiet"]))
            except ToolMissing as error:
                if options["works"]:
                    raise
                missing.add(work)
                echo(f"left out: {work}: {error}", err=True)
                continue
            paths.append(path)
            echo(f"recording: {path}", err=True)
            if signalled is not None:
                return paths, True
    return paths, False


def _values(board: str, work: str, options: dict[str, Any]) -> dict[str, Any]:
    """The request of one run, with the defaults of `rtassay run` but for what a work does not have."""
    from rtassay.cli.run_options import parse_labels
    from rtassay.model.settings import SETTINGS

    name, colon, argument = work.partition(":")
    if colon and not argument.strip():
        raise UsageError(f"'{name}:' names no arguments", hint=f"write {name} alone, or {name}:ARGUMENTS")
    settings = {"arguments": argument} if colon else {}
    if options["rounds"] is not None:
        settings["rounds"] = str(options["rounds"])
    values: dict[str, Any] = {s.field or s.key: None if s.filled_in else s.default for s in SETTINGS}
    words = ["rtassay", "throughput", board, "--work", work]
    words += ["--duration", f"{options['duration_ns']}ns"] if options["duration_ns"] else []
    words += ["--rounds", str(options["rounds"])] if options["rounds"] is not None else []
    return values | {
        "probe": f"work:{name}",
        "load": ("none",),
        "settings": settings,
        "duration_ns": options["duration_ns"] or _DEFAULT_DURATION_NS,
        "cpus": options["cpus"],
        "labels": parse_labels(options["labels"]),
        "tune": None,
        "waivers": {},
        "strict": False,
        "note": options["note"],
        "name": None,
        "output": None,
        "argv": words,
        "configured": (),
        "cyclictest_line": None,
    }


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
