"""Runs of the real thing on this machine, each a few seconds; what they start is found again by a mark in its environment."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rtassay.boards.local import LocalBoard
from rtassay.model.manifest import Plan
from rtassay.session.control import Progress, RunResult, StopRequest
from rtassay.session.run import run

MARK = "RTASSAY_TEST_MARK"
PLAN = Plan(
    interval_ns=1_000_000, duration_ns=3 * 10**9, load="none", dma_latency_us=0, deadline_ns=10_000_000, mlock=True
)


@dataclass
class Marked:
    """Processes that carry our mark: whoever we started, and whoever they started."""

    value: str

    def pids(self) -> dict[int, str]:
        """pid -> command line of every live process with the mark, this one excepted."""
        mine = f"{MARK}={self.value}".encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if mine in (entry / "environ").read_bytes().split(b"\0"):
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def find(self, *words: str, without: Sequence[str] = ()) -> int | None:
        """The pid of one whose command line holds all the words."""
        for pid, line in self.pids().items():
            if all(word in line for word in words) and not any(word in line for word in without):
                return pid
        return None

    def wait_for(self, *words: str, without: Sequence[str] = (), timeout_s: float = 20) -> int:
        deadline = time.monotonic() + timeout_s
        while (pid := self.find(*words, without=without)) is None:
            assert time.monotonic() < deadline, f"no process {words}: {self.pids()}"
            time.sleep(0.02)
        return pid

    def wait_gone(self, timeout_s: float = 10) -> None:
        """Asserts that nothing with the mark is left within the time."""
        deadline = time.monotonic() + timeout_s
        while left := self.pids():
            assert time.monotonic() < deadline, f"still running: {left}"
            time.sleep(0.05)


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Marked]:
    mark = Marked(uuid.uuid4().hex)
    monkeypatch.setenv(MARK, mark.value)
    yield mark
    mark.wait_gone()


@pytest.fixture
def measure(tmp_path: Path) -> Callable[..., RunResult]:
    """`measure(board=..., during=async function(stop), **plan fields)`: one run in this process."""

    def start(
        board: Any = None,
        during: Callable[[StopRequest], Any] | None = None,
        home: Path = tmp_path,
        heard: list[Progress] | None = None,
        isolated: bool = False,
        lanes: int | None = None,
        **fields: Any,
    ) -> RunResult:
        async def main() -> RunResult:
            stop = StopRequest()
            meanwhile = None if during is None else asyncio.create_task(during(stop))
            try:
                return await run(
                    board or LocalBoard(),
                    replace(PLAN, **fields),
                    home=home,
                    labels={"ambient": "21C"},
                    note="a note",
                    on_event=[].append if heard is None else heard.append,
                    stop=stop,
                    isolated=isolated,
                    lanes=lanes,
                )
            finally:
                if meanwhile is not None:
                    meanwhile.cancel()
                    await asyncio.gather(meanwhile, return_exceptions=True)

        return asyncio.run(main())

    return start
