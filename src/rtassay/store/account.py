"""The lanes table and the other results of a manifest, from the collected events; and where the sources disagree."""

from __future__ import annotations

import time
from dataclasses import replace

from rtassay.model import warnings
from rtassay.model.facts import (
    ClipEnd,
    CounterEnd,
    LaneEnd,
    LaneFacts,
    ProbeEnd,
    ProbeFacts,
    ReadBack,
    TraceBegin,
    UntracedEnd,
    end_of,
    facts_of,
)
from rtassay.model.manifest import (
    Clip,
    Counter,
    Damage,
    LaneEntry,
    Manifest,
    Obtained,
    RunWarning,
    TraceEntry,
    Untraced,
)
from rtassay.model.measures import told_measure
from rtassay.model.units import NS_PER_S
from rtassay.model.views import view_of
from rtassay.store.collect import Collector, LaneTally

# Fields of END that the lanes table takes unchanged.
_OF_END = (
    *("due", "missed", "dropped", "truncated", "exceedances", "min_ns", "max_ns", "sum_ns"),
    *("last_due_ns", "closed_ns", "migrations", "minor_faults", "major_faults"),
    *("voluntary_switches", "involuntary_switches", "cpu_ns", "spilled", "suppressed", "coarsened", "under", "state"),
    *("gaps", "gaps_kept"),
)
_OF_TRACE_END = (
    *("hits", "captured", "not_captured", "beyond_limit", "pages", "bytes", "lost_pages", "cpu_ns", "error"),
)
_LANES_MOST = 2**15


def summarise(manifest: Manifest, collected: Collector, damage: Damage) -> Manifest:
    """The manifest with all results of the stream; other fields stay as the session set them."""
    facts, end = facts_of(collected.facts), end_of(collected.end)
    damage = replace(damage, cut=collected.end is None)
    lanes = lane_entries(manifest, collected)
    started_ns, ended_ns = _span(facts, end, lanes, collected)
    wall, of_file = _wall_offset(facts), facts.imports
    return replace(
        manifest,
        lanes=lanes,
        facts=collected.facts or manifest.facts,
        end=collected.end or manifest.end,
        started_ns=manifest.started_ns if started_ns is None else started_ns,
        ended_ns=manifest.ended_ns if ended_ns is None else ended_ns,
        wall_start=_iso(started_ns, wall) or (of_file and of_file.started) or manifest.wall_start,
        wall_end=_iso(ended_ns, _wall_offset(end) or wall) or (of_file and of_file.ended) or manifest.wall_end,
        end_reason=end.reason or manifest.end_reason or ("cut" if damage.cut else None),
        bin_width_ns=bin_width(manifest, collected),
        has_samples=any(tally.has_samples for tally in collected.lanes.values()),
        damage=damage,
        trace=trace_entry(collected),
        source=manifest.source if manifest.source.version else replace(manifest.source, version=facts.version),
        warnings=manifest.warnings + tuple(w for w in disagreements(collected, lanes) if w not in manifest.warnings),
    )


def trace_entry(collected: Collector) -> TraceEntry | None:
    """What was traced; None if the run was not to be traced."""
    end = end_of(collected.end).trace
    if end is None and collected.trace_begin is None:
        return None
    begin = view_of(TraceBegin, collected.trace_begin)
    entry = TraceEntry(
        above_ns=begin.above_ns,
        untraced_until_ns=begin.untraced_until_ns,
        from_ns=begin.mono_ns,
        events=begin.events,
        missing=begin.missing,
        stacks=begin.stacks,
        stacks_error=begin.stacks_error,
        buffer_kb=begin.buffer_kb,
    )
    return entry if end is None else replace(entry, **{name: getattr(end, name) for name in _OF_TRACE_END})


def bin_width(manifest: Manifest, collected: Collector) -> int:
    """Width of the source's bins: FACTS.bin_width_ns of a coarse source, else the narrowest bin it sent, else 1 ns."""
    stated = facts_of(collected.facts).bin_width_ns
    if stated is not None and stated > 0:
        return stated
    if any(tally.has_samples for tally in collected.lanes.values()):
        return manifest.bin_width_ns
    narrowest = [
        int(width.min()) for t in collected.lanes.values() for _, width, _ in [t.from_parts.table()] if len(width)
    ]
    return min(narrowest, default=manifest.bin_width_ns)


