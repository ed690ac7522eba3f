"""Opens a traced run: the untraced part is judged, the traced part stands beside it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from rtassay.model.manifest import LaneEntry, Manifest, Untraced
from rtassay.model.recording import Histogram, Lane, Recording, Seconds
from rtassay.model.units import NS_PER_S
from rtassay.model.views import integer

_ACCOUNT = tuple(field.name for field in fields(Untraced))


def separable(manifest: Manifest) -> bool:
    """Whether the two parts of a run can be separated: its stream has the end and the accounts of the untraced part."""
    return until(manifest) is not None


def until(manifest: Manifest) -> int | None:
    """The end of the untraced part on the probe's clock. If the run ended while events were being enabled, only its accounts show it."""
    if manifest.trace is None or not manifest.lanes or any(entry.untraced is None for entry in manifest.lanes):
        return None
    if manifest.trace.untraced_until_ns is not None:
        return manifest.trace.untraced_until_ns
    ends = [
        entry.first_due_ns + entry.untraced.due * entry.interval_ns
        for entry in manifest.lanes
        if entry.untraced is not None and entry.first_due_ns is not None and entry.interval_ns
    ]
    return min(ends) if len(ends) == len(manifest.lanes) else None


def split(recording: Recording, traced_bins: dict[int, Histogram]) -> Recording:
    """The recording with its untraced part as `lanes`, manifest and end included, and the rest as `traced`.

    `recording` has the histograms of the untraced part and the rest of the whole run; `traced_bins` are the histograms of the traced part by
    lane. It stays whole if it was not traced, or if the parts cannot be separated (a cut stream): the check TRACED says so.
    """
    manifest = recording.manifest
    until_ns = until(manifest)
    if until_ns is None:
        return recording
    begin_ns = manifest.probe_facts.origin_ns
    boundary = None if begin_ns is None else (until_ns - begin_ns) // NS_PER_S
    traced = tuple(
        _traced(lane, traced_bins.get(lane.entry.index), boundary)
        for lane in recording.lanes
        if lane.entry.index in traced_bins
    )
    lanes = tuple(_untraced(lane, until_ns, boundary) for lane in recording.lanes)
    entries = tuple(lane.entry for lane in lanes)
    narrowed = replace(manifest, lanes=entries, ended_ns=until_ns, end=_end(manifest, entries))
    return replace(recording, manifest=narrowed, lanes=lanes, traced=traced)


def _untraced(lane: Lane, until_ns: int, boundary: int | None) -> Lane:
    entry, part = lane.entry, lane.entry.untraced
    assert part is not None
    last_due_ns = entry.last_due_ns
    if entry.first_due_ns is not None and entry.interval_ns and part.due:
        last_due_ns = entry.first_due_ns + (part.due - 1) * entry.interval_ns
    account: dict[str, Any] = {name: getattr(part, name) for name in _ACCOUNT}
    # Activations that the last untraced sample missed were due after the boundary.
    closed_ns = until_ns if last_due_ns is None else max(until_ns, last_due_ns)
    return replace(
        lane,
        entry=replace(entry, **account, last_due_ns=last_due_ns, closed_ns=closed_ns, clip=None),
        seconds=_seconds(lane.seconds, None, boundary),
        spills=None if lane.spills is None else lane.spills.at(lane.spills.k < part.due),
    )


def _traced(lane: Lane, bins: Histogram | None, boundary: int | None) -> Lane:
    entry, part = lane.entry, lane.entry.untraced
    assert part is not None and bins is not None
    account: dict[str, Any] = {
        name: None
        if (whole := getattr(entry, name)) is None or (first := getattr(part, name)) is None
        else whole - first
        for name in _ACCOUNT
    }
    account["min_ns"] = int(bins.lower_ns[0]) if len(bins.lower_ns) else None
    account["max_ns"] = int(bins.lower_ns[-1]) if len(bins.lower_ns) else None
    return Lane(
        replace(entry, **account),
        bins,
        _seconds(lane.seconds, boundary, None),
        None if lane.spills is None else lane.spills.at(lane.spills.k >= part.due),
    )


def _seconds(seconds: Seconds | None, after: int | None, before: int | None) -> Seconds | None:
    """Whole seconds of one part: the second that holds the boundary is of neither."""
    if seconds is None:
        return None
    keep = seconds.second == seconds.second
    if after is not None:
        keep &= seconds.second > after
    if before is not None:
        keep &= seconds.second < before
    return Seconds(*(getattr(seconds, field.name)[keep] for field in fields(Seconds)))


def _end(manifest: Manifest, entries: tuple[LaneEntry, ...]) -> dict[str, Any]:
    """END with the accounts of the untraced part."""
    by_index = {entry.index: entry for entry in entries}
    rows = []
    for row in manifest.end.get("lanes", []):
        index = integer(row.get("lane")) if isinstance(row, dict) else None
        entry = None if index is None else by_index.get(index)
        rows.append(row if entry is None else row | {name: getattr(entry, name) for name in (*_ACCOUNT, "closed_ns")})
    return {**manifest.end, "lanes": rows}
