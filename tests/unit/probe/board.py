"""Running the built rtprobe in tests: where it is, and whether a command left processes behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

RTPROBE = os.environ.get("RTPROBE_BINARY", str(Path(__file__).parents[3] / "probe/build/rtprobe"))
if not Path(RTPROBE).exists():  # a skip would look like a pass
    raise RuntimeError(f"{RTPROBE} is not built: make -C probe")
NEEDS_PROBE: list[pytest.MarkDecorator] = []  # marks of a module that runs it: none beyond the check above
PATIENCE_S = 300.0
MARK = "RTPROBE_TEST_MARK"


def run(
    *argv: str, timeout: float = PATIENCE_S, stdin: int = subprocess.DEVNULL, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """One rtprobe command to its end."""
    return subprocess.run([RTPROBE, *argv], stdin=stdin, capture_output=True, timeout=timeout, check=False, **more)


class Family:
    """Processes started with one mark in their environment: found again wherever they moved in the process tree."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, MARK: self.mark}

    def start(self, *argv: str, **more: object) -> subprocess.Popen[bytes]:
        options: dict[str, object] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options.update(more)
        return subprocess.Popen([RTPROBE, *argv], env=self.environment, **options)  # type: ignore[call-overload,no-any-return]

    def alive(self) -> list[int]:
        """Pids that carry the mark and are not zombies."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                state = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                if state not in "ZXx" and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def wait_gone(self, patience_s: float = PATIENCE_S) -> None:
        """Waits until no process of the family is left, or fails with the ones that are."""
        until = time.monotonic() + patience_s
        while left := self.alive():
            assert time.monotonic() < until, f"still there: {left}"
            time.sleep(0.02)

    def wait_for(self, count: int) -> list[int]:
        """Waits until at least `count` processes of the family run."""
        until = time.monotonic() + PATIENCE_S
        while len(found := self.alive()) < count:
            assert time.monotonic() < until, f"only {found} of {count} started"
            time.sleep(0.02)
        return found


@contextmanager
def family() -> Iterator[Family]:
    """A family that is killed at the end of the test, whatever the test found."""
    members = Family()
    try:
        yield members
    finally:
        for _ in range(200):
            left = members.alive()
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.01)
