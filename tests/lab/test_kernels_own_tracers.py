"""rtprobe's ways to measure by the kernel's own tracers, on a kernel that has them and on one that has not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from second_reader import read_stream
from vboard import Board, Setup

STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
TRACING = "/sys/kernel/tracing"
EXIT_USAGE = 2
# (words of rtprobe, lanes of a CPU, planned activations of a lane)
TIMERLAT = ("timerlat --interval 5ms --duration 2s", {"irq": "timer-irq", "thread": "timer-thread"}, 400)
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
@pytest.mark.parametrize(("words", "lanes", "planned"), [TIMERLAT], ids=lambda value: str(value).split()[0])
def test_every_activation_is_accounted_for_and_the_board_is_as_before(
    board: Board, tmp_path: Path, words: str, lanes: dict[str, str], planned: int
) -> None:
    before = board.text(SETTINGS)
    facts, end = measured(board, words, tmp_path / "f.rtw")
    assert [(lane["cpu"], lane["name"], lane["measure"]) for lane in facts["lanes"]] == [
        (cpu, f"cpu{cpu} {name}", measure) for cpu in range(RT.cpus) for name, measure in lanes.items()
    ]
    for lane in end["lanes"]:
        assert planned - 1 <= lane["due"] <= planned
    assert board.text(SETTINGS) == before


@on(RT)
def test_settings_are_back_after_sigkill_before_the_instance_is_gone(board: Board) -> None:
    """The removal of an instance waits for other work of the kernel, on a busy board for a long time. Here somebody reads from it."""
    before = board.text(SETTINGS)
    left = board.text(
        f"""cd {TRACING}
/probe/rtprobe timerlat --interval 5ms --duration 600s > /tmp/f & probe=$!
until [ -s /tmp/f ] && [ "$(cat osnoise/timerlat_period_us)" = 5000 ]; do usleep 50000; done
sleep 1000 < $(ls -d instances/rtassay-*)/trace_pipe & reader=$!
usleep 300000
kill -9 $probe
until [ "$(cat osnoise/timerlat_period_us)" = 1000 ]; do usleep 50000; done
ls instances; cat /proc/[0-9]*/comm | grep keeper
kill $reader; rm /tmp/f
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
        refused = board.run("/probe/rtprobe timerlat --interval 5ms --duration 1s")
        assert refused.returncode != 0 and refused.stdout == b""
        assert "the instance mine of tracefs already runs timerlat" in refused.stderr.decode()
        assert board.text(SETTINGS) == before
    finally:
        board.text(f"rmdir {made}")


@on(STOCK)
@pytest.mark.parametrize("method", ["timerlat"])
def test_a_kernel_without_the_tracer_is_refused_with_what_to_do(board: Board, method: str) -> None:
    refused = board.run(f"/probe/rtprobe {method} --duration 1s")
    words = refused.stderr.decode()
    assert refused.returncode == EXIT_USAGE and refused.stdout == b"", words
    assert f"this kernel has no tracer {method}" in words and "`cyclic` measures on every kernel" in words
    assert board.text(f"ls {TRACING}/instances") == ""
