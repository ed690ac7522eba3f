"""The time of a verdict against the commit before bounds by events: the same synthetic samples, kept and judged by the code of each."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from common import ROOT, Row, spread
from recording_cost import DEADLINES_NS

BEFORE = "922fdfc"
_MAKE = """
import sys
from pathlib import Path
import recording_cost
from rtassay import store
path = recording_cost._synthetic(Path(sys.argv[1]), int(sys.argv[2]))
try:
    from rtassay.analysis.judge import judge
    from rtassay.runs import cache_findings
    cache_findings(path, judge(store.open_recording(path)))
except ImportError:  # the code before kept its findings too, and used them for the run's own requirement only
    pass
print(path)
"""
_JUDGE = """
import json, os, sys, time
from pathlib import Path
from rtassay import store
try:
    from rtassay.api import judged
except ImportError:
    from rtassay.analysis import judge
    def judged(recording, deadline_ns):
        return judge(recording, deadline_ns=deadline_ns)
def once(deadline):
    recording = store.open_recording(Path(sys.argv[1]))
    begin = time.process_time()
    late = judged(recording, deadline_ns=deadline).verdict.exceedances
    return late, time.process_time() - begin
judged(store.open_recording(Path(sys.argv[2])), deadline_ns=int(sys.argv[3]) + 1)
found = []
for deadline in map(int, sys.argv[3:]):
    end, begin = os.pipe()
    child = os.fork()
    if not child:
        os.write(begin, json.dumps([deadline, *once(deadline)]).encode())
        os._exit(0)
    found.append(json.loads(os.read(end, 1000)))
    os.waitpid(child, 0)
print(json.dumps(found))
"""


def of_1e6(quick: bool) -> list[Row]:
    """A million activations."""
    return _against_before(100_000 if quick else 1_000_000, 2 if quick else 11, "<= 1.0x", True)


def of_1e8(quick: bool) -> list[Row]:
    """1e8 samples."""
    return [] if quick else _against_before(100_000_000, 3, "< 1 s more", False)


def of_command(quick: bool) -> list[Row]:
    """`rtassay show --deadline` over a million activations, from its start to its end."""
    found: dict[Path, dict[int, list[float]]] = {}
    with _two_trees() as (folder, trees):
        made = {tree: _made(tree, folder, 100_000 if quick else 1_000_000) for tree in trees}
        for _ in range(2 if quick else 9):
            for deadline in DEADLINES_NS:
                for tree, path in made.items():
                    found.setdefault(tree, {}).setdefault(deadline, []).append(_shown_s(tree, path, deadline))
    before, now = ([statistics.median(found[tree][one]) for one in DEADLINES_NS] for tree in found)
    return [
        Row(
            "rtassay show --deadline of 1e+06 samples, the whole command",
            f"commit {BEFORE}, before bounds by events",
            "<= 1.0x",
            spread([b / a for a, b in zip(before, now, strict=True)]) + " x",
            f"CPU time of {len(DEADLINES_NS)} deadlines, each the median of pairs; {1000 * statistics.median(now):.0f} ms now; load average {os.getloadavg()[0]:.0f}",
        )
    ]


def _shown_s(tree: Path, path: str, deadline_ns: int) -> float:
    """CPU time of one command."""
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    argv = [sys.executable, "-m", "rtassay", "show", path, "--deadline", f"{deadline_ns}ns"]
    env = os.environ | {"PYTHONPATH": str(tree / "src")}
    subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=False)  # 1: violated
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


@contextmanager
def _two_trees() -> Iterator[tuple[Path, tuple[Path, Path]]]:
    """A folder for recordings, and the code before and now."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        tar = subprocess.run(
            ["git", "archive", BEFORE, "src", "bench"], cwd=ROOT, capture_output=True, check=True
        ).stdout
        (old := Path(name) / "before").mkdir()
        subprocess.run(["tar", "x", "-C", old], input=tar, check=True)
        yield Path(name), (old, ROOT)


def _against_before(n: int, rounds: int, goal: str, as_ratio: bool) -> list[Row]:
    """CPU time, in pairs. Modules are loaded by a judgement of another recording; then every verdict is the first of its process, as in `rtassay show`."""
    with _two_trees() as (folder, (old, _)):
        made = {tree: [_made(tree, folder, size) for size in (n, 50_000)] for tree in (old, ROOT)}
        found: dict[Path, dict[int, list[float]]] = {old: {}, ROOT: {}}
        late: dict[int, int] = {}
        for _ in range(rounds):
            for tree, paths in made.items():
                for deadline, exceedances, seconds in json.loads(_python(tree, _JUDGE, *paths, *DEADLINES_NS)):
                    late[deadline] = exceedances
                    found[tree].setdefault(deadline, []).append(1000 * seconds)
    before, now = ([statistics.median(found[tree][one]) for one in DEADLINES_NS] for tree in (old, ROOT))
    pairs = list(zip(before, now, strict=True))
    measured = (
        spread([b / a for a, b in pairs]) + " x" if as_ratio else spread([b - a for a, b in pairs], ".0f") + " ms more"
    )
    told = "; ".join(
        f"{a:.1f} to {b:.1f} with {late[one]:,} late" for one, (a, b) in zip(DEADLINES_NS, pairs, strict=True)
    )
    return [
        Row(
            f"Verdict over {n:.0e} samples at {len(DEADLINES_NS)} deadlines",
            f"commit {BEFORE}, before bounds by events",
            goal,
            measured,
            f"ms of CPU time, medians of {rounds} pairs: {told}; the code before knew the order of no sample that the probe did not send by itself; load average {os.getloadavg()[0]:.0f}",
        )
    ]


def _made(tree: Path, folder: Path, n: int) -> str:
    (home := folder / f"{tree.name}-{n}").mkdir()
    return _python(tree, _MAKE, home, n).strip()


def _python(tree: Path, code: str, *args: object) -> str:
    paths = os.pathsep.join(str(tree / folder) for folder in ("src", "bench"))
    argv = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.run(
        argv, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
