"""Two kernels compared by themselves, reboots included, on boards that are reached only over SSH; the quick one behind a jump host."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from sshd import Server, serving
from vboard import Board, Setup

from rtassay import store
from rtassay.experiments.journal import read_journal
from rtassay.lab import disk, machine

LABEL = "virtual board: function only"
FILE = """
name = "kernels"
boards = ["behind"]
kernels = ["stock", "rt"]
repeats = {repeats}
order = "abba"
[[loads]]
name = "idle"
[settings]
interval = "10ms"
duration = "3s"
[cool_down]
at_most = "1s"
[acceptance]
deadline = "1h"
p = 0.5
"""
# Exit codes by verdict; a virtual board never HOLDS (0).
JUDGED = (4, 5)


def rtassay(home: Path, *words: str, ssh: str = "ssh", timeout_s: float = 1200) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *words],
        env={**os.environ, "RTASSAY_HOME": str(home), "RTASSAY_SSH": ssh},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def assert_compared(path: Path, order: list[str]) -> dict[str, Any]:
    """Every cell ran under the kernel it was meant for, each change of kernels is another boot, and the result says what it is."""
    entries = [entry for entry in read_journal(path) if entry.event == "sealed"]
    found = [store.load_manifest(path / "recordings" / f"{entry.recording}.rta") for entry in entries]
    assert [manifest.labels["kernel"] for manifest in found] == order
    for manifest in found:
        assert manifest.sealed and not manifest.damage.cut
        real_time = manifest.inventory["kernel"]["preempt_model"] == "PREEMPT_RT"
        assert real_time == (manifest.labels["kernel"] == "rt")
        assert real_time == ("-rt-" in manifest.inventory["kernel"]["release"])
    boots = [manifest.inventory["boot_id"] for manifest in found]
    for kernels, ids in zip(itertools.pairwise(order), itertools.pairwise(boots), strict=True):
        assert (kernels[0] == kernels[1]) == (ids[0] == ids[1])
    for name in ("report.html", "report.md"):
        assert LABEL in (path / name).read_text()
    result: dict[str, Any] = json.loads((path / "experiment.json").read_text())
    assert result["state"] == "complete"
    return result


def assert_nothing_left(home: Path, board: str, ssh: str = "ssh") -> None:
    done = rtassay(home, "board", "clean", board, ssh=ssh)
    assert done.returncode == 0 and "nothing of rtassay" in done.stdout, done.stdout + done.stderr


@pytest.fixture(scope="module")
def jump() -> Iterator[Server]:
    """This machine as a jump host, by an sshd of its own."""
    with serving() as server:
        yield server


def behind(board: Board, jump: Server, home: Path) -> str:
    """The board called `behind`, reached by way of the jump host alone; the ssh command line that knows it."""
    lab = Path(board.machine.ssh_options[1]).read_text()
    config = home / "ssh_config"
    config.write_text(
        f"Host jump\n HostName 127.0.0.1\n Port {jump.port}\n User root\n IdentityFile {jump.home}/key\n"
        f" UserKnownHostsFile {jump.home}/known\nHost {board.machine.name}\n ProxyJump jump\n{lab}"
    )
    ssh = f"ssh -F {config}"
    assert rtassay(home, "board", "add", "behind", board.machine.name, ssh=ssh).returncode == 0
    return ssh


@pytest.mark.full
@pytest.mark.parametrize("setup", [Setup("rt", "rt")], ids=lambda setup: setup.name)
def test_a_run_and_two_kernels_through_a_jump_host(board: Board, jump: Server, tmp_path: Path) -> None:
    ssh = behind(board, jump, tmp_path)
    seen: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            seen.extend(jump.sessions())

    watcher = threading.Thread(target=watch)
    watcher.start()
    done = rtassay(tmp_path, "run", "behind", "--interval", "10ms", "--load", "none", "--duration", "3s", ssh=ssh)
    over.set()
    watcher.join()
    assert done.returncode == 0, done.stderr
    assert seen, "nobody came by the jump host"
    file = tmp_path / "kernels.toml"
    file.write_text(FILE.format(repeats=1))
    path = tmp_path / "x"
    done = rtassay(tmp_path, "experiment", "run", str(file), "-o", str(path), ssh=ssh)
    assert done.returncode in JUDGED, done.stderr
    assert_compared(path, ["stock", "rt"])
    assert_nothing_left(tmp_path, "behind", ssh)


@pytest.mark.full
@pytest.mark.parametrize("setup", [Setup("arm64", "stock", arch="arm64")], ids=lambda setup: setup.name)
def test_two_kernels_of_an_arm64_board_in_abba_order(board: Board, tmp_path: Path) -> None:
    file = tmp_path / "kernels.toml"
    file.write_text(FILE.format(repeats=2).replace("behind", board.name))
    path = tmp_path / "x"
    done = rtassay(tmp_path, "experiment", "run", str(file), "-o", str(path))
    assert done.returncode in JUDGED, done.stderr
    assert_compared(path, ["stock", "rt", "rt", "stock"])
    assert_nothing_left(tmp_path, board.name)


@pytest.mark.full
@pytest.mark.parametrize("setup", [Setup("stock", "stock")], ids=lambda setup: setup.name)
def test_the_limit_on_real_time_threads_is_set_for_each_run_and_put_back(board: Board, tmp_path: Path) -> None:
    """The preset `throttling`, shortened. Before Linux 6.12 the kernel says when it stops a thread."""
    before = board.text("cat /proc/sys/kernel/sched_rt_runtime_us")
    path = tmp_path / "x"
    done = rtassay(
        tmp_path, "experiment", "run", "throttling", "--board", board.name, "--scale", "1/10", "-o", str(path)
    )
    assert done.returncode in (1, *JUDGED), done.stderr  # 10 ms may be VIOLATED on a virtual board
    entries = [entry for entry in read_journal(path) if entry.event == "sealed"]
    found = [store.load_manifest(path / "recordings" / f"{entry.recording}.rta") for entry in entries]
    limits = {"limit-95": 950000, "limit-off": -1}
    assert len(found) == 20
    for manifest in found:
        assert manifest.board_start.rt_runtime_us == limits[manifest.labels["scenario"]]
    assert board.text("cat /proc/sys/kernel/sched_rt_runtime_us") == before
    assert "RT throttling activated" in board.text("dmesg")
    assert_nothing_left(tmp_path, board.name)


@contextlib.contextmanager
def disk_board(rack: Any, name: str) -> Iterator[machine.Machine]:
    """A board behind GRUB, alone on this worker."""
    rack.clear()
    started = machine.start(
        disk.build(lambda words: None), lambda words: None, name=f"{name}-{os.getpid()}", with_parent=True
    )
    try:
        yield started
    finally:
        machine.stop(started)


@pytest.mark.full
def test_riva_2018_reboots_a_board_behind_grub(rack: Any, tmp_path: Path) -> None:
    """The preset as it is, shortened; two real boots. GRUB's default is what it was."""
    with disk_board(rack, "riva") as started:
        board = f"lab:{started.name}"
        path = tmp_path / "x"
        words = ("riva-2018", "--scale", "1/100000", "--board", board, "--kernel", "stock", "--kernel", "rt")
        done = rtassay(tmp_path, "experiment", "run", *words, "-o", str(path), timeout_s=1800)
        assert done.returncode == 0, done.stderr  # no deadline is stated: nothing is judged
        assert_compared(path, ["stock", "rt"])
        assert_nothing_left(tmp_path, board)
        environment = started.ssh("grub-editenv /boot/grub/grubenv list").stdout.decode().split()
        assert "saved_entry=stock" in environment and "next_entry=rt" not in environment


