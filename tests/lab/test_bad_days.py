"""Bad days, on a real kernel behind a real cable: links cut by QEMU, hosts killed, boards reset, memory out, clocks that jump.

One board for all of them; after each nothing of rtassay is left there, and the board runs the kernel it was started with.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from vboard import Board, Setup

from rtassay import reports, store
from rtassay.cli.judging import judge, own_requirement
from rtassay.reports.base import JudgedRecording

EXIT_USAGE, EXIT_BOARD, EXIT_NOT_DEMONSTRATED, EXIT_INVALID = 2, 3, 4, 5
LABEL = "virtual board: function only"
# Slow enough for an emulated CPU of a busy machine.
EASY = ("--interval", "10ms", "--load", "none")
PER_SECOND = 100
_LEFT = "ls -d /run/rtassay* /dev/shm/rtassay* /tmp/rtassay* /root/rtassay* /mnt/*/rtassay* 2>/dev/null; cat /sys/kernel/kexec_loaded"

pytestmark = pytest.mark.parametrize("setup", [Setup("rt", "rt")], ids=lambda setup: setup.name)


class Host:
    """rtassay on this machine, with a home of its own."""

    def __init__(self, home: Path, board: Board) -> None:
        self.home = home
        self.board = board
        self._started: list[subprocess.Popen[str]] = []
        self._errors: dict[int, Path] = {}

    def start(self, *words: str) -> subprocess.Popen[str]:
        """stderr goes to a file, so that it can be read while it runs."""
        errors = self.home / f"stderr-{len(self._started)}"
        with errors.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "rtassay", *words],
                env={**os.environ, "RTASSAY_HOME": str(self.home)},
                text=True,
                stdout=subprocess.PIPE,
                stderr=file,
            )
        self._started.append(process)
        self._errors[process.pid] = errors
        return process

    def said(self, process: subprocess.Popen[str]) -> str:
        return self._errors[process.pid].read_text()

    def finish(self, process: subprocess.Popen[str], codes: Sequence[int] = (0,), timeout_s: float = 600) -> str:
        output, _ = process.communicate(timeout=timeout_s)
        assert process.returncode in codes, (process.returncode, output, self.said(process))
        return output

    def measuring(self, *words: str) -> subprocess.Popen[str]:
        """A run on the board, some seconds into its measurement."""
        process = self.start("run", self.board.name, *EASY, *words)
        until(lambda: process.poll() is not None or "measuring, 0 s" in self.said(process))
        assert process.poll() is None, self.said(process)
        until(
            lambda: self.board.run("cat /run/rtassay-0/run-*/probe/pid /mnt/*/rtassay-0/run-*/probe/pid").stdout != b""
        )
        time.sleep(2)
        return process

    def refused(self, *words: str, code: int = EXIT_BOARD) -> str:
        process = self.start(*words)
        self.finish(process, (code,))
        return self.said(process)

    def recording(self) -> Path:
        (path,) = (self.home / "recordings").glob("*.rta")
        return path

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()


@pytest.fixture
def host(board: Board, tmp_path: Path) -> Iterator[Host]:
    """The board is as it was found when the test is over; a test that failed must not fail the next."""
    host = Host(tmp_path, board)
    try:
        yield host
        assert left(board) == "0"
        assert "-rt-" in board.text("uname -r")
    finally:
        host.end()
        board.machine.set_link(True)
        host.start("board", "clean", board.name, "--force").wait(240)


def left(board: Board) -> str:
    return board.run(_LEFT).stdout.decode().strip()


def until(condition: Callable[[], bool], timeout_s: float = 300) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.3)


def answers(board: Board) -> bool:
    try:
        return board.run("true", timeout_s=20).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def boot_id(board: Board) -> str:
    return board.text("cat /proc/sys/kernel/random/boot_id")


def assert_every_activation_is_there(path: Path, seconds: int) -> Any:
    """k runs from 0 to the planned end of every lane, and nothing of the stream was lost or cut."""
    recording = store.open_recording(path)
    damage = recording.manifest.damage
    assert (damage.lost_frames, damage.bad_frames, damage.skipped_bytes, damage.cut) == (0, 0, 0, False)
    assert len(recording.lanes) == 2
    for lane in recording.lanes:
        entry = lane.entry
        assert entry.due == seconds * PER_SECOND == entry.n + entry.missed + entry.dropped + entry.truncated
        rows = sum(
            len(block[0]) + int(block[1].sum() + block[2].sum()) for block in store.iter_samples(path, entry.index)
        )
        assert entry.first_k + rows == entry.due - entry.truncated
    return recording


@pytest.mark.full
def test_a_cable_that_is_pulled_mid_run_costs_nothing_and_a_second_user_is_told_who_is_there(
    host: Host, board: Board
) -> None:
    process = host.measuring("--duration", "60s")
    words = host.refused("run", board.name, *EASY, "--duration", "1s")
    assert "is in use" in words and f"(process {process.pid})" in words and "running probe" in words
    board.machine.set_link(False)
    until(lambda: "the board goes on measuring" in host.said(process))
    board.machine.set_link(True)
    host.finish(process)
    assert "is back after" in host.said(process)
    assert_every_activation_is_there(host.recording(), 60)


@pytest.mark.full
def test_two_minutes_without_a_cable_and_a_second_cut_cost_nothing(host: Host, board: Board) -> None:
    process = host.measuring("--duration", "200s")
    for cut_s, times in ((120, 1), (15, 2)):
        board.machine.set_link(False)
        time.sleep(cut_s)
        until(lambda times=times: host.said(process).count("the board goes on measuring") == times)  # type: ignore[misc]
        board.machine.set_link(True)
        until(lambda times=times: host.said(process).count("is back after") == times)  # type: ignore[misc]
    assert process.poll() is None
    host.finish(process)
    assert_every_activation_is_there(host.recording(), 200)


@pytest.mark.full
def test_a_clock_that_jumps_by_a_year_moves_no_count_and_is_named(host: Host, board: Board) -> None:
    process = host.measuring("--duration", "20s", "--deadline", "1h", "--p", "0.5", "--json")
    before = int(board.text("now=$(date +%s); date -s @$((now + 365 * 86400)) >/dev/null; echo $now"))
    found = json.loads(host.finish(process, (EXIT_NOT_DEMONSTRATED, EXIT_INVALID)))
    board.text(f"date -s @{before}")
    recording = assert_every_activation_is_there(host.recording(), 20)
    assert recording.manifest.ended_ns - recording.manifest.started_ns < 600e9
    (check,) = [check for check in found["checks"] if check["id"] == "CLOCK-RES"]
    # A warning where the board found its clock source wanting as well.
    assert check["severity"] in ("note", "warning") and "stepped by 87" in check["message"]
    # Not one activation was late, and hardware would hold p = 0.5 with so many: what cannot hold here is the virtual board.
    assert all(lane["max_ns"] < 3600e9 for lane in found["lanes"])
    assert found["verdict"]["state"] != "HOLDS" and found["verdict"]["p_upper"] < 0.5
    assert any(LABEL in check["message"] for check in found["checks"] if check["id"] == "VM-STEAL")
    # Every format that people read says so.
    findings = judge(recording, own_requirement(recording.manifest))
    for name in ("html", "markdown", "json", "terminal"):
        text = reports.load(JudgedRecording, name).render(JudgedRecording(findings, recording)).decode()
        assert LABEL in " ".join(text.split()), name


@pytest.mark.full
def test_a_cpu_that_is_unplugged_costs_no_activation_and_its_lane_is_named(host: Host, board: Board) -> None:
    online = "/sys/devices/system/cpu/cpu1/online"
    process = host.measuring("--duration", "20s", "--json")
    try:
        board.text(f"echo 0 > {online}")
        found = json.loads(host.finish(process, (0, EXIT_INVALID)))
    finally:
        board.text(f"echo 1 > {online}")
    recording = assert_every_activation_is_there(host.recording(), 20)
    assert [lane.entry.cpu for lane in recording.lanes] == [0, 1]
    (check,) = [check for check in found["checks"] if check["id"] == "NOT-PINNED"]
    assert check["severity"] == "warning" and check["facts"]["lanes"] == [recording.lanes[1].entry.name]


@pytest.mark.full
def test_a_killed_host_finds_its_run_again(host: Host, board: Board) -> None:
    process = host.measuring("--duration", "15s")
    process.kill()
    host.finish(process, (-signal.SIGKILL,))
    assert not store.load_manifest(host.recording()).sealed
    attached = host.start("run", "--attach", "--json")
    assert json.loads(host.finish(attached))["sealed"]
    assert_every_activation_is_there(host.recording(), 15)
    assert "no run to attach to" in host.refused("run", "--attach", code=EXIT_USAGE)


@pytest.mark.full
def test_a_probe_that_the_kernel_kills_for_memory_is_said_and_what_it_measured_is_kept(
    host: Host, board: Board
) -> None:
    """The OOM killer itself, told whom to take."""
    process = host.measuring("--duration", "600s")
    board.text(
        "for p in $(pidof -o %PPID $(basename /run/rtassay-0/rtprobe-*)); do "
        """case $(tr '\\0' ' ' </proc/$p/cmdline) in *" guard "*) ;; *" cyclic "*) echo 1000 >/proc/$p/oom_score_adj;; esac; done; """
        "echo f >/proc/sysrq-trigger"
    )
    host.finish(process, (EXIT_BOARD,))
    assert "Killed process" in board.text("dmesg | grep -i 'out of memory'")
    words = host.said(process)
    assert "signal 9" in words and "memory" in words and "rtassay seal" in words
    path = host.recording()
    assert not store.load_manifest(path).sealed
    host.finish(host.start("seal", str(path)))
    manifest = store.load_manifest(path)
    assert manifest.damage.cut and all(lane.n > 0 for lane in manifest.lanes)


@pytest.mark.full
def test_a_board_whose_memory_disk_is_full_is_said_before_and_while_it_measures(host: Host, board: Board) -> None:
    board.text("mkdir -p /mnt/small && mount -t tmpfs -o size=6m small /mnt/small")
    full = "dd if=/dev/zero of=/mnt/small/fill bs=1k 2>/dev/null; true"
    try:
        options = [f"--ssh-option={word}" for word in board.machine.ssh_options]
        added = ("board", "add", "small", board.machine.name, "--directory", "/mnt/small", *options)
        host.finish(host.start(*added))
        process = host.start("run", "small", *EASY, "--duration", "8s")
        until(lambda: board.run("ls /mnt/small/rtassay-0/run-*/probe/pid").returncode == 0)
        board.text(full)
        # What is fetched makes room: the last frames may still find a place. Either way nothing is lost in silence.
        host.finish(process, (0, EXIT_BOARD))
        if process.returncode == EXIT_BOARD:
            assert "had no room for" in host.said(process) and "rtassay seal" in host.said(process)
        else:
            found = json.loads(host.finish(host.start("show", str(host.recording()), "--json")))
            assert "COUNT-MISMATCH" in [check["id"] for check in found["checks"] if check["severity"] == "warning"]
            assert all(lane["due"] == 8 * PER_SECOND for lane in found["lanes"])
        board.text(full)
        words = host.refused("run", "small", *EASY, "--duration", "1s")
        assert "/mnt/small has no space left" in words and "--directory" in words
    finally:
        board.run("umount /mnt/small")


@pytest.mark.full
def test_a_board_that_boots_another_kernel_than_was_asked_for_is_named(host: Host, board: Board) -> None:
    """The stock entry holds the RT kernel: what a wrong copy onto a card looks like."""
    before = boot_id(board)
    board.text("cd /boot && for k in vmlinuz-*; do case $k in *-rt-*) ;; *) cp vmlinuz-*-rt-* $k;; esac; done")
    words = host.refused("kernel", "use", "stock", board.name)
    assert "came back with kernel" in words and "-rt-" in words and "default was not changed" in words
    assert boot_id(board) != before


@pytest.mark.full
def test_a_board_that_never_comes_back_is_said_with_the_way_out(host: Host, board: Board) -> None:
    """The kernel comes up and its userland does not. The way out is the one that is told: off and on."""
    board.text(
        "mkdir /tmp/hangs && cd /tmp/hangs && cp /bin/busybox . && "
        "printf '#!/busybox sh\\nwhile :; do /busybox sleep 1; done\\n' >init && chmod 755 init && "
        "(echo init; echo busybox) | cpio -o -H newc | gzip >/tmp/initrd && for i in /boot/initrd*-rt-*; do cp /tmp/initrd $i; done"
    )
    before = boot_id(board)
    words = host.refused("kernel", "use", "rt", board.name, "--within", "20s")
    assert "is not back after 20 s" in words and "switch the board off and on" in words
    assert "default was not changed" in words
    board.machine.reset()
    until(lambda: answers(board))
    assert boot_id(board) != before


@pytest.mark.full
def test_a_board_that_is_reset_mid_run_is_said_and_what_it_measured_is_kept(host: Host, board: Board) -> None:
    before = boot_id(board)
    process = host.measuring("--duration", "600s")
    until(lambda: (host.recording() / "stream.rtw").stat().st_size > 4000)
    board.machine.reset()
    host.finish(process, (EXIT_BOARD,))
    words = host.said(process)
    assert "was restarted while it was in use" in words and "rtassay seal" in words
    path = host.recording()
    host.finish(host.start("seal", str(path)))
    manifest = store.load_manifest(path)
    assert manifest.damage.cut and all(0 < lane.n < 600 * PER_SECOND for lane in manifest.lanes)
    host.refused("run", "--attach", code=EXIT_USAGE)
    assert boot_id(board) != before
