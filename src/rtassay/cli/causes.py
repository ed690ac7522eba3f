"""rtassay causes: who owned the late time of traced runs."""

from __future__ import annotations

import sys

import click

from rtassay.cli.options import json_option, print_json, setting_option, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK, UsageError
from rtassay.model.units import parse_duration_ns

_MANY = 3


class _Time(click.ParamType[int]):
    """A duration with its unit, as int ns."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return value if isinstance(value, int) else parse_duration_ns(value)


@click.command("causes")
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING...|EXPERIMENT")
@setting_option("deadline", help="Count the late wake-ups that reach this deadline.  [default: the runs' own]")
@click.option("--above", "above_ns", type=_Time(), metavar="TIME", help="Look only at wake-ups as late as this.")
@setting_option("p", stated_only=True, help="Tolerated probability, for D*.  [default: the runs' own, else 1e-6]")
@setting_option("confidence", stated_only=True, help="Confidence of D*.  [default: the runs' own, else 0.95]")
@click.option(
    "-o", "--output", metavar="FILE", help="Write a file; the suffix names the format (.html, .md, .json, .txt)."
)
@json_option
def command(
    recordings: tuple[str, ...],
    deadline_ns: int | None,
    above_ns: int | None,
    p_target: float | None,
    confidence: float | None,
    output: str | None,
    as_json: bool,
) -> int:
    """Who owned the time of late wake-ups, by the kernel's trace, and what D* becomes without each cause.

    RECORDINGs (paths, ids, a directory, k=v) are runs with --trace-above; several are ranked together. D* without a cause is a
    prediction: measure without it to confirm. Shares are of the late time that was traced.

    \b
      rtassay run --deadline 200us --trace-above auto      measure: half untraced for the verdict, half traced
      rtassay causes RUN                                   rank the causes
      rtassay causes kernel=rt --above 300us -o causes.md

    Exit codes: 0 at least one late wake-up has a known owner; 4 none has, and the reason is told.
    """
    from rtassay import rankings
    from rtassay.cli.figure import open_all
    from rtassay.model.ranking import Ranking, ranking_dict

    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout")
    opened = open_all(recordings)
    if sys.stderr.isatty() and len(opened) > _MANY:
        echo(f"rtassay: ranking the causes of {len(opened)} recordings ...", err=True)
    ranking = rankings.rank(
        [one.recording for one in opened],
        deadline_ns=deadline_ns,
        above_ns=above_ns,
        p=p_target,
        confidence=confidence,
    )
    if output is not None:
        from rtassay import reports
        from rtassay.cli.report import write_bytes

        name = "html" if output == "-" else reports.format_of(Ranking, output)
        write_bytes(output, reports.load(Ranking, name).render(ranking))
    if as_json:
        print_json(ranking_dict(ranking) | ({"path": output} if output is not None else {}))
    elif output is None:
        from rtassay.reports.causes.terminal import TerminalCauses

        echo_rendered(TerminalCauses(report_width(), wants_colour()).render(ranking))
    elif output != "-":
        echo(output)
    return EXIT_OK if ranking.answered else EXIT_NOT_DEMONSTRATED
