"""rtassay prove: what each setting of a plan is worth on a board."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.names import BOARD
from rtassay.cli.options import (
    EXIT_BY_STATE,
    json_option,
    print_json,
    requirement_options,
    setting_option,
    wants_colour,
)
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import (
    EXIT_INTERRUPTED,
    EXIT_NOT_DEMONSTRATED,
    EXIT_OK,
    EXIT_TERMINATED,
    UsageError,
)
from rtassay.model.settings import SETTINGS
from rtassay.model.units import format_time

if TYPE_CHECKING:
    from rtassay.experiments.proving import Setup
    from rtassay.model.knobs import Goal
    from rtassay.model.proving import Proof, Subject
    from rtassay.model.tuning import TuningPlan

DURATION_NS = 300 * 1_000_000_000


@click.command("prove")
@click.argument("plan", required=False, metavar="[PLAN]")
@click.argument("board", type=BOARD, default="local")
@requirement_options
@click.option(
    "--one",
    "one",
    metavar="ID",
    help="One setting only: none against it, 4 and 4 runs. Instead of PLAN; then the board is the first argument.",
)
@click.option(
    "--goal",
    "goal_text",
    metavar="NAME=VALUE,...",
    help="What the board is for: isolated=LIST, period=TIME, priority=1..99.  [default: as PLAN says]",
)
@click.option(
    "--load",
    multiple=True,
    default=("auto",),
    metavar="NAME[:ARGS][@CPUS]",
    help="The load of every run, as in rtassay run.  [default: auto]",
)
@setting_option("duration", help="Length of each run.  [default: 5m]")
@setting_option("interval")
@setting_option("cpus")
@setting_option("load-cpus")
@setting_option("priority")
@setting_option("warm-up")
@setting_option(
    "trace-above",
    help="Trace the second half of each run as rtassay run does, and tell which causes each setting removed, and whether that was worth what their traces predicted.",
)
@click.option("--kernel", metavar="ENTRY", help="Boot entry of the running kernel: the confirming runs boot it afresh.")
@click.option(
    "--blocks",
    type=click.IntRange(2, 50),
    default=2,
    show_default=True,
    help="Runs of each setting left out, each in a block of its own.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the order within the blocks.")
@click.option("--dry-run", is_flag=True, help="Show settings, stages, runs and time; nothing is changed or measured.")
@click.option("--resume", metavar="DIR", help="Go on with a campaign that ended early. No PLAN then.")
@click.option("--show", metavar="DIR", help="Show a campaign again, finished or not. No PLAN then.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Directory of the campaign.  [default: proofs/NAME-TIME beside the recordings]",
)
@click.option("--quiet", is_flag=True, help="No progress; the result only.")
@json_option
def command(
    plan: str | None,
    board: str,
    one: str | None,
    resume: str | None,
    show: str | None,
    output: str | None,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Measure what each setting of PLAN is worth on BOARD, and put everything back.

    PLAN is a file of settings or a profile (rtassay tune --help). First the unchanged board against itself: that tells how small an effect
    the campaign can show, before the night is spent. Then all settings against none; all but one group; all but one setting; and
    the settings that are left against none, which alone is quoted. Runs are made in turns. Ctrl-C ends it, and --resume goes on.

    \b
      rtassay prove dedicated pi5 --goal isolated=2-3 --deadline 100us
      rtassay prove --one printk pi5 --deadline 100us
      rtassay prove --show proofs/dedicated-20261123T060000

    \b
    Exit codes: of the verdict over the settings that are left (0 HOLDS or no deadline, 1 VIOLATED, 4 NOT
    DEMONSTRATED, 5 INVALID); 4 also incomplete and resumable; 2 usage; 3 board; 130 interrupted.
    """
    from rtassay.experiments import proving

    if [one or plan, resume, show].count(None) != 2:
        raise UsageError(
            "state PLAN, --one ID, --resume DIR or --show DIR", hint="rtassay prove dedicated BOARD --deadline 100us"
        )
    if show is not None:
        return _result(Path(show), as_json)
    if resume is not None:
        path = Path(resume)
        setup = proving.load_setup(path)
    else:
        if one is not None and plan is not None:
            board = plan
        setup = asyncio.run(_setup(None if one is not None else plan, one, board, options))
        if dry_run:
            return _planned(setup, as_json)
        path = Path(output) if output is not None else proving.default_directory(setup.name)
        proving.create(path, setup)
    echo(f"campaign in {path}", err=True)
    ended = asyncio.run(_campaign(path, setup, quiet))
    if ended is not None:
        echo(f"not finished; rtassay prove --resume {path}", err=True)
    code = _result(path, as_json, save=True)
    return code if ended is None else ended


