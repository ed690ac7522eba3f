"""The lanes table and the other results of a manifest, from what was collected; and where the sources disagree."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from rtassay.model import warnings
from rtassay.model.manifest import Clip, Damage, LaneEntry, Manifest, Obtained, RunWarning
from rtassay.model.measures import told_measure
from rtassay.model.units import NS_PER_S
from rtassay.store.collect import Collector, LaneTally, integer

_END_COUNTS = ("due", "missed", "dropped", "truncated", "exceedances", "min_ns", "max_ns", "sum_ns")
_END_READINGS = (
    *("last_due_ns", "closed_ns", "migrations", "minor_faults", "major_faults"),
    *("voluntary_switches", "involuntary_switches", "cpu_ns", "spilled", "suppressed", "coarsened", "under"),
)


def summarise(manifest: Manifest, collected: Collector, damage: Damage) -> Manifest:
    """The manifest with everything the stream tells; what the session has put there otherwise stays."""
    facts, end = collected.facts, collected.end or {}
    damage = replace(damage, cut=collected.end is None)
    lanes = lane_entries(manifest, collected)
    started_ns, ended_ns = _span(facts, end, lanes, collected)
    wall, told = _wall_offset(facts), facts.get("import")
    told = told if isinstance(told, dict) else {}
    return replace(
        manifest,
        lanes=lanes,
        facts=facts or manifest.facts,
        end=end or manifest.end,
        started_ns=manifest.started_ns if started_ns is None else started_ns,
        ended_ns=manifest.ended_ns if ended_ns is None else ended_ns,
        wall_start=_iso(started_ns, wall) or _text(told.get("started")) or manifest.wall_start,
        wall_end=_iso(ended_ns, _wall_offset(end) or wall) or _text(told.get("ended")) or manifest.wall_end,
        end_reason=_text(end.get("reason")) or manifest.end_reason or ("cut" if damage.cut else None),
        bin_width_ns=bin_width(manifest, collected),
        has_samples=any(tally.has_samples for tally in collected.lanes.values()),
        damage=damage,
        source=manifest.source
        if manifest.source.version
        else replace(manifest.source, version=_text(facts.get("version"))),
        warnings=manifest.warnings + tuple(w for w in disagreements(collected, lanes) if w not in manifest.warnings),
    )


def bin_width(manifest: Manifest, collected: Collector) -> int:
    """Width of the source's bins: FACTS.bin_width_ns of a coarse source, else the narrowest bin it sent, else 1 ns."""
    stated = integer(collected.facts, "bin_width_ns")
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
    facts = _by_lane(collected.facts)
    end = _by_lane(collected.end or {})
    known = sorted({*facts, *end, *collected.lanes})
    return tuple(
        _entry(lane, manifest, collected, facts.get(lane, {}), end.get(lane), collected.lanes.get(lane, LaneTally()))
        for lane in known
    )


def _entry(
    lane: int, manifest: Manifest, collected: Collector, fact: dict[str, Any], end: dict[str, Any] | None, t: LaneTally
) -> LaneEntry:
    interval_ns = integer(fact, "interval_ns") or integer(collected.facts, "interval_ns") or manifest.plan.interval_ns
    name = fact.get("name")
    entry = LaneEntry(
        index=lane,
        name=name if isinstance(name, str) else str(lane),
        cpu=integer(fact, "cpu"),
        interval_ns=interval_ns,
        measure=told_measure(fact.get("measure")),
        n=t.counts().total + t.over,
        # A source with a limit says only in its trailer that nothing lay beyond it.
        over=t.over if t.limit_ns is None or t.over else None,
        first_due_ns=integer(fact, "first_due_ns"),
        first_k=t.stitcher.first_k or 0,
        tid=integer(fact, "tid"),
        obtained_start=_obtained(fact.get("obtained")),
    )
    if end is None:
        return _from_rollups(entry, _deadline(manifest, collected), t, bin_width(manifest, collected))
    counts: dict[str, Any] = {key: integer(end, key) for key in (*_END_COUNTS, *_END_READINGS)}
    n, over = integer(end, "n"), integer(end, "over")
    return replace(
        entry,
        n=entry.n if n is None else n,
        over=entry.over if over is None else over,
        cpu=entry.cpu if entry.cpu is not None else integer(end, "cpu"),
        first_due_ns=integer(end, "first_due_ns") if end.get("first_due_ns") is not None else entry.first_due_ns,
        clip=_clip(end.get("clip")),
        state=_text(end.get("state")),
        obtained_end=_obtained(end.get("obtained")),
        **counts,
    )


def _deadline(manifest: Manifest, collected: Collector) -> int | None:
    requested = collected.facts.get("requested")
    stated = integer(requested, "deadline_ns") if isinstance(requested, dict) else None
    return stated if manifest.plan.deadline_ns is None else manifest.plan.deadline_ns


def _from_rollups(entry: LaneEntry, deadline_ns: int | None, t: LaneTally, bin_width_ns: int) -> LaneEntry:
    """A lane whose END never came: what samples and seconds say. What they cannot tell stays None."""
    if not (t.has_samples or t.seconds or t.parts):
        return entry
    lower, width, counts = t.counts().table(bin_width_ns)
    stitched = t.stitcher if t.has_samples else None
    tells_missed = stitched is not None or t.seconds > 0
    last_due_ns = None
    if stitched is not None and entry.first_due_ns is not None and entry.interval_ns is not None:
        last_due_ns = entry.first_due_ns + (stitched.next_k - 1) * entry.interval_ns
    return replace(
        entry,
        due=stitched.next_k if stitched is not None else None,
        missed=max(t.stitcher.missed, t.second_missed) if tells_missed else None,
        dropped=max(t.stitcher.dropped, t.second_dropped) if tells_missed else None,
        exceedances=None if deadline_ns is None else int(counts[lower + width > deadline_ns].sum()),
        min_ns=t.min_ns if t.min_ns is not None else (int(lower[0]) if len(lower) else None),
        max_ns=t.max_ns if t.max_ns is not None or t.over else (int(lower[-1]) if len(lower) else None),
        sum_ns=t.sample_sum_ns if t.has_samples else (t.second_sum_ns if t.seconds else None),
        last_due_ns=last_due_ns,
        spilled=t.spilled,
        suppressed=t.suppressed,
    )


