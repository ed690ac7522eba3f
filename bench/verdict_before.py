"""The time of a verdict against the commit before bounds by events: the same synthetic recording, made and judged by the code of each."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ROOT, Row, spread
from recording_cost import DEADLINES_NS

BEFORE = "922fdfc"
_JUDGE = """
import json, sys, tempfile, time
from pathlib import Path
import recording_cost
from rtassay import store
try:
    from rtassay.analysis.judge import judge
except ModuleNotFoundError:  # the code before had it there
    from rtassay.analysis import judge
found = []
with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
    path = recording_cost._synthetic(Path(name), int(sys.argv[1]))
    for _ in range(int(sys.argv[2]) + 1):
        for deadline in map(int, sys.argv[3:]):
            recording = store.open_recording(path)
            begin = time.process_time()
            if hasattr(store, "with_order"):
                recording = store.with_order(recording, deadline)
            late = judge(recording, deadline_ns=deadline).verdict.exceedances
            found.append((deadline, late, time.process_time() - begin))
print(json.dumps(found[len(sys.argv[3:]):]))
"""


def of_1e6(quick: bool) -> list[Row]:
    """A million activations."""
    return _against_before(100_000 if quick else 1_000_000, 2 if quick else 9, "no longer")


def of_1e8(quick: bool) -> list[Row]:
    """1e8 samples."""
    return [] if quick else _against_before(100_000_000, 3, "< 1 s more")


def _against_before(n: int, rounds: int, goal: str) -> list[Row]:
    """CPU time of one process each; the first round, which compiles and reads what is lazy, is left out."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        tar = subprocess.run(
            ["git", "archive", BEFORE, "src", "bench"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        subprocess.run(["tar", "x", "-C", name], input=tar, check=True)
        before, now = _judged(Path(name), n, rounds), _judged(ROOT, n, rounds)
    late = ", ".join(f"{now[deadline][0]:,}" for deadline in DEADLINES_NS)
    by_deadline = [(_ms(before, one), _ms(now, one)) for one in DEADLINES_NS]
    told = "; ".join(f"{a:.1f} to {b:.1f}" for a, b in by_deadline)
    return [
        Row(
            f"Verdict over {n:.0e} samples at {len(DEADLINES_NS)} deadlines",
            f"commit {BEFORE}, before bounds by events",
            goal,
            spread([b - a for a, b in by_deadline], ".1f") + " ms more",
            f"{told} ms of CPU time (medians of {rounds}), with {late} late; the code before knew the order of no sample that the probe did not send by itself",
        )
    ]


def _ms(found: dict[int, tuple[int, list[float]]], deadline: int) -> float:
    return 1000 * statistics.median(found[deadline][1])


def _judged(tree: Path, n: int, rounds: int) -> dict[int, tuple[int, list[float]]]:
    """Deadline -> (late ones, seconds of each round)."""
    paths = os.pathsep.join(str(tree / folder) for folder in ("src", "bench"))
    argv = [sys.executable, "-c", _JUDGE, str(n), str(rounds), *map(str, DEADLINES_NS)]
    done = subprocess.run(argv, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[int, tuple[int, list[float]]] = {}
    for deadline, late, seconds in json.loads(done.stdout):
        found.setdefault(deadline, (late, []))[1].append(seconds)
    return found
