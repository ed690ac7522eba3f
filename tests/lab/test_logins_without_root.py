"""A login with a limit on real-time priorities, on a real kernel whose root can give one: it measures with what it was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from vboard import Board, Setup

from rtassay import store

pytestmark = pytest.mark.parametrize("setup", [Setup("rt", "rt")], ids=lambda setup: setup.name)
EASY = ("--interval", "10ms", "--load", "none", "--duration", "3s", "--cpus", "0", "--dma-latency", "off")


def restart_server(board: Board, limits: str, hard: str) -> None:
    """New logins have these limits, as pam_limits would set them; connections that are there stay."""
    first = "$(pidof dropbear | tr ' ' '\\n' | sort -n | head -n 1)"
    again = (
        f"({limits}; kill {first}; sleep 1; exec dropbear -E -s -m -p 22 -r /etc/hostkey) </dev/null >/dev/null 2>&1 &"
    )
    board.text(f"{again} sleep 1")
    until = time.monotonic() + 300
    while board.run("ulimit -Hr", user="user").stdout.decode().strip() != hard:
        assert time.monotonic() < until
        time.sleep(0.3)


@pytest.fixture
def limited(board: Board) -> Iterator[Board]:
    # The hard limit only: limits.conf may give no more than that, and a program has to take it.
    restart_server(board, "ulimit -Hr 50; ulimit -Sr 0; ulimit -l unlimited", "50")
    yield board
    restart_server(board, "ulimit -r 0", "0")


def run(board: Board, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "RTASSAY_HOME": str(home)}
    machine = board.machine
    options = [word for option in machine.ssh_options for word in ("--ssh-option", option)]
    add = [sys.executable, "-m", "rtassay", "board", "add", "limited", f"user@{machine.name}", *options]
    subprocess.run(add, env=environ, check=True, capture_output=True)
    line = [sys.executable, "-m", "rtassay", "run", "limited", *EASY, *words, "--json"]
    return subprocess.run(line, env=environ, text=True, capture_output=True, timeout=200, check=False)


def obtained(home: Path) -> set[tuple[str | None, int | None]]:
    (path,) = (home / "recordings").glob("*.rta")
    lanes = store.load_manifest(path).lanes
    return {(lane.obtained_start.policy, lane.obtained_start.priority) for lane in lanes if lane.obtained_start}


def nothing_left(board: Board) -> bool:
    return board.text("ls -d /tmp/rtassay* /var/tmp/rtassay* /run/lock/rtassay* 2>/dev/null; true") == ""


def test_a_limit_is_used_as_far_as_it_goes(limited: Board, tmp_path: Path) -> None:
    done = run(limited, tmp_path)
    assert obtained(tmp_path) == {("fifo", 50)}, done.stderr
    invalid = [check for check in json.loads(done.stdout)["checks"] if check["id"] == "NOT-RT-POLICY"]
    assert "fifo 90 was refused" in invalid[0]["message"] and "fifo 50" in invalid[0]["message"]
    assert nothing_left(limited)


@pytest.mark.full
def test_what_was_asked_for_is_given_within_the_limit_and_refused_above_it(limited: Board, tmp_path: Path) -> None:
    done = run(limited, tmp_path / "asked", "--policy", "fifo", "--priority", "40")
    assert done.returncode in (0, 5), done.stderr
    assert obtained(tmp_path / "asked") == {("fifo", 40)}

    done = run(limited, tmp_path / "refused", "--policy", "fifo")
    assert done.returncode == 3
    assert "the limit of this login is 50" in done.stderr and "--priority 50" in done.stderr
    assert nothing_left(limited)
