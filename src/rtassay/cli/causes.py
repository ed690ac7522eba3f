"""rtassay causes: who owned the late time of traced runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli.options import TimeType, json_option, print_json, setting_option, wants_colour
from rtassay.cli.terminal import echo, echo_rendered, report_width
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK, EXIT_VIOLATED, UsageError

if TYPE_CHECKING:
    from rtassay.model.ranking import CauseShare, Ranking
    from rtassay.model.recording import Recording

_MANY = 3


@click.command("causes")
@click.argument("recordings", nargs=-1, required=True, metavar="RECORDING...|EXPERIMENT")
@setting_option("deadline", help="Count the late wake-ups that reach this deadline.  [default: the runs' own]")
@click.option("--above", "above_ns", type=TimeType(), metavar="TIME", help="Look only at wake-ups as late as this.")
@setting_option(
    "p",
    stated_only=True,
    help="Tolerated probability, for D*.  [default: the runs' own, else 1e-6, or the smallest that the traced part can show]",
)
@setting_option("confidence", stated_only=True, help="Confidence of D*.  [default: the runs' own, else 0.95]")
@click.option(
    "-o", "--output", metavar="FILE", help="Write a file; the suffix names the format (.html, .md, .json, .txt)."
)
@click.option(
    "--confirm",
    metavar="CAUSE",
    help="Plan how to confirm the prediction for one cause, KIND or KIND:NAME (irq:eth0, thread:backup, throttling).",
)
@click.option(
    "--with",
    "without",
    multiple=True,
    metavar="RECORDING",
    help="With --confirm: traced runs without the cause, to compare with the prediction. Repeat it for several.",
)
@click.option(
    "--beside",
    metavar="FILE|RECORDING",
    help="Also set other tools beside ours, of the same board and load: the output of `rtla timerlat top -a US`, or a recording of hwlat.",
)
@json_option
def command(
    recordings: tuple[str, ...],
    deadline_ns: int | None,
    above_ns: int | None,
    p_target: float | None,
    confidence: float | None,
    output: str | None,
    confirm: str | None,
    without: tuple[str, ...],
    beside: str | None,
    as_json: bool,
) -> int:
    """Who owned the time of late wake-ups, by the kernel's trace, and what D* becomes without each cause.

    RECORDINGs (paths, ids, a directory, k=v) are runs with --trace-above; several are ranked together. D* without a cause is a
    prediction: measure without it to confirm. Shares are of the late time that was traced.

    \b
      rtassay run --deadline 200us --trace-above auto      measure: half untraced for the verdict, half traced
      rtassay causes RUN                                   rank the causes
      rtassay causes kernel=rt --above 300us -o causes.md
      rtassay causes RUN --confirm irq:eth0 --with RUN2    RUN2 is without it: did the prediction come true?

    Exit codes: 0 at least one late wake-up has a known owner, or a prediction was confirmed or exceeded; 1 it was worse, or the cause is still
    there; 4 nothing is known, and the reason is told.
    """
    from rtassay import rankings
    from rtassay.cli.figure import open_all
    from rtassay.model.ranking import ranking_dict

    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout")
    if without and confirm is None:
        raise UsageError("--with needs --confirm CAUSE", hint="groups of runs against each other: rtassay compare")
    if confirm is not None and output is not None:
        raise UsageError("--confirm writes no file", hint="leave -o out, or take --json")
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
    if confirm is not None and ranking.answered:  # else there is no cause to confirm, and what follows tells why
        measured = [one.recording for one in open_all(without)]
        return _confirm([one.recording for one in opened], ranking, confirm, measured, as_json=as_json)
    if beside is not None:
        ranking = _set_beside(ranking, [one.recording for one in opened], beside)
    if output is not None:
        from rtassay import reports
        from rtassay.cli.report import write_bytes
        from rtassay.model.ranking import Ranking

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


def _set_beside(ranking: Ranking, recordings: Sequence[Recording], other: str) -> Ranking:
    """With the analyses of a file of rtla, or the findings of recordings of hwlat. Raises InputFileError, UsageError."""
    from dataclasses import replace
    from pathlib import Path

    from rtassay import rankings
    from rtassay.cli.figure import open_all
    from rtassay.importers.rtla_analysis import read_analyses

    if Path(other).is_file():
        return replace(ranking, beside=rankings.beside(recordings, read_analyses(Path(other)), ranking.above_ns))
    looked = [one.recording for one in open_all((other,))]
    return replace(ranking, below=tuple(rankings.below(recordings, one, ranking.above_ns) for one in looked))


def _confirm(
    recordings: Sequence[Recording], ranking: Ranking, text: str, measured: Sequence[Recording], *, as_json: bool
) -> int:
    """The plan of a confirmation, or with runs without the cause its result."""
    from rtassay import rankings
    from rtassay.causes import confirming
    from rtassay.model.ranking import AGREES, BETTER, TOO_LITTLE, confirmation_dict
    from rtassay.reports import text_table
    from rtassay.reports.causes import causes_text

    share = confirming.find(ranking, text)
    if not measured:
        plan = _plan(recordings, ranking, share)
        if as_json:
            print_json(plan)
        else:
            for line in plan["steps"]:
                echo(line)
        return EXIT_OK
    after = rankings.rank(
        measured,
        deadline_ns=ranking.deadline_ns,
        above_ns=ranking.above_ns,
        p=ranking.p,
        confidence=ranking.confidence,
    )
    both = [rankings.leading(one) for one in recordings], [rankings.leading(one) for one in measured]
    found = confirming.confirm(ranking, share, after, both)
    if as_json:
        print_json(confirmation_dict(found))
    else:
        columns = [text_table.words(""), *map(text_table.number, causes_text.CONFIRMATION_COLUMNS[1:])]
        echo(causes_text.confirmed(found))
        for line in text_table.lines(columns, causes_text.confirmation_rows(found), report_width()):
            echo(line)
    if found.state in (AGREES, BETTER):
        return EXIT_OK
    return EXIT_NOT_DEMONSTRATED if found.state == TOO_LITTLE else EXIT_VIOLATED


def _plan(recordings: Sequence[Recording], ranking: Ranking, share: CauseShare) -> dict[str, Any]:
    """What to change, how to measure again, and what is predicted (schema rtassay/confirmation-plan/1)."""
    import shlex

    from rtassay.causes.confirming import written
    from rtassay.model.foreign import clean
    from rtassay.reports.causes import causes_text

    assert share.without is not None
    names = " ".join(recording.manifest.id for recording in recordings)
    argv = recordings[0].manifest.plan.argv  # none of an imported run
    again = clean(shlex.join([*argv, "--label", "cause=out"]), 2000) if argv else None
    compare = f"rtassay causes {names} --confirm {shlex.quote(clean(written(share.cause), 200))} --with cause=out"
    steps = [
        f"1. Remove {causes_text.name(share.cause)}: {causes_text.step(share.next_step, followed=ranking.followed)}.",
        "2. Measure the same way, several times, in turns with runs as they were"
        + (" (label the new ones cause=out)." if again is None else f": {again}"),
        f"3. Compare: {compare}",
        f"Predicted: {share.without.exceedances} of {ranking.exceedances} exceedances are left"
        + ("." if ranking.followed else f", D* {causes_text.prediction_with_unit(share)}."),
    ]
    return {
        "schema": "rtassay/confirmation-plan/1",
        "cause": written(share.cause),
        "next_step": share.next_step,
        "run": again,
        "compare": compare,
        "exceedances": ranking.exceedances,
        "exceedances_predicted": share.without.exceedances,
        "demonstrated_predicted_ns": share.without.demonstrated_ns,
        "steps": steps,
    }
