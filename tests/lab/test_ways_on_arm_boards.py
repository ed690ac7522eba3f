"""Each way that no other test runs on an arm board: a job, noise, responses, a work. Function only: no figure of an emulated board is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import plain_env
from vboard import Board, Setup

pytestmark = pytest.mark.full
SETUPS = [Setup(f"{arch}-{kernel}", kernel, arch=arch) for arch in ("arm64", "armhf") for kernel in ("stock", "rt")]
EXIT_DONE, EXIT_INVALID = 0, 5
WINDOW_NS = 100_000_000


def rtassay(home: Path, *words: str) -> dict[str, Any]:
    """Its JSON. An invalid measurement is an answer: an emulated board may stand still for longer than a period."""
    done = subprocess.run(
        [sys.executable, "-m", "rtassay", *words],
        capture_output=True,
        text=True,
        timeout=900,
        env=plain_env(home),
        check=False,
    )
    assert done.returncode in (EXIT_DONE, EXIT_INVALID), f"{words}: exit {done.returncode}: {done.stderr}"
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def lanes(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By measure; every activation is accounted for."""
    for lane in told["lanes"]:
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"] and lane["n"] > 0, lane
    return {lane["measure"]: lane for lane in told["lanes"]}


def every_way(board: str, home: Path) -> None:
    run = ("run", board, "--load", "none", "--json")
    jobs = lanes(
        rtassay(home, "exec", board, "--repeat", "5", "--interval", "500ms", "--load", "none", "--json", "--", "true")
    )
    counted = {one["name"]: one for one in jobs["job-execution"]["counters"]}
    assert jobs["job-response"]["n"] == 5
    if counted["page-faults"]["error"]:  # on PREEMPT_RT, where counting would lengthen the job
        assert "counters=always" in counted["page-faults"]["error"] and counted["page-faults"]["jobs"] == 0
    else:
        assert counted["page-faults"]["jobs"] == 5 and counted["page-faults"]["min"] > 0
    assert counted["cycles"]["error"] or counted["cycles"]["min"] > 0
    windows = ("--interval", "100ms", "--duration", "5s", "--cpus", "1")
    noise = lanes(rtassay(home, *run, "--probe", "noise", *windows))
    # A gap may reach into several windows, and counts for each of them in its whole length.
    assert noise["noise-total"]["max_ns"] <= WINDOW_NS and noise["noise-longest"]["max_ns"] > 0
    for by in ("pi-mutex", "udp"):
        set_by = ("--probe", "response", "--set", f"by={by}", "--interval", "50ms", "--duration", "5s")
        assert set(lanes(rtassay(home, *run, *set_by))) == {"wake-up", f"response:{by}", f"response:{by}-answer"}
    work = rtassay(
        home, "throughput", board, "--work", "builtin:switch,fork,1%", "--rounds", "2", "--duration", "60s", "--json"
    )
    assert {row["part"]: row["a"]["rounds"] for row in work["parts"]} == {"switch": 2, "fork": 2}


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_each_way_accounts_for_everything_and_leaves_nothing(board: Board, tmp_path: Path) -> None:
    every_way(board.name, tmp_path)
    assert (
        board.text("ls -d /run/rtassay* /tmp/rtassay* /dev/shm/rtassay* 2>/dev/null; pgrep rtprobe; true").strip() == ""
    )
