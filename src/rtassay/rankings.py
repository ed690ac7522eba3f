"""Causes of traced runs as a person asks for them: recordings and a requirement become a ranking.

The command `rtassay causes`, the reports and the function `rtassay.rank_causes` use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from rtassay.model import ranking as codes
from rtassay.model.causes import HYPERVISOR, SMI
from rtassay.model.errors import UsageError
from rtassay.model.facts import SettingsFacts
from rtassay.model.manifest import Manifest
from rtassay.model.measures import APPLICATION, HARDWARE_GAP, TIMER_THREAD
from rtassay.model.ranking import Analysis, Below, Beside, Confirmation, CrossCheck, Ranking, Traced
from rtassay.model.recording import Lane, Recording
from rtassay.model.settings import default

T = TypeVar("T")

_POWERS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def rank(
    recordings: Sequence[Recording],
    *,
    deadline_ns: int | None = None,
    above_ns: int | None = None,
    p: float | None = None,
    confidence: float | None = None,
) -> Ranking:
    """The causes of all these runs together. What is not given comes from the runs' own plans, where they agree on it. Raises UsageError where some follow
    a user's program and others do not.

    D* is that of the p that is given. Of a p from the plans or by default only if the traced parts are long enough to show it: else of the smallest power
    of ten that they show.
    """
    from rtassay.analysis.judge.judging import kernel_of, load_of
    from rtassay.analysis.many.repeats import judge_repeats
    from rtassay.causes import ranking

    followed = _followed(recordings)
    plans = [recording.manifest.plan for recording in recordings]
    deadline_ns = _common([plan.deadline_ns for plan in plans]) if deadline_ns is None else deadline_ns
    confidence = _common([plan.confidence for plan in plans]) if confidence is None else confidence
    sure = default("confidence") if confidence is None else confidence

    def star_at(p: float, parts: Sequence[Recording]) -> int | None:
        if followed:
            return None
        return judge_repeats(parts, [], deadline_ns=None, p=p, confidence=sure).demonstrated_ns

    traced_parts = [replace(one, lanes=one.traced) for one in map(leading, recordings) if one.traced]
    asked = _common([plan.p_target for plan in plans]) if p is None else p
    asked = default("p") if asked is None else asked
    wanted = asked if p is not None or followed else _shown(asked, lambda p: star_at(p, traced_parts) is not None)

    def star(changed: Sequence[Recording]) -> int | None:
        return star_at(wanted, changed)

    runs = [
        ranking.TracedRun(
            leading(recording),
            traced_of(recording),
            (f"kernel {kernel_of(recording.manifest) or '?'}", f"load {load_of(recording.manifest, True)}"),
        )
        for recording in recordings
    ]
    ranked = ranking.rank(runs, star, deadline_ns=deadline_ns, above_ns=above_ns, p=wanted, confidence=sure)
    checks = [crosscheck(recording) for recording in recordings]
    return replace(
        ranked, p_asked=asked, followed=followed, crosschecks=tuple(check for check in checks if check is not None)
    )


def removed(
    before: Sequence[Recording], after: Sequence[Recording], *, deadline_ns: int | None, p: float | None
) -> Confirmation | None:
    """The largest cause of the runs `before` that is gone in the runs `after`, with what was predicted of it; None if each is still there, or nothing was late."""
    from rtassay.causes import confirming

    with_it = rank(before, deadline_ns=deadline_ns, p=p)
    if with_it.answered and not with_it.exceedances:
        # The deadline was met in all of them: then every wake-up that was late enough for a trace counts.
        with_it = rank(before, above_ns=with_it.above_ns, deadline_ns=with_it.above_ns, p=p)
    if not with_it.answered:
        return None
    limits = {"deadline_ns": with_it.deadline_ns, "above_ns": with_it.above_ns}
    without = rank(after, **limits, p=with_it.p, confidence=with_it.confidence)
    return confirming.removed(with_it, without, ([leading(one) for one in before], [leading(one) for one in after]))


def is_followed(recording: Recording) -> bool:
    """Whether its lanes are threads of a user's program."""
    return bool(recording.lanes) and all(lane.entry.measure == APPLICATION for lane in recording.lanes)


