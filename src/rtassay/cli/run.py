"""rtassay run: measure, record, judge, report."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay import consoles, runs
from rtassay.cli import ci, config_file, cyclictest_letters, cyclictest_result
from rtassay.cli.attach import Work, attaching
from rtassay.cli.ci import ci_options
from rtassay.cli.names import BOARD
from rtassay.cli.options import (
    EXIT_BY_STATE,
    json_option,
    print_json,
    requirement_options,
    setting_option,
    trust_options,
)
from rtassay.cli.progress import ProgressView
from rtassay.cli.run_options import values_of
from rtassay.cli.terminal import echo
from rtassay.model.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_TERMINATED, EXIT_VIOLATED, UsageError
from rtassay.model.findings import Findings
from rtassay.model.recording import Recording

if TYPE_CHECKING:
    from rtassay.session.control import RunResult, StopRequest


class CyclictestCommand(click.Command):
    """Translates cyclictest's letters for click, which knows only the long options; `cyclictest` is what else they say."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        given = list(args)
        told = cyclictest_letters.translate(args, self._taking_a_value())
        context = super().make_context(info_name, told.words, parent, **extra)
        configured = config_file.words_from_file(context)
        context.params["configured"] = configured
        context.params["argv"] = ["rtassay", "run", *given, *configured]
        context.params["cyclictest"] = told
        return context

    def _taking_a_value(self) -> frozenset[str]:
        """Options that need a value; not those that can stand without one (a text as flag_value)."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        return frozenset(
            name
            for option in options
            if not (option.is_flag or option.count or isinstance(option.flag_value, str))
            for name in option.opts
        )


@click.command("run", cls=CyclictestCommand)
@click.argument("board", type=BOARD, default="local")
@requirement_options
@trust_options
@click.option(
    "--load",
    multiple=True,
    default=("auto",),
    metavar="NAME[:ARGS][@CPUS]",
    help="stress-ng, stress, hackbench, iperf3, iperf, builtin, command:CMD or none; several at once by several --load. "
    "auto is stress-ng where the board has it, else builtin. @others: all CPUs but those that are isolated, or would be by --cpus isolated.  [default: auto]",
)
@setting_option("duration")
@setting_option("count")
@setting_option("looks")
@setting_option("interval")
@setting_option("cpus")
@setting_option("lanes")
@setting_option("load-cpus")
@setting_option("policy")
@setting_option("priority")
@setting_option("warm-up")
@click.option(
    "--probe",
    default="rtprobe",
    show_default=True,
    metavar="NAME",
    help="How to measure: rtprobe, cyclictest, or a method of rtprobe (rtassay probe list).",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting of the method without an option here (rtassay probe describe). Repeat it for several settings.",
)
@click.option(
    "--cyclictest-line",
    metavar="LINE",
    help="With --probe cyclictest: measure exactly this line of it, as `cyclictest -l100000 -q -v -p80 -t16 -a`.",
)
@setting_option("break-above")
@setting_option("trace-above")
@setting_option("trace-stacks")
@setting_option("dma-latency")
@setting_option("sleep")
@setting_option("clock")
@setting_option("aligned")
@setting_option("mlock")
@setting_option("samples")
@click.option(
    "--tune", metavar="FILE", help="Settings that are changed for this run and put back after it (rtassay tune --plan)."
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="K=V",
    help="A fact that rtassay cannot read: ambient=21C, supply=USB, kernel=rt.",
)
@click.option("--note", help="A sentence to keep with the recording.")
@click.option(
    "--name",
    metavar="NAME",
    help="What to call the recording: lists, figures and reports show it, and it names the recording.",
)
@click.option("--send", metavar="TEXT", help=r"Of a console: what starts rtprobe-lite there, as 'rtlite\n' in a shell.")
@click.option("--wait", metavar="TEXT", help="Of a console: what it says when it is ready for --send, as 'nsh> '.")
@click.option(
    "--reset",
    metavar="COMMAND",
    help="Of a console: what restarts the board first, on this machine, as 'uhubctl -a cycle -p 2' or 'openocd -f b.cfg -c \"init; reset; exit\"'.",
)
@click.option("--report", "report_file", metavar="FILE", help="Also write a report (.html, .md, .json).")
@ci_options
@click.option("--output", metavar="DIR", help="Directory for the recording (default: where rtassay keeps them).")
@click.option("--quiet", is_flag=True, help="Print only the verdict, no progress and no table.")
@click.option(
    "--attach",
    is_flag=False,
    flag_value="",
    metavar="[RECORDING]",
    help="Continue a run on a board after its host died: fetch the rest, seal, judge.  [default: the only such run]",
)
@click.option("--distance", hidden=True)
@click.option("--histogram", hidden=True, type=click.IntRange(0, 1_000_000))
@click.option("--histfile", hidden=True)
@json_option
def command(**options: Any) -> int:
    """Measure BOARD (default: this machine), record it, judge it, report it.

    \b
      rtassay run --deadline 100us                       60 s, FIFO 90, all CPUs, under load
      rtassay run --deadline 100us --p 1e-6 --duration 1h --label ambient=21C
      rtassay run --cpus isolated --deadline 50us        isolated CPUs, load on the others
      rtassay run cyclictest -m -S -p90 -i200 -h400 -q   a cyclictest line, pasted
      rtassay run root@192.168.1.7 --deadline 100us      another board, over SSH; name it: rtassay board add
      rtassay run serial:/dev/ttyUSB0 --deadline 100us   an RTOS with rtprobe-lite, over its console: docs/guides/rtos.md
      rtassay run --attach                               fetch the rest of a run after this host died

    A pasted line of cyclictest ends with cyclictest's own rows and the verdict. Its options keep their meaning and units (us; s for
    -D); one that is not needed is named, one that cannot be taken is refused with the reason.
    Ctrl-C once seals the run so far; twice aborts.
    """
    from rtassay import rankings, reports, store
    from rtassay.cli.report import write_bytes
    from rtassay.reports.base import JudgedRecording

    report_file = options["report_file"]
    report_format = _report_format(report_file)
    _check_histfile(options["histfile"])
    for words in options["cyclictest"].dropped:
        echo(f"not needed: {words}", err=True)
    if options["attach"] is None and consoles.takes(options["board"]):
        work = _over_console(consoles.make_request(options["board"], values_of(options)))
    elif any(options[name] is not None for name in ("send", "wait", "reset")):
        raise UsageError(
            "--send, --wait and --reset go with a console that has rtprobe-lite",
            hint="as: rtassay run serial:/dev/ttyUSB0 --send 'rtlite\\n'",
        )
    elif options["attach"] is None:
        work = new_run(runs.make_request(options["board"], values_of(options)), quiet=options["quiet"])
    else:
        home = Path(options["output"]) if options["output"] else store.home()
        work = attaching(options["attach"], home, told=not options["quiet"])

    stopped_by, path = asyncio.run(measured(work, options["quiet"]))
    recording, findings = runs.judged(path)
    _tell(findings, recording, path, options)
    ci.write(options, JudgedRecording(findings, recording))
    if options["histfile"] is not None:
        from rtassay.reports.recording.cyclictest import CyclictestRecording

        write_bytes(options["histfile"], CyclictestRecording().render(JudgedRecording(findings, recording)))
    if report_format is not None:
        judged = JudgedRecording(findings, recording, causes=rankings.of_report(recording))
        write_bytes(report_file, reports.load(JudgedRecording, report_format).render(judged))
    return _exit_code(findings, recording, stopped_by)


def new_run(request: runs.RunRequest, *, quiet: bool) -> Work:
    """Work that starts a new run."""

    async def work(view: ProgressView, stop: StopRequest) -> RunResult:
        if not quiet:
            request.board.notice = lambda sentence: echo(sentence, err=True)
        return await runs.measure(request, view, stop)

    return work


def _over_console(request: consoles.Request) -> Work:
    """Work that starts a run of rtprobe-lite."""

    async def work(view: ProgressView, stop: StopRequest) -> RunResult:
        return await consoles.measure(request, view, stop)

    return work


async def measured(work: Work, quiet: bool) -> tuple[int | None, Path]:
    """The signal that ended the run early, if one did, and the sealed recording."""
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
    view = ProgressView(quiet=quiet)
    try:
        result = await work(view, stop)
    finally:
        view.close()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return (signals[0] if signals else None), result.path


def _report_format(report_file: str | None) -> str | None:
    """The format of --report, checked before anything is measured."""
    from rtassay.cli.report import _format_of

    if report_file is None:
        return None
    if report_file == "-":
        raise UsageError("--report needs a file")
    parent = Path(report_file).resolve().parent
    if not parent.is_dir():
        raise UsageError(f"--report {report_file}: there is no directory {parent}")
    return _format_of(report_file)


def _check_histfile(file: str | None) -> None:
    """Raises UsageError for a --histfile without a directory, before anything is measured."""
    if file is not None and not Path(file).resolve().parent.is_dir():
        raise UsageError(f"--histfile {file}: there is no directory {Path(file).resolve().parent}")


def _tell(findings: Findings, recording: Recording, path: Path, options: dict[str, Any]) -> None:
    from rtassay.analysis.judge import findings_dict
    from rtassay.cli.show import show_on_terminal
    from rtassay.reports.recording.answer import answer

    if options["as_json"]:
        data = findings_dict(findings)
        data["path"] = str(path)
        print_json(data)
        return
    if options["cyclictest"].pasted:
        histogram = options["histogram"] is not None and options["histfile"] is None
        cyclictest_result.tell(options["cyclictest"], findings, recording, path, histogram=histogram)
    if ci.on_stdout(options):
        pass
    elif options["quiet"]:
        echo(answer(findings, recording).line)
    else:
        show_on_terminal(findings, recording)
    for text in _not_obtained(recording):
        echo(f"not obtained: {text}", err=True)
    echo(f"recording: {path}", err=True)


def _not_obtained(recording: Recording) -> list[str]:
    """What the system refused, in the probe's words. The checks state the effect on the verdict."""
    facts = recording.manifest.probe_facts
    return [told for told in (facts.fallback, facts.mlock_error, facts.dma_latency_error) if told]


def _exit_code(findings: Findings, recording: Recording, stopped_by: int | None) -> int:
    if stopped_by is not None:
        return EXIT_TERMINATED if stopped_by == signal.SIGTERM else EXIT_INTERRUPTED
    if recording.manifest.end_reason == "break":
        return EXIT_VIOLATED
    if findings.verdict is not None:
        return EXIT_BY_STATE[findings.verdict.state]
    from rtassay.analysis.judge.verdict import unusable

    return EXIT_INVALID if unusable(findings.checks, findings.strict) else 0