def lane_entries(manifest: Manifest, collected: Collector) -> tuple[LaneEntry, ...]:
    """One entry per lane that FACTS, END or any frame names."""
    facts, end = facts_of(collected.facts), end_of(collected.end)
    of_facts = {row.lane: row for row in facts.lanes if row.lane is not None and 0 <= row.lane < _LANES_MOST}
    of_end = {row.lane: row for row in end.lanes if row.lane is not None and 0 <= row.lane < _LANES_MOST}
    width_ns = bin_width(manifest, collected)
    deadline_ns = manifest.plan.deadline_ns
    deadline_ns = facts.requested.deadline_ns if deadline_ns is None else deadline_ns
    entries = []
    for lane in sorted({*of_facts, *of_end, *collected.lanes}):
        tally = collected.lanes.get(lane, LaneTally())
        row = of_facts.get(lane) or view_of(LaneFacts, {})
        entry = _entry(lane, row, row.interval_ns or facts.interval_ns or manifest.plan.interval_ns, tally)
        closed = of_end.get(lane)
        entries.append(
            _from_rollups(entry, deadline_ns, tally, width_ns) if closed is None else _from_end(entry, closed)
        )
    return tuple(entries)


def _entry(lane: int, fact: LaneFacts, interval_ns: int | None, t: LaneTally) -> LaneEntry:
    """A lane before its end."""
    return LaneEntry(
        index=lane,
        name=str(lane) if fact.name is None else fact.name,
        cpu=fact.cpu,
        interval_ns=interval_ns,
        measure=told_measure(fact.measure),
        n=t.counts().total + t.over,
        # Only the trailer of a source with a limit says that no sample lay beyond it.
        over=t.over if t.limit_ns is None or t.over else None,
        first_due_ns=fact.first_due_ns,
        first_k=t.stitcher.first_k or 0,
        tid=fact.tid,
        obtained_start=_obtained(fact.obtained),
    )


def _from_end(entry: LaneEntry, end: LaneEnd) -> LaneEntry:
    """A lane with the account of END."""
    return replace(
        entry,
        n=entry.n if end.n is None else end.n,
        over=entry.over if end.over is None else end.over,
        cpu=entry.cpu if entry.cpu is not None else end.cpu,
        first_due_ns=entry.first_due_ns if end.first_due_ns is None else end.first_due_ns,
        clip=_clip(end.clip),
        untraced=_untraced(end.untraced),
        counters=tuple(_counter(one) for one in end.counters if one.name),
        obtained_end=_obtained(end.obtained),
        **{name: getattr(end, name) for name in _OF_END},
    )


def _from_rollups(entry: LaneEntry, deadline_ns: int | None, t: LaneTally, bin_width_ns: int) -> LaneEntry:
    """A lane without END: samples and seconds give its numbers. Unknown ones stay None."""
    if not (t.has_samples or t.seconds or t.parts):
        return entry
    lower, width, counts = t.counts().table(bin_width_ns)
    tells_missed = t.has_samples or t.seconds > 0
    missed = max(t.stitcher.missed, t.second_missed) if tells_missed else None
    dropped = max(t.stitcher.dropped, t.second_dropped) if tells_missed else None
    due = last_due_ns = None
    if t.has_samples and missed is not None and dropped is not None:
        # A second may report a gap whose block never came. Activations that no frame reports are dropped.
        due = max(t.stitcher.next_k, entry.n + missed + dropped)
        dropped = due - entry.n - missed
        if entry.first_due_ns is not None and entry.interval_ns is not None:
            last_due_ns = entry.first_due_ns + (due - 1) * entry.interval_ns
    return replace(
        entry,
        due=due,
        missed=missed,
        dropped=dropped,
        exceedances=None if deadline_ns is None else int(counts[lower + width > deadline_ns].sum()),
        min_ns=t.min_ns if t.min_ns is not None else (int(lower[0]) if len(lower) else None),
        max_ns=t.max_ns if t.max_ns is not None or t.over else (int(lower[-1]) if len(lower) else None),
        sum_ns=t.sample_sum_ns if t.has_samples else (t.second_sum_ns if t.seconds else None),
        last_due_ns=last_due_ns,
        spilled=t.spilled,
        suppressed=t.suppressed,
        gaps=t.gaps_kept + t.gaps_left_out if t.tells_gaps else None,
        gaps_kept=t.gaps_kept if t.tells_gaps else None,
    )


