"""rtprobe's ways to measure by the kernel's own tracers, on a kernel that has them and on one that has not."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from second_reader import read_stream
from vboard import Board, Setup

from rtassay.model.units import NS_PER_S

STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
TRACING = "/sys/kernel/tracing"
EXIT_USAGE = 2
STOPPED_NS = 3 * NS_PER_S
# (words of rtprobe, lanes of a CPU, planned activations of a lane)
TIMERLAT = ("timerlat --interval 5ms --duration 2s", {"irq": "timer-irq", "thread": "timer-thread"}, 400)
OSNOISE = ("osnoise --interval 200ms --duration 3s", {"total": "noise-total", "longest": "noise-longest"}, 15)
# Below the kernel a virtual board stands still for milliseconds, so that gaps are found and not found.
HWLAT = ("hwlat --interval 100ms --width 20ms --threshold 10ms --duration 3s", {"": "hardware-gap"}, 30)
SETTINGS = f"cd {TRACING}; grep . osnoise/* hwlat_detector/* tracing_thresh; ls instances"


def on(setup: Setup) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("setup", [setup], ids=[setup.name])


def measured(board: Board, words: str, file: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """FACTS and END; what each lane says of itself agrees with its samples, its histogram and the clock."""
    with file.open("wb") as out:
        done = board.run(f"/probe/rtprobe {words}", stdout=out)
    assert done.returncode == 0, done.stderr.decode()
    stream = read_stream(file)
    assert stream.facts is not None and stream.end is not None
    for lane in stream.end["lanes"]:
        grid = stream.lanes[lane["lane"]]
        by_clock = (lane["closed_ns"] - lane["first_due_ns"]) // stream.facts["interval_ns"] + 1
        assert lane["due"] <= by_clock
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        assert (len(grid.samples), grid.missed, grid.dropped) == (lane["n"], lane["missed"], lane["dropped"])
        assert stream.histogram_counts[lane["lane"]] == lane["n"] > 0
        assert (lane["min_ns"], lane["max_ns"]) == (min(grid.samples.values()), max(grid.samples.values()))
    return stream.facts, stream.end


@on(RT)
@pytest.mark.parametrize(
    ("words", "lanes", "planned"), [TIMERLAT, OSNOISE, HWLAT], ids=lambda value: str(value).split()[0]
)
def test_every_activation_is_accounted_for_and_the_board_is_as_before(
    board: Board, tmp_path: Path, words: str, lanes: dict[str, str], planned: int
) -> None:
    before = board.text(SETTINGS)
    facts, end = measured(board, words, tmp_path / "f.rtw")
    assert [(lane["cpu"], lane.get("name"), lane["measure"]) for lane in facts["lanes"]] == [
        (cpu, f"cpu{cpu} {name}" if name else None, measure)
        for cpu in range(RT.cpus)
        for name, measure in lanes.items()
    ]
    for lane in end["lanes"]:
        assert planned - 1 <= lane["due"] <= planned
    assert board.text(SETTINGS) == before


@on(RT)
def test_settings_are_back_after_sigkill_before_the_instance_is_gone(board: Board) -> None:
    """The removal of an instance waits for other work of the kernel, on a busy board for a long time. Here a file of it is open: not `trace_pipe`,
    which the kernel refuses while the probe has that of a CPU."""
    before = board.text(SETTINGS)
    left = board.text(
        f"""cd {TRACING}
/probe/rtprobe timerlat --interval 5ms --duration 600s > /tmp/f & probe=$!
until [ -s /tmp/f ] && [ "$(cat osnoise/timerlat_period_us)" = 5000 ]; do usleep 50000; done
instance=$(ls -d instances/rtassay-*)
exec 9< $instance/trace
kill -9 $probe
until [ "$(cat osnoise/timerlat_period_us)" = 1000 ]; do usleep 50000; done
ls instances; cat /proc/[0-9]*/comm | grep keeper
exec 9<&-; rm /tmp/f
until [ -z "$(ls instances)" ]; do usleep 50000; done
"""
    ).split()
    assert len(left) == 2 and left[0].startswith("rtassay-") and left[1] == "rtprobe-keeper"
    assert board.text(SETTINGS) == before


@on(RT)
def test_a_second_tracer_is_refused_and_changes_nothing(board: Board) -> None:
    made = f"{TRACING}/instances/mine"
    board.text(f"mkdir {made} && echo timerlat > {made}/current_tracer")
    try:
        before = board.text(SETTINGS)
        refused = board.run("/probe/rtprobe osnoise --interval 100ms --duration 1s")
        assert refused.returncode != 0 and refused.stdout == b""
        assert "the instance mine of tracefs already runs timerlat, osnoise or hwlat" in refused.stderr.decode()
        assert board.text(SETTINGS) == before
    finally:
        board.text(f"rmdir {made}")


@on(STOCK)
@pytest.mark.parametrize("method", [pytest.param("timerlat", marks=pytest.mark.full), "osnoise", "hwlat"])
def test_a_kernel_without_the_tracer_is_refused_with_what_to_do(board: Board, method: str) -> None:
    refused = board.run(f"/probe/rtprobe {method} --interval 1ms --duration 1s")
    words = refused.stderr.decode()
    assert refused.returncode == EXIT_USAGE and refused.stdout == b"", words
    assert f"this kernel has no tracer {method}" in words and "`cyclic` measures on every kernel" in words
    assert board.text(f"ls {TRACING}/instances") == ""


@on(RT)
@pytest.mark.full
def test_hwlat_finds_a_qemu_that_was_stopped(board: Board, tmp_path: Path) -> None:
    """A stop of 3 s from below the kernel. It is found where it meets the time in which the kernel looks: nine tenths of each second."""
    longest_ns = 0
    for _ in range(5):
        file = tmp_path / "f.rtw"
        with (
            file.open("wb") as out,
            subprocess.Popen(
                board.ssh_argv(
                    "/probe/rtprobe hwlat --cpus 1 --interval 1s --width 900ms --threshold 1s --duration 8s"
                ),
                stdout=out,
            ) as client,
        ):
            until_it_measures(file)
            os.killpg(board.machine.pid, signal.SIGSTOP)
            time.sleep(STOPPED_NS / NS_PER_S)
            os.killpg(board.machine.pid, signal.SIGCONT)
            assert client.wait(timeout=300) == 0
        stream = read_stream(file)
        assert stream.end is not None
        longest_ns = max(lane["max_ns"] for lane in stream.end["lanes"])
        if longest_ns >= STOPPED_NS:
            break
    assert longest_ns >= STOPPED_NS


def until_it_measures(file: Path) -> None:
    """Until FACTS have arrived: every lane runs."""
    end = time.monotonic() + 300
    while read_stream(file).facts is None:
        assert time.monotonic() < end
        time.sleep(0.1)
