"""Which promise a cell must keep, and whether what was counted contradicts it beyond simulation error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cells import Cell
from compared import Match, Shown
from judged import CONFIDENCE
from simulate import SAMPLES, Count

MISSED_AT_MOST = 0.06
HOLDS_AT_MOST = {1: 0.05, 1.5: 0.05, 2: 0.01, 5: 0.01}
VIOLATED_AT_MOST = 0.05
POWER_LOST_AT_MOST = 0.10
FALSE_ALARMS_AT_MOST = 0.05
POWER_AT_LEAST = 0.85
ERROR = 0.01
"""The chance that a tool that keeps every promise fails the simulation anywhere."""


@dataclass(frozen=True)
class Promise:
    """At most `limit` (at least, if `least`) of `sets` data sets do it; `seen` did."""

    cell: str
    form: str
    what: str
    limit: float
    seen: int
    sets: int
    least: bool = False

    @property
    def share(self) -> float:
        return self.seen / self.sets

    @property
    def chance(self) -> float:
        """Chance of a result as bad as this one or worse if the promise is just kept."""
        from scipy.special import bdtr, bdtrc

        if self.least:
            return float(bdtr(self.seen, self.sets, self.limit)) if self.limit > 0 else 1.0
        if self.limit == 0:
            return 0.0 if self.seen else 1.0
        return float(bdtrc(self.seen - 1, self.sets, self.limit)) if self.seen else 1.0


def promises(cell: Cell, counts: Mapping[str, Count]) -> list[Promise]:
    """All that the cell is held to."""
    found = []
    for form, count in counts.items():
        found += _of_form(cell, form, count)
    return found


def _of_form(cell: Cell, form: str, count: Count) -> list[Promise]:
    def at_most(what: str, limit: float, seen: int) -> Promise:
        return Promise(cell.name, form, what, limit, seen, count.sets)

    found = [
        at_most("D* contradicts the verdict", 0.0, count.stars_wrong),
        at_most("the rules fail", 0.0, count.raised),
    ]
    if cell.times < 1:
        limit = max(0.0, classical_holds(cell) - POWER_LOST_AT_MOST)
        return [*found, Promise(cell.name, form, "HOLDS", limit, count.holds, count.sets, least=True)]
    found.append(at_most("events per hour above the bound", MISSED_AT_MOST, count.rate_missed))
    if cell.times == 1:
        found.append(at_most("VIOLATED", VIOLATED_AT_MOST, count.violated))
    if cell.spread and not cell.shows:
        return [*found, at_most("HOLDS on fewer events without an assumption", 0.0, count.holds_bare)]
    if not cell.bursts.singly and form != SAMPLES:
        return [*found, at_most("HOLDS without an assumption", 0.0, count.holds_plain)]
    if not cell.shows:
        found.append(at_most("p above the bound, three or more events", MISSED_AT_MOST, count.missed_shown))
        found.append(at_most("HOLDS, three or more events", HOLDS_AT_MOST[cell.times], count.holds_shown))
        return [*found, at_most("HOLDS on fewer events without an assumption", 0.0, count.holds_bare)]
    found.append(at_most("p above the bound", MISSED_AT_MOST, count.missed))
    return [*found, at_most("HOLDS", HOLDS_AT_MOST[cell.times], count.holds)]


def of_comparison(match: Match, shown: Shown) -> list[Promise]:
    """False alarms between equal groups; power between unequal ones."""
    if match.factor == 1:
        return [
            Promise(match.name, "runs", "a difference is shown", FALSE_ALARMS_AT_MOST, shown.differences, shown.sets)
        ]
    return [Promise(match.name, "runs", "B is shown to be later", POWER_AT_LEAST, shown.right, shown.sets, least=True)]


def classical_holds(cell: Cell) -> float:
    """Chance of HOLDS by Clopper and Pearson, for independent activations in one lane."""
    from scipy.special import bdtr

    from rtassay.analysis.lane.bounds import most_exceedances

    allowed = most_exceedances(cell.n, cell.p, CONFIDENCE)
    return 0.0 if allowed is None else float(bdtr(allowed, cell.n, cell.true_p))


def broken(found: Sequence[Promise]) -> list[Promise]:
    """Promises that are contradicted at ERROR over all of them together (S. Holm, Scand. J. Statistics 6, 1979)."""
    worst_first = sorted(found, key=lambda promise: promise.chance)
    lost = []
    for position, promise in enumerate(worst_first):
        if promise.chance > ERROR / (len(worst_first) - position):
            break
        lost.append(promise)
    return lost
