"""How late activations come in the simulation: one by one, or in bursts that do or do not show below the deadline.

Only activations at or above the threshold U are simulated one by one; the rest lie below it. That is exact, since all rules of a
verdict look at late activations and at those above a threshold, and quick: 50 million activations cost some thousand numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

INTERVAL_NS = 1_000_000
U_NS = 50_000
DEADLINE_NS = 100_000
HIGHEST_NS = 900_000
"""Below the interval: no late activation makes another one missed."""

NO_TRACE, TRACE, VEILED = "none", "below D", "veiled"
ABOVE_U_PER_LATE = 100
MOST_ABOVE_U = 0.1
VEIL = 5


@dataclass(frozen=True)
class Bursts:
    """Late activations come in bursts of `mean` on average (of a geometric size, else of exactly `mean`), `gap` activations apart."""

    name: str
    mean: int
    gap: int
    geometric: bool = True

    @property
    def singly(self) -> bool:
        return self.mean == 1

    def sizes(self, random: np.random.Generator, number: int) -> Ints:
        if self.singly or not self.geometric:
            return np.full(number, self.mean, np.int64)
        return random.geometric(1 / self.mean, number).astype(np.int64)

    def chance_of_none(self, spared: Floats) -> Floats:
        """E[spared^size]: the chance that a burst has no late member, if each is late with the chance 1 - spared."""
        if self.singly or not self.geometric:
            return np.asarray(spared**self.mean)
        start = 1 / self.mean
        return np.asarray(start * spared / (1 - (1 - start) * spared))

    @property
    def reach(self) -> int:
        """Activations over which a burst may stretch; longer ones are rarer than 1e-12."""
        longest = math.ceil(28 * self.mean) if self.geometric and not self.singly else self.mean
        return longest * self.gap


SINGLY = Bursts("independent", 1, 1)
FIVE = Bursts("bursts, mean 5, adjacent", 5, 1)
TWENTY = Bursts("bursts, mean 20, gaps of 2", 20, 2)
EPISODES_5 = Bursts("episodes of 5, 50 apart", 5, 50)
EPISODES_40 = Bursts("episodes of 40, 50 apart", 40, 50)
MINUTE = Bursts("60 late in 60 s", 60, 1000, geometric=False)
STRUCTURES = (SINGLY, FIVE, TWENTY, EPISODES_5, EPISODES_40, MINUTE)


@dataclass(frozen=True)
class Above:
    """One lane's activations at or above U: their positions, rising, and latencies in ns, among `n` activations.

    `late_bursts`: number of bursts that have a late member.
    """

    n: int
    position: Ints
    latency_ns: Ints
    late_bursts: int

    @property
    def late(self) -> int:
        """Number of late activations."""
        return int((self.latency_ns >= DEADLINE_NS).sum())


@dataclass(frozen=True)
class Process:
    """Where late activations come from. `p`: the true chance that an activation is late. `trace`: what is seen below the deadline.

    TRACE: all members of a burst lie above U, and the burst's level decides how many of them are late. NO_TRACE: every member of a
    burst is late; what lies between U and the deadline comes singly. VEILED: TRACE, and VEIL times as many that come singly
    and end halfway to the deadline.
    """

    bursts: Bursts
    p: float
    trace: str

    @property
    def late_share(self) -> float:
        """Share of the activations above U, apart from the veil, that are late."""
        return max(1 / ABOVE_U_PER_LATE, self.p / MOST_ABOVE_U)

    @property
    def p_above_u(self) -> float:
        """Chance that an activation lies above U, apart from the veil."""
        return self.p / self.late_share

    @property
    def events_per_activation(self) -> float:
        """True rate of bursts with a late member."""
        if self.trace == NO_TRACE:
            return self.p / self.bursts.mean
        return self.p_above_u / self.bursts.mean * _late_bursts(self.bursts, self.late_share)

    def lane(self, random: np.random.Generator, n: int) -> Above:
        """One lane of `n` activations."""
        if self.trace == NO_TRACE:
            position, burst = self._members(random, n, self.p)
            level = U_NS / 4 * random.exponential(size=burst.max(initial=-1) + 1)
            late = DEADLINE_NS + level[burst] * _share(random, burst)
            below = below_the_deadline(random, n, self.p_above_u)
            return _above(n, [below.position, position], [below.latency_ns, late], np.unique(burst).size)
        scale = _scale(self.late_share)
        position, burst = self._members(random, n, self.p_above_u)
        level = scale * random.exponential(size=burst.max(initial=-1) + 1)
        latency = U_NS + level[burst] * _share(random, burst)
        late_bursts = np.unique(burst[latency >= DEADLINE_NS]).size
        if self.trace != VEILED:
            return _above(n, [position], [latency], late_bursts)
        where = random.integers(n, size=random.poisson(n * VEIL * self.p_above_u))
        veil = U_NS + (DEADLINE_NS - U_NS) / 2 * random.random(where.size)
        return _above(n, [where, position], [veil, latency], late_bursts)

    def _members(self, random: np.random.Generator, n: int, p: float) -> tuple[Ints, Ints]:
        """(position, number of its burst) of all members within the run; bursts that began before it count too."""
        before = self.bursts.reach
        number = random.poisson((n + before) * p / self.bursts.mean)
        start = random.integers(-before, n, size=number)
        sizes = self.bursts.sizes(random, number)
        burst = np.repeat(np.arange(number), sizes)
        place = np.arange(burst.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        position = start[burst] + place * self.bursts.gap
        inside = (position >= 0) & (position < n)
        return position[inside], burst[inside]


def below_the_deadline(random: np.random.Generator, n: int, p: float) -> Above:
    """A lane of which a share `p` lies between U and the deadline, one by one, and nothing is late."""
    position = random.integers(n, size=random.poisson(n * p))
    fading = -np.log1p(-random.random(position.size) * (1 - math.exp(-4)))
    return _above(n, [position], [U_NS + (DEADLINE_NS - 1 - U_NS) * fading / 4], 0)


def _share(random: np.random.Generator, burst: Ints) -> Floats:
    """A member reaches from half to the whole of its burst's level."""
    return 0.5 + 0.5 * random.random(burst.size)


