"""rtassay tune on a stock board over SSH when things go wrong: killed guards and hosts, a cut link, two hosts, a CPU that goes, a reset."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import plain_env
from vboard import Board, Setup

STOCK = Setup("stock", "stock")
PLAN = """
[[write]]
file = "/proc/sys/vm/swappiness"
value = 7
[[write]]
file = "/proc/sys/vm/dirty_writeback_centisecs"
value = 1234
[[write]]
file = "/proc/sys/vm/dirty_bytes"
value = 16777216
also = ["/proc/sys/vm/dirty_ratio"]
"""
UNPLUG = """
[[write]]
file = "/sys/devices/system/cpu/cpu1/online"
value = 0
also = ["/proc/irq/*/smp_affinity_list", "@threads"]
"""
VALUES = "cat /proc/sys/vm/swappiness /proc/sys/vm/dirty_writeback_centisecs /proc/sys/vm/dirty_bytes /proc/sys/vm/dirty_ratio"
GONE = "; ls /run/rtassay-tuned/journal 2>/dev/null; true"
PATIENCE_S = 120.0


def argv(board: Board, *words: str) -> list[str]:
    return [sys.executable, "-m", "rtassay", "tune", board.name, *words]


def tune(board: Board, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv(board, *words), capture_output=True, text=True, timeout=300, env=plain_env(home), check=False
    )


def until(board: Board, script: str, wanted: str) -> None:
    """Until the board says so; it may not answer yet."""
    end = time.monotonic() + PATIENCE_S
    while (done := board.run(script)).returncode or done.stdout.decode().strip() != wanted:
        assert time.monotonic() < end, (done.stdout, done.stderr)
        time.sleep(0.5)


@pytest.fixture(name="plan")
def _plan(tmp_path: Path) -> str:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return str(path)


@pytest.mark.full
@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_settings_are_put_back_when_guards_and_hosts_are_killed(
    setup: Setup, board: Board, plan: str, tmp_path: Path
) -> None:
    before = board.text(VALUES)
    assert tune(board, tmp_path, "--plan", plan).returncode == 0
    assert board.text(VALUES) != before
    board.text("read -r guard start </run/rtassay-tuned/guard; kill -9 $guard")
    until(board, VALUES, before)  # its standby does it at once
    assert tune(board, tmp_path, "--plan", plan).returncode == 0
    # They stand still first: else the standby puts the values back before its own turn comes.
    board.text(
        'all=; for p in /proc/[0-9]*; do case $(cat $p/comm 2>/dev/null) in rtprobe*) all="$all ${p#/proc/}";; esac; done; '
        "kill -STOP $all; kill -9 $all"
    )
    assert board.text(VALUES) != before
    shown = tune(board, tmp_path)
    assert "its guard is dead" in shown.stdout
    assert tune(board, tmp_path, "--revert").returncode == 0
    assert board.text(VALUES) == before
    for pause_s in (0.5, 2.0, 4.0):
        host = subprocess.Popen(
            argv(board, "--plan", plan), env=plain_env(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(pause_s)
        os.kill(host.pid, signal.SIGKILL)
        host.wait()
        # Until its last heartbeat is old enough, the board is said to be in use.
        deadline_s = time.monotonic() + 120
        while (done := tune(board, tmp_path, "--revert")).returncode and time.monotonic() < deadline_s:
            assert "is in use" in done.stderr
            time.sleep(2)
        assert done.returncode == 0
        assert board.text(VALUES + GONE) == before


@pytest.mark.full
@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_two_hosts_at_once_and_a_cut_link(setup: Setup, board: Board, plan: str, tmp_path: Path) -> None:
    before = board.text(VALUES)
    assert tune(board, tmp_path, "--revert").returncode == 0  # of a test that failed
    hosts = [
        subprocess.Popen(
            argv(board, "--plan", plan, "--for", "15s"),
            env=plain_env(tmp_path / name),
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        for name in ("one", "two")
    ]
    told = [host.communicate(timeout=200)[1] for host in hosts]
    assert sorted(host.returncode for host in hosts) == [0, 3], told
    assert re.search("changed already|is in use", told[0] + told[1])
    board.machine.set_link(False)
    time.sleep(16)
    board.machine.set_link(True)
    until(board, VALUES + GONE, before)


@pytest.mark.full
@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_a_cpu_comes_back_with_the_affinities_it_took_along(setup: Setup, board: Board, tmp_path: Path) -> None:
    masks = "cat /sys/devices/system/cpu/online /proc/irq/*/smp_affinity_list; grep Cpus_allowed_list /proc/$(cat /tmp/pinned)/status"
    board.text("taskset 2 sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >/tmp/pinned")
    before = board.text(masks)
    assert before.endswith("\t1")
    assert tune(board, tmp_path, "--revert").returncode == 0  # of a test that failed
    plan = tmp_path / "unplug.toml"
    plan.write_text(UNPLUG)
    assert tune(board, tmp_path, "--plan", str(plan)).returncode == 0
    assert board.text("cat /sys/devices/system/cpu/online") == "0"
    assert tune(board, tmp_path, "--revert").returncode == 0
    assert board.text(masks) == before
    board.text("kill $(cat /tmp/pinned)")


@pytest.mark.full
@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_a_reset_undoes_everything_and_the_journal_is_forgotten(
    setup: Setup, board: Board, plan: str, tmp_path: Path
) -> None:
    before = board.text(VALUES)
    assert tune(board, tmp_path, "--plan", plan).returncode == 0
    kept = list((tmp_path / "tuned").glob("*.json"))
    board.machine.reset()
    time.sleep(3)
    until(board, VALUES, before)
    done = tune(board, tmp_path, "--revert")
    assert done.returncode == 0, done.stderr
    assert board.text(VALUES) == before
    assert len(kept) == 1 and not list((tmp_path / "tuned").glob("*.json"))
