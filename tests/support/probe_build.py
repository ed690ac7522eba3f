"""Builds of the probe that tests need, one at a time: two compilers that write the same file spoil it."""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(argv: Sequence[str]) -> None:
    """Runs a command that builds, in the repository. Quick where all is built already."""
    lock_file = ROOT / "probe" / "build" / "tests.lock"  # beside what is built: two runs of tests may have two TMPDIR
    lock_file.parent.mkdir(exist_ok=True)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr[-2000:]}"
