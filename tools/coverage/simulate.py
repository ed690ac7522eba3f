"""One cell: data sets are drawn, judged, and what was claimed is counted against the truth."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from cells import ONE_OF_FOUR, Cell
from judged import Answer, judge_lanes, judge_runs, runs_star_disagrees, star_disagrees
from structures import DEADLINE_NS, INTERVAL_NS, Above, Ints, Process, below_the_deadline

SAMPLES, HISTOGRAM = "samples", "histogram"
FORMS = (SAMPLES, HISTOGRAM)
NS_PER_H = 3_600_000_000_000
CLEAN_ABOVE_U = 40
"""Activations above U in a lane that is never late."""
EVENTS_THAT_SHOW = 3
"""From so many late events on their size can be seen."""

Runs = list[list[Above]]


@dataclass
class Count:
    """What was said in `sets` data sets. `*_shown`: in those with three or more late events. `holds_plain`: HOLDS without an assumption;
    `holds_bare`: such ones with fewer late events."""

    sets: int = 0
    claims: int = 0
    missed: int = 0
    missed_shown: int = 0
    rate_claims: int = 0
    rate_missed: int = 0
    holds: int = 0
    holds_shown: int = 0
    holds_plain: int = 0
    holds_bare: int = 0
    violated: int = 0
    stars: int = 0
    stars_wrong: int = 0
    raised: int = 0
    words: list[str] = field(default_factory=list)

    def say(self, words: str) -> None:
        """Keep the first few of what is worth a look."""
        if len(self.words) < 3:
            self.words.append(words)


def data_sets(cell: Cell, random: np.random.Generator) -> Iterator[Runs]:
    """Lanes of each run, without end. The first lane is the one with late activations, if they differ."""
    clean = below_the_deadline(random, cell.n // cell.runs, CLEAN_ABOVE_U * cell.runs / cell.n)
    while True:
        scale = np.exp(cell.spread * random.standard_normal(cell.runs) - cell.spread**2 / 2)
        runs = []
        for factor in scale:
            process = Process(cell.bursts, cell.true_p * float(factor), cell.trace)
            alike = 1 if cell.lanes == ONE_OF_FOUR else cell.lane_count
            lanes = [process.lane(random, cell.n // cell.runs) for _ in range(alike)]
            runs.append(lanes + [clean] * (cell.lane_count - alike))
        yield runs


def simulate(cell: Cell, sets: int, stars: int, seed: int) -> dict[str, Count]:
    """`sets` data sets, each with its order and without; D* of the first `stars` of them is held against the verdict."""
    random = np.random.default_rng([seed, zlib.crc32(cell.name.encode())])
    counts = {form: Count() for form in FORMS}
    rate = Process(cell.bursts, cell.true_p, cell.trace).events_per_activation * NS_PER_H / INTERVAL_NS
    for number, runs in zip(range(sets), data_sets(cell, random), strict=False):
        shown = max(sum(lanes[i].late_bursts for lanes in runs) for i in range(cell.lane_count)) >= EVENTS_THAT_SHOW
        for form in FORMS:
            count, look_at_star = counts[form], number < stars
            count.sets += 1
            try:
                answer, wrong = _judged(cell, runs, form == SAMPLES, look_at_star)
            except Exception as error:  # a crash of the rules breaks a promise; the other cells are still looked at
                count.raised += 1
                count.say(repr(error))
                continue
            _count(count, answer, cell.true_p, rate, shown)
            count.stars += look_at_star
            if wrong is not None:
                count.stars_wrong += 1
                count.say(wrong)
    return counts


def _count(count: Count, answer: Answer, p: float, rate: float, shown: bool) -> None:
    if answer.p_upper is not None:
        count.claims += 1
        missed = answer.p_upper < p
        count.missed += missed
        count.missed_shown += missed and shown
    if answer.rate_upper_per_h is not None:
        count.rate_claims += 1
        count.rate_missed += answer.rate_upper_per_h < rate
    count.holds += answer.holds
    count.holds_shown += answer.holds and shown
    count.holds_plain += answer.holds and not answer.conditional
    count.holds_bare += answer.holds and not answer.conditional and not shown
    count.violated += answer.violated


def _judged(cell: Cell, runs: Runs, ordered: bool, star: bool) -> tuple[Answer, str | None]:
    if not ordered and not star and len(runs) == 1:
        return _of_counts(tuple(lane.late for lane in runs[0]), cell.n, cell.p), None
    if len(runs) == 1:
        accounts, answer = judge_lanes(runs[0], ordered, cell.p)
        return answer, star_disagrees(accounts, cell.p, answer) if star else None
    answer = judge_runs(runs, ordered, cell.p)
    return answer, runs_star_disagrees(runs, ordered, cell.p, answer) if star else None


@lru_cache(maxsize=20_000)
def _of_counts(late: tuple[int, ...], n: int, p: float) -> Answer:
    """A histogram of one run is judged by its number of late activations alone, so each number is judged once."""
    return judge_lanes([_histogram(number, n) for number in late], False, p)[1]


def _histogram(late: int, n: int) -> Above:
    position: Ints = np.arange(late, dtype=np.int64)
    return Above(n, position, np.full(late, DEADLINE_NS, np.int64), late)