def _above(n: int, positions: list[Ints], latencies: list[Floats], late_bursts: int) -> Above:
    """Sorted; where two fall on one activation, the later one is seen."""
    position, latency = np.concatenate(positions), np.concatenate(latencies)
    whole = np.clip(latency.astype(np.int64), U_NS, HIGHEST_NS)
    order = np.lexsort((-whole, position))
    position, whole = position[order], whole[order]
    first = np.concatenate([[True], np.diff(position) > 0])[: position.size]
    return Above(n, position[first], whole[first], late_bursts)


def _late_share(level: Floats, scale: float) -> Floats:
    """Chance that a member of a burst of `level` reaches the deadline: its share is uniform in [.5, 1]."""
    return np.clip(2 * (1 - (DEADLINE_NS - U_NS) / np.maximum(level * scale, 1e-9)), 0.0, 1.0)


def _weighted_levels() -> tuple[Floats, Floats]:
    """(level, its probability) of an exponential level, on a fine grid."""
    level = np.linspace(0, 40, 400_001)
    middle = (level[1:] + level[:-1]) / 2
    return middle, np.exp(-level[:-1]) - np.exp(-level[1:])


_CACHE: dict[object, float] = {}


def _scale(ratio: float) -> float:
    """The scale of levels in ns at which a share `ratio` of all members is late."""
    key = ("scale", ratio)
    if key not in _CACHE:
        level, weight = _weighted_levels()
        low, high = 1.0, 1e7
        while high / low > 1 + 1e-12:
            middle = math.sqrt(low * high)
            late = float((weight * _late_share(level, middle)).sum())
            low, high = (middle, high) if late < ratio else (low, middle)
        _CACHE[key] = high
    return _CACHE[key]


def _late_bursts(bursts: Bursts, ratio: float) -> float:
    """Share of bursts with a late member."""
    key = (bursts, ratio)
    if key not in _CACHE:
        level, weight = _weighted_levels()
        late = _late_share(level, _scale(ratio))
        _CACHE[key] = float((weight * (1 - bursts.chance_of_none(1 - late))).sum())
    return _CACHE[key]