def disagreements(collected: Collector, lanes: tuple[LaneEntry, ...]) -> list[RunWarning]:
    """Every count on which samples, HISTOGRAM, SECOND and END do not agree. Nothing is corrected."""
    found: list[RunWarning] = []
    ended = collected.end is not None  # rollups of a cut stream lag behind its samples
    for entry in lanes:
        t = collected.lanes.get(entry.index)
        if t is None:
            continue
        s, away = t.stitcher, t.away
        tells_seconds = t.seconds and ended and not away.frames.get("seconds")
        says: dict[str, dict[str, int | None]] = {
            "samples": {
                "samples": s.n + away.samples if t.has_samples else None,
                "HISTOGRAM": t.from_parts.total + t.over if t.parts and ended else None,
                "SECOND": t.second_n if tells_seconds else None,
                "END": entry.n if ended else None,
            }
        }
        for name in ("missed", "dropped"):
            says[name] = {
                "samples": getattr(s, name) + getattr(away, name) if t.has_samples else None,
                "SECOND": getattr(t, f"second_{name}") if tells_seconds else None,
                "END": getattr(entry, name) if ended else None,
            }
        for what, values in says.items():
            told = {source: value for source, value in values.items() if value is not None}
            if len(set(told.values())) > 1:
                found.append(RunWarning(warnings.COUNTS_DIFFER, entry.index, {"of": what, "counts": told}))
        if t.has_samples and t.parts and s.n == t.from_parts.total and t.from_parts.exact and not _same_histogram(t):
            found.append(RunWarning(warnings.HISTOGRAM_DIFFERS, entry.index))
        if s.lost > away.activations:
            lost = s.lost - away.activations
            found.append(RunWarning(warnings.ACTIVATIONS_LOST, entry.index, {"activations": lost}))
        if away.frames:
            facts = {"frames": dict(away.frames), "samples": away.samples}
            found.append(RunWarning(warnings.SPOOL_FULL, entry.index, facts))
        if s.overlaps:
            found.append(RunWarning(warnings.BLOCKS_OVERLAP, entry.index, {"blocks": s.overlaps}))
    return found


def _same_histogram(t: LaneTally) -> bool:
    samples, parts = t.from_samples.table(), t.from_parts.table()
    return len(samples[0]) == len(parts[0]) and all((samples[i] == parts[i]).all() for i in (0, 2))


def _span(
    facts: dict[str, Any], end: dict[str, Any], lanes: tuple[LaneEntry, ...], collected: Collector
) -> tuple[int | None, int | None]:
    """Origin of the run, and when its last lane was closed (a cut stream: the last moment it tells of)."""
    origin = integer(facts, "origin_ns")
    started = origin if origin is not None else integer(facts, "mono_ns")
    closed = [e.closed_ns for e in lanes if e.closed_ns is not None]
    if closed:
        return started, max(closed)
    if integer(end, "mono_ns") is not None:
        return started, integer(end, "mono_ns")
    last = [e.last_due_ns for e in lanes if e.last_due_ns is not None]
    if origin is not None:
        last += [origin + (t.last_second + 1) * NS_PER_S for t in collected.lanes.values() if t.seconds and not last]
    return started, max(last, default=None)


def _wall_offset(data: dict[str, Any]) -> int | None:
    mono_ns, wall_ns = integer(data, "mono_ns"), integer(data, "wall_ns")
    return None if mono_ns is None or wall_ns is None else wall_ns - mono_ns


def _iso(mono_ns: int | None, wall_offset_ns: int | None) -> str | None:
    """ISO 8601 UTC with milliseconds."""
    if mono_ns is None or wall_offset_ns is None:
        return None
    seconds, rest = divmod(mono_ns + wall_offset_ns, NS_PER_S)
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"
    except (ValueError, OverflowError, OSError):
        return None


def _by_lane(data: dict[str, Any]) -> dict[int, dict[str, Any]]:
    rows = data.get("lanes")
    if not isinstance(rows, list):
        return {}
    found = {}
    for row in rows:
        lane = integer(row, "lane") if isinstance(row, dict) else None
        if lane is not None and 0 <= lane < 2**15:
            found[lane] = row
    return found


def _obtained(value: Any) -> Obtained | None:
    if not isinstance(value, dict):
        return None
    affinity, reset = value.get("affinity"), value.get("reset_on_fork")
    cpus = affinity if isinstance(affinity, list) and all(isinstance(cpu, int) for cpu in affinity) else None
    return Obtained(
        policy=_text(value.get("policy")),
        priority=integer(value, "priority"),
        affinity=None if cpus is None else tuple(cpus),
        reset_on_fork=reset if isinstance(reset, bool) else None,
    )


def _clip(value: Any) -> Clip | None:
    if not isinstance(value, dict):
        return None
    latency_ns, missed = integer(value, "latency_ns"), integer(value, "missed")
    return None if latency_ns is None or missed is None else Clip(latency_ns, missed)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
