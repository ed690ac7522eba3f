"""rtassay probe: the programs that measure on a board, and their settings."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import click

from rtassay.boards.binaries import ARCHES, native_arch
from rtassay.boards.described import described
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo
from rtassay.model import methods, rooms
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan
from rtassay.model.settings import SETTINGS


@click.group("probe")
def command() -> None:
    """The programs that measure on a board: list them, show their settings, find rtprobe, and test it here.

    \b
      rtassay probe list
      rtassay probe selftest
    """


@command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the values of --probe: programs, and the methods of rtprobe."""
    known = methods.read(described())
    programs = [(name, rooms.load("probes", name).program or "rtprobe") for name in rooms.table("probes")]
    rows = [
        (
            name,
            "",
            f"the method {methods.DEFAULT_METHOD}" if name == "rtprobe" else f"the program {program} of the board",
        )
        for name, program in programs
    ]
    rows += [(method.name, method.measure, method.summary) for method in known.values()]
    if as_json:
        names = ("name", "measure", "summary")
        print_json({"schema": "rtassay/probe-list/1", "probes": [dict(zip(names, row, strict=True)) for row in rows]})
    else:
        _echo_table(("PROBE", "MEASURES", "SUMMARY"), rows)
    return 0


@command.command("describe")
@click.argument("method", default=methods.DEFAULT_METHOD)
@json_option
def describe_command(method: str, as_json: bool) -> int:
    """Show the settings of one METHOD of rtprobe with their ranges and defaults.  [default: cyclic]

    `option`: rtassay run has an option of this name. `--set`: write --set NAME=VALUE, or [settings.set] in an experiment file.
    """
    known = methods.read(described())
    methods.check_plan(Plan(probe=method), known)
    name = methods.DEFAULT_METHOD if method == "rtprobe" else method
    if name not in known:
        raise UsageError(
            f"{name} is a program of the board, not a method of rtprobe", hint=f"methods: {', '.join(known)}"
        )
    found = known[name]
    own = {setting.name for setting in found.own}
    ours = {setting.option.removeprefix("--") for setting in SETTINGS}
    rows = [
        (
            setting.name,
            "--set" if setting.name in own else "option",
            setting.unit or "",
            setting.range_words,
            "" if setting.default is None else setting.text(setting.default),
            setting.help,
        )
        for setting in found.settings
        if setting.name in own | ours
    ]
    columns = ("NAME", "STATED BY", "UNIT", "RANGE", "DEFAULT", "HELP")
    if as_json:
        settings = [dict(zip((c.lower().replace(" ", "_") for c in columns), row, strict=True)) for row in rows]
        print_json(
            {"schema": "rtassay/probe-describe/1", "method": found.name, "measure": found.measure, "settings": settings}
        )
    else:
        echo(f"{found.name}: {found.summary}; measures {found.measure}")
        _echo_table(columns, rows)
    return 0


def _echo_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their longest cell; the last one is not padded."""
    table = [columns, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(columns) - 1)]
    for row in table:
        echo("  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[-1]]).rstrip())


@command.command("path")
@click.option(
    "--arch",
    metavar="ARCH",
    type=click.Choice(sorted({*ARCHES, native_arch()}), case_sensitive=False),
    help="Machine as `uname -m` names it; default: this one.",
)
@json_option
def path(arch: str | None, as_json: bool) -> int:
    """Show the path of the rtprobe binary for a machine."""
    from rtassay.boards.binaries import probe_path

    found = probe_path(arch)
    if as_json:
        print_json({"schema": "rtassay/probe/1", "path": str(found)})
    else:
        echo(found)
    return 0


@command.command("selftest", context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def selftest(args: tuple[str, ...]) -> int:
    """Test what this machine can measure (`rtprobe selftest`)."""
    from rtassay.boards.binaries import probe_path

    done = subprocess.run([str(probe_path(None)), "selftest", *args], stdout=subprocess.PIPE, check=False)
    echo(done.stdout.decode(errors="replace").rstrip("\n"))
    return done.returncode
