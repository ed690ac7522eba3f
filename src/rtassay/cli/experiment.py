"""rtassay experiment: plans, runs, resumes and shows matrices of runs."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli import ci
from rtassay.cli.ci import ci_options
from rtassay.cli.names import PRESET
from rtassay.cli.options import json_option, print_json, setting_option
from rtassay.cli.terminal import echo
from rtassay.model.errors import (
    EXIT_INTERRUPTED,
    EXIT_NOT_DEMONSTRATED,
    EXIT_OK,
    EXIT_TERMINATED,
    BoardError,
    InputFileError,
    UsageError,
)

if TYPE_CHECKING:
    from rtassay.experiments.engine import Outcome
    from rtassay.experiments.files import Source
    from rtassay.experiments.matrix import ExperimentPlan
    from rtassay.experiments.schema import ExperimentFile


class InOrder(click.Group):
    """Its commands in the order of the work."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("experiment", cls=InOrder)
def command() -> None:
    """Matrices of runs: boards x kernels x loads x probes x scenarios, repeated, interleaved, resumable.

    \b
      rtassay experiment plan smoke                show its runs, and how long they take
      rtassay experiment run night.toml -o out     carry it out; Ctrl-C seals the run so far
      rtassay experiment resume out                go on after Ctrl-C, a crash, a power cut
      rtassay experiment show out                  show the results
      rtassay experiment report out -o page.html   the page of it (run writes one at its end)

    FILE is an experiment file (docs/guides/experiments.md) or the name of a preset (rtassay presets).
    Exit codes: 0 done, or the acceptance HOLDS; 1 VIOLATED; 2 usage or file; 3 board; 4 NOT
    DEMONSTRATED, or incomplete and resumable; 5 INVALID MEASUREMENT; 130 interrupted, resumable.
    """


def _form_options(target: Any) -> Any:
    """--corrected, --scale, and the options that replace values of the file."""
    for option in (
        setting_option(
            "at-most", help="Late events allowed, instead of the file's p or at_most: 0.1/h.", stated_only=True
        ),
        setting_option(
            "p", help="Tolerated probability of a miss, instead of the file's p or at_most.", stated_only=True
        ),
        setting_option(
            "looks",
            help="Judge the repeats of a combination so often, and end it at the first look that decides, instead of the file's looks.",
            stated_only=True,
        ),
        click.option("--deadline", metavar="TIME", help="The requirement, instead of the file's: 200us."),
        click.option(
            "--kernel",
            "kernels",
            multiple=True,
            metavar="ENTRY",
            help="Boot entry to measure, instead of the file's; several to compare.",
        ),
        click.option(
            "--board",
            "boards",
            multiple=True,
            metavar="BOARD",
            help="Board to measure, instead of the file's; several to compare.",
        ),
    ):
        target = option(target)
    target = click.option(
        "--scale", "scale", default="1", metavar="FACTOR", help="Shorten durations and counts: 1/100 or 0.01."
    )(target)
    return click.option(
        "--corrected", is_flag=True, help="The form that avoids the known faults of the original ([corrected])."
    )(target)


@command.command("plan")
@click.argument("file", type=PRESET)
@_form_options
@json_option
def plan_command(file: str, as_json: bool, **form: Any) -> int:
    """Show the matrix of FILE, its order, its duration, and every command. Nothing is started."""
    from rtassay.cli import experiment_tables

    _, plan = _planned(file, form)
    if as_json:
        print_json(experiment_tables.plan_json(plan))
    else:
        echo(experiment_tables.plan_text(plan))
    return EXIT_OK


@command.command("run")
@click.argument("file", type=PRESET)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Directory of the experiment.  [default: experiments/NAME-TIME beside the recordings]",
)
@_form_options
@click.option("--fail-fast", is_flag=True, help="Stop at the first cell that fails for good.")
@click.option("--quiet", is_flag=True, help="No progress; the result only.")
@ci_options
@json_option
def run_command(file: str, output: str | None, fail_fast: bool, quiet: bool, as_json: bool, **form: Any) -> int:
    """Carry out FILE. A journal lists every run. If this ends early, `resume` does the rest.

    Ctrl-C once seals the run under way (it does not count) and ends; twice aborts it.
    """
    from rtassay.experiments import directory

    files = ci.taken(form)
    source, plan = _planned(file, form, build=True)
    path = Path(output) if output is not None else directory.default_directory(plan.name)
    directory.create(path, source.text, plan)
    echo(f"experiment in {path}", err=True)
    return _carry_out(path, plan, files, fail_fast=fail_fast, quiet=quiet, as_json=as_json)


