#!/usr/bin/env python3
"""Does 95 % mean 95 %? Late activations are simulated, judged by rtassay's own code, and held against the truth.

    .venv/bin/python tools/coverage/run.py [--full] [--only TEXT] [--sets N] [--stars N] [--seed N] [--jobs N] [-o DIR]

Exit code 1 if a promise of docs/method/coverage.md is broken beyond simulation error. Writes COVERAGE.md and coverage.json into DIR
unless --only is given.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import cells
import grade
import page
from cells import Cell
from simulate import Count, simulate

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261122
SETS, FULL_SETS = 1000, 10_000
STARS, FULL_STARS = 5, 200

Job = tuple[Cell, int, int, int]
Row = tuple[Cell, dict[str, Count]]


def main() -> int:
    """0: every promise kept."""
    args = _arguments()
    chosen = [
        cell for cell in (cells.full() if args.full else cells.quick()) if all(word in cell.name for word in args.only)
    ]
    if not chosen:
        print(f"no cell has {' and '.join(args.only)} in its name", file=sys.stderr)
        return 2
    sets = args.sets or (FULL_SETS if args.full else SETS)
    stars = min(sets, args.stars or (FULL_STARS if args.full else STARS))
    begun = time.monotonic()
    rows = list(_rows([(cell, sets, stars, args.seed) for cell in chosen], args.jobs))
    found = [promise for cell, counts in rows for promise in grade.promises(cell, counts)]
    lost = grade.broken(found)
    record = page.record(rows, found, lost, args.seed, time.monotonic() - begun, "full" if args.full else "quick")
    if args.only:
        print("\n".join(page.table(record["cells"])))
    else:
        args.output.mkdir(parents=True, exist_ok=True)
        name = "coverage-full" if args.full else "coverage"
        (args.output / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
        (args.output / f"{name.upper()}.md").write_text(page.page(record))
    for promise in lost:
        print(f"BROKEN {page.words(asdict(promise) | {'share': promise.share})}")
    print(f"{len(chosen)} cells, {len(found)} promises, {len(lost)} broken; {record['seconds']} s")
    return 1 if lost else 0


def _rows(jobs: Sequence[Job], processes: int) -> Iterator[Row]:
    with multiprocessing.Pool(processes) as pool:
        for done, row in enumerate(pool.imap(_one, jobs), 1):
            if done % 10 == 0:
                print(f"{done} of {len(jobs)} cells", file=sys.stderr, flush=True)
            yield row


def _one(job: Job) -> Row:
    return job[0], simulate(*job)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more cells and more data sets: hours")
    parser.add_argument(
        "--only", action="append", default=[], metavar="TEXT", help="cells with TEXT in their name; writes no page"
    )
    parser.add_argument("--sets", type=int, help=f"data sets a cell ({SETS}; {FULL_SETS} with --full)")
    parser.add_argument(
        "--stars", type=int, help=f"data sets a cell whose D* is checked ({STARS}; {FULL_STARS} with --full)"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "bench", metavar="DIR")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