def disagreements(collected: Collector, lanes: tuple[LaneEntry, ...]) -> list[RunWarning]:
    """Every count on which samples, HISTOGRAM, SECOND and END do not agree. Nothing is corrected."""
    found: list[RunWarning] = []
    ended = collected.end is not None  # rollups of a cut stream lag behind its samples
    for entry in lanes:
        t = collected.lanes.get(entry.index)
        if t is None:
            continue
        s, left_out = t.stitcher, t.left_out
        tells_seconds = t.seconds and ended and not left_out.frames.get("seconds")
        says: dict[str, dict[str, int | None]] = {
            "samples": {
                "samples": s.n + left_out.samples if t.has_samples else None,
                "HISTOGRAM": t.from_parts.total + t.over if t.parts and ended else None,
                "SECOND": t.second_n if tells_seconds else None,
                "END": entry.n if ended else None,
            }
        }
        for name in ("missed", "dropped"):
            says[name] = {
                "samples": getattr(s, name) + getattr(left_out, name) if t.has_samples else None,
                "SECOND": getattr(t, f"second_{name}") if tells_seconds else None,
                "END": getattr(entry, name) if ended else None,
            }
        for what, values in says.items():
            told = {source: value for source, value in values.items() if value is not None}
            if len(set(told.values())) > 1:
                found.append(RunWarning(warnings.COUNTS_DIFFER, entry.index, {"of": what, "counts": told}))
        if t.has_samples and t.parts and s.n == t.from_parts.total and t.from_parts.exact and not _same_histogram(t):
            found.append(RunWarning(warnings.HISTOGRAM_DIFFERS, entry.index))
        if s.lost > left_out.activations:
            lost = s.lost - left_out.activations
            found.append(RunWarning(warnings.ACTIVATIONS_LOST, entry.index, {"activations": lost}))
        if left_out.frames:
            facts = {"frames": dict(left_out.frames), "samples": left_out.samples}
            found.append(RunWarning(warnings.SPOOL_FULL, entry.index, facts))
        if s.overlaps:
            found.append(RunWarning(warnings.BLOCKS_OVERLAP, entry.index, {"blocks": s.overlaps}))
    return found


def _same_histogram(t: LaneTally) -> bool:
    samples, parts = t.from_samples.table(), t.from_parts.table()
    return len(samples[0]) == len(parts[0]) and all((samples[i] == parts[i]).all() for i in (0, 2))


def _span(
    facts: ProbeFacts, end: ProbeEnd, lanes: tuple[LaneEntry, ...], collected: Collector
) -> tuple[int | None, int | None]:
    """Origin of the run, and when its last lane closed (of a cut stream: the last moment in it)."""
    origin = facts.origin_ns
    started = facts.mono_ns if origin is None else origin
    closed = [e.closed_ns for e in lanes if e.closed_ns is not None]
    if closed:
        return started, max(closed)
    if end.mono_ns is not None:
        return started, end.mono_ns
    last = [e.last_due_ns for e in lanes if e.last_due_ns is not None]
    if origin is not None:
        last += [origin + (t.last_second + 1) * NS_PER_S for t in collected.lanes.values() if t.seconds and not last]
    return started, max(last, default=None)


def _wall_offset(frame: ProbeFacts | ProbeEnd) -> int | None:
    """CLOCK_REALTIME minus CLOCK_MONOTONIC at the time of the frame."""
    return None if frame.mono_ns is None or frame.wall_ns is None else frame.wall_ns - frame.mono_ns


def _iso(mono_ns: int | None, wall_offset_ns: int | None) -> str | None:
    """ISO 8601 UTC with milliseconds."""
    if mono_ns is None or wall_offset_ns is None:
        return None
    seconds, rest = divmod(mono_ns + wall_offset_ns, NS_PER_S)
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"
    except (ValueError, OverflowError, OSError):
        return None


def _obtained(seen: ReadBack | None) -> Obtained | None:
    if seen is None:
        return None
    return Obtained(seen.policy, seen.priority, seen.affinity, seen.reset_on_fork, seen.runtime_ns, seen.period_ns)


def _untraced(end: UntracedEnd | None) -> Untraced | None:
    """Only a complete one counts."""
    if end is None or end.due is None or end.n is None:
        return None
    return Untraced(**{name: getattr(end, name) for name in Untraced.__dataclass_fields__})


def _counter(end: CounterEnd) -> Counter:
    """Counts stand together or not at all."""
    known = not end.error and end.jobs and None not in (end.sum, end.min, end.max)
    counts = {name: getattr(end, name) for name in ("sum", "min", "max")} if known else {}
    jobs, estimated = (end.jobs or 0, end.estimated or 0) if known else (0, 0)
    return Counter(end.name or "", end.error, bool(end.user_only), jobs, estimated, **counts, free_ns=end.free_ns)


def _clip(end: ClipEnd | None) -> Clip | None:
    """Only a complete one counts."""
    return None if end is None or end.latency_ns is None or end.missed is None else Clip(end.latency_ns, end.missed)
