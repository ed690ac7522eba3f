"""rtassay config: defaults of options, kept in a file."""

from __future__ import annotations

import click

from rtassay.cli import config_file
from rtassay.cli.options import json_option, print_json
from rtassay.cli.terminal import echo, echo_table
from rtassay.reports.text_table import name, words


@click.group("config")
def command() -> None:
    """Defaults of options, one TOML table for each verb: deadline, p, interval, board, load ...

    What is typed goes before the file. A recording tells which of its options came from the file. Experiments, whose settings are in
    their own file, and Python take no default of [run].

    \b
      rtassay config set run.deadline 100us
      rtassay config set run.board pi5
      rtassay config show
    """


@command.command("show")
@json_option
def show(as_json: bool) -> int:
    """What the file sets, and where it is."""
    path = config_file.config_file()
    found = config_file.every(_commands())
    if as_json:
        rows = [{"key": one.key, "verb": one.verb, "option": one.option, "values": list(one.texts)} for one in found]
        print_json({"schema": "rtassay/config/1", "file": str(path), "values": rows})
        return 0
    if found:
        echo_table([name("key"), words("value")], [(one.key, ", ".join(one.texts)) for one in found])
    else:
        echo("no default is set; rtassay config set run.deadline 100us sets one", err=True)
    echo(f"file: {path}", err=True)
    return 0


@command.command("set")
@click.argument("key", metavar="VERB.OPTION")
@click.argument("values", nargs=-1, required=True, metavar="VALUE...")
def set_(key: str, values: tuple[str, ...]) -> int:
    """Set a default: run.deadline 100us. An option that may be repeated takes several values; a switch true or false."""
    path = config_file.set_value(key, values, _commands())
    echo(f"{key} = {', '.join(values)} in {path}")
    return 0


@command.command("unset")
@click.argument("key", metavar="VERB.OPTION")
def unset(key: str) -> int:
    """Remove a default."""
    echo(f"{key} is not set any more in {config_file.unset_value(key, _commands())}")
    return 0


@command.command("path")
def path() -> int:
    """Print where the file is, or would be."""
    echo(config_file.config_file())
    return 0


def _commands() -> dict[str, click.Command]:
    from rtassay.cli.main import cli
    from rtassay.cli.verbs import VERBS

    found = {verb: cli.get_command(click.Context(cli), verb) for verb in VERBS if verb != "config"}
    return {verb: command for verb, command in found.items() if command is not None}
