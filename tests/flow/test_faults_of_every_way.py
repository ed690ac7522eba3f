"""Bad days of the ways to measure beside cyclic: a killed host, a lost link and a full disk leave no process, and what came is readable."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faults
import pytest
from flow_support import Marked
from test_faults import Measure, driver, only_recording, small_disk

from rtassay import store
from rtassay.cli.judging import parser_for
from rtassay.model.errors import BoardError, RtassayError

S = 10**9
__all__ = ["small_disk"]

WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "noise": ("noise", {"interval_ns": 10_000_000}),
    "response": ("response", {"interval_ns": 5_000_000, "settings": {"by": "pipe"}}),
    "exec": (
        "exec",
        {"interval_ns": 50_000_000, "settings": {"command": "sleep 0.001"}, "policy": "other", "cpus": [0]},
    ),
    "work:builtin": ("repeat", {"settings": {"arguments": "switch,1%"}, "deadline_ns": None}),
}
"""The word of its probe's command line, and what its plan has."""
BY_NAME = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.full] if name in ("noise", "response") else []) for name in WAYS]
)


def plan(name: str) -> dict[str, Any]:
    return {"probe": name, "duration_ns": 120 * S, **WAYS[name][1]}


def lanes_of(path: Path) -> tuple[Any, ...]:
    """What has arrived, as `rtassay show` reads it. Nothing while the recording is being made."""
    with contextlib.suppress(RtassayError, ValueError):
        return tuple(store.open_recording(path, parser_for=parser_for).lanes)
    return ()


def unsealed_but_readable(path: Path) -> Any:
    """The recording."""
    recording = store.open_recording(path, parser_for=parser_for)
    assert not recording.manifest.sealed and not store.is_running(path)
    return recording


def cut_but_readable(path: Path) -> tuple[Any, ...]:
    """Its lanes."""
    recording = unsealed_but_readable(path)
    assert recording.manifest.damage.cut
    return tuple(recording.lanes)


def wait_until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 100
    while not done():
        assert time.monotonic() < end
        time.sleep(0.1)


@BY_NAME
def test_a_killed_host_leaves_no_process_and_a_readable_recording(name: str, marked: Marked, tmp_path: Path) -> None:
    with driver(tmp_path, **plan(name)) as host:
        wait_until(lambda: any(lane.entry.n for path in tmp_path.glob("*.rta") for lane in lanes_of(path)))
        assert marked.find(WAYS[name][0]) is not None
        host.kill()
        host.wait()
        marked.wait_gone()
    assert any(lane.entry.n for lane in cut_but_readable(only_recording(tmp_path)))


@BY_NAME
def test_a_lost_link_is_said_and_keeps_what_came(name: str, measure: Measure, marked: Marked, tmp_path: Path) -> None:
    board = faults.FaultyBoard({WAYS[name][0]: faults.lose_board_after(2_000)})
    with pytest.raises(BoardError) as caught:
        measure(board=board, **plan(name))
    assert caught.value.what == "the board is gone"
    path = only_recording(tmp_path)
    assert sum(file.stat().st_size for file in path.glob("stream.*")) == 2_000
    cut_but_readable(path)
    marked.wait_gone()


@pytest.mark.root
@BY_NAME
def test_a_full_disk_ends_the_run_and_what_fits_is_readable(
    name: str, small_disk: Path, measure: Measure, marked: Marked
) -> None:
    """A way that tells little would need hours to fill the disk: something else fills it when the run has begun."""

    async def fill(stop: Any) -> None:
        while not any(file.stat().st_size > 1000 for file in small_disk.glob("*.rta/stream.*")):
            await asyncio.sleep(0.05)
        with contextlib.suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
            while filler.write(b"x" * 4096):
                pass

    with pytest.raises(BoardError) as caught:
        measure(home=small_disk, during=fill, **plan(name))
    assert "disk is full" in caught.value.what
    # A stream of a few bytes may fit to its end into the last block: then it is whole, and what came after it was not written.
    unsealed_but_readable(only_recording(small_disk))
    marked.wait_gone()
