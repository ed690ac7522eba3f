"""rtassay probe: the program that measures on the board."""

from __future__ import annotations

import subprocess

import click

from rtassay.cli.options import json_option, print_json


@click.group("probe")
def command() -> None:
    """rtprobe, the program that measures on the board."""


@command.command("path")
@click.option("--arch", metavar="ARCH", help="Machine as `uname -m` names it; default: this one.")
@json_option
def path(arch: str | None, as_json: bool) -> int:
    """Path of the rtprobe binary for a machine."""
    from rtassay.boards.binaries import probe_path

    found = probe_path(arch)
    if as_json:
        print_json({"schema": "rtassay/probe/1", "path": str(found)})
    else:
        click.echo(found)
    return 0


@command.command("selftest", context_settings={"ignore_unknown_options": True})
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def selftest(args: tuple[str, ...]) -> int:
    """Can this machine measure, and what can it not? (`rtprobe selftest`)"""
    from rtassay.boards.binaries import probe_path

    return subprocess.call([str(probe_path(None)), "selftest", *args])
