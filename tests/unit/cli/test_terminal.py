"""What verbs write to the terminal passes the filter, and only `cli.terminal` writes there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from rtassay.cli.main import run
from rtassay.cli.terminal import echo, echo_table
from rtassay.reports.text_table import number, words

CLI = Path(__file__).parents[3] / "src" / "rtassay" / "cli"


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    echo("board \x1b]0;title\x07 a\u202eb\tc")
    echo("\x9b31m", err=True)
    shown = capsys.readouterr()
    assert shown.out == "board \ufffd]0;title\ufffd a\ufffdb\tc\n"
    assert shown.err == "\ufffd31m\n"


def test_an_error_that_quotes_foreign_text_is_filtered(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "no\x1b[31msuch"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_tables_fit_the_terminal_and_a_pipe_has_no_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, row = (words("kernel"), number("max us")), ("6.6.21-v8-16k+ " * 20, "36802")
    monkeypatch.setenv("COLUMNS", "60")
    echo_table(columns, [row])
    piped = capsys.readouterr().out.splitlines()
    assert len(piped) == 2 and piped[1].endswith("36802")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    echo_table(columns, [row])
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 60 and shown[1].endswith("36802") and len(shown) > 5


@pytest.mark.parametrize("path", sorted(CLI.glob("*.py")), ids=lambda p: p.stem)
def test_verbs_write_through_one_module(path: Path) -> None:
    if path.name == "terminal.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in ("click.echo", "click.secho", "print"), f"{path.name}:{node.lineno}"
