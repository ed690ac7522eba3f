"""Programs that measure by the kernel's tracers, live on a board that has them and on one that has not: rtla, hwlatdetect, and beside them ours."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from command_line import RTASSAY, as_process, in_process
from vboard import Board, Setup

from rtassay.lab.packages import Packages

pytestmark = pytest.mark.full
STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
TRACING = "/sys/kernel/tracing"
SETTINGS = f"cd {TRACING}; grep . osnoise/* hwlat_detector/* tracing_thresh tracing_cpumask tracing_on current_tracer; ls instances"
PYTHON = {
    "python3.11-minimal": ("usr/bin/python3.11",),
    "libpython3.11-minimal": ("usr/lib/python3.11/**",),
    "libexpat1": ("usr/lib/x86_64-linux-gnu/libexpat.so*", "lib/x86_64-linux-gnu/libexpat.so*"),
    "rt-tests": ("usr/sbin/hwlatdetect",),
}


def on(*setups: Setup) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("setup", setups, ids=[setup.name for setup in setups])


def measured(board: Board, home: Path, probe: str, *words: str) -> dict[str, Any]:
    """What `show --json` tells of a run of 5 s. A virtual board's verdict is no matter here (5: invalid)."""
    done = as_process(
        "run", board.name, "--probe", probe, "--duration", "5s", "--load", "none", "--json", *words, home=home
    )
    assert done.returncode in (0, 5), done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def with_python(board: Board) -> None:
    """Files of Debian's smallest Python, and hwlatdetect, which is written in it."""
    if board.run("test -x /usr/bin/python3").returncode == 0:
        return
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for home in Packages("amd64").unpacked(PYTHON, lambda words: None).values():
            for folder in home.iterdir():
                tar.add(folder, folder.name)
    put = board.ssh_argv("tar xf - -C / && ln -s python3.11 /usr/bin/python3")
    subprocess.run(put, input=archive.getvalue(), check=True, timeout=300)


@on(RT)
@pytest.mark.parametrize(
    ("probe", "lanes"),
    [
        ("rtla-timerlat", [("CPU0 irq", "timer-irq"), ("CPU0 thread", "timer-thread"), ("CPU1 irq", "timer-irq"), ("CPU1 thread", "timer-thread")]),
        ("rtla-osnoise", [("CPU0", "noise"), ("CPU1", "noise")]),
        ("hwlatdetect", [("hwlat", "hardware-gap")]),
        ("cyclicdeadline", [("0", "wake-up"), ("1", "wake-up")]),
        ("jitterdebugger", [("0", "wake-up"), ("1", "wake-up")]),
        ("oslat", [("cpu0", "stall"), ("cpu1", "stall")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_each_measures_on_the_board_and_leaves_it_as_it_was(
    board: Board, tmp_path: Path, probe: str, lanes: list[tuple[str, str]]
) -> None:
    if probe == "hwlatdetect":
        with_python(board)
    before = board.text(SETTINGS)
    told = measured(board, tmp_path, probe, *(("--interval", "5ms") if probe == "cyclicdeadline" else ()))
    names = [(lane["name"].lower(), lane["measure"]) for lane in told["lanes"]]
    assert names == [(name.lower(), measure) for name, measure in lanes] and told["sealed"]
    assert all(lane["n"] > 0 for lane in told["lanes"])
    tools = {"rtla-timerlat": "rtla timerlat", "rtla-osnoise": "rtla osnoise"}
    assert told["source"]["tool"] == tools.get(probe, probe)
    assert (told["source"]["version"] is None) == (probe == "hwlatdetect")
    assert board.text(SETTINGS) == before


@on(RT)
def test_a_killed_rtla_and_a_killed_host_leave_the_board_as_it_was(board: Board, tmp_path: Path) -> None:
    """Over SSH a run goes on to its planned end when its host dies; `board clean` ends it before."""
    before = board.text(SETTINGS)
    run = ("run", board.name, "--probe", "rtla-timerlat", "--interval", "5ms", "--duration", "120s", "--load", "none")
    for victim in ("rtla", "host"):
        env = {**os.environ, "RTASSAY_HOME": str(tmp_path)}
        with subprocess.Popen([RTASSAY, *run], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as host:
            until(board, "[ -d instances/timerlat_hist ] && [ $(cat osnoise/timerlat_period_us) = 5000 ]")
            if victim == "rtla":
                board.text("killall -KILL rtla")
            else:
                host.send_signal(signal.SIGKILL)
            _, words = host.communicate(timeout=120)
        if victim == "host":
            assert in_process("board", "clean", board.name, "--force", home=tmp_path).returncode == 0
        else:
            assert host.returncode == 3 and b"rtla-timerlat did not come to its end" in words, words
        until(board, "[ -z $(ls instances) ] && [ $(cat osnoise/timerlat_period_us) = 1000 ]")
        until(board, "! pidof rtla")
        assert board.text(SETTINGS) == before


def until(board: Board, condition: str) -> None:
    end = time.monotonic() + 120
    while board.run(f"cd {TRACING}; {condition}").returncode:
        assert time.monotonic() < end, f"never: {condition}"
        time.sleep(0.2)


@on(RT)
def test_a_second_rtla_is_refused(board: Board, tmp_path: Path) -> None:
    board.text(f"mkdir {TRACING}/instances/timerlat_hist")
    try:
        done = in_process(
            "run", board.name, "--probe", "rtla-timerlat", "--duration", "5s", "--load", "none", home=tmp_path
        )
        assert done.returncode == 3 and "another timerlat runs on this board, or one was killed" in done.stderr
    finally:
        board.text(f"rmdir {TRACING}/instances/timerlat_hist")


@on(STOCK)
@pytest.mark.parametrize("probe", ["rtla-timerlat", "rtla-osnoise"])
def test_a_kernel_without_the_tracer_is_refused_with_what_to_do(board: Board, tmp_path: Path, probe: str) -> None:
    done = in_process("run", board.name, "--probe", probe, "--duration", "5s", "--load", "none", home=tmp_path)
    tracer = probe.removeprefix("rtla-")
    assert done.returncode == 2, done.stderr
    assert (
        f"this kernel has no tracer {tracer}: Debian's -rt kernels have it; cyclictest and rtprobe measure"
        in done.stderr
    )
