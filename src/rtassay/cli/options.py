"""Options that several verbs share, and the types behind them."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from rtassay.cli import config_file
from rtassay.model.errors import EXIT_INVALID, EXIT_NOT_DEMONSTRATED, EXIT_OK, EXIT_VIOLATED, UsageError, both_stated
from rtassay.model.settings import BY_NAME, CPUS, DURATION, FLAG, INTEGER, NUMBER, RATE, TEXT, Setting
from rtassay.model.units import parse_duration_ns

F = TypeVar("F", bound=Callable[..., Any])

_STATED = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
EXIT_BY_STATE = {
    "HOLDS": EXIT_OK,
    "VIOLATED": EXIT_VIOLATED,
    "NOT DEMONSTRATED": EXIT_NOT_DEMONSTRATED,
    "INVALID MEASUREMENT": EXIT_INVALID,
}


class SettingType(click.ParamType[Any]):
    """The values of one row of `model.settings`; errors name the option and its range."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.name = setting, setting.kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.setting.parse(value) if isinstance(value, str) else value


class TimeType(click.ParamType[int]):
    """A duration with its unit, as int ns."""

    name = "time"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        return value if isinstance(value, int) else parse_duration_ns(value)


_METAVARS = {DURATION: "TIME", CPUS: "LIST", INTEGER: "N", NUMBER: "NUMBER", RATE: "N/h", TEXT: "TEXT"}


def setting_option(name: str, *, help: str | None = None, stated_only: bool = False) -> Callable[[F], F]:
    """The option of one row of `model.settings`; its value has the name of the field of `Plan`.

    An option that is not given is None if it has no default, if the session fills it in, or with `stated_only`.
    `help` replaces the help of the row, for a verb where the setting has another use.
    """
    setting = BY_NAME[name]
    field = setting.field or setting.key
    words = help or setting.help
    if setting.kind == FLAG:
        value = not setting.default
        return click.option(setting.option, field, is_flag=True, flag_value=value, default=setting.default, help=words)
    shown = setting.shown or (None if setting.default is None else setting.text(setting.default))
    metavar = _METAVARS.get(setting.kind, "")
    return click.option(
        setting.option,
        field,
        type=SettingType(setting),
        default=None if setting.filled_in or stated_only else setting.default,
        metavar="|".join([metavar, *setting.words] if metavar else setting.words),
        help=words if help or stated_only or not shown else f"{words}  [default: {shown}]",
    )


def requirement_options(command: F) -> F:
    """--deadline, --p or --at-most, and --confidence: the requirement a recording is judged by."""
    command = _one_of_both(command)
    for name in ("confidence", "at-most", "p", "deadline"):
        command = setting_option(name)(command)
    return command


def _one_of_both(command: F) -> F:
    """The command, which refuses --p beside --at-most: they are two ways to state one requirement. A default of the configuration file
    that contradicts what was typed is left out."""

    @functools.wraps(command)
    def checked(*args: Any, **options: Any) -> Any:
        context = click.get_current_context()
        plain = {param.name: param.default for param in context.command.params}
        dropped = config_file.gives_way(context)
        options |= {name: plain[name] for name in dropped}
        p_stated = "p_target" not in dropped and context.get_parameter_source("p_target") in _STATED
        if options["per_hour"] is not None and p_stated:
            raise both_stated("--p", "--at-most")
        return command(*args, **options)

    return cast(F, checked)


def trust_options(command: F) -> F:
    """--strict, and pairs of --waive ID --because REASON: they limit what checks decide. `waivers_of` reads them."""
    for option in (
        click.option(
            "--because", "because", multiple=True, metavar="REASON", help="The reason, once for every --waive."
        ),
        click.option(
            "--waive",
            "waive",
            multiple=True,
            metavar="ID",
            help="Do not let this check decide; needs --because. The report shows the check with its reason. Repeat it for several checks.",
        ),
        click.option("--strict", is_flag=True, help="Every warning of a check makes the measurement invalid."),
    ):
        command = option(command)
    return command


def waivers_of(ids: tuple[str, ...], reasons: tuple[str, ...]) -> dict[str, str]:
    """The pairs of --waive and --because, in order. Raises UsageError for an incomplete pair, an unknown id, or a check that may not be waived."""
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
    """Write exactly one JSON object on stdout. Raises ValueError for NaN and infinities."""
    json.dump(data, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def wants_colour() -> bool:
    """Whether tables on stdout may be coloured: a terminal, and NO_COLOR not set."""
    import os

    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")