def _followed(recordings: Sequence[Recording]) -> bool:
    """Whether they follow a user's program. Raises UsageError where only some do."""
    apart = [recording.manifest.id for recording in recordings if is_followed(recording)]
    if apart and len(apart) < len(recordings):
        why = f"{apart[0]} follows threads of a program, others measure the board"
        raise UsageError("wake-ups of unlike measures are not ranked together", why, "rank them apart")
    return bool(apart)


def leading(recording: Recording) -> Recording:
    """The traced lanes of the measure that stands for the run alone: of timerlat the thread's, not its interrupt's."""
    from rtassay.analysis.lane.measures import of_one_measure

    traced = of_one_measure([lane.entry for lane in recording.traced], recording.traced)
    return recording if len(traced) == len(recording.traced) else replace(recording, traced=tuple(traced))


def _shown(asked: float, shows: Callable[[float], bool]) -> float:
    """`asked`, or the smallest power of ten above it for which the data show a D*; `asked` if there is none."""
    if shows(asked):
        return asked
    return next((p for p in _POWERS if p > asked and shows(p)), asked)


def crosscheck(recording: Recording) -> CrossCheck | None:
    """Our causes beside the readings of the kernel's tracer; None if it measured nothing, or nothing was late."""
    from rtassay import store
    from rtassay.causes import crosscheck as readings

    measured = any(lane.entry.measure == TIMER_THREAD for lane in recording.traced)
    if not measured or not recording.causes or recording.path is None:
        return None
    trace = store.kernel_trace(Path(recording.path), recording.manifest)
    return readings.crosscheck(trace, recording.causes, recording.manifest.id)


def beside(recordings: Sequence[Recording], analyses: Sequence[Analysis], above_ns: int) -> tuple[Beside, ...]:
    """Analyses of rtla, each beside the late wake-ups of its CPU: those from `above_ns` on."""
    from rtassay.causes.crosscheck import amounts

    found = []
    for analysis in analyses:
        mine = [
            one
            for recording in recordings
            for one in recording.causes
            if one.hit.cpu == analysis.cpu and one.hit.latency_ns >= above_ns
        ]
        sums = dict.fromkeys((codes.TIMER_INTERRUPT, codes.INTERRUPTS, codes.SOFTIRQS, codes.THREADS), 0)
        for one in mine:
            for part, ns in amounts(one).items():
                sums[part] += ns
        found.append(Beside(analysis, len(mine), sum(one.hit.latency_ns for one in mine), sums))
    return tuple(found)


def below(recordings: Sequence[Recording], looked: Recording, above_ns: int) -> Below:
    """What hwlat found in the run `looked`, beside the causes of the others: stalls that make a wake-up later than `above_ns`.

    Raises UsageError if `looked` was not measured by hwlat.
    """
    from rtassay.causes.removing import owned_ns

    lanes = [lane for lane in looked.lanes if lane.entry.measure == HARDWARE_GAP]
    if not lanes:
        raise UsageError(
            f"{looked.manifest.id} was not measured by hwlat",
            hint="measure one: rtassay run --probe hwlat --interval 1s",
        )
    own = [(lane.entry.interval_ns or 0, lane.entry.due or 0) for one in recordings for lane in one.traced]
    level_ns = above_ns + max((interval for interval, _ in own), default=0)
    settings = looked.manifest.probe_facts.settings
    stalls = [
        sum(ns for key, ns in owned_ns(one).items() if key[0] in (SMI, HYPERVISOR))
        for recording in recordings
        for one in recording.causes
    ]
    return Below(
        id=looked.manifest.id,
        level_ns=level_ns,
        windows=sum(lane.histogram.total for lane in lanes),
        gaps=sum(int(h.counts[h.lower_ns >= level_ns].sum()) + h.over for h in (lane.histogram for lane in lanes)),
        longest_ns=max((lane.entry.max_ns or 0 for lane in lanes), default=0),
        looked_ns=sum(_width_ns(lane, settings) * lane.histogram.total for lane in lanes),
        stalls=sum(ns >= level_ns for ns in stalls),
        largest_ns=max(stalls, default=0),
        possible=sum(one.stall_possible for recording in recordings for one in recording.causes),
        traced_ns=sum(interval * due for interval, due in own),
    )


