"""An experiment that is killed at some moments and resumed each time; as a script, the full matrix of 2 x 3 x 5:

.venv/bin/python tests/flow/experiment_kills.py --repeats 5 --full DIR
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay import store
from rtassay.experiments.directory import RECORDINGS, load_plan
from rtassay.experiments.journal import read_journal, states
from rtassay.experiments.recovery import PLANNED_ENDS
from rtassay.store.paths import MANIFEST, recordings

SMALL = """
name = "killed"
order = "random-blocks"
seed = 7
repeats = {repeats}

[[loads]]
name = "idle"

[[loads]]
name = "timer"
run = ["builtin:timer"]

[settings]
interval = "1ms"
duration = "4s"

[acceptance]
deadline = "1s"
p = 0.1
"""
FULL = (
    SMALL
    + """
[[scenarios]]
name = "one"
cpus = "0"

[[scenarios]]
name = "all"
"""
)
FULL_LOAD = """
[[loads]]
name = "fork"
run = ["builtin:fork"]
"""
_GIVE_UP_S = 300.0


@dataclass(frozen=True)
class Kill:
    """One moment of death: `measure` after so many seconds of a measurement, else a failpoint."""

    name: str
    after_s: float = 0.0

    @property
    def measuring(self) -> bool:
        return self.name == "measure"


def moments(seed: int, measuring: int = 4, sealing: int = 3, writing: int = 3) -> list[Kill]:
    """In a random order: so many inside a measurement, in sealing, and in writing the journal (at most three)."""
    chance = random.Random(seed)
    kills = [Kill("measure", round(chance.uniform(0.0, 1.2), 2)) for _ in range(measuring)]
    steps = ["begun", "decoded", "written", "moved histogram.parquet", "finished", "sealed"]
    kills += [Kill(f"seal {step}:1") for step in chance.sample(steps, sealing)]
    steps = ["torn sealed", "before sealed", "torn started"]
    kills += [Kill(f"journal {step}:1") for step in chance.sample(steps, writing)]
    chance.shuffle(kills)
    return kills


def rtassay(*args: str, failpoint: str = "") -> subprocess.Popen[str]:
    env = {**os.environ, "RTASSAY_FAILPOINT": failpoint}
    command = [sys.executable, "-m", "rtassay", "experiment", *args]
    return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def die(process: subprocess.Popen[str], kill: Kill, path: Path, before: set[str]) -> None:
    """Wait until it has died at this moment. `before`: recordings that were there when it was started."""
    if kill.measuring:
        until(lambda: measured(path, before) or process.poll() is not None)
        assert process.poll() is None, _words(process)
        time.sleep(kill.after_s)
        process.send_signal(signal.SIGKILL)
    process.communicate(timeout=_GIVE_UP_S)
    assert process.returncode == -signal.SIGKILL, f"{kill} was never reached: exit {process.returncode}"


def on_disk(path: Path) -> set[str]:
    return {recording.name.removesuffix(".rta") for recording in recordings(path / RECORDINGS)}


def is_cut_off(path: Path, recording: str) -> bool:
    """Whether it died while it measured: the manifest tells the time of the end as soon as there is one."""
    manifest = path / RECORDINGS / f"{recording}.rta" / MANIFEST
    return manifest.exists() and store.load_manifest(manifest.parent).wall_end is None


def measured(path: Path, before: set[str]) -> bool:
    """Whether a new recording has samples on disk."""
    for recording in recordings(path / RECORDINGS):
        stream = recording / "stream.rtw"
        if recording.name.removesuffix(".rta") not in before and stream.exists() and stream.stat().st_size > 4096:
            return True
    return False


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _GIVE_UP_S
    while not true():
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.02)


def _words(process: subprocess.Popen[str]) -> str:
    return " ".join(process.communicate(timeout=_GIVE_UP_S))


def killed_and_resumed(
    file: Path, path: Path, kills: Sequence[Kill], say: Callable[[str], None] = print
) -> tuple[dict[str, Any], set[str]]:
    """Run, die, resume, die ... and resume to the end; the result that `experiment show --json` prints, and the recordings whose
    measurement was cut off: on a busy machine a kill aimed at a measurement may come late, and hit what follows it."""
    first = True
    cut_off: set[str] = set()
    for kill in kills:
        verb = ["run", str(file), "-o", str(path)] if first else ["resume", str(path)]
        before = on_disk(path)
        process = rtassay(*verb, failpoint="" if kill.measuring else kill.name)
        die(process, kill, path, before)
        first = False
        cut_off |= {recording for recording in on_disk(path) if is_cut_off(path, recording)}
        plan = load_plan(path)
        known = states(read_journal(path), (cell.id for cell in plan.cells))
        sealed = sum(state.state == "sealed" for state in known.values())
        say(f"died: {kill}; {sealed} of {len(known)} cells sealed")
    last = rtassay("resume", str(path), "--json")
    out, err = last.communicate(timeout=600)
    assert last.returncode in (0, 1, 4, 5), err
    result: dict[str, Any] = json.loads(out)
    assert result["cells_sealed"] == result["cells_total"], err
    return result, cut_off


def check_invariants(path: Path, result: dict[str, Any], cut_off: set[str]) -> None:
    """Sealed cells equal the plan, each once; measured intervals disjoint; whatever was cut off is superseded and not counted."""
    plan = load_plan(path)
    known = states(read_journal(path), (cell.id for cell in plan.cells))
    counted = [state.recording for state in known.values()]
    assert all(state.state == "sealed" for state in known.values())
    assert len(set(counted)) == len(counted) == len(plan.cells)

    spans = []
    for cell in plan.cells:
        manifest = store.open_recording(path / RECORDINGS / f"{known[cell.id].recording}.rta", verify=True).manifest
        assert manifest.sealed and not manifest.damage.cut and manifest.end_reason in PLANNED_ENDS
        assert manifest.labels["cell"] == cell.id and manifest.labels["load"] == cell.load
        assert manifest.plan.duration_ns == cell.plan.duration_ns
        assert manifest.started_ns is not None and manifest.ended_ns is not None
        spans.append((manifest.started_ns, manifest.ended_ns))
    spans.sort()
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))

    superseded = [recording for state in known.values() for recording in state.superseded]
    assert not set(superseded) & set(counted)
    assert on_disk(path) == set(counted) | set(superseded)
    assert sorted(superseded) == sorted(cut_off) and cut_off, "no measurement was hit"
    for recording in superseded:
        assert not store.load_manifest(path / RECORDINGS / f"{recording}.rta").sealed
    assert set(result["superseded"]) == set(superseded)
    used = [recording for row in result["combinations"] for recording in row["recordings"]]
    assert sorted(used) == sorted(map(str, counted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="2 scenarios x 3 loads instead of 2 loads")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    file = given.directory / "killed.toml"
    text = FULL + FULL_LOAD if given.full else SMALL
    file.write_text(text.format(repeats=given.repeats))
    kills = moments(given.seed)
    print(f"seed {given.seed}: {', '.join(str(kill) for kill in kills)}", flush=True)
    begun = time.monotonic()
    path = given.directory / "experiment"
    result, cut_off = killed_and_resumed(file, path, kills, lambda text: print(text, flush=True))
    check_invariants(path, result, cut_off)
    seconds = time.monotonic() - begun
    print(
        f"{result['cells_sealed']} of {result['cells_total']} cells, superseded {result['superseded']}, {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