async def _setup(plan: str | None, one: str | None, board: str, options: dict[str, Any]) -> Setup:
    """Everything that is asked for, checked against the board. Raises UsageError, InputFileError, BoardError."""
    from rtassay.analysis.many.prove.response import quantile_for
    from rtassay.boards.known import resolve
    from rtassay.experiments.proving import Setup
    from rtassay.model.knobs import parse_goal
    from rtassay.model.proving import Rules
    from rtassay.session import tuning
    from rtassay.session.settings import read_cpus

    asked, name = _asked(plan, one)
    goal = parse_goal(options["goal_text"]) if options["goal_text"] is not None else asked.goal or parse_goal(None)
    run_plan = _run_plan(options, goal)
    per_lane = (run_plan.duration_ns or DURATION_NS) // (run_plan.interval_ns or 1)
    if run_plan.trace_above_ns is not None:
        per_lane //= 2  # the traced half is not compared
    quantile = quantile_for(per_lane)
    if quantile is None:
        raise UsageError(
            f"runs of {format_time(run_plan.duration_ns or 0)} are too short to compare tails",
            f"{per_lane:,} activations a lane; 1,000 are the least, for p99",
            "a longer --duration, or a shorter --interval",
        )
    contact = resolve(board)
    contact.notice = lambda sentence: echo(sentence, err=True)
    await contact.open()
    try:
        if (there := await tuning.status(contact)) is not None:
            raise UsageError(
                f"settings of '{board}' are changed already",
                f"by {there.owner}: {', '.join(there.settings)}",
                f"rtassay tune {board} --revert",
            )
        planned, fighting = await tuning.planned(contact, asked, goal)
        kept_free = (await read_cpus(contact)).kept_free
    finally:
        await contact.close()
    if options["cpus"] == "isolated" and not kept_free:
        raise UsageError(
            "--cpus isolated: this board isolates no CPU by itself",
            "every run would, and so none could be compared with one that does not",
            "--goal isolated=LIST, with cpuset-partition among the settings",
        )
    for daemon in fighting:
        echo(f"{daemon} runs, and may change settings of the board by itself", err=True)
    usable = _usable(planned, name)
    return Setup(
        name=name,
        board=board,
        plan=run_plan,
        tuning=usable,
        subjects=_subjects(usable),
        quantile=quantile,
        rules=Rules(blocks=options["blocks"]),
        goal=_goal_text(goal),
        kernel=options["kernel"],
        isolated=options["cpus"] == "isolated",
        seed=options["seed"],
    )


def _asked(plan: str | None, one: str | None) -> tuple[Any, str]:
    """What is to be changed, and a name for it. A file wins over a profile of the same name."""
    from rtassay.session import tuning_plans

    if one is not None:
        return tuning_plans.Asked((one,), named=True), one
    assert plan is not None
    path = Path(plan).expanduser()
    if not path.is_file():
        return tuning_plans.of_profile(plan), plan
    return replace(tuning_plans.read(str(path)), named=True), path.stem


def _run_plan(options: dict[str, Any], goal: Goal) -> Any:
    """How each run measures, as `rtassay run` would with the same options."""
    from rtassay import runs

    values: dict[str, Any] = {setting.field or setting.key: setting.default for setting in SETTINGS}
    values |= {"settings": {}, "labels": {}, "waivers": {}, "strict": False, "note": None, "name": None, "output": None}
    values |= {"probe": "rtprobe", "argv": (), "configured": (), "cyclictest_line": None}
    values |= {name: value for name, value in options.items() if name in values and value is not None}
    values["load"] = options["load"]
    values["duration_ns"] = options["duration_ns"] or DURATION_NS
    if goal.isolated is not None and options["cpus"] is None:
        values["cpus"] = goal.isolated
    if goal.period_ns is not None and options["interval_ns"] is None:
        values["interval_ns"] = goal.period_ns
    return runs.make_plan(values)


