"""The configuration file: defaults of options, one TOML table for each verb.

    [run]
    deadline = "100us"
    board = "pi5"

Keys are the long names of options without `--`, and `board` of run. The command line goes before the file.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from rtassay.cli.verbs import VERBS, command_of
from rtassay.model.errors import BoardError, InputFileError, RtassayError, UsageError
from rtassay.model.files import read_regular, replace_file
from rtassay.model.parsed import toml_table, why
from rtassay.model.settings import has_priority

FILE: Final = "config.toml"
# They name one thing or ask for one answer: as a default they would only surprise.
_NEVER = frozenset(
    {"help", "json", "name", "note", "attach", "with", "output", "report", "junit", "ktap", "summary", "histfile"}
)
_ARGUMENTS = frozenset({"board"})
# What is typed goes before these defaults, which would contradict it or end the run early.
_GIVES_WAY: Final = {"per_hour": "p_target", "p_target": "per_hour", "duration_ns": "count", "count": "duration_ns"}
_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?")
_KEY = re.compile(r"\s*[\"']?([\w-]+)[\"']?\s*=")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_VERB = re.compile(r"[a-z][a-z-]*")

Defaults = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Default:
    """One value of the file. `verb`: its table, `experiment.run`; `texts`: the value as it would be typed, one or more words."""

    verb: str
    option: str
    texts: tuple[str, ...]
    value: Any

    @property
    def key(self) -> str:
        return f"{self.verb}.{self.option}"


def config_file() -> Path:
    """`config.toml` in RTASSAY_HOME, else in the XDG configuration directory."""
    home = os.environ.get("RTASSAY_HOME")
    if home:
        return Path(home).expanduser().absolute() / FILE
    import platformdirs

    return Path(platformdirs.user_config_dir("rtassay")) / FILE


def read() -> dict[str, Any]:
    """The tables of the file; empty without one. Raises InputFileError that names the line of what is no TOML."""
    path = config_file()
    try:
        return toml_table(read_regular(path).decode())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputFileError(
            f"{path} cannot be read", why(error), "mend it: rtassay config path shows where it is"
        ) from error


def defaults_for(verb: str, command: click.Command) -> Defaults:
    """What click takes as the default_map of a verb. Raises InputFileError that names file, line and key of a wrong entry."""
    data = read()
    _check_tables(data)
    found: Defaults = _click_map(list(_of_table((verb,), command, data.get(verb, {})))).get(verb, {})
    return found


def every(commands: Mapping[str, click.Command]) -> list[Default]:
    """All values of the file, checked against all verbs. Raises InputFileError."""
    data = read()
    _check_tables(data)
    return [one for verb, table in data.items() for one in _of_table((verb,), commands[verb], table)]


def gives_way(context: click.Context) -> frozenset[str]:
    """The parameters whose default of the file contradicts what was typed: they are as if the file did not state them."""

    def source(name: str) -> ParameterSource | None:
        return context.get_parameter_source(name)

    typed, filed = ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP
    dropped = {name for name, other in _GIVES_WAY.items() if source(name) == filed and source(other) == typed}
    if not has_priority(context.params.get("policy")) and source("priority") == filed:
        dropped.add("priority")
    return frozenset(dropped)


def words_from_file(context: click.Context) -> tuple[str, ...]:
    """The options of this command that the file gave, as they would be typed."""
    given: Mapping[str, Any] = context.default_map or {}
    dropped = gives_way(context)
    words: list[str] = []
    for param in context.command.params:
        name = param.name or ""
        if name in dropped or context.get_parameter_source(name) != ParameterSource.DEFAULT_MAP:
            continue
        value = given[name]
        if isinstance(param, click.Argument):
            words.append(str(value))
        elif isinstance(param, click.Option) and param.is_flag:
            words += [param.opts[0]] if value == param.flag_value else []
        else:
            texts = value if isinstance(value, list) else [value]
            words += [word for text in texts for word in (_long(param), str(text))]
    return tuple(words)


def set_value(key: str, texts: tuple[str, ...], commands: Mapping[str, click.Command]) -> Path:
    """Write one value; the rest of the file stays as it is. Raises UsageError, InputFileError, BoardError."""
    verb, option, command = _split(key, commands)
    param = _param(verb, option, command)
    value = _typed(param, texts)
    try:
        _checked(verb, option, param, value)
    except RtassayError as error:
        raise UsageError(f"{key}: {error.what}", error.why, error.hint) from error
    wanted = f"{option} = {_toml(value)}"
    lines = _lines()
    at = _line_of(lines, verb, option)
    if at is not None:
        lines[at] = wanted
    else:
        end = _end_of_table(lines, verb)
        lines[end:end] = (
            [wanted] if end is not None and _has_table(lines, verb) else [*([""] if lines else []), f"[{verb}]", wanted]
        )
    return _write(lines, verb, option, value)


def unset_value(key: str, commands: Mapping[str, click.Command]) -> Path:
    """Remove one value. Raises UsageError if the file does not have it."""
    verb, option, _ = _split(key, commands)
    lines = _lines()
    at = _line_of(lines, verb, option)
    if at is None:
        raise UsageError(f"{config_file()} does not set {key}", hint="rtassay config show lists what it sets")
    del lines[at]
    return _write(lines, verb, option, None)


def _check_tables(data: Mapping[str, Any]) -> None:
    for name, table in data.items():
        if name not in VERBS or name == "config":
            close = difflib.get_close_matches(name, VERBS, n=1)
            hint = f"did you mean [{close[0]}]?" if close else "write a table for each verb: [run]"
            raise _wrong((), name, f"'{name}' is no verb of rtassay", hint)
        if not isinstance(table, dict):
            raise _wrong((), name, f"'{name}' is not a table", f"write [{name}] and its options below it")


def _of_table(verb: tuple[str, ...], command: click.Command, table: Any) -> Iterator[Default]:
    for name, value in table.items():
        if isinstance(command, click.Group):
            below = command.get_command(click.Context(command), name)
            if below is None or not isinstance(value, dict):
                raise _wrong(
                    verb, name, f"'{name}' is no command of rtassay {' '.join(verb)}", f"rtassay {verb[0]} --help"
                )
            yield from _of_table((*verb, name), below, value)
            continue
        try:
            param = _param(".".join(verb), name, command)
            yield _checked(".".join(verb), name, param, value)
        except RtassayError as error:
            raise _wrong(
                verb, name, error.what if error.why is None else f"{error.what}: {error.why}", error.hint
            ) from error


def _click_map(found: list[Default]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for one in found:
        place, command = tree, None
        for name in one.verb.split("."):
            place = place.setdefault(name, {})
            command = _below(command, name)
        assert command is not None
        place[_param(one.verb, one.option, command).name or ""] = one.value
    return tree


def _below(group: click.Command | None, name: str) -> click.Command | None:
    if group is None:
        return command_of(name)
    assert isinstance(group, click.Group)
    return group.get_command(click.Context(group), name)


def _param(verb: str, option: str, command: click.Command) -> click.Parameter:
    """The parameter of an option. Raises UsageError with the name that was probably meant."""
    known: dict[str, click.Parameter] = {
        _long(param)[2:]: param for param in command.params if isinstance(param, click.Option) and not param.hidden
    }
    known |= {str(param.name): param for param in command.params if param.name in _ARGUMENTS}
    allowed = {name: param for name, param in known.items() if name not in _NEVER}
    if option in allowed:
        return allowed[option]
    spoken = verb.replace(".", " ")
    if option in known:
        raise UsageError(f"--{option} of rtassay {spoken} cannot have a default", hint="type it where it is wanted")
    close = difflib.get_close_matches(option, allowed, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known: {', '.join(sorted(allowed)) or 'none'}"
    raise UsageError(f"rtassay {spoken} has no option '{option}'", hint=hint)


def _checked(verb: str, option: str, param: click.Parameter, value: Any) -> Default:
    """The value as click takes it. Raises UsageError for one of another type or out of range."""
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise UsageError(f"{option} is neither true nor false")
        taken = param.flag_value if value else param.default
        return Default(verb, option, ("true" if value else "false",), taken)
    values = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not getattr(param, "multiple", False):
        raise UsageError(f"{option} takes one value, not a list")
    texts = tuple(_text(option, one) for one in values)
    for text in texts:
        try:
            param.type.convert(text, param, None)
        except click.ClickException as error:
            raise UsageError(f"{option}: {error.message}") from error
    return Default(verb, option, texts, list(texts) if getattr(param, "multiple", False) else texts[0])


def _text(option: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{option} is neither a text nor a number")
    return str(value)


def _split(key: str, commands: Mapping[str, click.Command]) -> tuple[str, str, click.Command]:
    """`run.deadline` as verb, option and command. Raises UsageError."""
    *path, option = key.split(".")
    if not path:
        having = [name for name, command in commands.items() if any(_long(p) == f"--{key}" for p in command.params)]
        hint = f"write {' or '.join(f'{name}.{key}' for name in having[:4])}" if having else "write run.deadline"
        raise UsageError(f"'{key}' names no verb", hint=hint)
    command: click.Command | None = commands.get(path[0])
    for name in path[1:]:
        command = command.get_command(click.Context(command), name) if isinstance(command, click.Group) else None
    if command is None or isinstance(command, click.Group):
        raise UsageError(
            f"'{'.'.join(path)}' is no verb with options", hint="write run.deadline or experiment.run.board"
        )
    return ".".join(path), option.removeprefix("--"), command


def _long(param: click.Parameter) -> str:
    return max(param.opts, key=len)


def _typed(param: click.Parameter, texts: tuple[str, ...]) -> Any:
    """The value for the file, from the words of a command line."""
    if isinstance(param, click.Option) and param.is_flag:
        if texts not in (("true",), ("false",)):
            raise UsageError(f"{_long(param)} is a switch", hint="write true or false")
        return texts == ("true",)
    if getattr(param, "multiple", False):
        return list(texts)
    if len(texts) != 1:
        raise UsageError(f"{_long(param)} takes one value, not {len(texts)}")
    return texts[0]


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(json.dumps(text) for text in value)}]"
    return str(value) if _NUMBER.fullmatch(value) else json.dumps(value)


def _lines() -> list[str]:
    read()
    try:
        return config_file().read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


def _has_table(lines: list[str], verb: str) -> bool:
    return any((match := _TABLE.fullmatch(line)) and match[1] == verb for line in lines)


def _end_of_table(lines: list[str], verb: str) -> int:
    """The place for one more key of a table: behind its last line that is not blank; the end of the file without the table."""
    inside, end = False, len(lines)
    for number, line in enumerate(lines):
        if match := _TABLE.fullmatch(line):
            inside = match[1] == verb
        if inside and line.strip():
            end = number + 1
    return end


def _line_of(lines: list[str], verb: str, option: str) -> int | None:
    """The index of the line that sets an option; None if no line of its own does."""
    table = ""
    for number, line in enumerate(lines):
        if match := _TABLE.fullmatch(line):
            table = match[1]
            if f"{verb}.{option}".strip(".") == table:
                return number
        elif (match := _KEY.match(line)) and (table, match[1]) == (verb, option):
            return number
    return None


def _wrong(verb: tuple[str, ...], name: str, what: str, hint: str | None) -> InputFileError:
    at = None
    with contextlib.suppress(OSError, UnicodeDecodeError):
        at = _line_of(config_file().read_text("utf-8").splitlines(), ".".join(verb), name)
    where = f"{config_file()}" if at is None else f"{config_file()}, line {at + 1}"
    return InputFileError(f"{where}: {what}", hint=hint)


def _write(lines: list[str], verb: str, option: str, value: Any) -> Path:
    """The lines as the file, if they say what was meant; written aside and renamed. Raises InputFileError, BoardError."""
    path = config_file()
    text = "\n".join(lines) + "\n"
    if not _says(text, verb, option, value):
        raise InputFileError(
            f"{path} is written in a way that cannot be changed here", hint=f"edit {verb}.{option} by hand"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise BoardError(f"cannot write {path}", error.strerror, "make it writable, or set RTASSAY_HOME") from error
    return path


def _says(text: str, verb: str, option: str, value: Any) -> bool:
    try:
        table: Any = toml_table(text)
    except ValueError:
        return False
    for name in verb.split("."):
        table = table.get(name, {}) if isinstance(table, dict) else {}
    found = table.get(option) if isinstance(table, dict) else None
    return found == value or (
        found is not None and not isinstance(found, bool | list) and str(value) == _toml_text(found, value)
    )


def _toml_text(found: Any, value: Any) -> str:
    """A number of the file as it was typed, if it is the same number."""
    try:
        return str(value) if float(found) == float(value) else str(found)
    except (TypeError, ValueError):
        return str(found)
