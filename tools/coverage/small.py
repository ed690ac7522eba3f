#!/usr/bin/env python3
"""The smaller simulations that pages of docs/method quote: looks planned beforehand, and limits from the sizes of a few events.

python tools/coverage/small.py [-o FILE]

A minute. Late activations are drawn directly, since the rules simulated here need no latencies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rtassay.analysis.lane.bounds import burst_upper, most_exceedances, poisson_upper
from rtassay.analysis.lane.claim import next_largest
from rtassay.model.looks import spending

SEED = 20261125
P, ACTIVATIONS = 1e-6, 12_000_000
RUNS, EXPERIMENTS, SETS = 100_000, 20_000, 20_000
CONFIDENCE = 0.95
EXPECTED = (0.5, 1, 2, 3, 4, 8, 20, 50)
_HEAD = """# Smaller simulations

Written by `tools/coverage/small.py`, seed {seed}. Pages of docs/method quote them: [planning](../docs/method/planning.md), [events](../docs/method/events.md), [limits](../docs/method/limits.md).
"""
_Sizes = Callable[[np.random.Generator, int], np.ndarray]
SIZES: dict[str, _Sizes] = {
    "all 1": lambda random, n: np.ones(n),
    "all 5": lambda random, n: np.full(n, 5.0),
    "geometric, mean 5": lambda random, n: random.geometric(1 / 5, n).astype(float),
    "geometric, mean 20": lambda random, n: random.geometric(1 / 20, n).astype(float),
    "lognormal, sigma 1": lambda random, n: np.ceil(5 * random.lognormal(0, 1, n)),
    "a tenth ten times as large": lambda random, n: np.where(random.random(n) < 0.1, 50.0, 5.0),
}


def wrong_looks(shares: Sequence[float], rounds: int) -> tuple[float, float]:
    """With exactly the allowed p: HOLDS at any look after these shares of the activations, by the planned rule, and at 95 % each."""
    planned = len(shares)
    steps = np.diff([0.0, *shares]) * ACTIVATIONS
    late = np.cumsum(np.random.default_rng(SEED).poisson(P * steps, (rounds, planned)), axis=1)

    def held(confidences: Sequence[float]) -> float:
        most = [
            most_exceedances(round(ACTIVATIONS * share), P, sure)
            for share, sure in zip(shares, confidences, strict=True)
        ]
        return float((late <= np.array([-1 if one is None else one for one in most])).any(axis=1).mean())

    return held([1 - spent for spent in spending(CONFIDENCE, planned)]), held([CONFIDENCE] * planned)


def missed(sizes: _Sizes, expected: float, largest: Callable[[int], float]) -> float:
    """Share of data sets, with so many events expected, whose upper limit lies below the true mean number of late activations."""
    random = np.random.default_rng(SEED)
    mean = expected * float(sizes(random, 2_000_000).mean())
    seen = [
        events for events in random.poisson(expected, SETS).tolist() if events
    ]  # without one no limit by sizes is used
    below = sum(burst_upper(sizes(random, events), CONFIDENCE, largest(events)) < mean for events in seen)
    return below / SETS


def _looks() -> list[str]:
    rows = ["| runs, looks | HOLDS at any look | with 95 % at each look | simulated |", "| --- | --- | --- | --- |"]
    for looks in (3, 5):
        ours, each = wrong_looks([(i + 1) / looks for i in range(looks)], RUNS)
        rows.append(f"| one run, {looks} | {ours:.3f} | {each:.3f} | {RUNS:,} |")
    for runs, looks in ((5, 3), (8, 4), (10, 5)):
        after = [-(-runs * (i + 1) // looks) / runs for i in range(looks)]
        ours, each = wrong_looks(after, EXPERIMENTS)
        rows.append(f"| {runs}, {looks} | {ours:.3f} | {each:.3f} | {EXPERIMENTS:,} |")
    return rows


def _limits() -> list[str]:
    rows = [
        f"| sizes of events | next as large as | {' | '.join(f'{one:g}' for one in EXPECTED)} |",
        f"| --- | --- |{' --- |' * len(EXPECTED)}",
    ]
    for name, sizes in SIZES.items():
        for rule, largest in (
            ("the largest", lambda events: 1.0),
            ("the rule's M", lambda events: next_largest(events, False)),
        ):
            shares = [missed(sizes, expected, largest) for expected in EXPECTED]
            rows.append(f"| {name} | {rule} | {' | '.join(f'{share:.3f}' for share in shares)} |")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="The smaller simulations that pages of docs/method quote.")
    parser.add_argument("-o", "--output", type=Path, help="write the page there, too")
    told = parser.parse_args()
    clean = ", ".join(f"{poisson_upper(0, 1 - spent):.2f}" for spent in spending(CONFIDENCE, 3))
    page = "\n".join(
        [
            _HEAD.format(seed=SEED),
            f"## Looks: wrong HOLDS at exactly the allowed p, {ACTIVATIONS / 1e6:g} / p activations in all\n",
            *_looks(),
            f"\nActivations needed at each of three looks without a late one, times 1 / p: {clean}.\n",
            f"## Limits from the sizes of events: share of data sets whose limit is too low, by the number of events expected\n\n{SETS:,} data sets each; one without an event counts as not missed, since no limit by sizes is used then.\n",
            *_limits(),
        ]
    )
    print(page)
    if told.output is not None:
        told.output.write_text(page + "\n")


if __name__ == "__main__":
    main()