def _goal_text(goal: Goal) -> str | None:
    """As --goal takes it; None where it is what a plan without one means."""
    from rtassay.model.knobs import Goal
    from rtassay.model.units import format_cpu_list

    parts = []
    if goal.isolated is not None:
        parts.append(f"isolated={format_cpu_list(goal.isolated)}")
    if goal.period_ns is not None:
        parts.append(f"period={goal.period_ns}ns")
    if goal.priority != Goal().priority:
        parts.append(f"priority={goal.priority}")
    return ",".join(parts) or None


def _usable(plan: TuningPlan, name: str) -> TuningPlan:
    """The settings that can be changed at run time. Says which are not, and why."""
    from rtassay.model.tuning import TuningPlan

    for one in plan.settings:
        if one.left is not None and not one.actions:
            echo(f"left out: {one.id}: {one.left}", err=True)
    usable = TuningPlan(tuple(one for one in plan.settings if one.actions))
    if not usable.settings:
        raise UsageError(
            f"nothing of '{name}' can be changed here",
            "each setting is fine, not there, or needs a boot",
            "rtassay doctor tells",
        )
    return usable


def _subjects(plan: TuningPlan) -> tuple[Subject, ...]:
    """Each setting with its mechanism, the folder of its file; a write of the plan's own is a group of its own."""
    from rtassay.model import rooms
    from rtassay.model.proving import Subject

    table = rooms.table("knobs")
    groups = {name: module.partition(":")[0].split(".")[-2] for name, module in table.items()}
    return tuple(Subject(one.id, groups.get(one.id, one.id)) for one in plan.settings)


def _planned(setup: Setup, as_json: bool) -> int:
    """The settings, the stages that are known, and the time."""
    from rtassay.cli.prove_words import planned_dict, planned_text

    if as_json:
        print_json(planned_dict(setup))
    else:
        echo(planned_text(setup))
    return EXIT_OK


async def _campaign(path: Path, setup: Setup, quiet: bool) -> int | None:
    """Stage after stage, to the end. None; or the exit code with which it ended early."""
    from rtassay.cli.prove_result import look
    from rtassay.cli.prove_words import before_stage
    from rtassay.experiments import proving

    while True:
        measured = look(path)
        place = measured.unfinished
        if place is None:
            if measured.campaign.next is None:
                return None
            if not quiet:
                echo(before_stage(setup, measured.campaign), err=True)
            place = proving.begin(path, setup, measured.campaign.next)
        ended = await _stage(place, quiet)
        if ended is not None:
            return ended


async def _stage(place: Path, quiet: bool) -> int | None:
    """One stage. None where it is complete."""
    import signal

    from rtassay.cli.experiment import carried_out
    from rtassay.experiments import directory

    outcome, stopped_by = await carried_out(place, directory.load_plan(place), False, quiet)
    for cell, why in outcome.failed:
        echo(f"failed: {cell.title}: {why}", err=True)
    if outcome.complete:
        return None
    if stopped_by is not None:
        return EXIT_TERMINATED if stopped_by == signal.SIGTERM else EXIT_INTERRUPTED
    return EXIT_NOT_DEMONSTRATED


def _result(path: Path, as_json: bool, *, save: bool = False) -> int:
    from rtassay.cli.prove_result import proof_of
    from rtassay.cli.prove_result import save as save_reports
    from rtassay.model.proving import proof_dict
    from rtassay.reports.proof.terminal import TerminalProof

    proof = proof_of(path)
    if save and proof.runs:
        echo(f"report in {save_reports(path, proof)}", err=True)
    if as_json:
        print_json(proof_dict(proof))
    else:
        echo_rendered(TerminalProof(report_width(), wants_colour()).render(proof))
    return _exit_code(proof)


def _exit_code(proof: Proof) -> int:
    if proof.campaign.next is not None:
        return EXIT_NOT_DEMONSTRATED
    side = proof.after if proof.campaign.chosen else proof.before
    return EXIT_OK if side is None or side.state is None else EXIT_BY_STATE[side.state]
