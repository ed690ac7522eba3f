"""The lab: real Debian kernels, stock and PREEMPT_RT, in QEMU. One board at a time, ended whatever the tests do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # pytest's importlib mode has no sibling imports

from vboard import Rack, make_kit

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def probes() -> dict[str, Path]:
    """The static rtprobe as `make` builds it, and a 32-bit one, by the name they get on a board."""
    made = {}
    for name, variables in {"rtprobe": (), "rtprobe32": ("CC=gcc -m32", "BUILD=build/m32")}.items():
        argv = ["make", "--silent", "-C", str(ROOT / "probe"), *variables]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"{' '.join(argv)}: {done.stderr[-2000:]}"
        made[name] = ROOT / "probe" / ("build/m32" if variables else "build") / "rtprobe"
    return made


@pytest.fixture(scope="session")
def rack(probes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Where a test gets its board: `rack.board(Setup("rt"))`, powered on, reachable, possibly used by the test before."""
    scratch = tmp_path_factory.mktemp("lab")
    rack = Rack(make_kit(probes, scratch), scratch)
    try:
        yield rack
    finally:
        rack.clear()
