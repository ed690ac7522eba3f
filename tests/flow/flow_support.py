"""What the flow tests share: the plan of a short run, finding what a run started, and the account of a recording."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay import store
from rtassay.model.manifest import Plan

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


def assert_account_is_exact(path: Path) -> Any:
    """due = n + missed + dropped + truncated per lane, and the samples on disk are as many as the lane counted."""
    recording = store.open_recording(path)
    manifest = recording.manifest
    assert manifest.sealed
    assert manifest.warnings == ()
    assert not manifest.damage.cut
    assert recording.lanes
    for lane in recording.lanes:
        entry = lane.entry
        assert entry.due == entry.n + entry.missed + entry.dropped + entry.truncated
        assert entry.due == (entry.last_due_ns - entry.first_due_ns) // entry.interval_ns + 1
        assert lane.histogram.total == entry.n
    return recording
