"""rtassay tune: changes settings of a board for a while, and puts them back."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.names import BOARD
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model.errors import EXIT_BOARD, EXIT_NOT_DEMONSTRATED, EXIT_OK, UsageError
from rtassay.model.units import parse_duration_ns

if TYPE_CHECKING:
    from rtassay.boards.base import LinuxBoard
    from rtassay.model.knobs import Goal
    from rtassay.model.tuning import KeptFile, Reverted, Tuned, TuningPlan
    from rtassay.session.tuning import Look
    from rtassay.session.tuning_plans import Asked

_LONGEST_NS = 7 * 24 * 3600 * 10**9


@click.command("tune")
@click.argument("board", type=BOARD, default="local")
@click.option(
    "--profile",
    metavar="NAME",
    help="dedicated: CPUs are kept for the application (--goal isolated=LIST); shared: they are not; audio: a desktop that plays sound.",
)
@click.option("--plan", "plan_file", metavar="FILE", help="Settings and values of your own, as TOML.")
@click.option("--only", multiple=True, metavar="ID", help="This setting of `rtassay doctor`. Repeat it for several.")
@click.option("--except", "unwanted", multiple=True, metavar="ID", help="Without this setting. Repeat it for several.")
@click.option(
    "--goal",
    "goal_text",
    metavar="NAME=VALUE,...",
    help="What the board is for, as `doctor --for` takes it: isolated=LIST, period=TIME, priority=1..99.",
)
@click.option(
    "--for",
    "for_text",
    default="2h",
    show_default=True,
    metavar="TIME",
    help="When the board puts everything back by itself.",
)
@click.option("--dry-run", is_flag=True, help="Show each change and the value of now, and change nothing.")
@click.option(
    "--keep",
    is_flag=True,
    help="Also show the files that make the changes at every boot, and the line that removes them; then write them.",
)
@click.option(
    "--boot",
    is_flag=True,
    help="Boot BOARD once with the words of the kernel's command line that these settings ask for; its next boot is as before.",
)
@click.option("--revert", is_flag=True, help="Put everything back now.")
@click.option("--yes", is_flag=True, help="Do not ask at a terminal.")
@json_option
def command(board: str, as_json: bool, **options: Any) -> int:
    """Change settings of BOARD (default: this machine) for a while, and put them back.

    Each change is shown before it is made, written to a journal on the board, and read back after it. The board puts everything back by
    itself after --for, and also when this host or its own guard dies; a restart of the board undoes it. Without options it tells what is changed now.

    \b
      rtassay tune pi5 --profile dedicated --goal isolated=2-3 --dry-run
      rtassay tune pi5 --profile dedicated --goal isolated=2-3 --for 30m
      rtassay tune pi5 --only printk --only dma-latency
      rtassay tune pi5 --only printk --keep
      rtassay tune pi5 --only isolcpus --goal isolated=2-3 --boot
      rtassay tune pi5 --revert

    \b
    Exit codes: 0 done, every change was read back; 4 something was refused or shows another value;
    2 usage; 3 the board: not reached, changed by somebody else, or not all put back.
    """
    asked, goal, for_ns = _asked(options)
    work: Callable[[LinuxBoard], Awaitable[int]]
    if options["revert"]:
        work = _reverting(as_json)
    elif asked is None:
        work = _telling(as_json)
    elif options["boot"]:
        work = _booting(asked, goal, options, as_json)
    else:
        work = _tuning(asked, goal, for_ns, options, as_json)
    return asyncio.run(_on_board(board, work))


def _asked(options: dict[str, Any]) -> tuple[Asked | None, Goal, int]:
    """What to change (None: nothing), for which goal, for how long. Raises UsageError."""
    from rtassay.model.knobs import parse_goal
    from rtassay.session.tuning_plans import Asked, of_profile, read

    ways = [name for name in ("profile", "plan_file", "only") if options[name]]
    if len(ways) > 1:
        raise UsageError("--profile, --plan and --only exclude each other", hint="a plan file may name a profile")
    if options["revert"] and (ways or options["dry_run"] or options["keep"] or options["boot"]):
        raise UsageError("--revert stands alone", "it puts back everything that was changed")
    if not ways and any(options[name] for name in ("dry_run", "keep", "boot", "unwanted", "goal_text")):
        raise UsageError("nothing is asked to be changed", hint="add --profile, --plan or --only")
    for_ns = parse_duration_ns(options["for_text"])
    if not 10**9 <= for_ns <= _LONGEST_NS:
        raise UsageError(f"--for {options['for_text']}: from 1s to 168h")
    asked: Asked | None = None
    if options["profile"]:
        asked = of_profile(options["profile"])
    elif options["plan_file"]:
        asked = read(options["plan_file"])
    elif options["only"]:
        asked = Asked(tuple(options["only"]), named=True)
    goal = (
        parse_goal(options["goal_text"]) if options["goal_text"] or asked is None or asked.goal is None else asked.goal
    )
    return asked, goal, for_ns


async def _on_board(name: str, work: Callable[[LinuxBoard], Awaitable[int]]) -> int:
    from rtassay.boards.known import resolve

    board = resolve(name)
    board.notice = lambda sentence: echo(sentence, err=True)
    await board.open()
    try:
        return await work(board)
    finally:
        await board.close()


def _booting(
    asked: Asked, goal: Goal, options: dict[str, Any], as_json: bool
) -> Callable[[LinuxBoard], Awaitable[int]]:
    from rtassay.cli.tune_boot import boot_once

    if as_json or options["keep"]:
        raise UsageError(
            f"--boot goes with no {'--json' if as_json else '--keep'}",
            "its words last for one boot",
            "words that are to stay: /etc/default/grub there, and update-grub",
        )

    async def work(board: LinuxBoard) -> int:
        return await boot_once(board, asked, goal, dry_run=options["dry_run"], yes=options["yes"])

    return work


def _tuning(
    asked: Asked, goal: Goal, for_ns: int, options: dict[str, Any], as_json: bool
) -> Callable[[LinuxBoard], Awaitable[int]]:
    async def work(board: LinuxBoard) -> int:
        from rtassay.reports.tuning.tuning_text import left_rows, look_rows
        from rtassay.session import tuning
        from rtassay.session.keeping import keep

        echo(f"rtassay: looking at {board.name} for a second ...", err=True)
        plan, fighting = await tuning.planned(board, asked, goal)
        plan = plan.without(options["unwanted"])
        look = await tuning.look(board, plan)
        for line in (*look_rows(look.changes), *left_rows(plan)):
            echo(line, err=as_json)
        for name in fighting:
            echo(f"rtassay: {name} runs, and may change these settings by itself: --only irqbalance stops it", err=True)
        files = _kept(board.name, plan, to_stderr=as_json) if options["keep"] else ()
        if options["dry_run"] or not plan.changes:
            return _tell_plan(plan, look, as_json)
        if not options["yes"] and sys.stdin.isatty() and not click.confirm("change these settings?", err=True):
            return EXIT_OK
        tuned = await tuning.apply(board, plan, for_ns=for_ns, known=look)
        if files:
            await keep(board, files)
            echo("rtassay: the files are written; they act from the next boot on", err=True)
        return _tell_tuned(board, plan, tuned, as_json)

    return work


def _kept(board: str, plan: TuningPlan, *, to_stderr: bool) -> tuple[KeptFile, ...]:
    """The files that make the plan last, shown with the line that removes them. Raises UsageError if they could hold none of it."""
    from rtassay.reports.tuning.kept import kept_files, removal

    files, left = kept_files(plan)
    if not files and plan.changes:
        raise UsageError(
            "no file can keep these settings", "; ".join(left), "they last until --revert, --for or a reboot"
        )
    for file in files:
        echo(f"\n{file.path}:", err=to_stderr)
        echo(file.text, err=to_stderr)
    for line in left:
        echo(f"not kept: {line}", err=to_stderr)
    if files:
        where = "" if board == "local" else f" (on {board})"
        echo(f"to remove them{where}: {removal(files)}", err=to_stderr)
    return files


def _tell_plan(plan: TuningPlan, look: Look, as_json: bool) -> int:
    from rtassay.reports.tuning.tuning_text import plan_dict

    if as_json:
        print_json(plan_dict(plan, look.changes))
    elif not plan.changes:
        echo("nothing to change")
    return EXIT_OK


def _tell_tuned(board: LinuxBoard, plan: TuningPlan, tuned: Tuned, as_json: bool) -> int:
    from rtassay.model.tuning import DIFFERS, REFUSED
    from rtassay.reports.tuning.tuning_text import headline, tuned_dict, wrong_rows

    if as_json:
        print_json(tuned_dict(tuned, plan))
    else:
        echo(headline(board.name, tuned))
        for line in wrong_rows(tuned.changes):
            echo(line)
    return EXIT_NOT_DEMONSTRATED if any(one.state in (DIFFERS, REFUSED) for one in tuned.changes) else EXIT_OK


def _telling(as_json: bool) -> Callable[[LinuxBoard], Awaitable[int]]:
    async def work(board: LinuxBoard) -> int:
        from rtassay.reports.tuning.tuning_text import headline, tuned_dict, tuned_rows
        from rtassay.session import tuning

        found = await tuning.status(board)
        if as_json:
            print_json(tuned_dict(found))
        elif found is None:
            echo(f"{board.name}: nothing is changed")
        else:
            for line in (headline(board.name, found), *tuned_rows(found.changes)):
                echo(line)
        return EXIT_OK

    return work


def _reverting(as_json: bool) -> Callable[[LinuxBoard], Awaitable[int]]:
    async def work(board: LinuxBoard) -> int:
        from rtassay.reports.tuning.tuning_text import reverted_dict
        from rtassay.session import tuning

        done = await tuning.revert(board)
        if as_json:
            print_json(reverted_dict(done))
        else:
            _tell_reverted(board.name, done)
        return EXIT_BOARD if done.left else EXIT_OK

    return work


def _tell_reverted(board: str, done: Reverted) -> None:
    from rtassay.model.foreign import one_line

    for what, why in done.left:
        echo(f"not put back: {one_line(what)}: {one_line(why)}", err=True)
    if done.left:
        echo(f"{board}: not everything could be put back; its journal stays for the next --revert")
    elif done.forgotten:
        echo(f"{board}: was restarted since, which put everything back")
    elif done.was is None:
        echo(f"{board}: nothing was changed")
    else:
        echo(f"{board}: put back {', '.join(done.was.settings) or 'nothing'}")
