"""A 32-bit ARM kernel with a 32-bit userland: the packaged static probe over SSH, both kernels, and the end of 32-bit seconds."""

from __future__ import annotations

import collections
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from vboard import Board, Rack, Setup

from rtassay import store
from rtassay.boards.binaries import probe_path
from rtassay.model.manifest import Manifest

LABEL = "virtual board: function only"
ARMHF = Setup("armhf", "stock", arch="armhf")
INTERVAL_NS = 10_000_000
ELF_CLASS_32, ELF_ARM = 1, 40
EXIT_NOT_DEMONSTRATED, EXIT_INVALID = 4, 5
LAST_32_BIT_SECOND = 2**31 - 1

pytestmark = [pytest.mark.full, pytest.mark.parametrize("setup", [ARMHF], ids=lambda setup: setup.name)]


def rtassay(home: Path, *words: str, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "rtassay", *words],
        env={**os.environ, "RTASSAY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode in codes, f"rtassay {' '.join(words)}: exit {done.returncode}: {done.stderr}"
    return done


def measured(home: Path, board: Board, seconds: int, *words: str) -> Manifest:
    """The manifest of a run on the board: sealed, whole, every due time of every lane accounted for, and nothing left behind."""
    argv = ("run", board.name, "--interval", "10ms", "--duration", f"{seconds}s", *words)
    # Any data would meet it, and still a virtual board cannot show that it holds.
    codes = (EXIT_NOT_DEMONSTRATED, EXIT_INVALID)
    done = rtassay(home, *argv, "--deadline", "1h", "--p", "0.5", codes=codes)
    assert LABEL in done.stdout
    path = max((home / "recordings").glob("*.rta"), key=lambda path: path.name)
    manifest = store.load_manifest(path)
    assert manifest.sealed and not manifest.damage.cut
    assert manifest.end_reason == "duration"
    assert [lane.cpu for lane in manifest.lanes] == list(range(board.setup.cpus))
    planned = seconds * 10**9 // INTERVAL_NS
    for lane in manifest.lanes:
        assert lane.due == planned == lane.n + lane.missed + lane.dropped + lane.truncated
        assert lane.n > 0
    kept = collections.Counter(pq.read_table(path / "samples.parquet", columns=["lane"])["lane"].to_pylist())
    assert [kept[lane.index] for lane in manifest.lanes] == [lane.n for lane in manifest.lanes]
    assert_nothing_left(home, board)
    return manifest


def assert_nothing_left(home: Path, board: Board) -> None:
    assert "nothing of rtassay" in rtassay(home, "board", "clean", board.name).stdout
    left = "ls -d /run/rtassay* /tmp/rtassay* /dev/shm/rtassay* 2>/dev/null; pidof stress-ng rtprobe; cat /sys/kernel/kexec_loaded"
    assert board.run(left).stdout.decode().split() == ["0"]


def test_a_run_under_load_and_its_inventory(board: Board, tmp_path: Path) -> None:
    header = probe_path(board.text("uname -m")).read_bytes()[:20]
    assert (header[4], int.from_bytes(header[18:20], "little")) == (ELF_CLASS_32, ELF_ARM)
    assert board.text("od -An -tu1 -j4 -N1 /bin/busybox") == str(ELF_CLASS_32)
    manifest = measured(tmp_path, board, 8, "--load", "stress-ng:cpu,vm")
    assert manifest.facts["kernel"]["machine"] == board.text("uname -m") == "armv7l"
    kernel = manifest.inventory["kernel"]
    assert (kernel["release"], kernel["preempt_model"]) == (board.text("uname -r"), "VOLUNTARY")
    total_kib = int(board.text("grep MemTotal /proc/meminfo").split()[1])
    assert manifest.inventory["memory"]["total_bytes"] == total_kib * 1024
    assert manifest.inventory["cpus"]["online"] == [0, 1]
    assert "ARMv7" in manifest.inventory["cpu_model"]
    for lane in manifest.lanes:
        assert lane.obtained_end is not None
        assert (lane.obtained_end.policy, lane.obtained_end.priority) == ("fifo", 90)
    (load,) = manifest.loads
    assert load.name == "stress-ng" and (load.user_ns or 0) > 0


def test_monitors_read_a_32_bit_kernel(board: Board, tmp_path: Path) -> None:
    """Its own counters, interrupts of an ARM among them, and the memory it says it has."""
    manifest = measured(tmp_path, board, 5, "--load", "builtin")
    recording = store.open_recording(tmp_path / "recordings" / f"{manifest.id}.rta")
    by_name = {f"{series.monitor}/{series.name}": series.values for series in recording.telemetry}
    timers = [name for name in by_name if re.fullmatch(r"interrupts/cpu[01]\.\d+:arch_timer", name)]
    assert len(timers) == board.setup.cpus
    for name in (*timers, "switches/all.context_switches", "memory/available"):
        assert all(value >= 0 for value in by_name[name]) and any(by_name[name]), name
    assert max(by_name["memory/available"]) < manifest.inventory["memory"]["total_bytes"]
    assert manifest.loads and all((load.operations or 0) > 0 for load in manifest.loads)


def test_kexec_takes_it_to_its_other_kernel_and_there_it_measures(board: Board, tmp_path: Path) -> None:
    """kexec on 32-bit ARM has options of its own, and would lay the initrd where the kernel unpacks itself."""
    identity = "cat /proc/sys/kernel/random/boot_id /proc/cmdline"
    before, command_line = board.text(identity).split("\n", 1)
    rtassay(tmp_path, "kernel", "use", "rt", board.name)
    after, same = board.text(identity).split("\n", 1)
    assert after != before and same == command_line
    manifest = measured(tmp_path, board, 5, "--load", "none")
    kernel = manifest.inventory["kernel"]
    assert kernel["preempt_model"] == "PREEMPT_RT" and "-rt-" in kernel["release"]
    assert manifest.inventory["boot_id"] == after


def test_seconds_beyond_32_bits_come_while_it_measures(board: Board, rack: Rack, tmp_path: Path) -> None:
    """The board's calendar passes 2038-01-19T03:14:07Z. Debian 12's own 32-bit programs do not survive that (dropbear lets nobody in
    any more), the probe and what it keeps do: over the connection that is there the run goes on to its end."""
    seconds = 25
    said: list[str] = []

    def step() -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until and not board.run("cat /run/rtassay-0/run-*/probe/pid").stdout:
            time.sleep(0.3)
        said.append(board.text(f"date -u -s @{LAST_32_BIT_SECOND - 3}"))

    setter = threading.Thread(target=step)
    setter.start()
    try:
        argv = ("run", board.name, "--interval", "10ms", "--duration", f"{seconds}s", "--load", "none")
        rtassay(tmp_path, *argv)
    finally:
        setter.join()
        rack.clear()  # its clock is beyond repair over SSH
    assert said and "2038" in said[0]
    (path,) = (tmp_path / "recordings").glob("*.rta")
    manifest: Any = json.loads((path / "manifest.json").read_text())
    assert manifest["sealed"] and manifest["end_reason"] == "duration"
    assert manifest["end"]["wall_ns"] > LAST_32_BIT_SECOND * 10**9
    assert manifest["wall_end"].startswith("2038-01-19T03:14:")
    for lane in manifest["lanes"]:
        assert lane["due"] == seconds * 100 == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
