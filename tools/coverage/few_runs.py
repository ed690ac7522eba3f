#!/usr/bin/env python3
"""What a bound over two to five unlike runs covers: the mean of the runs that were made, and the mean of all boots.

    python tools/coverage/few_runs.py [--sets N]

p of a run is lognormal (sd of ln p, mean 1). The bound is Poisson's limit of the late activations, times the factor of the verdict
(`analysis.lane.dispersion.widening`) from the 1,000 largest samples. docs/decisions/2026-11-23-few-runs.md has its table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.lane.bounds import poisson_upper
from rtassay.analysis.lane.claim import MANY
from rtassay.analysis.lane.dispersion import widening

CONFIDENCE = 0.95
LATE = 100
RUNS = (2, 3, 4, 5)
SPREADS = (0.0, 0.5, 1.0, 1.5)
SETS = 4_000
_SEED = 23


@dataclass(frozen=True)
class Row:
    """`these`, `all_boots`: share of data sets whose bound is at least the mean of the runs made, of all boots; `factor`: its median."""

    runs: int
    spread: float
    these: float
    all_boots: float
    factor: float


def row(runs: int, spread: float, sets: int) -> Row:
    """One case, with a seed of its own."""
    random = np.random.default_rng([_SEED, runs, round(10 * spread)])
    rates = np.exp(spread * random.standard_normal((sets, runs)) - spread**2 / 2)
    late = random.poisson(LATE * rates / runs).sum(axis=1)
    largest = random.poisson(MANY * rates / rates.sum(axis=1, keepdims=True))
    due = np.ones(runs, np.int64)
    factors = np.array([widening(counts, due, CONFIDENCE) for counts in largest])
    bounds = np.array([poisson_upper(int(k), CONFIDENCE) for k in late]) * factors / LATE
    these, every = (bounds >= rates.mean(axis=1)).mean(), (bounds >= 1).mean()
    return Row(runs, spread, float(these), float(every), float(np.median(factors)))


def rows(sets: int = SETS) -> Iterator[Row]:
    """All cases."""
    for runs in RUNS:
        for spread in SPREADS:
            yield row(runs, spread, sets)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of the bound over few unlike runs, as a table in Markdown.")
    parser.add_argument("--sets", type=int, default=SETS, help=f"data sets of each case (default: {SETS})")
    print("| runs | sd | these runs | all boots | median factor |\n| --- | --- | --- | --- | --- |")
    for one in rows(parser.parse_args().sets):
        print(f"| {one.runs} | {one.spread:g} | {one.these:.2f} | {one.all_boots:.2f} | {one.factor:.2f} |", flush=True)


if __name__ == "__main__":
    main()
