"""What the activations of one lane, over one or several runs, show at a deadline (docs/method/verdict.md).

The one rule behind verdicts, D*, `needed` and experiments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import (
    burst_lower,
    burst_upper,
    gamma_deviations,
    p_lower,
    p_upper,
    poisson_lower,
    poisson_upper,
    samples_needed,
)
from rtassay.analysis.lane.dispersion import differ, spread, widening
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.analysis.lane.events import (
    Bursts,
    Kept,
    Runs,
    is_unjoined,
    join,
    kept,
    latest,
    merging_gaps,
    together,
    unjoined,
)
from rtassay.analysis.lane.exceedance import Exceedances, exceedances, most_reaching, total
from rtassay.analysis.lane.trace import MOST, Trace, ordered_from, trace
from rtassay.model.findings import AS_ABOVE, AS_FEW, AS_SEEN, BURSTS, SINGLY, THETA, UNLIKE_RUNS, WORST_RUN
from rtassay.model.units import NS_PER_H

FEW_EVENTS = 3
"""Fewer events do not tell how large events are."""
MANY = 1000
"""So many of the largest latencies tell whether runs differ."""
_EACH = 64
_STEP = 1.5


@dataclass(frozen=True, slots=True)
class Requirement:
    """P(an activation is not done strictly before `deadline_ns`) <= `p`, to be shown at `confidence`.

    With `per_hour` instead: at most so many events an hour; `p` then decides nothing.
    """

    deadline_ns: int
    p: float
    confidence: float
    per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """An upper limit of the probability per activation. `basis`: how it was found, `assumes`: what it takes for granted (model/findings.py).

    `trace`: that of AS_ABOVE. `k`: exceedances of a binomial limit over `share` of the activations; `late`: limit of their number where that is None.
    """

    p: float
    basis: str
    assumes: str
    k: int | None = None
    share: float = 1.0
    late: float = 0.0
    trace: Trace | None = None

    def needed(self, p: float, confidence: float) -> int | None:
        """Activations in all that show `p`, if none of the further ones is late; None for p = 0."""
        if p <= 0:
            return None
        if self.k is None:
            return None if math.isinf(self.late) else math.ceil(self.late / p)
        n = samples_needed(p, confidence, self.k)
        return None if n is None else math.ceil(n / self.share)


@dataclass(frozen=True, slots=True)
class Claim:
    """`seen`: the exceedances; `events`: None where their order is not known, joined over `gap` activations (0: none was joined).

    `upper`, `rate_upper_per_h`: at the confidence; `p_lower`, `rate_lower_per_h`: at 1 - (1 - confidence) / lanes. `runs_differ`: the
    runs have unlike shares of late activations.
    """

    seen: Exceedances
    events: int | None
    gap: int
    upper: Bound
    p_lower: float
    rate_upper_per_h: float | None
    rate_lower_per_h: float | None
    trace: Trace | None
    runs_differ: bool

    def violates(self, requirement: Requirement) -> bool:
        """Whether the requirement is shown not to be met."""
        if requirement.per_hour is not None:
            return self.rate_lower_per_h is not None and self.rate_lower_per_h > requirement.per_hour
        return self.p_lower > requirement.p or (requirement.p == 0 and self.seen.certain > 0)

    def holds(self, requirement: Requirement) -> bool:
        """Whether it is shown to be met."""
        if self.seen.due <= 0 or self.violates(requirement):
            return False
        if requirement.per_hour is not None:
            return self.rate_upper_per_h is not None and self.rate_upper_per_h <= requirement.per_hour
        return self.upper.p <= requirement.p

    def needed(self, requirement: Requirement, interval_ns: int | None) -> int | None:
        """Activations in all that make it hold if no further one is late; None where no number does, or the interval is not known."""
        if requirement.per_hour is None:
            return self.upper.needed(requirement.p, requirement.confidence)
        if self.rate_upper_per_h is None or not interval_ns or requirement.per_hour <= 0:
            return None
        return math.ceil(self.seen.due * self.rate_upper_per_h / requirement.per_hour)


class Evidence:
    """A lane over one or several runs: `accounts`, one a run. `lanes`: of how many lanes the worst one will be judged."""

    def __init__(self, accounts: Sequence[Account], confidence: float, lanes: int = 1) -> None:
        self.accounts = tuple(accounts)
        self.confidence = confidence
        self.confidence_lower = 1 - (1 - confidence) / max(1, lanes)
        self.due = sum(account.exposure for account in accounts)
        self._gaps = merging_gaps(accounts[0].interval_ns)
        self._limits: dict[int, tuple[Bound, float | None]] = {}
        self._claims: dict[int, Claim] = {}
        self._seen: dict[int, list[Exceedances]] = {}
        self._single: dict[int, int] = {}

    def claim(self, deadline_ns: int) -> Claim:
        """The claim at a deadline. The upper limits are the largest of those at it and above: p never rises with the deadline."""
        raw = self.at(deadline_ns)
        bound, rate = self._largest_above(deadline_ns, raw)
        if bound is not None:
            raw = replace(raw, upper=max(raw.upper, bound, key=lambda one: one.p))
        return replace(raw, rate_upper_per_h=rate)

    def holds(self, requirement: Requirement) -> bool:
        """Whether the claim at its deadline holds."""
        deadline_ns = requirement.deadline_ns
        if requirement.per_hour is None:
            if self._certain(deadline_ns) > requirement.p * self.due:
                return False  # no upper limit lies below the share that was seen; how late ones came is not looked at
            if p_upper(0, self.due, self.confidence) > requirement.p:
                return False  # nor below that of a clean run
        return self.at(deadline_ns).holds(requirement) and self.claim(deadline_ns).holds(requirement)

    def _certain(self, deadline_ns: int) -> int:
        return sum(part.certain for part in self._parts(deadline_ns))

    def _parts(self, deadline_ns: int) -> list[Exceedances]:
        """The exceedances of each run, counted once."""
        if deadline_ns not in self._seen:
            self._seen[deadline_ns] = [exceedances(account, deadline_ns) for account in self.accounts]
        return self._seen[deadline_ns]

    @cached_property
    def trace(self) -> Trace | None:
        """How singly the largest latencies come."""
        return trace(self._kept, self.confidence)

    @cached_property
    def _kept(self) -> list[Kept]:
        return [kept(account) for account in self.accounts]

    @cached_property
    def _alone(self) -> list[Evidence]:
        return [evidence([account], self.confidence) for account in self.accounts]

    @cached_property
    def _levels(self) -> list[int]:
        """The deadlines just reached by the largest latencies known in order, falling: each of the first ones, then ever fewer."""
        edge = ordered_from(self.accounts)
        if edge is None:
            return []
        width = self.accounts[0].bin_width_ns - 1
        known = latest(self._kept, edge)
        rows = list(range(min(_EACH, known.size)))
        while rows and rows[-1] * _STEP < known.size - 1:
            rows.append(int(rows[-1] * _STEP) + 1)
        return sorted({int(known[row]) + width for row in rows}, reverse=True)

    def _largest_above(self, deadline_ns: int, raw: Claim) -> tuple[Bound | None, float | None]:
        """The largest upper limits: of p at the levels above the deadline, of the events per hour at them and in `raw`.

        Levels are looked at upwards, each once, until so few are late that no way in which they may come makes a larger limit.
        """
        bound, rate, smaller = None, raw.rate_upper_per_h, 0
        above = next((i for i, level in enumerate(self._levels) if level <= deadline_ns), len(self._levels))
        levels = self._levels[:above]
        if above > _EACH and self._none_above(levels[_EACH - 1], raw.upper.p, rate):
            levels = levels[_EACH:]
        self._count_single(levels[::-1])
        for level in reversed(levels):
            p, singly = max(raw.upper.p, bound.p if bound is not None else 0.0), self._single[level]
            if singly >= FEW_EVENTS and (singly <= smaller or self._smaller(singly, p, rate)):
                smaller = max(singly, smaller)
                continue
            if self._none_above(level, p, rate):
                break
            if level not in self._limits:
                late = self._late(level)
                self._limits[level] = self._limit(late), self._rate_upper(late)
            one, more = self._limits[level]
            if bound is None or one.p >= bound.p:
                bound = one
            if rate is not None and more is not None:
                rate = max(rate, more)
        return bound, rate

    def _smaller(self, late: int, p: float, rate: float | None) -> bool:
        """Whether the upper limits of so many single late activations are below `p` and `rate`."""
        if p_upper(late, self.due, self.confidence) >= p:
            return False
        return rate is None or not self._hours or poisson_upper(late, self.confidence) / self._hours < rate

    def _count_single(self, levels: Sequence[int]) -> None:
        """Fill `_single` for these rising levels: late activations at each if none of them are joined, else 0, and where some may be hidden."""
        account, late = self.accounts[0], None
        if levels and levels[-1] == self._levels[0] and levels[-1] not in self._single:
            self._single |= self._few_single()
        for level in levels:
            if level in self._single:
                continue
            edge = level - account.bin_width_ns + 1
            if late is None and not self._hidden:
                late = self._kept[0].single(edge)
                late = late if late is not None and len(late) == self._certain(level) else None
            elif late is not None:
                late = late.at(np.flatnonzero(late.latency_ns >= edge))
            alone = late is not None and is_unjoined(late, self.due, self._gaps)
            self._single[level] = len(late) if late is not None and alone else 0

    @cached_property
    def _hidden(self) -> bool:
        """Whether late activations may be hidden: of several runs, and where activations are missing."""
        account = self.accounts[0]
        unknown = account.over or account.dropped or account.truncated or account.unaccounted or account.entry.missed
        return bool(unknown) or len(self.accounts) > 1

    def _few_single(self) -> dict[int, int]:
        """What `_count_single` counts, for the first levels together."""
        levels, account = self._levels[:_EACH], self.accounts[0]
        if self._hidden or not levels:
            return {}
        edges = [level - account.bin_width_ns + 1 for level in levels]
        late = self._kept[0].single(edges[-1])
        if late is None or not 1 < len(late) <= 2 * _EACH or self._certain(levels[-1]) != len(late):
            return {}
        return dict(zip(levels, unjoined(late, edges, self.due, self._gaps), strict=True))

    def _none_above(self, deadline_ns: int, p: float, rate: float | None) -> bool:
        """Whether all upper limits at that deadline and above are below `p`, and none of the events per hour above `rate`, however late ones come.

        Not known of several runs, since unlike ones widen the limits, and with dropped samples, which count at one deadline and not at others.
        A gamma distribution has at most 1 - c above mean + `gamma_deviations(c)` standard deviations. Both are largest, in the bound by
        sizes, if all late ones are one event and the next is 1 + FEW_EVENTS^2 times as large.
        """
        if len(self.accounts) > 1 or self.accounts[0].dropped or self.due <= 0:
            return False
        seen = self._parts(deadline_ns)[0]
        most, following = seen.certain + seen.possible, 1 + FEW_EVENTS**2
        if most * (1 + following + math.sqrt(1 + following**2) * gamma_deviations(self.confidence)) >= p * self.due:
            return False
        if rate is not None and self._hours and poisson_upper(most, self.confidence) / self._hours > rate:
            return False
        return self._by_theta(seen, 2 * most).p < p

    def at(self, deadline_ns: int) -> Claim:
        """The claim of what is seen at that deadline alone."""
        if deadline_ns not in self._claims:
            self._claims[deadline_ns] = self._claim_of(self._late(deadline_ns))
        return self._claims[deadline_ns]

    def _claim_of(self, late: _Late) -> Claim:
        return Claim(
            seen=late.seen,
            events=None if late.bursts is None else late.bursts.sizes.size,
            gap=0 if late.bursts is None else late.bursts.gap,
            upper=self._limit(late),
            p_lower=self._lower(late),
            rate_upper_per_h=self._rate_upper(late),
            rate_lower_per_h=self._rate_lower(late),
            trace=self.trace,
            runs_differ=late.unlike or self._widening > 1,
        )

    def _late(self, deadline_ns: int) -> _Late:
        parts = self._parts(deadline_ns)
        runs = [one.late(deadline_ns) for one in self._kept]
        seen = total(parts)
        ordered = all(run.late == part.certain for run, part in zip(runs, parts, strict=True))
        bursts = self._joined(runs) if ordered else None
        unlike = len(parts) > 1 and differ(_per_run(bursts, parts), ints([part.due for part in parts]))
        return _Late(deadline_ns, parts, seen, bursts, unlike)

    @cached_property
    def _widening(self) -> float:
        """By how much the bounds are widened since the runs differ among the largest latencies: of events, where their order is known; else
        of samples."""
        counts, due = self._largest
        return 1.0 if counts is None else widening(counts, due, self.confidence)

    @property
    def spread(self) -> float | None:
        """Standard deviation of ln of the runs' rates among the largest latencies; None where they tell none."""
        counts, due = self._largest
        return None if counts is None else spread(counts, due)

    @cached_property
    def _largest(self) -> tuple[Ints | None, Ints]:
        """(events among the largest latencies of each run, its activations); no events of a single run."""
        due = ints([account.exposure for account in self.accounts])
        if len(self.accounts) < 2:
            return None, due
        counts = self._largest_events()
        return (most_reaching(self.accounts, MANY, MOST) if counts is None else counts), due

    def _largest_events(self) -> Ints | None:
        """Events of each run among the MANY largest latencies; None where their order is not known."""
        edge = ordered_from(self.accounts)
        if edge is None:
            return None
        known = latest(self._kept, edge, MANY)
        if not known.size:
            return None
        level = int(known[-1])
        runs = [one.late(level + one.account.bin_width_ns - 1) for one in self._kept]
        return ints([one.sizes.size for one in self._joined_alone(runs)])

    def _joined_alone(self, runs: Sequence[Runs]) -> list[Bursts]:
        """The events of each run by itself: a run with more of them than the others has them closer together, and is no burst for that."""
        return [join([run], one.account.exposure, self._gaps) for run, one in zip(runs, self._kept, strict=True)]

    def _joined(self, runs: Sequence[Runs]) -> Bursts:
        return together(self._joined_alone(runs)) if self._widening > 1 else join(runs, self.due, self._gaps)

    def _limit(self, late: _Late) -> Bound:
        upper, wider = self._upper(late.seen, late.bursts), self._widening
        if wider > 1:
            upper = replace(
                upper,
                p=min(1.0, upper.p * wider),
                basis=UNLIKE_RUNS,
                share=upper.share / wider,
                late=upper.late * wider,
            )
        return max(upper, self._worst_run(late.deadline_ns), key=lambda one: one.p) if late.unlike else upper

    def _upper(self, seen: Exceedances, bursts: Bursts | None) -> Bound:
        if bursts is None:
            return self._unordered(seen)
        events = int(bursts.sizes.size)
        if events == seen.certain:
            own = self._singly(seen, SINGLY if events < FEW_EVENTS else AS_SEEN)
        else:
            more = max(0, seen.most - seen.certain)
            sizes = np.concatenate([bursts.sizes, np.ones(more, np.int64)])
            own = self._bursts(seen, sizes, events)
        if events >= FEW_EVENTS or self.trace is None:
            return own
        return max(self._by_theta(seen, events + seen.apart), _as_above(own, self.trace), key=lambda one: one.p)

    def _singly(self, seen: Exceedances, assumes: str) -> Bound:
        return Bound(p_upper(seen.most, seen.due, self.confidence), SINGLY, assumes, k=seen.most)

    def _bursts(self, seen: Exceedances, sizes: Ints, events: int) -> Bound:
        known = self.trace is not None and self.trace.theta_lower * seen.certain <= events
        late = burst_upper(sizes, self.confidence, next_largest(events, known))
        assumes = AS_FEW if events < FEW_EVENTS else AS_SEEN
        return Bound(min(1.0, late / seen.due) if seen.due else 1.0, BURSTS, assumes, late=late)

    def _by_theta(self, seen: Exceedances, events: int) -> Bound:
        theta = self.trace.theta_lower if self.trace is not None else 1.0
        if theta <= 0 or seen.due <= 0:
            return Bound(1.0, THETA, AS_ABOVE, late=math.inf, trace=self.trace)
        return Bound(
            p_upper(events, theta * seen.due, self.confidence), THETA, AS_ABOVE, k=events, share=theta, trace=self.trace
        )

    def _unordered(self, seen: Exceedances) -> Bound:
        """If enough larger ones are known in order, late activations are taken to come as those do."""
        if self.trace is None:
            return self._singly(seen, SINGLY)
        return self._by_theta(seen, math.ceil(seen.most * self.trace.theta_lower))

    def _worst_run(self, deadline_ns: int) -> Bound:
        found = []
        for alone in self._alone:
            one = alone._limit(alone._late(deadline_ns))
            found.append(
                replace(one, share=one.share * alone.due / self.due, late=one.late * self.due / max(1, alone.due))
            )
        return replace(max(found, key=lambda one: one.p), basis=WORST_RUN)

    def _lower(self, late: _Late) -> float:
        """Without order all late activations of a run may be one event."""
        seen, sizes = late.seen, late.bursts.sizes if late.bursts is not None and not late.unlike else None
        if seen.certain == 0 or seen.due <= 0:
            return 0.0
        if sizes is not None and sizes.size == seen.certain:
            return p_lower(seen.certain, seen.due, self.confidence_lower)
        if sizes is None:
            sizes = ints([part.certain for part in late.parts if part.certain])
        return min(1.0, burst_lower(sizes, self.confidence_lower) / seen.due)

    def _rate_upper(self, late: _Late) -> float | None:
        """Of the events per hour; the worst run's if they differ. Without order there are at most as many as late activations."""
        hours = self._hours
        if not hours:
            return None
        most = late.seen.certain if late.bursts is None else int(late.bursts.sizes.size)
        rate = poisson_upper(most + late.seen.apart, self.confidence) / hours * self._widening
        if not late.unlike:
            return rate
        alone = [run._rate_upper(run._late(late.deadline_ns)) for run in self._alone]
        return max([rate, *(one for one in alone if one is not None)])

    def _rate_lower(self, late: _Late) -> float | None:
        """Without order there is at least one event in each run with a late activation."""
        hours = self._hours
        if not hours:
            return None
        if late.bursts is not None and late.unlike:
            counts = _per_run(late.bursts, late.parts)
            return burst_lower(counts[counts > 0], self.confidence_lower) / hours
        least = sum(part.certain > 0 for part in late.parts) if late.bursts is None else int(late.bursts.sizes.size)
        return poisson_lower(least, self.confidence_lower) / hours

    @cached_property
    def _hours(self) -> float | None:
        interval = self.accounts[0].interval_ns
        return self.due * interval / NS_PER_H if interval and self.due > 0 else None


