"""What the flow tests share: the plan of a short run, finding what a run started, and the account of a recording."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay import store
from rtassay.model import warnings
from rtassay.model.errors import RtassayError
from rtassay.model.manifest import Plan
from rtassay.session.control import Progress
from rtassay.session.loads import RecordedLoads
from rtassay.session.telemetry import recorded

MARK = "RTASSAY_TEST_MARK"
PLAN = Plan(
    interval_ns=1_000_000, duration_ns=3 * 10**9, load="none", dma_latency_us=0, deadline_ns=10_000_000, mlock=True
)


def free_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        return int(chosen.getsockname()[1])


@contextlib.contextmanager
def namespace_mark() -> Iterator[str | None]:
    """A mark that no program loses by writing over its environment, as stress-ng's processes do to name themselves: a UTS namespace
    of our own (the same host name), which all children inherit. None without the permission."""
    libc, new_uts = ctypes.CDLL(None, use_errno=True), 0x04000000
    with Path("/proc/thread-self/ns/uts").open() as before:
        if libc.unshare(new_uts):
            yield None
            return
        try:
            yield str(Path("/proc/thread-self/ns/uts").readlink())
        finally:
            assert libc.setns(before.fileno(), new_uts) == 0


@dataclass
class Marked:
    """Processes that carry our mark: our children and their descendants."""

    value: str
    namespace: str | None = None

    def _has_mark(self, entry: Path) -> bool:
        if str((entry / "ns/uts").readlink()) == self.namespace:
            return True
        return f"{MARK}={self.value}".encode() in (entry / "environ").read_bytes().split(b"\0")

    def pids(self) -> dict[int, str]:
        """pid -> command line of every live process with the mark, this one excepted."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                if (
                    self._has_mark(entry)
                    and (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] not in "ZX"
                ):
                    found[int(entry.name)] = (
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                    )
            except OSError:
                continue
        return found

    def find(self, *words: str, without: Sequence[str] = ()) -> int | None:
        """The pid of one whose command line holds all the words."""
        for pid, line in self.pids().items():
            if all(word in line for word in words) and not any(word in line for word in without):
                return pid
        return None

    def wait_for(self, *words: str, without: Sequence[str] = (), timeout_s: float = 300) -> int:
        deadline = time.monotonic() + timeout_s
        while (pid := self.find(*words, without=without)) is None:
            assert time.monotonic() < deadline, f"no process {words}: {self.pids()}"
            time.sleep(0.02)
        return pid

    def wait_gone(self, timeout_s: float = 300) -> None:
        """Asserts that nothing with the mark is left within the time."""
        deadline = time.monotonic() + timeout_s
        while left := self.pids():
            assert time.monotonic() < deadline, f"still running: {left}"
            time.sleep(0.05)


async def until_measuring(marked: Marked, heard: list[Progress], lanes: int | None = None) -> int:
    """The pid of the probe, once a whole second of each lane has arrived: not after some time, for the machine may have stood still in it."""
    async with asyncio.timeout(300):
        while (
            not heard or heard[-1].phase != "measure" or len(heard[-1].lanes) < (lanes or len(os.sched_getaffinity(0)))
        ):
            await asyncio.sleep(0.02)
    probe = marked.find("cyclic", without=["guard"])
    assert probe is not None, "the probe has ended"
    return probe


def wait_for_data(home: Path, watched: Sequence[str] = ("cpu all.busy",)) -> Path:
    """The only recording in there, once samples of each lane have arrived in it and each `MONITOR NAME` was seen above 0."""
    deadline = time.monotonic() + 300
    while True:
        with contextlib.suppress(RtassayError, ValueError):  # no recording yet, or no whole manifest
            (path,) = home.glob("*.rta")
            if _has_data(path, watched):
                return path
        assert time.monotonic() < deadline, list(home.glob("*.rta/*"))
        time.sleep(0.1)


def _has_data(path: Path, watched: Sequence[str]) -> bool:
    lanes, seen = store.open_recording(path).lanes, recorded(path)
    rows = itertools.chain(() if seen is None else seen.rows(), RecordedLoads(path, store.load_manifest(path)).rows())
    above = {f"{monitor} {name}" for monitor, name, _, value, _ in rows if value > 0}
    return len(lanes) > 0 and all(lane.entry.n for lane in lanes) and above >= set(watched)


def assert_account_is_exact(path: Path) -> Any:
    """due = n + missed + dropped + truncated per lane, and the samples on disk are as many as the lane counted."""
    recording = store.open_recording(path)
    manifest = recording.manifest
    assert manifest.sealed
    assert [warnings.words(told, manifest.lanes) for told in manifest.warnings] == []
    assert not manifest.damage.cut
    assert recording.lanes
    for lane in recording.lanes:
        entry = lane.entry
        assert entry.due == entry.n + entry.missed + entry.dropped + entry.truncated
        assert entry.due == (entry.last_due_ns - entry.first_due_ns) // entry.interval_ns + 1
        assert lane.histogram.total == entry.n
    return recording
