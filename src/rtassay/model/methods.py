"""What `rtprobe describe` tells: the ways to measure that a probe has, and the settings of each.

So a method that is added to the probe, with settings of its own, can be used without a change of the host.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from rtassay.model import rooms
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Plan
from rtassay.model.parsed import json_value
from rtassay.model.settings import BY_NAME, SETTINGS, Setting

SCHEMA = "rtprobe/describe/2"
# What the probe `rtprobe` measures by.
DEFAULT_METHOD = "cyclic"
# Options that the session sets itself.
_OF_SESSION = ("attached", "fallback", "output", "partition", "text", "writer-priority")


@dataclass(frozen=True, slots=True)
class Method:
    """One way to measure. `measure`: what a sample is, for example `wake-up`."""

    name: str
    summary: str
    measure: str
    settings: tuple[Setting, ...]

    @property
    def own(self) -> tuple[Setting, ...]:
        """The settings for `--set NAME=VALUE`: those that `rtassay run` has no option for."""
        taken = {setting.option.removeprefix("--") for setting in SETTINGS} | set(_OF_SESSION)
        return tuple(setting for setting in self.settings if setting.name not in taken)


def read(text: str | bytes) -> dict[str, Method]:
    """The methods of a probe by name, from the JSON of its `describe`. Raises BoardError for what is no description."""
    try:
        data = json_value(text)
        if data["schema"] != SCHEMA:
            raise BoardError(f"the probe describes itself as {data['schema']}", f"this rtassay reads {SCHEMA}")
        methods = [
            Method(row["name"], row["summary"], row["measure"], tuple(_setting(one) for one in row["settings"]))
            for row in data["methods"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise BoardError(
            "what `rtprobe describe` wrote is no description", f"{type(error).__name__}: {error}"
        ) from error
    return {method.name: method for method in methods}


def _setting(row: Mapping[str, object]) -> Setting:
    return Setting(
        name=str(row["name"]),
        kind=str(row["type"]),
        help=str(row["help"]),
        unit=None if row["unit"] is None else str(row["unit"]),
        least=row["min"],  # type: ignore[arg-type]
        most=row["max"],  # type: ignore[arg-type]
        default=row["default"],
        words=tuple(row["words"]),  # type: ignore[arg-type]
    )


def are_asked(plan: Plan) -> bool:
    """Whether only the probe itself can tell if it can do this plan."""
    return bool(plan.settings) or rooms.member_of("probes", plan.probe) is None


def check_plan(plan: Plan, methods: Mapping[str, Method]) -> None:
    """Raise UsageError for a method or a setting that the probe does not have, with the known ones."""
    others = rooms.table("probes")
    name = DEFAULT_METHOD if plan.probe == "rtprobe" else plan.probe
    if name not in methods:
        if rooms.member_of("probes", name) is not None:
            return  # another program, which checks its plan itself
        known = [*others, *methods]
        close = difflib.get_close_matches(name, known, n=1)
        hint = (f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(known)}"
        raise UsageError(f"there is no probe '{name}'", hint=hint)
    check_settings(methods[name], plan.settings)


def check_settings(method: Method, settings: Mapping[str, str]) -> None:
    """Raise UsageError for a name that this method does not have, or a value outside its range."""
    known = {setting.name: setting for setting in method.own}
    for name, text in settings.items():
        if name in BY_NAME:
            raise UsageError(f"--set {name} has an option of its own", hint=f"write {BY_NAME[name].option}")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = (f"did you mean '{close[0]}'? " if close else "") + f"it has {', '.join(known) or 'none'}"
            raise UsageError(f"the method {method.name} has no setting '{name}'", hint=hint)
        known[name].parse(text)


def settings_argv(settings: Mapping[str, str]) -> list[str]:
    """Options of rtprobe for settings as they were typed; a flag is `true` or `false`."""
    argv: list[str] = []
    for name, text in settings.items():
        if text == "true":
            argv.append(f"--{name}")
        elif text != "false":
            argv += [f"--{name}", text]
    return argv
