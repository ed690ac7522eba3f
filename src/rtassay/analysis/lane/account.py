"""A lane as analysis reads it: its counts in arrays, its interval, and the late policy of its source."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from rtassay.analysis.lane.bounds import nearest_rank
from rtassay.analysis.lane.distribution import Ints, ints, rising
from rtassay.model.manifest import LaneEntry, Manifest
from rtassay.model.measures import NO_LATENESS
from rtassay.model.recording import Lane, Recording, Spills

COUNTED = "counted"
SKIP = "skip"
TAIL = 0.999
# At most one of so many samples lies in the tail.
TAIL_MOST = 100


@dataclass(frozen=True, slots=True)
class Truncated:
    """Activations that never ran: the t-th from the end is at least `least_ns + t * step_ns` late (t = 0 .. count - 1)."""

    count: int
    least_ns: int
    step_ns: int

    def reaching(self, deadline_ns: int) -> int:
        """Number of them that were certainly not done before the deadline."""
        short = max(0, -(-(deadline_ns - self.least_ns) // self.step_ns))
        return max(0, self.count - short)


@dataclass(frozen=True, slots=True)
class Explained:
    """Number of missed activations that the histogram explains; between `least` and `most` if bins are wide."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Account:
    """One lane. Bin i holds counts[i] samples in [lower[i], lower[i] + width[i]) ns; `over` more lie at `limit_ns` or above.

    `final`: the source's own account is complete. `unlimited`: its histogram has no last bin. `top`: ends of the bins (excluded).
    `ordered_from_ns`: every sample with latency >= it stands in `spills` with its position; None if the order is not known. Dropped
    samples and truncated activations are in no histogram and do not count here. `made`: what was computed of it once, by its class and settings.
    """

    lane: Lane
    policy: str
    interval_ns: int | None
    bin_width_ns: int
    lower: Ints
    width: Ints
    counts: Ints
    run_deadline_ns: int | None
    final: bool
    unlimited: bool
    top: Ints
    top_sorted: bool
    spills: Spills
    explained: Explained | None = None
    ordered_from_ns: int | None = None
    made: dict[object, object] = field(init=False, default_factory=dict, repr=False, compare=False)

    @property
    def entry(self) -> LaneEntry:
        """The lane's row of the manifest."""
        return self.lane.entry

    @property
    def counted(self) -> bool:
        """Whether missed activations are known exactly, sample by sample."""
        return self.policy == COUNTED and self.interval_ns is not None and self.entry.measure not in NO_LATENESS

    @property
    def over(self) -> int:
        """Samples above the last possible bin."""
        return int(self.lane.histogram.over)

    @property
    def over_told(self) -> int | None:
        """Samples above the last bin as the source reports; 0 if every value has a bin, None if not known."""
        if self.entry.over is not None or self.over:
            return max(self.over, self.entry.over or 0)
        return 0 if self.unlimited else None

    @property
    def stripped(self) -> bool:
        """Whether a binned source has lost its closing lines (totals, maximum, overflow), so that `over` cannot be known."""
        return self.over_told is None

    @property
    def under(self) -> int:
        """Samples below the first possible bin."""
        return int(self.lane.histogram.under)

    @property
    def dropped(self) -> int:
        return self.entry.dropped or 0

    @property
    def truncated(self) -> int:
        return self.entry.truncated or 0

    @property
    def limit_ns(self) -> int:
        """Begin of overflow in ns; the end of the last bin if the source does not state it."""
        if self.lane.histogram.limit_ns is not None:
            return int(self.lane.histogram.limit_ns)
        return int(self.top.max()) if self.top.size else 0

    @property
    def max_ns(self) -> int | None:
        """The lane's own maximum; else the last bin's lower edge, unless samples lie above it."""
        if self.entry.max_ns is not None:
            return int(self.entry.max_ns)
        return int(self.lower[-1]) if self.lower.size and not self.over else None

    @property
    def min_ns(self) -> int | None:
        """The lane's own minimum; else the first bin's lower edge, unless samples lie below it."""
        if self.entry.min_ns is not None:
            return int(self.entry.min_ns)
        return int(self.lower[0]) if self.lower.size and not self.under else None

    @property
    def accounted(self) -> int:
        """All counted activations: measured, missed, dropped and truncated."""
        return self.entry.n + (self.entry.missed or 0) + self.dropped + self.truncated

    @property
    def exposure(self) -> int:
        """The denominator of a probability: activations due by the clock, else all counted ones."""
        return self.entry.due if self.entry.due is not None else self.accounted

    @property
    def unaccounted(self) -> int:
        """Due activations that no count explains: 0 unless the account is broken."""
        return max(0, self.exposure - self.accounted)

    @property
    def rising_ns(self) -> Ints:
        """The latencies in `spills`, rising; sorted once."""
        if "rising_ns" not in self.made:
            self.made["rising_ns"] = rising(self.spills.latency_ns)
        return cast(Ints, self.made["rising_ns"])

    def reaching(self, deadline_ns: int) -> Any:
        """Index of the bins of which any part reaches the deadline: a slice, or a mask where coarse bins overlap fine ones."""
        if self.top_sorted:
            return slice(int(np.searchsorted(self.top, deadline_ns, side="right")), None)
        return self.top > deadline_ns

    @property
    def tail_from_ns(self) -> int:
        """Where the lane's tail begins: at the bin of its p99.9 (nearest rank); behind it if the tail would be more than 1 % of the samples."""
        below = self.under + np.cumsum(self.counts)
        total = self.under + int(self.counts.sum()) + self.over
        at = int(np.searchsorted(below, nearest_rank(total, TAIL)))
        if at == below.size:
            return self.limit_ns
        wide = (total - int(below[at] - self.counts[at])) * TAIL_MOST > total
        return int(self.top[at] if wide else self.lower[at])

    @property
    def clip_bin(self) -> int | None:
        """Index of the bin that holds the clipped sample (it may have been dropped)."""
        clip = self.entry.clip
        if clip is None or self.lower.size == 0:
            return None
        holding = np.flatnonzero((self.lower <= clip.latency_ns) & (clip.latency_ns < self.top))
        return int(holding[np.argmin(self.width[holding])]) if holding.size else None

    @property
    def clipped_off(self) -> int:
        """Activations that the last sample would have missed if the run had continued; 0 if it is not in the histogram."""
        clip = self.entry.clip
        if clip is None or self.interval_ns is None or self.clip_bin is None:
            return 0
        return max(0, clip.latency_ns // self.interval_ns - clip.missed)

    def truncated_tail(self) -> Truncated | None:
        """The activations at the end that never ran, with their least lateness; None if the clock facts are missing, or where a value is no lateness."""
        entry, interval = self.entry, self.interval_ns
        if (
            entry.measure in NO_LATENESS
            or entry.closed_ns is None
            or entry.first_due_ns is None
            or entry.due is None
            or not interval
        ):
            return None
        last_due_ns = entry.first_due_ns + (entry.due - 1) * interval
        return Truncated(self.truncated, max(0, entry.closed_ns - last_due_ns), interval)


def accounts(recording: Recording) -> tuple[Account, ...]:
    """All lanes of a recording, in its order."""
    return tuple(_account(recording.manifest, lane) for lane in recording.lanes)


def tails_in_order(recording: Recording) -> bool:
    """Whether the tail of every lane is among its spills."""
    return all(_tail_in_order(_bare(recording.manifest, lane)) for lane in recording.lanes)


def _tail_in_order(account: Account) -> bool:
    """Whether as many samples stand in `spills` from the begin of the tail on as the histogram holds there."""
    if not account.lower.size:
        return False
    begin = account.tail_from_ns
    held = int(account.counts[account.reaching(begin)].sum()) + account.over
    return held > 0 and held == int(np.count_nonzero(account.spills.latency_ns >= begin))


def _account(manifest: Manifest, lane: Lane) -> Account:
    account = _bare(manifest, lane)
    whole = replace(account, explained=_explained(account), ordered_from_ns=_ordered_from(account))
    whole.made.update(account.made)
    return whole


def _bare(manifest: Manifest, lane: Lane) -> Account:
    """Without what is explained, and from where on the order is known."""
    lower, width = ints(lane.histogram.lower_ns), ints(lane.histogram.width_ns)
    top = lower + width
    return Account(
        lane=lane,
        policy=manifest.source.late_policy,
        interval_ns=lane.entry.interval_ns or manifest.plan.interval_ns,
        bin_width_ns=manifest.bin_width_ns,
        lower=lower,
        width=width,
        counts=ints(lane.histogram.counts),
        run_deadline_ns=manifest.plan.deadline_ns,
        final=bool(manifest.end) and not manifest.damage.cut,
        unlimited=manifest.source.tool == "rtprobe" or manifest.has_samples,
        top=top,
        top_sorted=bool((np.diff(top) >= 0).all()),
        spills=lane.spills or Spills(ints([]), ints([]), ints([])),
    )


def _ordered_from(account: Account) -> int | None:
    """The smallest edge of a bin above which as many samples stand in `spills` as the histogram holds; 0 or less if all samples do."""
    kept = account.rising_ns
    if not kept.size or not account.lower.size:
        return None
    top, counts = account.top, account.counts
    if not account.top_sorted:
        order = np.argsort(top, kind="stable")
        top, counts = top[order], counts[order]
    edges = np.append(account.lower.min(), top)
    # A bin that reaches an edge holds all its samples above it: never fewer than there are, where coarse bins overlap fine ones.
    held = np.append(np.cumsum(counts[::-1])[::-1], 0)
    if not bool((edges[1:] > edges[:-1]).all()):
        held = held[np.searchsorted(top, edges, side="right")]
    held += account.over
    begin = int(np.searchsorted(-held, -kept.size))  # more samples than were kept are not complete
    have = kept.size - np.searchsorted(kept, edges[begin:])
    complete = np.flatnonzero((held[begin:] == have) & (have > 0))
    if not complete.size:
        return None
    first = begin + int(complete[0])
    return min(0, int(edges[0])) if first == 0 and not account.under else int(edges[first])


def _explained(account: Account) -> Explained | None:
    """Each sample L explains floor(L / I) missed activations; the last one explains fewer if the run ended before (clip)."""
    interval = account.interval_ns
    if not interval:
        return None
    first, last = account.lower // interval, (account.top - 1) // interval
    cut = account.clipped_off
    least, most = (int((account.counts * np.maximum(each, 0)).sum()) - cut for each in (first, last))
    return Explained(least, most)