@pytest.mark.full
def test_lanes_around_the_priority_of_interrupt_threads_under_a_flood(rack: Any, tmp_path: Path) -> None:
    """The preset `irq-priority`, shortened, on PREEMPT_RT with iperf3: each run has its priority, and each flood its load."""
    with disk_board(rack, "irq") as started:
        board = f"lab:{started.name}"
        assert rtassay(tmp_path, "kernel", "use", "rt", board, "--once").returncode == 0
        threads = started.ssh("ps -eo rtprio=,comm= | grep ' irq/'").stdout.decode().splitlines()
        assert threads and all(line.split()[0] == "50" for line in threads)
        path = tmp_path / "x"
        done = rtassay(
            tmp_path, "experiment", "run", "irq-priority", "--board", board, "--scale", "1/20", "-o", str(path)
        )
        assert done.returncode in (1, *JUDGED), done.stderr
        entries = [entry for entry in read_journal(path) if entry.event == "sealed"]
        found = [store.load_manifest(path / "recordings" / f"{entry.recording}.rta") for entry in entries]
        assert len(found) == 30
        for manifest in found:
            wanted = {"below": 45, "same": 50, "above": 55}[manifest.labels["scenario"]]
            assert {lane.obtained_start.priority for lane in manifest.lanes if lane.obtained_start} == {wanted}
            # iperf3 is two: its server and its client, which tells what went through.
            flooded = [load for load in manifest.loads if load.name == "iperf3"]
            assert len(flooded) == (2 if manifest.labels["load"] == "network" else 0)
            assert any(part.operations for load in flooded for part in load.parts) == bool(flooded)
        assert_nothing_left(tmp_path, board)
