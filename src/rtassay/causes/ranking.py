"""Causes of late wake-ups over one or several traced runs: shares, what each is worth, and which hide each other. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from rtassay.causes.functions import functions
from rtassay.causes.removing import Key, key_of, left_ns, owned_ns, without
from rtassay.model import causes as kinds
from rtassay.model import ranking as steps
from rtassay.model.causes import Attribution, Cause
from rtassay.model.findings import LADDER
from rtassay.model.ranking import CauseShare, Masked, QuantileLevel, Ranking, Spread, Traced, Without
from rtassay.model.recording import Recording

Star = Callable[[Sequence[Recording]], "int | None"]
"""D* in ns of the worst lane over runs; None if the data demonstrate none."""

# Predictions cost a D* each; causes below these ranks own next to nothing.
PREDICTED = 12
PAIRED = 5
# Two causes mask each other if at least this share of the exceedances goes only when both go.
MASKED_SHARE = 0.2

NEXT_STEP = {
    kinds.INTERRUPTS_OFF: steps.NAME_THE_FUNCTION,
    kinds.IRQ: steps.MOVE_INTERRUPT,
    kinds.SOFTIRQ: steps.SOFTIRQ_LOAD,
    kinds.HRTIMER: steps.TIMER_OWNER,
    kinds.PREEMPTION_OFF: steps.NAME_THE_FUNCTION,
    kinds.BOTTOM_HALVES_OFF: steps.RT_KERNEL,
    kinds.NO_PREEMPTION_POINT: steps.RT_KERNEL,
    kinds.THREAD: steps.THREAD_PRIORITY,
    kinds.IPI: steps.IPI_SENDER,
    kinds.IDLE_EXIT: steps.IDLE_STATES,
    kinds.THROTTLING: steps.THROTTLING_OFF,
    kinds.PAGE_FAULT: steps.LOCK_MEMORY,
    kinds.OBSERVER: steps.MEASUREMENT,
    kinds.SMI: steps.FIRMWARE,
    kinds.HYPERVISOR: steps.REAL_HARDWARE,
    kinds.WAKE_UP: steps.ORDINARY,
    kinds.UNATTRIBUTED: steps.MORE_EVENTS,
}
"""Kind of a cause -> what to do about it. `reports.causes_text` has the words."""

_OURS = "rtprobe"

_NOT_REMOVABLE = frozenset((kinds.WAKE_UP, kinds.UNATTRIBUTED, kinds.OBSERVER))


@dataclass(frozen=True, slots=True)
class TracedRun:
    """One run to rank: its recording, what became of its tracing, and the names it is grouped by ("kernel 6.1", "load none")."""

    recording: Recording
    traced: Traced
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hit:
    run: int
    attribution: Attribution
    owned: dict[Key, int]
    top: Key
    groups: tuple[str, ...]

    @property
    def latency_ns(self) -> int:
        return self.attribution.hit.latency_ns


def rank(
    runs: Sequence[TracedRun],
    star: Star,
    *,
    deadline_ns: int | None,
    above_ns: int | None,
    p: float,
    confidence: float,
) -> Ranking:
    """All causes of the runs' hits at or above `above_ns` (None: all hits), the largest share of the lateness first.

    Exceedances are hits with L >= deadline_ns (None: all hits that count).
    """
    hits = [hit for hit in _hits(runs) if above_ns is None or hit.latency_ns >= above_ns]
    levels = [run.traced.above_ns for run in runs if run.traced.above_ns is not None]
    seen = [hit.latency_ns for hit in hits]
    level_ns = max(above_ns or 0, *levels, 0) or min(seen, default=0)
    limit_ns = min(seen, default=0) if deadline_ns is None else deadline_ns
    exceeding = [hit for hit in hits if hit.latency_ns >= limit_ns]
    lateness = sum(seen)
    predictor = _Predictor(runs, hits, star, limit_ns, level_ns)
    quantiles = _levels(runs, hits)
    shares = _shares(hits, exceeding, quantiles, len(runs))
    predicted = [share.cause for share in shares if share.cause.kind not in _NOT_REMOVABLE][:PREDICTED]
    shares = [
        replace(share, without=predictor.without({key_of(share.cause)})) if share.cause in predicted else share
        for share in shares
    ]
    unattributed = sum(s.lateness_ns for s in shares if s.cause.kind == kinds.UNATTRIBUTED)
    return Ranking(
        runs=tuple(run.traced for run in runs),
        deadline_ns=deadline_ns,
        above_ns=level_ns,
        p=p,
        confidence=confidence,
        hits=sum(run.traced.hits or 0 for run in runs),
        attributed=len(hits),
        incomplete=sum(not hit.attribution.complete for hit in hits),
        stall_possible=sum(hit.attribution.stall_possible for hit in hits),
        exceedances=len(exceeding),
        lateness_ns=lateness,
        share_unattributed=unattributed / lateness if lateness else None,
        max_ns=max(seen, default=None),
        demonstrated_ns=predictor.now if hits else None,
        quantiles=quantiles,
        causes=tuple(share for share in shares if share.cause.kind != kinds.OBSERVER),
        observer=next((share for share in shares if share.cause.kind == kinds.OBSERVER), None),
        masked=_masked(shares, predictor, len(exceeding)),
    )


def next_step(cause: Cause, *, named: bool = False) -> str:
    """What to do about it. An interrupt without a number is the CPU's own; threads of the probe are the measurement's. `named`: its
    function is known."""
    if cause.kind == kinds.THREAD and cause.name.startswith(_OURS):
        return steps.MEASUREMENT
    if cause.kind == kinds.IRQ and cause.number is None:
        return steps.CPU_INTERRUPT
    step = NEXT_STEP[cause.kind]
    return steps.FUNCTION_KNOWN if named and step == steps.NAME_THE_FUNCTION else step


def _hits(runs: Sequence[TracedRun]) -> list[_Hit]:
    found = []
    for index, run in enumerate(runs):
        for attribution in run.recording.causes:
            owned = owned_ns(attribution)
            groups = (f"cpu {attribution.hit.cpu}", *run.groups)
            found.append(_Hit(index, attribution, owned, key_of(attribution.top), groups))
    return found


def _levels(runs: Sequence[TracedRun], hits: Sequence[_Hit]) -> tuple[QuantileLevel, ...]:
    """The quantiles of the traced part, pooled, above which hits were traced; only those with at least one sample beyond them."""
    bins = [lane.histogram for run in runs for lane in run.recording.traced]
    if not bins or not hits:
        return ()
    lower = np.concatenate([h.lower_ns for h in bins])
    counts = np.concatenate([h.counts for h in bins])
    order = np.argsort(lower, kind="stable")
    lower, counts = lower[order], counts[order]
    upto = np.cumsum(counts)
    total = int(upto[-1]) if upto.size else 0
    lowest = min(hit.latency_ns for hit in hits)
    found = []
    for q in LADDER:
        if round(total * (1 - q), 6) < 1:  # 1 - 0.9999 is not 0.0001
            break
        value = int(lower[np.searchsorted(upto, np.ceil(total * q))])
        if value >= lowest:
            late = int(counts[lower >= value].sum())
            found.append(QuantileLevel(q, value, sum(hit.latency_ns >= value for hit in hits), late))
    return tuple(found)


def _shares(
    hits: Sequence[_Hit], exceeding: Sequence[_Hit], quantiles: Sequence[QuantileLevel], runs: int
) -> list[CauseShare]:
    """Of every cause, the largest share of the lateness first."""
    lateness = sum(hit.latency_ns for hit in hits)
    found = []
    for key, cause in _causes(hits).items():
        its = [hit for hit in hits if key in hit.owned]
        own = [hit for hit in its if hit.top == key]
        total = sum(hit.owned[key] for hit in its)
        late = sum(hit.top == key for hit in exceeding)
        named = functions(key, [hit.attribution for hit in its])
        found.append(
            CauseShare(
                cause=cause,
                hits=len(its),
                owned=len(own),
                exceedances=late,
                stall_possible=sum(hit.attribution.stall_possible for hit in own),
                lateness_ns=total,
                largest_ns=max(hit.owned[key] for hit in its),
                share_of_exceedances=late / len(exceeding) if exceeding else None,
                share_of_lateness=_share(key, hits),
                share_of_quantiles=tuple(
                    _share(key, [hit for hit in hits if hit.latency_ns >= level.value_ns]) if level.hits else None
                    for level in quantiles
                ),
                groups=_groups(key, hits),
                without=None,
                next_step=next_step(cause, named=any(one.function for one in named)),
                functions=named,
                spread=_spread([_share(key, [h for h in hits if h.run == run]) for run in range(runs)]),
            )
        )
    return sorted(found, key=lambda share: (-share.lateness_ns, share.cause.kind, share.cause.name)) if lateness else []


def _causes(hits: Iterable[_Hit]) -> dict[Key, Cause]:
    """Each cause once. Its thread and priority stay where all its parts agree on them."""
    found: dict[Key, Cause] = {}
    for hit in hits:
        for part in hit.attribution.parts:
            key, cause = key_of(part.cause), part.cause
            known = found.setdefault(key, cause)
            if known != cause:
                pid = known.pid if known.pid == cause.pid else None
                priority = known.priority if known.priority == cause.priority else None
                name = known.name if known.name == cause.name else ""  # of the measurement
                found[key] = replace(known, name=name, pid=pid, priority=priority)
    return found


def _share(key: Key, hits: Sequence[_Hit]) -> float:
    """Of the lateness of these hits; 0 without any."""
    lateness = sum(hit.latency_ns for hit in hits)
    return sum(hit.owned.get(key, 0) for hit in hits) / lateness if lateness else 0.0


def _groups(key: Key, hits: Sequence[_Hit]) -> dict[str, float]:
    """Share of the lateness in each group that hits are of."""
    names = sorted({name for hit in hits for name in hit.groups})
    return {name: _share(key, [hit for hit in hits if name in hit.groups]) for name in names}


def _spread(values: Sequence[float]) -> Spread | None:
    """Of one value a run. The smallest and the largest of n enclose the median with 1 - 2^(1 - n), whatever the distribution."""
    if len(values) < 2:
        return None
    return Spread(min(values), max(values), len(values), 1 - 2.0 ** (1 - len(values)))


def _better(predicted: int | None, now: int | None) -> int | None:
    """A deadline that holds as it is holds with less lateness, too: with fewer events the bound alone can be wider."""
    known = [value for value in (predicted, now) if value is not None]
    return min(known, default=None)


def _masked(shares: Sequence[CauseShare], predictor: _Predictor, exceedances: int) -> tuple[Masked, ...]:
    """Pairs of which removing both takes away more exceedances than the two alone."""
    candidates = [share for share in shares if share.without is not None][:PAIRED]
    found = []
    for first, second in combinations(candidates, 2):
        assert first.without is not None and second.without is not None
        both = predictor.exceedances({key_of(first.cause), key_of(second.cause)})
        gone_first, gone_second = exceedances - first.without.exceedances, exceedances - second.without.exceedances
        more = (exceedances - both) - gone_first - gone_second
        if more >= max(1.0, MASKED_SHARE * exceedances):
            whole = predictor.without({key_of(first.cause), key_of(second.cause)})
            found.append(
                Masked(first.cause, second.cause, first.without.exceedances, second.without.exceedances, whole)
            )
    return tuple(found)


class _Predictor:
    """Counterfactuals of one set of hits."""

    def __init__(
        self, runs: Sequence[TracedRun], hits: Sequence[_Hit], star: Star, limit_ns: int, level_ns: int
    ) -> None:
        self._hits, self._star, self._limit_ns, self._level_ns = hits, star, limit_ns, level_ns
        self._parts = [replace(run.recording, lanes=run.recording.traced) for run in runs]
        self._measured = [part for part in self._parts if part.lanes]
        self.now = star(self._measured) if self._measured else None
        # Of each run alone: only several runs have a spread.
        self._each = [star([part]) for part in self._measured] if len(self._measured) > 1 else []

    def exceedances(self, keys: set[Key]) -> int:
        """Hits that are still at or above the deadline, had these causes taken no time."""
        return sum(left >= self._limit_ns for left in self._left(keys))

    def without(self, keys: set[Key]) -> Without:
        changed = self._changed(keys)
        each = zip(changed, self._each, strict=True) if self._each else ()
        stars = [_better(self._star([part]), now) for part, now in each]
        known = [value for value in stars if value is not None]
        star = _better(self._star(changed), self.now) if changed else None
        low = star is not None and star <= self._level_ns
        return Without(
            exceedances=self.exceedances(keys),
            max_ns=max(self._left(keys), default=0),
            demonstrated_ns=star,
            at_most=low,
            spread=_spread(known) if len(known) == len(stars) else None,
        )

    def _left(self, keys: set[Key]) -> list[int]:
        return [hit.latency_ns if keys.isdisjoint(hit.owned) else left_ns(hit.attribution, keys) for hit in self._hits]

    def _changed(self, keys: set[Key]) -> list[Recording]:
        changed = []
        for index, part in enumerate(self._parts):
            if not part.lanes:
                continue
            latencies = {
                (hit.attribution.hit.lane, hit.attribution.hit.k): left
                for hit, left in zip(self._hits, self._left(keys), strict=True)
                if hit.run == index and left != hit.latency_ns
            }
            width = part.manifest.bin_width_ns
            changed.append(replace(part, lanes=without(part.lanes, latencies, width)))
        return changed
