#!/usr/bin/env python3
"""Writes docs/reference from the code: the command line (a page and rtassay.1), the checks, the probe's options. `--check` only compares (exit 1)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

from rtassay.analysis.checks import reference_markdown
from rtassay.analysis.many.compare.checks import reference_markdown as comparison_markdown
from rtassay.boards.binaries import probe_path
from rtassay.cli.main import cli
from rtassay.cli.verbs import VERBS
from rtassay.experiments.schema import json_schema

from manual import manual  # isort: skip

ROOT = Path(__file__).parents[1]
MADE = "<!-- made by `make docs` from the code; do not edit -->\n"


def help_of(command: click.Command, name: str) -> str:
    context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
    return command.get_help(context)


def cli_page() -> str:
    parts = [f"# The command line\n\n{MADE}\n```\n{help_of(cli, 'rtassay')}\n```\n"]
    for verb in VERBS:
        command = cli.get_command(click.Context(cli), verb)
        assert command is not None
        parts += _pages(command, f"rtassay {verb}", 2)
    return "".join(parts)


def _pages(command: click.Command, name: str, depth: int) -> list[str]:
    """A command and all below it."""
    parts = [f"\n{'#' * depth} {name}\n\n```\n{help_of(command, name)}\n```\n"]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for verb in command.list_commands(context):
            below = command.get_command(context, verb)
            assert below is not None
            parts += _pages(below, f"{name} {verb}", depth + 1)
    return parts


def probe_page() -> str:
    probe = str(probe_path(None))
    usage = subprocess.run([probe, "--help"], capture_output=True, text=True, check=True).stdout
    parts = [f"# rtprobe\n\n{MADE}\n```\n{usage}```\n"]
    for name in ("cyclic", "load", "repeat", "watch", "guard", "describe", "selftest"):
        text = subprocess.run([probe, name, "--help"], capture_output=True, text=True, check=True).stdout
        parts.append(f"\n## rtprobe {name}\n\n```\n{text}```\n")
    return "".join(parts)


def main() -> int:
    pages = {
        "cli.md": cli_page(),
        "checks.md": reference_markdown(),
        "comparison-checks.md": comparison_markdown(),
        "rtprobe.md": probe_page(),
        "rtassay.1": manual(),
        "experiment.schema.json": json.dumps(json_schema(), indent=1) + "\n",
    }
    stale = []
    for name, text in pages.items():
        path = ROOT / "docs" / "reference" / name
        if not path.exists() or path.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
    if stale:
        print(("out of date, run make docs: " if "--check" in sys.argv else "written: ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
