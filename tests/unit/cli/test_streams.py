"""stdout and stderr as a shell can give them: a reader that went away, a full disk, a closed descriptor; and words that are no text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rtassay.cli.main import run
from rtassay.cli.streams import _Output
from rtassay.model.errors import EXIT_BOARD, EXIT_USAGE, BoardError

RTASSAY = Path(__file__).parents[3] / ".venv" / "bin" / "rtassay"


def code_of(line: str, home: Path) -> tuple[int, str]:
    """The exit code of `rtassay` in a line of bash, and what all of the line says on stderr."""
    script = f'rtassay() {{ {RTASSAY} "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "RTASSAY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "rtassay checks --json | true",
        "rtassay --help | true",
        "rtassay probe selftest | true",
        "rtassay show no-such 2>&1 | true",
    ],
)
def test_a_reader_that_went_away_changes_nothing(line: str, tmp_path: Path) -> None:
    code, said = code_of(line, tmp_path)
    assert (code, said) == (EXIT_USAGE if "no-such" in line else 0, "")


@pytest.mark.parametrize(
    "line", ["rtassay checks --json >/dev/full", "rtassay --version >/dev/full", "rtassay checks >&-"]
)
def test_results_that_cannot_be_written(line: str, tmp_path: Path) -> None:
    code, said = code_of(line, tmp_path)
    assert code == EXIT_BOARD and "cannot write to stdout" in said and "Traceback" not in said
    assert len(said.splitlines()) == 2 and ("it is closed" in said) is (">&-" in line)


@pytest.mark.parametrize(
    "line", ["rtassay show no-such 2>&-", "rtassay show no-such 2>/dev/full", "rtassay show no-such <&- >&- 2>&-"]
)
def test_messages_that_nobody_can_read(line: str, tmp_path: Path) -> None:
    assert code_of(line, tmp_path)[0] == EXIT_USAGE


def test_a_parent_that_ignored_the_end_of_children() -> None:
    """The exit code of a child of ours is had all the same."""
    script = "from rtassay.cli import streams; import subprocess; streams.prepare(); print(subprocess.call(['false']))"
    ignoring = f"import signal, os; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv({sys.executable!r}, [{sys.executable!r}, '-c', {script!r}])"
    done = subprocess.run([sys.executable, "-c", ignoring], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_what_the_reader_does_not_want_is_dropped_and_another_failure_is_told_once() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert _Output(writing, named="stdout").write(b"words") == 5
    os.close(writing)
    closed = _Output(writing, named="stdout")
    with pytest.raises(BoardError, match="cannot write to stdout"):
        closed.write(b"words")
    assert closed.write(b"words") == 5
    assert _Output(writing, named=None).write(b"words") == 5


def test_a_pipe_that_does_not_block_loses_nothing() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    child = os.fork()
    if child == 0:
        os.close(reading)
        output, data = _Output(writing, named="stdout"), memoryview(bytes(1_000_000))
        while data:
            data = data[output.write(data) :]
        os._exit(0)
    os.close(writing)
    came = 0
    while chunk := os.read(reading, 65536):
        came += len(chunk)
    os.close(reading)
    assert os.waitpid(child, 0)[1] == 0 and came == 1_000_000


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--label", "place=caf\udce9"],
        ["run", "--note", "caf\udce9"],
        ["run", "--load", "command:echo \udcff"],
        ["run", "--label", "place=a\x1b[2J"],
        ["run", "--label", f"place={'x' * 5000}"],
        ["import", "no-such-\udcff.txt"],
    ],
)
def test_words_that_are_no_text_are_refused_before_anything_is_written(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    assert run(words) == EXIT_USAGE
    assert "Traceback" not in capsys.readouterr().err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("verb", ["show", "report", "import", "watch", "seal", "doctor"])
def test_a_name_that_no_file_can_have_is_usage(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    assert run([verb, "A" * 5000]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "a bug" not in said and len(said) < 600


@pytest.mark.parametrize("words", [["exec", "--duration", "\x1b]0;x\x07"], ["run", "--policy", "\x1b[2J"], ["\x1b[2J"]])
def test_a_word_that_is_refused_does_not_reach_the_terminal_raw(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == EXIT_USAGE
    said = capsys.readouterr().err
    assert said and "\x1b" not in said and "\x07" not in said
