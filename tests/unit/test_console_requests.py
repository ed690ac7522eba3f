"""What a run over a console asks for, from the words of a person."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rtassay import consoles
from rtassay.boards.known import resolve
from rtassay.boards.serial import SerialBoard
from rtassay.cli.main import cli
from rtassay.cli.run_options import values_of
from rtassay.model.errors import UsageError


def request(board: str, home: Path, *words: str) -> consoles.Request:
    with click.Context(cli) as context:
        command = cli.get_command(context, "run")
        assert command is not None
        made = command.make_context("run", [board, "-o", str(home), "--duration", "2s", *words], parent=context)
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


def test_a_board_with_a_name_brings_its_prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    words = [
        "board",
        "add",
        "m4",
        "serial:/dev/ttyUSB0?baud=921600",
        "--wait",
        "nsh> ",
        "--send",
        "rtlite",
        "--reset",
        "true",
    ]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert consoles.takes("m4") and not consoles.takes("m5")
    made = request("m4", tmp_path)
    assert (made.address.baud, made.board) == (921600, "m4")
    assert (made.run.wait, made.run.send, made.run.reset) == ("nsh> ", "rtlite", "true")
    made = request("m4", tmp_path, "--wait", "# ")
    assert (made.run.wait, made.run.send) == ("# ", "rtlite")
    with pytest.raises(UsageError, match="knows `rtassay run` only"):
        resolve("m4")


@pytest.mark.parametrize(
    ("address", "words", "what"),
    [
        ("serial:/dev/ttyUSB0?os=linux&user=root", ("--wait", "x"), "--wait does not go with"),
        ("root@board", ("--reset", "x"), "--reset does not go with"),
        ("serial:/dev/ttyUSB0", ("--port", "22"), "--port and --ssh-option go with SSH"),
        ("serial:/dev/ttyUSB0?os=vxworks", (), "cannot be read"),
        ("serial:/dev/ttyUSB0?user=root", (), "cannot be read"),
        ("serial:/dev/ttyUSB0?os=linux&user=a;b", (), "no name of a user"),
    ],
)
def test_what_a_console_does_not_take(
    address: str, words: tuple[str, ...], what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    done = CliRunner().invoke(cli, ["board", "add", "one", address, *words])
    assert isinstance(done.exception, UsageError) and what in done.exception.what
    assert list(tmp_path.iterdir()) == []


def test_a_shell_of_linux_is_a_board_as_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    address = "serial:/dev/ttyUSB0?os=linux&user=root&baud=921600"
    assert CliRunner().invoke(cli, ["board", "add", "pi", address, "--directory", "/data"]).exit_code == 0
    for word, name in ((address, "serial:/dev/ttyUSB0"), ("pi", "pi")):
        board = resolve(word)
        assert isinstance(board, SerialBoard) and board.name == name and board.detaches
        assert not consoles.takes(word)