@command.command("resume")
@click.argument("experiment")
@_form_options
@click.option("--fail-fast", is_flag=True, help="Stop at the first cell that fails for good.")
@click.option("--quiet", is_flag=True, help="No progress; the result only.")
@ci_options
@json_option
def resume_command(experiment: str, fail_fast: bool, quiet: bool, as_json: bool, **form: Any) -> int:
    """Go on with an EXPERIMENT: its directory, or the FILE it was made from (the newest of that plan).

    Only unfinished runs are done again. The plan stays as it was at the start: a changed file is another experiment.
    """
    from rtassay.experiments import directory

    files = ci.taken(form)
    path = Path(experiment)
    if directory.is_experiment(path):
        if any(value for key, value in form.items() if key != "scale") or form["scale"] != "1":
            raise UsageError(
                "the plan of an experiment is fixed",
                hint="leave --corrected, --scale, --board, --kernel, --deadline, --looks and --p out",
            )
    else:
        # Kernels that it builds were built before: their names are part of the plan.
        _, plan = _planned(experiment, form, build=True)
        path = directory.find(experiment, plan=plan)
        echo(f"experiment in {path}", err=True)
    return _carry_out(path, directory.load_plan(path), files, fail_fast=fail_fast, quiet=quiet, as_json=as_json)


@command.command("status")
@click.argument("experiment")
@json_option
def status_command(experiment: str, as_json: bool) -> int:
    """Show the state of an EXPERIMENT (its directory): the runs that are done, running or failed, and the expected end."""
    from rtassay.cli import experiment_tables
    from rtassay.experiments import directory
    from rtassay.experiments.status import status_of

    status = status_of(directory.find(experiment))
    if as_json:
        print_json(experiment_tables.status_json(status))
    else:
        echo(experiment_tables.status_text(status))
    return EXIT_OK


@command.command("show")
@click.argument("experiment")
@ci_options
@json_option
def show_command(experiment: str, as_json: bool, **files: str | None) -> int:
    """Show the results of an EXPERIMENT: a row for each combination, the worst load, the comparisons, the acceptance."""
    from rtassay.cli.experiment_result import report_of, result_of, show
    from rtassay.experiments import directory

    path = directory.find(experiment)
    report = report_of(path) if any(files.values()) else None
    result = result_of(path) if report is None else report.result
    if as_json:
        print_json(result)
    elif not ci.on_stdout(files):
        show(result)
    if report is not None:
        ci.write(files, report)
    return EXIT_OK


@command.command("report")
@click.argument("experiment")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write: .html, .md or .json.  [default: report.html and report.md in it]",
)
@json_option
def report_command(experiment: str, output: str | None, as_json: bool) -> int:
    """Write one page about an EXPERIMENT: its answer, every combination, loads, comparisons, scorecard, checks, how to repeat it.

    `run` and `resume` write it at their end. It is computed from the recordings each time, also for an unfinished experiment.
    """
    from rtassay import reports
    from rtassay.cli.experiment_result import report_of, save_reports, write_report
    from rtassay.experiments import directory
    from rtassay.model.experiment import ExperimentReport

    path = directory.find(experiment)
    if output is None:
        written = save_reports(path, report_of(path))
    else:
        name = reports.format_of(ExperimentReport, output)
        written = Path(output)
        write_report(written, report_of(path), name)
    if as_json:
        print_json({"schema": "rtassay/experiment-report/1", "experiment": str(path), "path": str(written)})
    else:
        echo(str(written))
    return EXIT_OK


