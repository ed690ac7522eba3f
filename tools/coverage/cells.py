"""Which cases are simulated: cells of structure, trace, lanes, runs, length and true p."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from structures import FIVE, MINUTE, NO_TRACE, SINGLY, STRUCTURES, TRACE, TWENTY, VEILED, Bursts

ONE, ONE_OF_FOUR, FOUR = "1", "1 of 4", "4"
LENGTHS = (3, 10, 50)
PS = (1e-3, 1e-4, 1e-5, 1e-6)
MAIN_P = 1e-6
RUNS = 10
SPREADS = (0.5, 1.0, 1.5)
FEWER_RUNS = 5
SPREAD_SHOWS_FROM = 50
"""From this length on ten runs have so many late activations (5 each) that their spread shows."""


@dataclass(frozen=True)
class Cell:
    """`n = length / p` activations a lane, over all runs, of which each is late with the chance `times * p`; `p` is allowed.

    `lanes`: ONE; FOUR alike; ONE_OF_FOUR, the others never late. `spread`: sd of ln p between the runs.
    """

    bursts: Bursts
    trace: str
    lanes: str
    runs: int
    length: int
    p: float
    times: float
    spread: float = 0.0

    @property
    def n(self) -> int:
        return round(self.length / self.p)

    @property
    def true_p(self) -> float:
        return self.p * self.times

    @property
    def lane_count(self) -> int:
        return 1 if self.lanes == ONE else 4

    @property
    def shows(self) -> bool:
        """Whether the data can show in every run how late activations come: below the deadline, or by how the runs differ."""
        if self.spread:
            return self.length >= SPREAD_SHOWS_FROM
        return self.bursts.singly or self.trace == TRACE

    @property
    def name(self) -> str:
        spread = f", sd {self.spread:g} between runs" if self.spread else ""
        return f"{self.bursts.name}{spread}; trace {self.trace}; lanes {self.lanes}; runs {self.runs}; n {self.length}/p; p {self.p:g}; {self.times:g}x"


def simple() -> Iterator[Cell]:
    """One lane, one run: every structure and trace at the allowed p and twice it."""
    for bursts in STRUCTURES:
        for trace in (NO_TRACE, TRACE, VEILED):
            for length in LENGTHS:
                for times in (1, 2):
                    yield Cell(bursts, trace, ONE, 1, length, MAIN_P, times)


def other_p() -> Iterator[Cell]:
    """The same where more is allowed, for structures that are shorter than such a run."""
    for p in PS[:-1]:
        for bursts in (SINGLY, FIVE, TWENTY):
            for length in LENGTHS:
                yield Cell(bursts, TRACE, ONE, 1, length, p, 1)


def power() -> Iterator[Cell]:
    """Half the allowed p: how often a good board is shown to be good."""
    for p in PS:
        for trace in (NO_TRACE, TRACE):
            for length in LENGTHS:
                yield Cell(SINGLY, trace, ONE, 1, length, p, 0.5)


def lanes() -> Iterator[Cell]:
    """Four lanes: all at the limit for VIOLATED, one of them for HOLDS."""
    for bursts in STRUCTURES:
        for length in LENGTHS:
            yield Cell(bursts, TRACE, FOUR, 1, length, MAIN_P, 1)
            for trace in (NO_TRACE, TRACE):
                for times in (1, 2):
                    yield Cell(bursts, trace, ONE_OF_FOUR, 1, length, MAIN_P, times)


def runs() -> Iterator[Cell]:
    """Ten runs, alike and not."""
    for bursts in STRUCTURES:
        for length in LENGTHS:
            for trace in (NO_TRACE, TRACE):
                for times in (1, 2):
                    yield Cell(bursts, trace, ONE, RUNS, length, MAIN_P, times)
    for spread in SPREADS:
        for length in (*LENGTHS, 100):
            for times in (1, 2):
                yield Cell(SINGLY, TRACE, ONE, RUNS, length, MAIN_P, times, spread)
    for spread in SPREADS[:-1]:
        for length in (*LENGTHS, 100):
            yield Cell(SINGLY, TRACE, ONE, FEWER_RUNS, length, MAIN_P, 1, spread)


def more() -> Iterator[Cell]:
    """What only the long simulation looks at: other true values, four lanes in ten runs."""
    for bursts in STRUCTURES:
        for trace in (NO_TRACE, TRACE):
            for length in LENGTHS:
                for times in (1.5, 5):
                    yield Cell(bursts, trace, ONE, 1, length, MAIN_P, times)
                yield Cell(bursts, trace, ONE_OF_FOUR, RUNS, length, MAIN_P, 1)


def quick() -> list[Cell]:
    """`make coverage`."""
    return [*simple(), *other_p(), *power(), *lanes(), *runs()]


def full() -> list[Cell]:
    """`make coverage-full`."""
    return [*quick(), *more()]


def short() -> list[Cell]:
    """`make test`: the worst cases of the first rule, and the power for independent activations."""
    return [
        Cell(SINGLY, TRACE, ONE, 1, 50, MAIN_P, 0.5),
        Cell(FIVE, TRACE, ONE, 1, 3, MAIN_P, 1),
        Cell(TWENTY, TRACE, ONE, 1, 3, MAIN_P, 2),
        Cell(TWENTY, NO_TRACE, ONE, 1, 50, MAIN_P, 1),
        Cell(MINUTE, TRACE, ONE, 1, 10, MAIN_P, 1),
        Cell(FIVE, NO_TRACE, ONE, 1, 3, MAIN_P, 1),
        Cell(FIVE, TRACE, FOUR, 1, 10, MAIN_P, 1),
    ]
