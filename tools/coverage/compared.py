"""Comparisons of simulated groups of runs: how often a difference is shown where there is none, and where there is one."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from structures import INTERVAL_NS, Floats

from rtassay.analysis.lane.account import COUNTED, accounts
from rtassay.analysis.many.compare import ratios
from rtassay.analysis.many.compare.ratios import Side
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import A_BETTER, NO_DIFFERENCE
from rtassay.model.findings import PRIMARY_Q
from rtassay.model.manifest import LaneEntry, Manifest, Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.recording import Histogram, Lane, Recording

SAMPLES_A_RUN = 100_000
SPREAD = 0.3
"""Standard deviation of ln of a run's latencies between the runs."""

Draw = Callable[[np.random.Generator, int], Floats]


def normal(random: np.random.Generator, runs: int) -> Floats:
    """Runs scatter as a normal distribution."""
    return random.standard_normal(runs)


def heavy(random: np.random.Generator, runs: int) -> Floats:
    """Student's t with three degrees of freedom, of variance 1."""
    return np.asarray(random.standard_t(3, runs) / np.sqrt(3))


def two_modes(random: np.random.Generator, runs: int) -> Floats:
    """Every run falls into one of two modes: some boots are fast, some slow."""
    return np.asarray(np.where(random.random(runs) < 0.5, -1.0, 1.0) + 0.1 * random.standard_normal(runs))


@dataclass(frozen=True)
class Match:
    """Groups of `a` and `b` runs; the latencies of B are `factor` times those of A."""

    shape: str
    draw: Draw
    a: int
    b: int
    factor: float = 1.0

    @property
    def name(self) -> str:
        return f"compare, {self.shape}, {self.a} against {self.b} runs, factor {self.factor:g}"


def matches() -> Iterator[Match]:
    """Equal groups of every shape and size, and the one with a difference."""
    for shape, draw in (("normal", normal), ("t3", heavy), ("two modes", two_modes)):
        for a, b in ((3, 3), (5, 5), (8, 8), (12, 12), (3, 12), (5, 8)):
            yield Match(shape, draw, a, b)
    yield Match("normal", normal, 5, 5, 2.0)


@dataclass
class Shown:
    """`differences`: comparisons that showed one; `right`: that showed B to be later."""

    sets: int = 0
    differences: int = 0
    right: int = 0


def simulate(match: Match, sets: int, seed: int) -> Shown:
    """`sets` comparisons."""
    random = np.random.default_rng([seed, zlib.crc32(match.name.encode())])
    shown = Shown()
    side = partial(_side, random, match.draw)
    for _ in range(sets):
        a, b = side(match.a, 1.0), side(match.b, match.factor)
        (rows,) = ratios.corrected([(a, b, ratios.ladder(a, b, PRIMARY_Q))])
        conclusion = ratios.conclusion(rows, PRIMARY_Q)
        shown.sets += 1
        shown.differences += conclusion != NO_DIFFERENCE
        shown.right += conclusion == A_BETTER
    return shown


def _side(random: np.random.Generator, draw: Draw, runs: int, factor: float) -> Side:
    scales = factor * np.exp(SPREAD * draw(random, runs))
    return Side(tuple(_run(float(scale)) for scale in scales), (None,) * runs)


def _bulk() -> tuple[Floats, Floats]:
    """A histogram of latencies with a long tail: (values in ns, counts)."""
    from scipy.special import ndtr

    edges = np.linspace(-4, 6, 301)
    counts = np.round(SAMPLES_A_RUN * (ndtr(edges[1:]) - ndtr(edges[:-1])))
    return 20_000 * np.exp(0.5 * edges[:-1]), counts


def _run(scale: float) -> Sample:
    values, counts = _bulk()
    kept = counts > 0
    lower, rows = (values[kept] * scale).astype(np.int64), counts[kept].astype(np.int64)
    n = int(rows.sum())
    entry = LaneEntry(index=0, name="0", cpu=0, interval_ns=INTERVAL_NS, n=n, measure=WAKE_UP, due=n)
    lane = Lane(entry, Histogram(lower, np.ones_like(rows), rows))
    manifest = Manifest(
        "simulated", "2026-11-22T00:00:00Z", Source("rtprobe", "0.1.0", "stream", COUNTED), lanes=(entry,)
    )
    return Sample(accounts(Recording(manifest, (lane,))))
