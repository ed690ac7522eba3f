"""The manual page rtassay.1, made from the same descriptions as --help. `man` finds it beside the program: bin/rtassay, share/man/man1."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import click

from rtassay import __version__
from rtassay.cli.main import cli
from rtassay.cli.verbs import GROUPS, VERBS

_ENVIRONMENT = {
    "RTASSAY_HOME": "Where recordings, reports, experiments, names of boards and config.toml are kept, instead of the XDG directories.",
    "XDG_DATA_HOME": "Without RTASSAY_HOME, recordings, reports and experiments are kept in rtassay below it (~/.local/share).",
    "XDG_CONFIG_HOME": "Without RTASSAY_HOME, config.toml and boards.toml are kept in rtassay below it (~/.config).",
    "NO_COLOR": "No colour on the terminal.",
    "RTASSAY_DEBUG": "A bug of rtassay shows its traceback.",
}
_EXIT = {
    "0": "Done; a stated requirement HOLDS.",
    "1": "A stated requirement is VIOLATED; a regression was found; --break-above was hit.",
    "2": "Usage, configuration or input file.",
    "3": "Board, transport, environment or a full disk; the board was put back.",
    "4": "NOT DEMONSTRATED; or incomplete and resumable.",
    "5": "INVALID MEASUREMENT.",
    "70": "A bug in rtassay.",
    "130, 143": "Interrupted; the recording is sealed.",
}


def manual() -> str:
    """The page in the man macros of troff."""
    top = click.Context(cli, info_name="rtassay")
    lines = [
        '.\\" made by `make docs` from the code; do not edit',
        f'.TH RTASSAY 1 "" "rtassay {__version__}" "User Commands"',
        ".SH NAME",
        "rtassay \\- measure scheduling latency, and judge whether a deadline is met",
        ".SH SYNOPSIS",
        ".B rtassay",
        ".I COMMAND",
        "[OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
        *_paragraphs(cli.help or ""),
    ]
    for title, verbs in GROUPS.items():
        lines.append(f".SH {title.upper()}")
        for verb in verbs:
            command = cli.get_command(top, verb)
            assert command is not None
            lines += _command(command, f"rtassay {verb}", top)
    lines += [".SH EXIT STATUS", *_pairs(_EXIT), ".SH ENVIRONMENT", *_pairs(_ENVIRONMENT)]
    lines += [".SH SEE ALSO", ".BR cyclictest (8),", ".BR stress\\-ng (1),", ".BR sched (7)"]
    assert {verb for verbs in GROUPS.values() for verb in verbs} == set(VERBS)
    return "\n".join(lines) + "\n"


def _command(command: click.Command, name: str, parent: click.Context) -> Iterator[str]:
    """A command and all below it."""
    context = click.Context(command, info_name=name.split()[-1], parent=parent)
    yield f".SS {_text(name)}"
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    yield _text(usage).replace("|", "|\\:")  # troff may break a long choice there
    yield ".PP"
    yield from _paragraphs(command.help or "")
    for param in command.get_params(context):
        record = param.get_help_record(context)
        if record is not None and record[1]:
            yield from (".TP", f"\\fB{_text(record[0])}\\fR", _text(" ".join(record[1].split())))
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from _command(found, f"{name} {below}", context)


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs; one that begins with \\b keeps its lines, as in --help."""
    for part in re.split(r"\n\s*\n", text.strip()):
        lines = part.strip("\n").splitlines()
        if lines[0].strip() == "\b":
            kept = textwrap.indent(textwrap.dedent("\n".join(lines[1:])), "  ").splitlines()
            yield from (".PP", ".nf", *map(_text, kept), ".fi")
        else:
            yield from (".PP", _text(" ".join(" ".join(lines).split())))


def _pairs(rows: dict[str, str]) -> Iterator[str]:
    for name, text in rows.items():
        yield from (".TP", f".B {_text(name)}", _text(text))


def _text(text: str) -> str:
    """Words as troff prints them: no macro, no escape, every hyphen one that can be copied."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{plain}" if plain.lstrip()[:1] in (".", "'") else plain
