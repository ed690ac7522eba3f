"""rtassay explain: why threads of the user's own program run late."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.names import BOARD
from rtassay.cli.options import json_option, print_json, setting_option, wants_colour
from rtassay.cli.progress import ProgressView
from rtassay.cli.run_options import parse_labels
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_INTERRUPTED, EXIT_NOT_DEMONSTRATED, EXIT_OK, EXIT_TERMINATED, UsageError
from rtassay.model.manifest import Plan
from rtassay.model.units import parse_duration_ns

if TYPE_CHECKING:
    from rtassay.model.inventory import Inventory
    from rtassay.runs import RunRequest

_LEAST_NS, _MOST_NS = 1_000, 4_000_000_000


class _Level(click.ParamType[Any]):
    """A time of 1 us to 4 s with its unit, as int ns, or `auto`."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == "auto":
            return value
        level_ns = parse_duration_ns(value)
        if not _LEAST_NS <= level_ns <= _MOST_NS:
            raise UsageError(f"--above {value} is not between 1us and 4s")
        return level_ns


@click.command("explain")
@click.argument("board", type=BOARD, default="local")
@click.option("--pid", type=click.IntRange(1, 1 << 22), metavar="PID", help="Follow all threads of this process.")
@click.option(
    "--comm", metavar="NAME", help="Follow the processes of this name, and single threads of this name elsewhere."
)
@click.option(
    "--above",
    "above",
    type=_Level(),
    default="auto",
    show_default=True,
    metavar="TIME|auto",
    help="Which delays to explain. auto: 4 x the running p99.9 of each thread.",
)
@setting_option("duration")
@click.option(
    "--label", "labels", multiple=True, metavar="K=V", help="A fact that rtassay cannot read: cause=out, ambient=21C."
)
@click.option("--name", metavar="NAME", help="What to call the recording.")
@click.option("--note", help="A sentence to keep with the recording.")
@click.option("--output", metavar="DIR", help="Directory for the recording (default: where rtassay keeps them).")
@click.option("--quiet", is_flag=True, help="No progress.")
@json_option
def command(
    board: str,
    pid: int | None,
    comm: str | None,
    above: int | str,
    duration_ns: int | None,
    labels: tuple[str, ...],
    name: str | None,
    note: str | None,
    output: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Why the threads of a program on BOARD (default: this machine) run late: who delayed each late wake-up.

    It follows an unmodified program that runs already, with the kernel's trace, which needs root. The delay of a wake-up is the time
    from the waking of a thread until it runs. The result is kept as a recording: list, show, report and causes know it.

    \b
      rtassay explain root@192.168.1.7 --comm motor-control --above 200us
      rtassay explain --pid 1234 --duration 10m        a program on this machine
      rtassay explain pi5 --comm jackd --json

    Ctrl-C ends it early, with the result so far.

    Exit codes: 0 at least one late wake-up has a known owner; 2 there is no such process; 3 the board failed; 4 no owner is known (nothing
    was late, or there is no trace), and the reason is told; 130 ended by Ctrl-C.
    """
    from rtassay import runs, store
    from rtassay.boards.known import resolve
    from rtassay.model.labels import check_name, check_text

    if (pid is None) == (comm is None):
        raise UsageError("give --pid PID or --comm NAME, one of the two", hint="ps -eLo pid,tid,comm lists both")
    if name is not None:
        check_name(name)
    if note is not None:
        check_text("--note", note)
    plan = Plan(
        probe="follow",
        loads=("none",),
        duration_ns=duration_ns,
        trace_above_ns=above,
        settings={"pid": str(pid)} if comm is None else {"comm": comm},
        argv=_argv(board, pid, comm, above, duration_ns),
    )
    request = runs.RunRequest(
        board=resolve(board),
        plan=plan,
        home=Path(output) if output else store.home(),
        labels=parse_labels(labels),
        note=note,
        name=name,
        isolated=False,
        lanes=None,
    )
    stopped_by, path = asyncio.run(_follow(request, quiet))
    return _tell(path, stopped_by, as_json=as_json)


def _argv(board: str, pid: int | None, comm: str | None, above: int | str, duration_ns: int | None) -> tuple[str, ...]:
    from rtassay.model.foreign import printable
    from rtassay.reports.wording import exact_time

    target = ("--pid", str(pid)) if comm is None else ("--comm", printable(comm))
    level = above if isinstance(above, str) else exact_time(above)
    length = () if duration_ns is None else ("--duration", exact_time(duration_ns))
    return ("rtassay", "explain", printable(board), *target, "--above", level, *length)


async def _follow(request: RunRequest, quiet: bool) -> tuple[int | None, Path]:
    """The signal that ended it early, if one did, and the sealed recording."""
    from rtassay.session.control import StopRequest
    from rtassay.session.run import run

    stop = StopRequest()
    signals: list[int] = []

    def asked(number: int) -> None:
        signals.append(number)
        stop.request()
        echo("\nending and sealing; once more aborts" if len(signals) == 1 else "\naborting", err=True)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked, number)
    if not quiet:
        request.board.notice = lambda sentence: echo(sentence, err=True)
    view = ProgressView(quiet=quiet, ctrl_c="ends it and tells the result so far")
    try:
        result = await run(
            request.board,
            request.plan,
            home=request.home,
            labels=request.labels,
            note=request.note,
            name=request.name,
            on_event=view,
            stop=stop,
            accept=_say_what_is_left,
        )
    finally:
        view.close()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return (signals[0] if signals else None), result.path


def _say_what_is_left(inventory: Inventory) -> None:
    """Before a person waits for a result without causes."""
    rights = inventory.rights
    if rights.uid not in (None, 0):
        echo("not root: there will be no trace and no cause, only how long each thread waited (/proc)", err=True)
    elif rights.hides_tracefs:
        echo(
            "the kernel is locked down (confidentiality): there will be no trace and no cause, only how long each thread waited",
            err=True,
        )


def _tell(path: Path, stopped_by: int | None, *, as_json: bool) -> int:
    from rtassay import explaining, store
    from rtassay.model.explanation import explanation_dict
    from rtassay.reports.explanation.terminal import TerminalExplanation

    found = explaining.explain(store.open_recording(path))
    if as_json:
        print_json(explanation_dict(found) | {"path": str(path)})
    else:
        echo_rendered(TerminalExplanation(report_width(), wants_colour()).render(found))
    echo(f"recording: {path}", err=True)
    if stopped_by is not None:
        return EXIT_TERMINATED if stopped_by == signal.SIGTERM else EXIT_INTERRUPTED
    return EXIT_OK if found.ranking.answered else EXIT_NOT_DEMONSTRATED
