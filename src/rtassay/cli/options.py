"""Options that several verbs share, and the types behind them."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from rtassay.model.errors import EXIT_INVALID, EXIT_NOT_DEMONSTRATED, EXIT_OK, EXIT_VIOLATED, RtassayError, UsageError
from rtassay.model.units import parse_cpu_list, parse_duration_ns

F = TypeVar("F", bound=Callable[..., Any])

EXIT_BY_STATE = {
    "HOLDS": EXIT_OK,
    "VIOLATED": EXIT_VIOLATED,
    "NOT DEMONSTRATED": EXIT_NOT_DEMONSTRATED,
    "INVALID MEASUREMENT": EXIT_INVALID,
}


class Duration(click.ParamType[int]):
    """A time such as 200us or 1h as nanoseconds, within bounds; `bare` is the unit of a number alone."""

    name = "time"

    def __init__(self, minimum: str = "1ns", maximum: str = "365d", bare: str | None = None) -> None:
        self.minimum, self.maximum, self.bare = minimum, maximum, bare

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            ns = parse_duration_ns(value, bare=self.bare)
        except RtassayError as error:
            self.fail(f"{error}" + (f"; {error.hint}" if error.hint else ""), param, ctx)
        if not parse_duration_ns(self.minimum) <= ns <= parse_duration_ns(self.maximum):
            self.fail(f"{value} is not between {self.minimum} and {self.maximum}", param, ctx)
        return ns


class Probability(click.ParamType[float]):
    """A float in [low, high), both given."""

    name = "number"

    def __init__(self, low: float, high: float, low_open: bool = False) -> None:
        self.low, self.high, self.low_open = low, high, low_open

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"'{value}' is not a number", param, ctx)
        below = number <= self.low if self.low_open else number < self.low
        if not math.isfinite(number) or below or number >= self.high:
            self.fail(
                f"{value} is not {'above' if self.low_open else 'at least'} {self.low:g} and below {self.high:g}",
                param,
                ctx,
            )
        return number


class CpuList(click.ParamType[Any]):
    """`0-2,5` as a tuple; with `isolated` allowed, that word as it is."""

    name = "cpus"

    def __init__(self, words: tuple[str, ...] = ()) -> None:
        self.words = words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...] | str:
        if isinstance(value, tuple) or value in self.words:
            return value  # type: ignore[no-any-return]
        try:
            return parse_cpu_list(value)
        except RtassayError as error:
            self.fail(f"{error}" + (f"; {error.hint}" if error.hint else ""), param, ctx)


def requirement_options(command: F) -> F:
    """--deadline, --p and --confidence: the requirement a recording is judged by."""
    for option in (
        click.option(
            "--confidence",
            type=Probability(0.5, 1.0),
            default=0.95,
            show_default=True,
            help="Confidence of every bound.",
        ),
        click.option(
            "--p",
            "p_target",
            type=Probability(0.0, 1.0),
            default=1e-6,
            show_default=True,
            help="Tolerated probability that an activation is not done before the deadline.",
        ),
        click.option(
            "--deadline",
            "deadline_ns",
            type=Duration("1ns", "1h", bare="us"),
            metavar="TIME",
            help="The requirement: every activation runs strictly before this latency (100us).",
        ),
    ):
        command = option(command)
    return command


def trust_options(command: F) -> F:
    """--strict, and --waive ID --because REASON in pairs: what the checks may decide. `waivers_of` reads them."""
    for option in (
        click.option("--because", "because", multiple=True, metavar="REASON", help="Why; once for every --waive."),
        click.option(
            "--waive",
            "waive",
            multiple=True,
            metavar="ID",
            help="Keep this check from deciding, with --because; it is shown with its reason. Several times for several.",
        ),
        click.option("--strict", is_flag=True, help="Every warning of a check makes the measurement invalid."),
    ):
        command = option(command)
    return command


def waivers_of(ids: tuple[str, ...], reasons: tuple[str, ...]) -> dict[str, str]:
    """The pairs of --waive and --because, in order. Raises UsageError for a half of one, an unknown id, a check that may not be waived."""
    if not ids and not reasons:
        return {}
    if len(ids) != len(reasons):
        raise UsageError(
            f"{len(ids)} --waive and {len(reasons)} --because",
            "every waived check needs its reason",
            'write --waive VM-STEAL --because "deployed in this very VM"',
        )
    from rtassay.analysis.judge.waivers import check_waivers

    found: dict[str, str] = {}
    for name, because in zip(ids, reasons, strict=True):
        for known, reason in check_waivers({name: because}).items():
            if known in found:
                raise UsageError(f"--waive {known} is given twice")
            found[known] = reason
    return found


def json_option(command: F) -> F:
    """--json: exactly one object on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")(command)


def print_json(data: dict[str, Any]) -> None:
    """Exactly one JSON object on stdout; NaN and infinities are refused rather than written."""
    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def wants_colour() -> bool:
    """Whether tables on stdout may be coloured: a terminal, and NO_COLOR not set."""
    import os

    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
