"""Recordings to the runs of each lane, with what is known of their tails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from rtassay.analysis.lane.account import Account, accounts
from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.tail.clusters import Run
from rtassay.analysis.tail.extrapolating import extrapolate
from rtassay.analysis.tail.refusals import invalid
from rtassay.analysis.tail.thresholds import LEAST, MOST_SHARE
from rtassay.model.errors import UsageError
from rtassay.model.extrapolation import Extrapolation
from rtassay.model.findings import lane_words
from rtassay.model.measures import measure_words
from rtassay.model.recording import Recording

MOST_VALUES = 200_000


def extrapolate_recordings(
    recordings: Sequence[Recording],
    levels: Sequence[float],
    confidence: float,
    failed: Mapping[str, Sequence[str]] | None = None,
) -> Extrapolation:
    """Every lane over all recordings, each recording a run. `failed`: of a recording, the ids of checks that make it invalid.

    Raises UsageError without recordings or lanes, and for a probability or a confidence outside ]0, 1[.
    """
    if not recordings:
        raise UsageError("no recording to extrapolate from", hint="rtassay list shows all recordings")
    for p in levels:
        if not 0 < p < 1:
            raise UsageError(
                f"level {p:g}", "a probability between 0 and 1 is needed", "1e-8: one wake-up in 100 million"
            )
    if not 0.5 <= confidence < 1:
        raise UsageError(f"confidence {confidence:g}", "it must be at least 0.5 and below 1", "0.95 is usual")
    recordings = sorted(recordings, key=lambda recording: str(recording.manifest.created or ""))
    lanes = _by_lane(recordings)
    if not lanes:
        raise UsageError("the recordings hold no lane with samples")
    first = recordings[0].manifest
    stop = {name: tuple(ids) for name, ids in (failed or {}).items() if ids}
    found = []
    for name, runs in lanes.items():
        lane = extrapolate(name, tuple(runs), tuple(levels), confidence)
        if stop:
            lane = replace(lane, levels=(), band=None, refusals=(invalid(stop), *lane.refusals))
        found.append(lane)
    return Extrapolation(
        ids=tuple(recording.manifest.id for recording in recordings),
        board=first.board,
        kernel=first.board_start.kernel.release or first.labels.get("kernel"),
        confidence=confidence,
        lanes=tuple(found),
    )


def _by_lane(recordings: Sequence[Recording]) -> dict[str, list[Run]]:
    """Runs by the lane's name; unlike measures of one name stay apart."""
    rows: dict[tuple[str, str], list[Run]] = {}
    for recording in recordings:
        step = recording.manifest.probe_facts.clock.step_ns or 1
        for account in accounts(recording):
            name = lane_words(account.entry.name, account.entry.cpu)
            if account.entry.n > 0:
                run = run_of(account, recording.manifest.id, step)
                rows.setdefault((name, account.entry.measure), []).append(run)
    names = [name for name, _ in rows]
    return {
        name if names.count(name) == 1 else f"{name} ({measure_words(measure)})": runs
        for (name, measure), runs in rows.items()
    }


def run_of(account: Account, name: str, clock_step_ns: int = 1) -> Run:
    """The tail of a lane: kept samples with their order, else, where fewer than LEAST are kept, the histogram's largest without order."""
    spills, edge = account.spills, account.ordered_from_ns
    kept = np.zeros(len(spills), bool) if edge is None else spills.latency_ns >= edge
    tick = max(account.bin_width_ns, clock_step_ns)
    values, widest = _largest(account)
    ordered = edge is not None and (int(kept.sum()) >= LEAST or values.size <= kept.sum())
    index = spills.k[kept] if ordered else None
    last = int(index[-1]) + 1 if index is not None and index.size else 0
    return Run(
        name=name,
        n=max(account.exposure, account.entry.n, last),
        index=index,
        value_ns=spills.latency_ns[kept] if ordered else values,
        floor_ns=edge if ordered and edge is not None else int(values.min(initial=2**62)),
        tick_ns=tick if ordered else max(tick, widest),
        interval_ns=account.interval_ns,
        over=account.over,
        lost=account.dropped + account.truncated + account.unaccounted,
        stripped=account.stripped,
    )


def _largest(account: Account) -> tuple[Ints, int]:
    """Lower edges of the bins with the largest samples, at most MOST_SHARE of all and MOST_VALUES, one for each sample; the widest bin."""
    order = np.argsort(account.lower)[::-1]
    from_top = np.cumsum(account.counts[order])
    most = min(MOST_VALUES, max(LEAST, int(MOST_SHARE * account.entry.n)))
    keep = order[from_top <= most]
    return np.repeat(account.lower[keep], account.counts[keep]), int(account.width[keep].max(initial=1))
