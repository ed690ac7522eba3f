"""rtassay explain on a machine without tracefs: what is left, why, and what to do. With a trace: tests/unit/test_explaining.py and the lab."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtassay import store

from ...support.command_line import in_process


@pytest.fixture
def program() -> Iterator[int]:
    code = "import time\nprint('ready', flush=True)\nwhile True: time.sleep(0.001)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


def test_without_a_trace_it_tells_how_long_the_threads_waited_and_what_to_do(tmp_path: Path, program: int) -> None:
    asked = ("--pid", str(program), "--duration", "1s")
    done = in_process("explain", *asked, "--name", "loop", "--label", "cause=out", home=tmp_path)
    assert done.returncode == 4, done.stderr
    assert f"pid {program}, 1 thread on local" in done.stdout and "not traced" in done.stdout
    assert "no cause is known" in done.stdout and "Next: " in done.stdout and "schedstat" in done.stdout
    assert f"-{program}" in done.stdout and "Waited in all (us)" in done.stdout
    assert "recording: " in done.stderr
    listed = json.loads(in_process("list", "--json", home=tmp_path).stdout)
    assert [row["name"] for row in listed["recordings"]] == ["loop"]
    (path,) = (tmp_path / "recordings").glob("*.rta")
    manifest = store.open_recording(path).manifest
    assert manifest.labels == {"cause": "out"}
    assert manifest.plan.argv == (
        "rtassay",
        "explain",
        "local",
        *asked[:2],
        "--above",
        "auto",
        "--duration",
        "1s",
    )
    ranked = in_process("causes", "cause=out", home=tmp_path)  # as --with takes it
    assert ranked.returncode == 4 and "No cause is known" in ranked.stdout


def test_a_process_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    done = in_process("explain", "--pid", "4194304", "--duration", "1s", home=tmp_path)
    assert done.returncode == 2 and "there is no process 4194304" in done.stderr
    assert not list((tmp_path / "recordings").glob("*")) and done.stdout == ""


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "--pid PID or --comm NAME"),
        (("--pid", "1", "--comm", "init"), "one of the two"),
        (("--pid", "0"), "--pid"),
        (("--comm", ""), "--comm needs a name"),
        (("--pid", "1", "--above", "5ns"), "--above 5ns"),
        (("--pid", "1", "--above", "soon"), "soon"),
        (("--pid", "1", "--label", "out"), "not of the form key=value"),
    ],
)
def test_a_wrong_line_is_refused_before_a_board_is_reached(argv: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = in_process("explain", *argv, home=tmp_path)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_run_with_this_probe_says_which_verb_is_meant(tmp_path: Path) -> None:
    done = in_process("run", "--probe", "follow", "--duration", "1s", "--load", "none", home=tmp_path)
    assert done.returncode == 2 and "rtassay explain --pid PID" in done.stderr