def _width_ns(lane: Lane, settings: SettingsFacts | None) -> int:
    """How long hwlat looked in each window."""
    width_ns = None if settings is None else settings.width
    return (lane.entry.interval_ns or 0) // 2 if width_ns is None else width_ns


def of_report(recording: Recording, deadline_ns: int | None = None) -> Ranking | None:
    """The causes of one recording for its report; None if nobody asked for a trace."""
    return None if recording.manifest.trace is None else rank([recording], deadline_ns=deadline_ns)


def _common(values: Sequence[T | None]) -> T | None:
    """The value that all have; None where they differ."""
    return values[0] if values and all(value == values[0] for value in values) else None


def traced_of(recording: Recording) -> Traced:
    """What became of the tracing of one run, and what it cost."""
    manifest, trace = recording.manifest, recording.manifest.trace
    if trace is None:
        ours = manifest.source.tool == "rtprobe"
        return Traced(manifest.id, codes.NOT_ASKED if ours else codes.NOT_OURS)
    state = _state(recording)
    begin_ns, until_ns, end_ns = manifest.started_ns, trace.untraced_until_ns, manifest.ended_ns
    closed = [lane.entry.last_due_ns for lane in recording.traced if lane.entry.last_due_ns is not None]
    end_ns = max(closed, default=end_ns)
    before, after = _quantiles(recording.lanes), _quantiles(recording.traced)
    apart = bool(recording.traced)
    return Traced(
        id=manifest.id,
        state=state,
        above_ns=trace.above_ns,
        refused=_refused(manifest) if state == codes.NOT_POSSIBLE else None,
        error=trace.error,
        missing=trace.missing,
        hits=trace.hits if trace.hits is not None else len(recording.causes),
        captured=trace.captured,
        not_captured=trace.not_captured,
        beyond_limit=trace.beyond_limit,
        lost_pages=trace.lost_pages,
        untraced_ns=until_ns - begin_ns if apart and until_ns is not None and begin_ns is not None else None,
        traced_ns=end_ns - until_ns if apart and until_ns is not None and end_ns is not None else None,
        untraced_p50_ns=before[0] if apart else None,
        traced_p50_ns=after[0],
        untraced_p99_ns=before[1] if apart else None,
        traced_p99_ns=after[1],
        traced_p99_9_ns=after[2],
        traced_max_ns=after[3],
        stacks=None if trace.stacks is None else bool(trace.stacks),
        stacks_error=trace.stacks_error,
    )


def _state(recording: Recording) -> str:
    trace = recording.manifest.trace
    assert trace is not None
    if recording.causes:
        return codes.TRACED
    if trace.from_ns is None:
        return codes.NOT_POSSIBLE
    if trace.undecoded is not None:
        return codes.NOT_DECODED
    return codes.NOTHING_LATE if trace.hits == 0 else codes.NOT_CAPTURED


def _refused(manifest: Manifest) -> str:
    """Why the board could not be traced, by what is known of it. The most certain reason first."""
    rights = manifest.board_start.rights
    if manifest.damage.cut:
        return codes.CUT
    if rights.uid not in (None, 0):
        return codes.NOT_ROOT
    if rights.hides_tracefs:
        return codes.LOCKED_DOWN
    return codes.IN_CONTAINER if rights.container else codes.BOARD_SAYS


def _quantiles(lanes: Sequence[Lane]) -> tuple[int | None, int | None, int | None, int | None]:
    """p50, p99, p99.9 and maximum of all lanes of one measure together (nearest rank, lower edge of the bin)."""
    from rtassay.analysis.lane.bounds import nearest_rank
    from rtassay.analysis.lane.distribution import Distribution, joined, points
    from rtassay.analysis.lane.measures import of_one_measure

    lanes = of_one_measure([lane.entry for lane in lanes], lanes)
    all_lanes = Distribution(joined([points(lane.histogram.lower_ns, lane.histogram.counts) for lane in lanes]))
    if not all_lanes.total:
        return None, None, None, None
    half, most, nearly_all, largest = (all_lanes.at(nearest_rank(all_lanes.total, q)) for q in (0.5, 0.99, 0.999, 1.0))
    return half, most, nearly_all, largest
