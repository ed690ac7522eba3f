#!/usr/bin/env python3
"""The table of docs/method/comparisons.md: how often `compare` concludes something about equal groups of runs.

python tools/coverage/comparisons.py [--sets N] [--processes N] [-o FILE]
"""

from __future__ import annotations

import argparse
import multiprocessing
from functools import partial
from pathlib import Path

import numpy as np
from compared import SPREAD, Draw, Match, heavy, normal, simulate, two_modes

from rtassay.analysis.many.compare.inference import welch

SHAPES: dict[str, Draw] = {"normal": normal, "Student's t3": heavy, "two modes": two_modes}
SIZES = ((2, 2), (3, 3), (3, 4), (4, 4))
UNEQUAL = (3, 12)
SETS = 1_000
ALONE = 20
"""Welch's test alone is so many times quicker that as many more sets are simulated."""
_SEED = 23
_HEAD = """# How often `compare` concludes something about equal groups

Written by `tools/coverage/comparisons.py`. [docs/method/comparisons.md](../docs/method/comparisons.md) says what the rows mean.
"""


def false_conclusions(match: Match, sets: int) -> float:
    """Share of comparisons that show a difference."""
    return simulate(match, sets, _SEED).differences / sets


def welch_alone(draw: Draw, sets: int) -> float:
    """The same for Welch's test of ln x_q at 5 %, which `compare` does not use for so unequal groups."""
    random = np.random.default_rng(_SEED)
    drawn = (tuple(SPREAD * draw(random, runs) for runs in UNEQUAL) for _ in range(sets))
    tests = (welch(a, b, 0.0, 0.0) for a, b in drawn)
    return float(np.mean([test.p_value(abs(test.difference)) < 0.05 for test in tests]))


def main() -> None:
    parser = argparse.ArgumentParser(description="How often compare concludes something about equal groups of runs.")
    parser.add_argument("--sets", type=int, default=SETS, help=f"comparisons of each case (default: {SETS})")
    parser.add_argument("--processes", type=int, default=1, help="processes at once (default: 1)")
    parser.add_argument("-o", "--output", type=Path, help="write the page there, too")
    told = parser.parse_args()
    cases = [Match(name, draw, a, b) for a, b in SIZES for name, draw in SHAPES.items()]
    with multiprocessing.Pool(told.processes) as pool:
        shares = pool.map(partial(false_conclusions, sets=told.sets), cases, chunksize=1)
    rows = [_row(f"{a} and {b}", shares[3 * at : 3 * at + 3]) for at, (a, b) in enumerate(SIZES)]
    rows.append(
        _row("Welch's test alone, 3 and 12", [welch_alone(draw, ALONE * told.sets) for draw in SHAPES.values()])
    )
    power = simulate(Match("normal", normal, 5, 5, 2.0), told.sets, _SEED).right / told.sets
    end = f"{told.sets} comparisons of each case (Welch's test alone: {ALONE * told.sets}), seed {_SEED}. A factor of two, 5 and 5 runs, normal: shown in {power:.3f}."
    page = "\n".join(
        [_HEAD, f"| runs in A and B | {' | '.join(SHAPES)} |", "| --- | --- | --- | --- |", *rows, "", end]
    )
    print(page)
    if told.output is not None:
        told.output.write_text(page + "\n")


def _row(what: str, shares: list[float]) -> str:
    return f"| {what} | {' | '.join(f'{share:.3f}' for share in shares)} |"


if __name__ == "__main__":
    main()