def _planned(file: str, form: dict[str, Any], build: bool = False) -> tuple[Source, ExperimentPlan]:
    """`form`: the values of _form_options. `build`: kernels of [kernels.build] are built and brought to the boards."""
    from rtassay.boards.described import check_probe
    from rtassay.experiments import presets
    from rtassay.experiments.choices import Choices, choose, kernel_note
    from rtassay.experiments.files import parse_scale
    from rtassay.experiments.matrix import make_plan

    factor = parse_scale(form["scale"])
    source = presets.find(file, corrected=form["corrected"])
    choices = Choices(
        form["boards"], form["kernels"], form["deadline"], form["p_target"], form["per_hour"], form["looks"]
    )
    chosen = _waivers_checked(choose(source, choices))
    if build and chosen.build is not None:
        from rtassay.cli.experiment_kernels import built_and_brought

        choices = replace(choices, kernels=built_and_brought(chosen.build, chosen.boards, source.path.parent))
        chosen = _waivers_checked(choose(source, choices))
    note = kernel_note(chosen)
    plan = make_plan(
        chosen,
        corrected=form["corrected"],
        scale=factor,
        options=choices.argv,
        notes=() if note is None else (note,),
    )
    for probe_plan in {(cell.probe, *cell.plan.settings.items()): cell.plan for cell in plan.cells}.values():
        try:
            check_probe(probe_plan)
        except UsageError as error:
            where = f"probe={probe_plan.probe}"
            raise InputFileError(f"{source.path}: {where} cannot be measured", str(error), error.hint) from error
    return source, plan


def _waivers_checked(file: ExperimentFile) -> ExperimentFile:
    """The file with the ids of acceptance.waive as checks have them. Raises UsageError for an unknown id, or one that may not be waived."""
    if not file.acceptance.waive:
        return file
    import msgspec

    from rtassay.analysis.judge.waivers import check_waivers

    waive = check_waivers(file.acceptance.waive)
    return msgspec.structs.replace(file, acceptance=msgspec.structs.replace(file.acceptance, waive=waive))


def _carry_out(
    path: Path, plan: ExperimentPlan, files: dict[str, str | None], *, fail_fast: bool, quiet: bool, as_json: bool
) -> int:
    from rtassay.cli.experiment_result import exit_code, report_of, save_reports, show

    outcome, stopped_by = asyncio.run(carried_out(path, plan, fail_fast, quiet))
    report = report_of(path, save=True)
    result = report.result
    try:
        echo(f"report in {save_reports(path, report)}", err=True)
    except BoardError as error:
        echo(f"rtassay: {error}", err=True)
    if as_json:
        print_json(result)
    elif not ci.on_stdout(files):
        show(result)
    ci.write(files, report)
    if not outcome.complete:
        for cell, why in outcome.failed:
            echo(f"failed: {cell.title}: {why}", err=True)
        left = outcome.total - outcome.sealed - outcome.skipped
        echo(f"{left} of {outcome.total} cells are not done; rtassay experiment resume {path}", err=True)
    if stopped_by is not None and not outcome.complete:
        return EXIT_TERMINATED if stopped_by == signal.SIGTERM else EXIT_INTERRUPTED
    return exit_code(result) if outcome.complete else EXIT_NOT_DEMONSTRATED


async def carried_out(path: Path, plan: ExperimentPlan, fail_fast: bool, quiet: bool) -> tuple[Outcome, int | None]:
    """The outcome, and the signal that ended it early, if one did."""
    from rtassay.boards.known import resolve
    from rtassay.boot.switch import check_names, switch_and_leave
    from rtassay.cli.experiment_progress import ExperimentView
    from rtassay.cli.experiment_result import judged, look
    from rtassay.cli.judging import parser_for
    from rtassay.cli.seal import finish
    from rtassay.experiments.engine import Tools, carry_out
    from rtassay.session.attach import attach, board_of
    from rtassay.session.control import StopRequest

    stop = StopRequest()
    signals: list[int] = []

    def asked(number: int) -> None:
        signals.append(number)
        stop.request()
        echo("\nstopping and sealing; once more aborts" if len(signals) == 1 else "\naborting", err=True)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked, number)

    def settled(recording: Path) -> None:
        judged(recording)

    view = ExperimentView(quiet=quiet)

    def board(name: str) -> Any:
        made = resolve(name)
        made.notice = view.say
        return made

    async def attached(recording: Path, on_event: Any, stop: StopRequest) -> None:
        await attach(board(board_of(recording)), recording, parser_for=parser_for, on_event=on_event, stop=stop)

    remote = any(cell.board != "local" for cell in plan.cells)
    tools = Tools(
        board=board,
        finish=finish,
        settled=settled,
        switch=partial(switch_and_leave, tell=view.say) if remote else None,
        kernel_names=check_names,
        attach=attached,
        look=look,
    )
    try:
        outcome = await carry_out(path, plan, tools, on_step=view, stop=stop, fail_fast=fail_fast)
    finally:
        view.close()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return outcome, (signals[0] if signals else None)
