"""Builds of the probe that tests need, one at a time: two compilers that write the same file spoil it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(argv: Sequence[str]) -> None:
    """Runs a command that builds, in the repository. Quick where all is built already."""
    with (Path(tempfile.gettempdir()) / f"rtassay-probe-build-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=1500, check=False)
    assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr[-2000:]}"
