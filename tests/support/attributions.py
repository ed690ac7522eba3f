"""Known attributions of made-up runs, and their ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rtassay.analysis.many.repeats import judge_repeats
from rtassay.causes.ranking import TracedRun, rank
from rtassay.model import causes as kinds
from rtassay.model import ranking as steps
from rtassay.model.causes import Attribution, Cause, Hit, Part
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.model.ranking import Ranking, Traced
from rtassay.model.recording import Histogram, Lane, Recording, Spills

US, MS = 1_000, 1_000_000
INTERVAL = MS
IRQ = Cause(kinds.IRQ, "eth0", 40)
TIMER = Cause(kinds.SOFTIRQ, "TIMER")
WAKE_UP = Cause(kinds.WAKE_UP)
UNKNOWN = Cause(kinds.UNATTRIBUTED)


def attribution(k: int, *owners: tuple[Cause, int], lane: int = 0, stall: bool = False) -> Attribution:
    """A hit whose time these causes own, in this order."""
    at, parts = k * INTERVAL, []
    for cause, ns in owners:
        parts.append(Part("C", cause, at, ns))
        at += ns
    top = max(owners, key=lambda owner: owner[1])[0]
    return Attribution(Hit(lane, lane, 100, k, k * INTERVAL, at), tuple(parts), top, (), True, False, stall)


def run(*attributions: Attribution, n: int = 10_000, usual_ns: int = 20 * US, name: str = "a") -> TracedRun:
    """A traced part of n samples a lane: the hits, and all others at `usual_ns`."""
    lanes = []
    for index in sorted({one.hit.lane for one in attributions} | {0}):
        own = sorted((one for one in attributions if one.hit.lane == index), key=lambda one: one.hit.k)
        late = np.array([one.hit.latency_ns for one in own], np.int64)
        missed = late // INTERVAL
        lower, counts = np.unique(
            np.concatenate([late, np.full(n - len(late), usual_ns, np.int64)]), return_counts=True
        )
        due = n + int(missed.sum())
        lanes.append(
            Lane(
                LaneEntry(
                    index, str(index), index, INTERVAL, n, due=due, missed=int(missed.sum()), dropped=0, truncated=0,
                    over=0, min_ns=int(lower[0]), max_ns=int(lower[-1]), first_due_ns=0,
                ),
                Histogram(lower, np.ones(len(lower), np.int64), counts.astype(np.int64)),
                spills=Spills(np.array([one.hit.k for one in own], np.int64), late, missed),
            )
        )  # fmt: skip
    manifest = Manifest(name, "", Source("rtprobe", None, "rtw", "counted"), Plan(interval_ns=INTERVAL))
    recording = Recording(manifest, (), traced=tuple(lanes), causes=attributions)
    return TracedRun(recording, Traced(name, steps.TRACED, above_ns=100 * US, hits=len(attributions)), ("load x",))


def star(recordings: Sequence[Recording]) -> int | None:
    return judge_repeats(recordings, [], deadline_ns=None, p=1e-3, confidence=0.95).demonstrated_ns


def ranked(*runs: TracedRun, deadline_ns: int | None = 200 * US, above_ns: int | None = None) -> Ranking:
    return rank(runs, star, deadline_ns=deadline_ns, above_ns=above_ns, p=1e-3, confidence=0.95)
