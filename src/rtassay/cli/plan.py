"""rtassay plan: how long to measure, in how many runs, and with what chance of success."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli import plan_pilot
from rtassay.cli.options import json_option, print_json, requirement_options, setting_option
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError
from rtassay.model.settings import BY_NAME, default, exact_time
from rtassay.model.units import NS_PER_H, NS_PER_S, format_rate, format_time

if TYPE_CHECKING:
    from rtassay.analysis.judge.planning import Assumed, Goal, LookRow, Row

BOOTS = 8
_TENTH = 10


class Number(click.ParamType[float]):
    """A finite number between two limits, both allowed but for `above`."""

    name = "number"

    def __init__(self, least: float, most: float, *, above: bool = False) -> None:
        self.least, self.most, self.above = least, most, above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"'{value}' is not a number", param, ctx)
        if not self.least <= number <= self.most or (self.above and number == self.least):
            low = "above" if self.above else "at least"
            self.fail(f"{value} is out of range: {low} {self.least:g}, at most {self.most:g}", param, ctx)
        return number


@click.command("plan")
@click.argument("pilots", nargs=-1, metavar="[PILOT]...")
@requirement_options
@setting_option(
    "interval", stated_only=True, help="Time between activations of a lane.  [default: of the pilot, else 997us]"
)
@click.option(
    "--lanes",
    type=click.IntRange(1, 4096),
    metavar="N",
    help="Lanes, all of which are to hold.  [default: of the pilot, else 1]",
)
@click.option(
    "--true-p",
    "true_p",
    type=Number(0, 1),
    metavar="P",
    help="Share of late activations that you expect in truth: it decides the chance, not what is shown.  [default: of the pilot where "
    "activations of it were late, else a tenth of --p]",
)
@click.option(
    "--theta",
    type=Number(0, 1, above=True),
    metavar="X",
    help="1 / mean number of late activations in one event: 0.2 for bursts of five.  [default: of the largest latencies of the pilot, "
    "where their order is known; else 1, late ones come singly]",
)
@click.option(
    "--spread",
    type=Number(0, 3),
    metavar="SD",
    help="How much boots differ: standard deviation of ln p between them. 0.7 is a factor of two.  [default: of several pilots, else 0]",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help=f"Runs together, each after its own boot.  [default: 1; {BOOTS} with --spread]",
)
@click.option(
    "--chance",
    "wanted",
    type=Number(0.01, 0.9999),
    default=0.9,
    show_default=True,
    metavar="SHARE",
    help="Chance of HOLDS to plan for.",
)
@setting_option("duration", stated_only=True, help="Time there is, all runs together: what can it show?")
@setting_option(
    "looks",
    help="Looks planned at one run (rtassay run --looks), or at so many --runs of an experiment: what each may find, and the length that "
    "the last one needs.",
)
@json_option
def command(
    pilots: tuple[str, ...],
    deadline_ns: int | None,
    p_target: float,
    per_hour: float | None,
    confidence: float,
    interval_ns: int | None,
    lanes: int | None,
    true_p: float | None,
    theta: float | None,
    spread: float | None,
    runs: int | None,
    wanted: float,
    duration_ns: int | None,
    looks: int,
    as_json: bool,
) -> int:
    """How long to measure so that --p or --at-most is shown, in how many runs, and with what chance; or what a given --duration can show.

    PILOT (a recording: path, id, unique beginning of an id, or name) gives interval, lanes, how late activations cluster and, with
    --deadline, how many there are; several of them, each of its own boot, also how much boots differ.
    The length is fixed beforehand: a run that is extended because it almost holds shows less than it says.

    \b
      rtassay plan --deadline 100us --p 1e-6 --lanes 4            how long, and with what chance
      rtassay plan 20261122T2015 --deadline 100us --duration 8h   what can this night show?
    """
    from rtassay.analysis.judge import planning
    from rtassay.model.looks import spending

    alphas = spending(confidence, looks)
    goal = planning.Goal(p_target, 1 - alphas[-1] if looks > 1 else confidence, per_hour)
    seen = plan_pilot.read(pilots, deadline_ns, confidence)
    every_ns = interval_ns or seen.interval_ns or default("interval")
    theta, spread = _first(theta, seen.theta, 1.0), _first(spread, seen.spread, 0.0)
    asked = p_target if per_hour is None else per_hour * every_ns / NS_PER_H / theta
    assumed = planning.Assumed(
        interval_ns=every_ns,
        lanes=lanes or seen.lanes or 1,
        true_p=_first(true_p, seen.true_p, asked / _TENTH),
        theta=theta,
        spread=spread,
        runs=runs or (BOOTS if spread else 1),
    )
    if 1 < assumed.runs < looks:
        raise UsageError(f"{looks} looks at {assumed.runs} runs", "a look comes after a whole run", f"--runs {looks}")
    if duration_ns is None and assumed.spread and sys.stderr.isatty():
        echo("rtassay: searching the length, some seconds ...", err=True)
    rows = [planning.least(goal, assumed, allowed) for allowed in planning.ALLOWED]
    chosen = planning.with_chance(goal, assumed, wanted) if duration_ns is None else None
    night = None if duration_ns is None else _night(goal, assumed, duration_ns)
    n = duration_ns // assumed.interval_ns if duration_ns is not None else chosen.n if chosen is not None else None
    table = planning.at_looks(goal, assumed, n, alphas) if looks > 1 and n else []
    if as_json:
        print_json(_object(goal, assumed, deadline_ns, pilots, rows, chosen, night, table))
        return 0
    echo(_assumptions(goal, assumed, deadline_ns, confidence))
    if night is not None:
        _tell_night(goal, assumed, night, duration_ns or 0)
    else:
        _tell_length(goal, assumed, rows, chosen, wanted, deadline_ns, looks, confidence)
    if table:
        _tell_looks(goal, assumed, table, confidence)
    return 0


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _night(goal: Goal, assumed: Assumed, duration_ns: int) -> dict[str, Any]:
    """What a duration shows: a row for each number of late events, and whether it can show the goal."""
    from rtassay.analysis.judge import planning

    n = duration_ns // assumed.interval_ns
    if n < 1:
        raise UsageError(f"--duration {exact_time(duration_ns)} holds no activation", hint="--interval")
    most = planning.tolerated(goal, assumed, n)
    return {
        "n": n,
        "tolerated": most,
        "chance": 0.0 if most is None else planning.chance(goal, assumed, n, most),
        "rows": [planning.of_length(goal, assumed, n, allowed) for allowed in planning.ALLOWED],
    }


def _object(
    goal: Goal,
    assumed: Assumed,
    deadline_ns: int | None,
    pilots: Sequence[str],
    rows: list[Row],
    chosen: Row | None,
    night: dict[str, Any] | None,
    looks: list[LookRow],
) -> dict[str, Any]:
    return {
        "schema": "rtassay/plan/1",
        "deadline_ns": deadline_ns,
        **asdict(goal),
        "assumed": {"pilots": list(pilots), **asdict(assumed)},
        "lengths": [asdict(row) for row in rows],
        "chosen": None if chosen is None else asdict(chosen),
        "duration": None if night is None else {**night, "rows": [asdict(row) for row in night["rows"]]},
        "looks": [asdict(row) for row in looks],
    }


def _assumptions(goal: Goal, assumed: Assumed, deadline_ns: int | None, confidence: float) -> str:
    what = f" later than {format_time(deadline_ns)}" if deadline_ns else " late"
    every = "one lane" if assumed.lanes == 1 else f"each of {assumed.lanes} lanes"
    come = "singly" if assumed.theta == 1 else f"in bursts of {1 / assumed.theta:.3g} on average"
    boots = f", boots differ by sd {assumed.spread:.2g} of ln p" if assumed.spread else ""
    return (
        f"To show at {100 * confidence:g} %: at most {_goal(goal)}{what}, in {every}, an activation every "
        f"{format_time(assumed.interval_ns)}.\nAssumed: in truth {_p(float(f'{assumed.true_p:.2g}'))} are late, they come {come}{boots}."
    )


def _singly(goal: Goal, assumed: Assumed) -> bool:
    """Whether one late activation is one event, and late activations are what is counted."""
    return goal.per_hour is None and assumed.theta == 1


def _p(value: float) -> str:
    """`1e-6`."""
    return f"{value:g}".replace("e-0", "e-")


def _goal(goal: Goal) -> str:
    if goal.per_hour is not None:
        return f"{goal.per_hour:g} event{'s' * (goal.per_hour != 1)} an hour"
    return f"{_p(goal.p)} of the activations"


def _tell_length(
    goal: Goal,
    assumed: Assumed,
    rows: list[Row],
    chosen: Row | None,
    wanted: float,
    deadline_ns: int | None,
    looks: int,
    confidence: float,
) -> None:
    events = "Late allowed" if _singly(goal, assumed) else "Events allowed"
    cells = [(f"{row.allowed}", f"{row.n:,}", _long(row.duration_s), _share(row.chance)) for row in rows]
    _table((f"{events}, each lane", "Activations, each lane", "Time", "Chance of HOLDS"), cells)
    if chosen is None:
        from rtassay.analysis.judge import planning

        if planning.not_met(goal, assumed):
            echo(
                f"\nNo length shows it: by what is assumed, {_goal(goal)} or more are late. Allow more or mend the board."
            )
            return
        echo(
            f"\nNo length reaches {_share(wanted)}: {assumed.true_p:.2g} is too near to {_goal(goal)}. Allow more or mend the board."
        )
        return
    longest_ns = BY_NAME["duration"].most or 0
    if chosen.run_s * NS_PER_S > longest_ns:
        echo(
            f"\nIt takes {_long(chosen.duration_s)}, and a run lasts {exact_time(longest_ns)} at most. Allow more, or see what a night shows: --duration 12h"
        )
        return
    run = _rounded(chosen.run_s)
    split = "" if assumed.runs == 1 else f" in {assumed.runs} runs of {run}, each after its own boot"
    late = "late activation" if _singly(goal, assumed) else "event"
    echo(
        f"\nMeasure {_long(chosen.duration_s)}{split}: with up to {chosen.allowed} {late}{'s' * (chosen.allowed != 1)} in a lane it HOLDS, "
        f"which has a chance of {_share(chosen.chance)}."
    )
    if assumed.runs == 1:
        deadline = exact_time(deadline_ns) if deadline_ns else "TIME"
        asked = f"--p {_p(goal.p)}" if goal.per_hour is None else f"--at-most {format_rate(goal.per_hour)}"
        looked = f" --looks {looks}" if looks > 1 else ""
        echo(f"  rtassay run --deadline {deadline} {asked} --confidence {confidence:g} --duration {run}{looked}")
    else:
        looked = f", acceptance.looks = {looks}" if looks > 1 else ""
        echo(
            f'  in an experiment file: repeats = {assumed.runs}, settings.duration = "{run}", acceptance.per = "combination"{looked}'
        )


def _tell_night(goal: Goal, assumed: Assumed, night: dict[str, Any], duration_ns: int) -> None:
    late = "Late at most" if _singly(goal, assumed) else "Events at most"
    cells = [(f"{row.allowed}", f"{row.p:.2g}", f"{row.per_hour:.2g}", _share(row.chance)) for row in night["rows"]]
    echo(f"\n{_long(duration_ns / NS_PER_S)} are {night['n']:,} activations of each lane. They show:")
    _table((f"{late}, each lane", "p <=", "events/h <=", "Chance"), cells)
    most = night["tolerated"]
    if most is None:
        from rtassay.analysis.judge import planning

        clean = (
            "" if 0 in (goal.p, goal.per_hour) else f": that takes {_long(planning.least(goal, assumed, 0).duration_s)}"
        )
        echo(f"\nToo short to show at most {_goal(goal)}, even if nothing is late{clean}.")
        return
    echo(
        f"\nAt most {_goal(goal)} is shown with up to {most} {'late' if _singly(goal, assumed) else 'event' + 's' * (most != 1)} in a lane: a chance of {_share(night['chance'])}."
    )


def _tell_looks(goal: Goal, assumed: Assumed, looks: list[LookRow], confidence: float) -> None:
    what, after = ("run", "") if assumed.runs == 1 else ("experiment", " runs, ")
    echo(f"\nThe {what} ends at the first look that decides. All looks together keep {100 * confidence:g} %:")
    late = "Late at most" if _singly(goal, assumed) else "Events at most"
    cells = [
        (
            f"{row.look}",
            (f"{row.runs}{after}" if after else "") + _long(row.duration_s),
            f"{100 * row.confidence:.4g} %",
            "-" if row.tolerated is None else f"{row.tolerated}",
            _share(row.chance),
        )
        for row in looks
    ]
    _table(("Look", "After", "Confidence", f"{late}, each lane", "Chance of HOLDS there"), cells)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    echo("")
    for row in [head, *rows]:
        echo("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _share(value: float) -> str:
    """`91 %`; never 0 or 100 % of a chance in between."""
    if 0 < value < 0.01:
        return f"{100 * value:.1g} %"
    return "> 99 %" if 0.99 < value < 1 else f"{100 * value:.0f} %"


def _long(seconds: float) -> str:
    return format_time(seconds * NS_PER_S)


def _rounded(seconds: float) -> str:
    """Rounded up to what a person would type: seconds, then minutes above ten."""
    step = 1 if seconds < 600 else 60
    minutes = math.ceil(seconds / step) * step
    if step == 1:
        return f"{minutes}s"
    hours, rest = divmod(minutes * NS_PER_S, NS_PER_H)
    return (f"{hours}h" if hours else "") + (f"{rest // (60 * NS_PER_S)}min" if rest or not hours else "")
