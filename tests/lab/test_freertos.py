"""FreeRTOS with rtprobe-lite in QEMU: known answers in virtual time, and a run over the board's console."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rtassay.lab import machine, rtos
from rtassay.model.events import End, HistogramPart
from rtassay.wire.console import ConsoleParser, Lines

NAME = f"test-{os.getpid()}-freertos"
# What FreeRTOS itself needs from the timer's interrupt to the lane, in virtual time of this image.
OWN_NS = 20_000


def run_of(plan: str) -> dict[str, Any]:
    """END of a run in virtual time."""
    parser = ConsoleParser()
    events = parser.feed(rtos.script([plan]).console) + parser.finish()
    assert parser.damage == type(parser.damage)()
    (end,) = [event.data for event in events if isinstance(event, End)]
    (lane,) = end["lanes"]
    assert lane["n"] == sum(int(sum(part.counts)) for part in events if isinstance(part, HistogramPart))
    assert lane["due"] == lane["n"] + lane["missed"] + lane["truncated"]
    found: dict[str, Any] = lane
    return found


def test_the_same_plan_gives_the_same_bytes() -> None:
    plan = ["run count=500 load=storm load_ns=50000 load_every_ns=3100000"]
    assert rtos.script(plan).console == rtos.script(plan).console


def test_the_port_keeps_its_promises() -> None:
    checks = [line for line in Lines().feed(rtos.script(["check"]).console) if line.kind == "CHECK"]
    assert len(checks) == 7 and all(line.number("ok") == 1 for line in checks)


def test_an_idle_board_has_nothing_but_its_own_path() -> None:
    lane = run_of("run count=1000 deadline_ns=20000")
    assert lane["n"] == 1000 and lane["exceedances"] == 0 and 0 < lane["max_ns"] < OWN_NS


@pytest.mark.parametrize("length_ns", [100_000, 371_000])
def test_a_section_without_interrupts_is_found_with_its_length(length_ns: int) -> None:
    lane = run_of(f"run count=5000 load=critical load_ns={length_ns} load_every_ns=3333000 deadline_ns=60000")
    assert length_ns * 0.95 < lane["max_ns"] < length_ns + OWN_NS and lane["exceedances"] > 10


def test_a_section_longer_than_the_interval_is_missed_activations() -> None:
    lane = run_of("run count=1000 load=critical load_ns=2500000 load_every_ns=3333000")
    assert lane["missed"] > 100 and 2_400_000 < lane["max_ns"] < 2_500_000 + OWN_NS


@pytest.mark.parametrize("load", ["above", "storm"])
def test_what_runs_above_the_lane_is_seen(load: str) -> None:
    assert run_of(f"run count=3000 load={load} load_ns=80000 load_every_ns=3141000")["max_ns"] > 60_000


@pytest.fixture(name="board", scope="module")
def _board() -> Iterator[str]:
    started = rtos.start(lambda words: None, name=NAME, lifetime_s=600)
    try:
        yield f"lab:{started.name}"
    finally:
        machine.stop(started)


def rtassay(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *words],
        env={**os.environ, "RTASSAY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_run_over_the_console_is_judged_and_can_be_repeated(board: str, tmp_path: Path) -> None:
    words = ("--count", "1500", "--deadline", "200us", "--load", "critical:371us/3333us", "--json")
    done = rtassay(tmp_path, "run", board, *words, "--name", "first")
    assert done.returncode in (1, 4, 5), done.stderr
    found = json.loads(done.stdout)
    assert found["source"]["tool"] == "rtprobe-lite" and found["kernel"] == "freertos/V11.2.0"
    assert found["lanes"][0]["due"] == 1500 and found["lanes"][0]["measure"] == "wake-up"
    assert found["verdict"]["state"] != "HOLDS"
    kept = Path(found["path"]) / "original"
    assert b" BYE " in next(kept.iterdir()).read_bytes()
    imported = rtassay(tmp_path, "import", str(next(kept.iterdir())), "--json")
    assert imported.returncode == 0, imported.stderr
    refused = rtassay(tmp_path, "run", board, "--count", "10", "--load", "stress-ng")
    assert refused.returncode == 2 and "rtprobe-lite has no load 'stress-ng'" in refused.stderr
    refused = rtassay(tmp_path, "run", board, "--count", "10", "--cpus", "0")
    assert refused.returncode == 2 and "--cpus does not go with" in refused.stderr
