#!/usr/bin/env python3
"""Does 95 % mean 95 %? Late activations are simulated, judged by rtassay's own code, and held against the truth.

    .venv/bin/python tools/coverage/run.py [--full] [--only TEXT] [--sets N] [--stars N] [--seed N] [--jobs N] [-o DIR]

Exit code 1 if a promise of docs/method/coverage.md is broken beyond simulation error. Writes COVERAGE.md and coverage.json into DIR
unless --only is given. Each finished case is kept in `.coverage.cells.jsonl` (`.coverage-full.cells.jsonl`) there: started again after an
interruption, with the same code, it does only the others. --cells N simulates N more of them, and writes no page while some are missing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import cells
import compared
import grade
import page
from cells import Cell
from compared import Match, Shown
from grade import Promise
from kept import Kept, code_hash
from simulate import Count, simulate

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261122
Found = dict[str, Count] | Shown


@dataclass(frozen=True)
class Extent:
    """How much is simulated: data sets a cell, those of them whose D* is checked, comparisons a case."""

    name: str
    sets: int
    stars: int
    comparisons: int


QUICK = Extent("coverage", 400, 4, 200)
FULL = Extent("coverage-full", 10_000, 200, 10_000)


@dataclass(frozen=True)
class Job:
    """One case with its number of data sets."""

    case: Cell | Match
    sets: int
    stars: int
    seed: int

    @property
    def key(self) -> str:
        """Tells it from every other job."""
        return f"{self.case.name}; {self.sets} sets, {self.stars} stars, seed {self.seed}"

    def run(self) -> Found:
        """What was counted."""
        if isinstance(self.case, Match):
            return compared.simulate(self.case, self.sets, self.seed)
        return simulate(self.case, self.sets, self.stars, self.seed)


def main() -> int:
    """0: every promise kept."""
    args = _arguments()
    extent = FULL if args.full else QUICK
    cases = [*(cells.full() if args.full else cells.quick()), *compared.matches()]
    chosen = [case for case in cases if all(word in case.name for word in args.only)]
    if not chosen:
        print(f"no case has {' and '.join(args.only)} in its name", file=sys.stderr)
        return 2
    begun = time.monotonic()
    jobs = [_job(case, extent, args) for case in chosen]
    kept = Kept(args.output / f".{extent.name}.cells.jsonl", code_hash())
    found = list(zip(chosen, _run(jobs, args.jobs, kept, args.cells), strict=False))
    if len(found) < len(chosen):
        print(f"{len(found)} of {len(chosen)} cases are simulated; start it again for the others")
        return 3
    promises = [promise for case, counts in found for promise in _promises(case, counts)]
    record = page.record(found, promises, args.seed, time.monotonic() - begun, extent.name, _repeat(args, extent))
    if args.only:
        print("\n".join(page.tables(record)))
    else:
        _write(record, args.output, extent)
    for promise in record["broken"]:
        print(f"BROKEN {page.words(promise)}")
    print(f"{len(chosen)} cases, {len(promises)} promises, {len(record['broken'])} broken; {record['seconds']} s")
    return 1 if record["broken"] else 0


def _repeat(args: argparse.Namespace, extent: Extent) -> str:
    """The command that makes the page again."""
    stated = [("--sets", args.sets), ("--stars", args.stars), ("--seed", args.seed if args.seed != SEED else None)]
    words = [f"{option} {value}" for option, value in stated if value is not None]
    return " ".join(["tools/coverage/run.py", *["--full"] * args.full, *words]) if words else f"make {extent.name}"


def _promises(case: Cell | Match, found: Found) -> list[Promise]:
    if isinstance(case, Match):
        assert isinstance(found, Shown)
        return grade.of_comparison(case, found)
    assert isinstance(found, dict)
    return grade.promises(case, found)


def _write(record: dict[str, Any], folder: Path, extent: Extent) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{extent.name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (folder / f"{extent.name.upper()}.md").write_text(page.page(record))


def _job(case: Cell | Match, extent: Extent, args: argparse.Namespace) -> Job:
    """Fewer data sets where several lanes or runs, or a bootstrap, take longer."""
    if isinstance(case, Match):
        wanted = args.sets or extent.comparisons
        return Job(case, max(1, wanted if min(case.a, case.b) < 8 else wanted // 4), 0, args.seed)
    share = 1 if case.lane_count * case.runs == 1 else 2 if case.runs == 1 or case.spread else 8
    sets = max(1, (args.sets or extent.sets) // share)
    return Job(case, sets, min(sets, args.stars or extent.stars), args.seed)


def _run(jobs: Sequence[Job], processes: int, kept: Kept, most: int | None) -> Iterator[Found]:
    """What was counted, case by case, and kept; ends early where more than `most` were missing."""
    missing = [job for job in jobs if kept.get(job.key) is None]
    left = missing[:most]
    if len(left) < len(jobs):
        print(
            f"{len(jobs) - len(missing)} of {len(jobs)} cases are kept, {len(left)} are simulated now", file=sys.stderr
        )
    begun, done = time.monotonic(), 0
    with multiprocessing.Pool(processes) as pool:
        fresh = pool.imap(Job.run, left)
        for job in jobs:
            found = kept.get(job.key)
            if found is None:
                if done == len(left):
                    return
                found, done = next(fresh), done + 1
                kept.add(job.key, found)
                if done % 10 == 0:
                    rest_min = (time.monotonic() - begun) / done * (len(left) - done) / 60
                    print(f"{done} of {len(left)} cases, about {rest_min:.0f} min left", file=sys.stderr, flush=True)
            yield found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more cases and more data sets: hours")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="cases with TEXT in their name; writes no page"
    )
    parser.add_argument("--sets", type=int, help=f"data sets a cell ({QUICK.sets}; {FULL.sets} with --full)")
    parser.add_argument(
        "--stars", type=int, help=f"data sets a cell whose D* is checked ({QUICK.stars}; {FULL.stars} with --full)"
    )
    parser.add_argument("--cells", type=int, metavar="N", help="simulate at most N of the cases that are missing")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench", metavar="DIR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