def evidence(accounts: Sequence[Account], confidence: float, lanes: int = 1) -> Evidence:
    """`Evidence(...)`; that of a single run is made once, since its verdict and its D* need the same limits."""
    if len(accounts) != 1:
        return Evidence(accounts, confidence, lanes)
    key = (Evidence, confidence, lanes)
    found = accounts[0].made.get(key)
    if found is None:
        found = accounts[0].made[key] = Evidence(accounts, confidence, lanes)
    return cast(Evidence, found)


@dataclass(frozen=True, slots=True)
class _Late:
    """What is late at a deadline, run by run and together. `bursts`: None without order; `unlike`: the runs differ."""

    deadline_ns: int
    parts: list[Exceedances]
    seen: Exceedances
    bursts: Bursts | None
    unlike: bool


def next_largest(events: int, known: bool) -> float:
    """How much larger than the largest event the next one may be (docs/method/events.md has the simulation). `known`: events below the
    deadline are at least as large on average."""
    if events >= FEW_EVENTS:
        return 1 + FEW_EVENTS / events
    return 1.0 if known or not events else 1 + (FEW_EVENTS / events) ** 2


def _as_above(own: Bound, trace: Trace) -> Bound:
    """The wake-ups above U come no closer than by chance, so single late ones are like them."""
    return replace(own, assumes=AS_ABOVE, trace=trace) if own.assumes == SINGLY else own


def _per_run(bursts: Bursts | None, parts: Sequence[Exceedances]) -> Ints:
    """Events of each run; late activations where their order is not known."""
    if bursts is None:
        return ints([part.certain for part in parts])
    return np.bincount(bursts.run, minlength=len(parts))
