"""What a run over a console asks for, from the words of a person."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from rtassay import consoles
from rtassay.cli.main import cli
from rtassay.cli.run_options import values_of


def request(board: str, home: Path) -> consoles.Request:
    with click.Context(cli) as context:
        command = cli.get_command(context, "run")
        assert command is not None
        made = command.make_context("run", [board, "-o", str(home), "--duration", "2s"], parent=context)
    return consoles.make_request(board, values_of(made.params))


@pytest.mark.parametrize(
    ("board", "virtualisation"),
    [("unix:/tmp/console", "tcg"), ("serial:/dev/ttyUSB0", None), ("telnet:host:2001", None)],
)
def test_the_console_of_an_emulator_is_never_that_of_hardware(
    board: str, virtualisation: str | None, tmp_path: Path
) -> None:
    """QEMU's socket: no deadline can be shown to hold there (VM-STEAL)."""
    assert request(board, tmp_path).inventory.get("virtualisation") == virtualisation
