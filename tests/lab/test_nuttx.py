"""NuttX with rtprobe-lite, built from a tree that RTASSAY_NUTTX_SOURCE names: no package registry has its sources."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rtassay.lab import machine, nuttx, rtos
from rtassay.wire.console import Lines

SOURCE = os.environ.get(nuttx.SOURCE_VARIABLE)
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        not SOURCE, reason=f"not run: {nuttx.SOURCE_VARIABLE} names no tree of NuttX, and no package registry has one"
    ),
]
NAME = f"test-{os.getpid()}-nuttx"
BUILD_S = 3600


@pytest.fixture(name="home", scope="module")
def _home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def rtassay(home: Path, *words: str, within_s: int = 600) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *words],
        env={**os.environ, "RTASSAY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=within_s,
    )


@pytest.fixture(name="board", scope="module")
def _board(home: Path) -> Iterator[str]:
    started = rtassay(home, "lab", "start", "nuttx", "--source", str(SOURCE), "--name", NAME, within_s=BUILD_S)
    assert started.returncode == 0, started.stderr
    try:
        yield f"lab:{NAME}"
    finally:
        machine.stop(next(one for one in machine.running() if one.name == NAME))


def measured(home: Path, board: str, *words: str) -> dict[str, Any]:
    done = rtassay(home, "run", board, "--json", *words)
    assert done.returncode in (1, 4, 5), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    for lane in found["lanes"]:
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
    return found


def test_a_run_from_its_shell_is_judged_and_can_be_repeated(board: str, home: Path) -> None:
    for _ in range(2):  # it runs already, the second time
        found = measured(home, board, "--count", "1500", "--deadline", "200us")
        assert found["source"]["tool"] == "rtprobe-lite" and found["kernel"].startswith("nuttx/")
        assert found["lanes"][0]["due"] == 1500 and found["verdict"]["state"] != "HOLDS"


@pytest.mark.parametrize("length_us", [100, 371])
def test_a_section_without_interrupts_is_found_with_its_length(length_us: int, board: str, home: Path) -> None:
    """The thread that makes them never sleeps, so that QEMU's time is that of instructions alone."""
    load = f"critical:{length_us}us/3333us"
    found = measured(home, board, "--count", "5000", "--deadline", f"{length_us // 2}us", "--load", load)
    assert length_us * 950 < found["lanes"][0]["max_ns"] < length_us * 1000 + 100_000
    assert found["verdict"]["state"] == "VIOLATED"


def test_the_port_keeps_its_promises(board: str) -> None:
    """Typed at its console, as the guide says; rtprobe-lite waits there since the runs above."""
    found = rtos.find(board)
    assert found is not None
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(found.console))
        line.settimeout(1)
        line.sendall(b"\r\ncheck\r\n")
        said, until = Lines(), time.monotonic() + 120
        seen: list[Any] = []
        while not any(one.kind == "BYE" for one in seen) and time.monotonic() < until:
            try:
                seen += said.feed(line.recv(4096))
            except TimeoutError:
                continue
    checks = {one.word("name"): one.number("ok") for one in seen if one.kind == "CHECK"}
    assert len(checks) == 7 and all(ok == 1 for ok in checks.values()), checks
