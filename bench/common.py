"""What the parts of the bench share: one row of the table, timing a command's CPU use, medians of pairs."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
RTASSAY = ROOT / ".venv" / "bin" / "rtassay"


@dataclass(frozen=True)
class Row:
    what: str
    peer: str
    goal: str
    measured: str
    detail: str


@dataclass(frozen=True)
class Used:
    cpu_s: float
    wall_s: float
    max_rss_kb: int
    code: int


def rtprobe() -> str:
    return subprocess.run([RTASSAY, "probe", "path"], capture_output=True, text=True, check=True).stdout.strip()


def use(argv: Sequence[str | Path], stdout: Path | None = None) -> Used:
    """CPU time (user + system, with waited-for children), wall time and peak RSS of one command."""
    with Path(stdout or os.devnull).open("wb") as out:
        start = time.monotonic()
        process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
    if process.returncode != 0:
        raise SystemExit(f"{argv[0]} ended with {process.returncode}: {errors.decode(errors='replace')[-500:]}")
    return Used(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss, process.returncode)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """`median (smallest .. largest)`."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} .. {max(values):{form}})"
