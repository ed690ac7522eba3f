"""The two views of latency: per wake-up that was measured, and per activation that was due (docs/method/activations.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from rtassay.analysis.lane.account import COUNTED, SKIP, Account
from rtassay.analysis.lane.distribution import NOTHING, Parts, Progressions, ints, joined, points, progression
from rtassay.analysis.lane.quantiles import View
from rtassay.model.measures import JOB_EXECUTION, NO_LATENESS


def raw_view(account: Account) -> View:
    """Every sample once. A bin reports its lower edge; overflow is at least the limit."""
    parts = points(account.lower, account.counts)
    if account.under:
        lowest = account.min_ns if account.min_ns is not None else int(account.lower[0]) if account.lower.size else 0
        parts = joined([parts, points([lowest], [account.under])])
    censored = points([account.limit_ns], [account.over]) if account.over else NOTHING
    return View(parts, censored)


NO_POLICY: Final = "no-policy"
MISSED_UNKNOWN: Final = "missed-unknown"
INTERVAL_UNKNOWN: Final = "interval-unknown"
TRUNCATED_WHEN: Final = "truncated-when"
UNEXPLAINED: Final = "unexplained"
IN_OVERFLOW: Final = "in-overflow"
NOT_LOOKED_AT: Final = "not-looked-at"
NOT_STARTED: Final = "not-started"

_WHY: Final = {
    NO_POLICY: "the source does not say what it does after a late wake-up ({policy})",
    MISSED_UNKNOWN: "the source does not count missed activations",
    INTERVAL_UNKNOWN: "the interval is not known",
    TRUNCATED_WHEN: "the time of {truncated} truncated activations is not known",
    UNEXPLAINED: "the histogram explains {explained} missed activations, the lane counted {missed}",
    NOT_LOOKED_AT: "{missed} windows were not looked at",
    NOT_STARTED: "{missed} jobs were not started",
    IN_OVERFLOW: "{over} samples above the histogram may have missed any number of activations",
}


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The reason why a lane has no view per due activation: one of the codes above, and the facts for its text."""

    code: str
    facts: dict[str, int | str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """For a message."""
        return _WHY[self.code].format(**self.facts)


@dataclass(frozen=True, slots=True)
class DueView:
    """The view per due activation, or why there is none. `estimate`: reconstructed for a source that skips (cyclictest)."""

    view: View | None
    why_not: WhyNot | None = None
    estimate: bool = False
    missed: int | None = None


def due_view(account: Account) -> DueView:
    """Missed activation j of a sample L counts with its own lateness L - jI; truncated ones with their lateness at the end."""
    if account.policy == COUNTED:
        return _counted(account)
    if account.policy == SKIP:
        return _estimated(account)
    return _none(NO_POLICY, policy=account.policy)


def _none(code: str, **facts: int | str) -> DueView:
    return DueView(None, WhyNot(code, facts))


def _counted(account: Account) -> DueView:
    missed, raw = account.entry.missed, raw_view(account)
    if missed is None:
        return _none(MISSED_UNKNOWN)
    if missed == 0 and account.truncated == 0:
        return DueView(raw, missed=0)
    if account.entry.measure in NO_LATENESS:
        why = NOT_STARTED if account.entry.measure == JOB_EXECUTION else NOT_LOOKED_AT
        return _none(why, missed=missed + account.truncated)
    if not account.interval_ns:
        return _none(INTERVAL_UNKNOWN)
    ends = _truncated(account)
    if ends is None:
        return _none(TRUNCATED_WHEN, truncated=account.truncated)
    known = account.explained
    assert known is not None
    hidden = account.dropped or account.over
    if missed < known.least or (missed > known.most and not hidden):
        return _none(UNEXPLAINED, explained=known.most, missed=missed)
    # a wide bin across a multiple of the interval: those activations had only just become due
    just_due = points([0], [min(missed, known.most) - known.least])
    parts = joined([raw.known, _expanded(account), just_due])
    return DueView(View(parts, joined([raw.censored, ends])), missed=missed)


def _estimated(account: Account) -> DueView:
    raw, interval = raw_view(account), account.interval_ns
    if not interval:
        return _none(INTERVAL_UNKNOWN)
    beyond = NOTHING
    if account.over:
        top = account.max_ns
        if top is None or (top >= interval and account.over > 1):
            return _none(IN_OVERFLOW, over=account.over)
        if top >= interval:
            beyond = Parts(NOTHING.values, NOTHING.counts, (progression(top % interval, interval, top // interval),))
    extra = joined([_expanded(account), beyond])
    return DueView(View(joined([raw.known, extra]), raw.censored), estimate=True, missed=extra.total)


def _expanded(account: Account) -> Parts:
    """The missed activations behind all samples: L - I, L - 2I, ... for each L."""
    interval = account.interval_ns
    assert interval is not None
    counts = account.counts.copy()
    rows: list[Progressions] = []
    clip, at = account.entry.clip, account.clip_bin
    if clip is not None and at is not None and account.clipped_off:
        counts[at] -= 1
        if clip.missed:
            rows.append(progression(clip.latency_ns - clip.missed * interval, interval, clip.missed))
    late = (account.lower >= interval) & (counts > 0)
    lower = account.lower[late]
    steps = np.full(lower.shape, interval, dtype=np.int64)
    rows.append(Progressions(lower % interval, steps, lower // interval, counts[late]))
    return Parts(ints([]), ints([]), tuple(rows))


def _truncated(account: Account) -> Parts | None:
    if account.truncated == 0:
        return NOTHING
    tail = account.truncated_tail()
    if tail is None:
        return None
    return Parts(ints([]), ints([]), (progression(tail.least_ns, tail.step_ns, tail.count),))
