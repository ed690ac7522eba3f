"""A recording of followed threads becomes an explanation. `rtassay explain` and the Python API use it."""

from __future__ import annotations

from dataclasses import replace

from rtassay import rankings
from rtassay.model.errors import UsageError
from rtassay.model.explanation import Explanation, FollowedThread
from rtassay.model.facts import LaneEnd, Requested
from rtassay.model.recording import Lane, Recording


def explain(recording: Recording) -> Explanation:
    """Who delayed the threads of this recording. Raises UsageError for a recording of another measure."""
    manifest = recording.manifest
    if not rankings.is_followed(recording):
        raise UsageError(
            f"{manifest.id} is no recording of followed threads", hint="`rtassay causes` ranks the causes of a run"
        )
    from rtassay.analysis.judge.judging import kernel_of

    late = sorted(recording.causes, key=lambda one: -one.hit.latency_ns)
    threads = tuple(_thread(one, manifest.probe_end.lane(one.entry.index), recording) for one in recording.lanes)
    real = {thread.lane for thread in threads if thread.real_time}
    # An ordinary thread waits for its fair share: its delays would hide the few of a real-time thread.
    ranked = tuple(one for one in recording.causes if one.hit.lane in real) or recording.causes
    return Explanation(
        id=manifest.id,
        board=manifest.board,
        kernel=kernel_of(manifest),
        target=_target(manifest.probe_facts.requested),
        duration_ns=_length_ns(recording),
        above_ns=None if manifest.trace is None else manifest.trace.above_ns,
        end=manifest.end_reason,
        losses=manifest.probe_end.losses or 0,
        left_out=manifest.probe_end.left_out or 0,
        threads=threads,
        late=tuple(late),
        ranking=rankings.rank([replace(recording, causes=ranked)]),
        ordinary_late=sum(one.hit.lane not in real for one in late),
    )


def _length_ns(recording: Recording) -> int | None:
    """For how long wake-ups were taken: from the trace's begin on. The end of the recording also has the last pages and the kernel's symbols."""
    manifest = recording.manifest
    began = manifest.started_ns if manifest.trace is None else manifest.trace.from_ns
    if began is None or manifest.ended_ns is None:
        return None
    asked = manifest.probe_facts.requested.duration_ns
    length_ns = manifest.ended_ns - began
    return length_ns if asked is None else min(length_ns, asked)


def _target(asked: Requested) -> str:
    return f"pid {asked.pid}" if asked.pid is not None else "unknown" if asked.comm is None else asked.comm


def _thread(lane: Lane, end: LaneEnd | None, recording: Recording) -> FollowedThread:
    entry, obtained = lane.entry, lane.entry.obtained_start
    return FollowedThread(
        lane=entry.index,
        name=entry.name,
        tid=entry.tid,
        policy=None if obtained is None else obtained.policy,
        priority=None if obtained is None else obtained.priority,
        wake_ups=entry.n,
        min_ns=entry.min_ns,
        p50_ns=_quantile(lane, 50),
        p99_ns=_quantile(lane, 99),
        max_ns=entry.max_ns,
        late=sum(one.hit.lane == entry.index for one in recording.causes),
        gone=entry.state == "gone",
        waited_ns=None if end is None else end.waited_ns,
        turns=None if end is None else end.turns,
        minor_faults=None if end is None else end.minor_faults,
        major_faults=None if end is None else end.major_faults,
    )


def _quantile(lane: Lane, percent: int) -> int | None:
    """Nearest rank."""
    import numpy as np

    histogram = lane.histogram
    if not len(histogram.counts):
        return None
    upto = np.cumsum(histogram.counts)
    return int(histogram.lower_ns[np.searchsorted(upto, -(-int(upto[-1]) * percent // 100))])
