"""An experiment on a board at the other end of a real sshd whose host is killed: the board goes on, and `resume` takes what it measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from flow_support import Marked, assert_account_is_exact
from sshd import Server, arrived, serving

from rtassay.experiments.journal import Entry, read_journal

pytestmark = pytest.mark.root
RTASSAY = str(Path(sys.executable).with_name("rtassay"))
FILE = """
name = "far"
boards = ["far"]
repeats = 2
retries = 0
[[loads]]
name = "idle"
[settings]
interval = "1ms"
duration = "8s"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Its own /run and /dev/shm, so that what is left on the board is seen, and nobody else's is."""
    world = "mount -t tmpfs -o mode=755 run /run; mkdir -p /run/sshd; mount -t tmpfs -o mode=1777 tmp /dev/shm"
    with serving(world=world) as made:
        yield made


@pytest.fixture
def rtassay(server: Server, tmp_path: Path, marked: Marked) -> Callable[..., subprocess.Popen[str]]:
    environ = {**os.environ, "RTASSAY_HOME": str(tmp_path), "RTASSAY_SSH": f"ssh -F {server.config}"}

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [RTASSAY, *words], env=environ, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    assert start("board", "add", "far", server.destination).wait(180) == 0
    (tmp_path / "far.toml").write_text(FILE)
    return start


def on_board(server: Server, script: str) -> list[str]:
    return server.run("sh", "-c", f"{script} 2>/dev/null; true").split()


def until(condition: Callable[[], bool], timeout_s: float = 180) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def sealed(path: Path) -> list[Entry]:
    return [entry for entry in read_journal(path) if entry.event == "sealed"]


def kill_while_measuring(process: subprocess.Popen[str], path: Path) -> None:
    until(lambda: arrived(path / "recordings"))
    process.kill()
    process.communicate()


def test_resume_takes_what_the_board_measured_while_its_host_was_dead(
    rtassay: Callable[..., subprocess.Popen[str]], server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    kill_while_measuring(rtassay("experiment", "run", str(tmp_path / "far.toml"), "-o", str(path)), path)
    assert sealed(path) == []
    process = rtassay("experiment", "resume", str(path), "--json")
    output, errors = process.communicate(timeout=300)
    assert process.returncode in (0, 5), errors  # 5: this machine broke a measurement, as when its clock source changes
    assert "fetching" in errors and json.loads(output)["state"] == "complete"
    assert [entry.facts.get("adopted", False) for entry in sealed(path)] == [True, False]
    assert len(list((path / "recordings").glob("*.rta"))) == 2
    for entry in sealed(path):
        recording = assert_account_is_exact(path / "recordings" / f"{entry.recording}.rta")
        assert all(lane.entry.due == 8000 for lane in recording.lanes)
    assert on_board(server, "ls -d /run/rtassay-*") == []


@pytest.mark.full
def test_what_was_cleared_from_the_board_is_measured_again(
    rtassay: Callable[..., subprocess.Popen[str]], server: Server, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    kill_while_measuring(rtassay("experiment", "run", str(tmp_path / "far.toml"), "-o", str(path)), path)
    assert rtassay("board", "clean", "far", "--force").wait(180) == 0
    process = rtassay("experiment", "resume", str(path), "--json")
    output, errors = process.communicate(timeout=300)
    assert process.returncode in (0, 5), errors  # 5: this machine broke a measurement, as when its clock source changes
    assert "has nothing of 'probe' any more" in errors
    assert json.loads(output)["state"] == "complete" and len(sealed(path)) == 2
    assert len([entry for entry in read_journal(path) if entry.event == "superseded"]) == 1
    assert on_board(server, "ls -d /run/rtassay-*") == []
