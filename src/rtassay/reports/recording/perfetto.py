"""Late wake-ups as a trace for ui.perfetto.dev and chrome://tracing (the JSON trace event format)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from rtassay.model.causes import Attribution, Place
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_US, format_time
from rtassay.reports.base import JudgedRecording
from rtassay.reports.causes import causes_text as text
from rtassay.reports.causes import functions
from rtassay.reports.causes.outliers import evidence


class PerfettoRecording:
    """A slice for each attributed wake-up, in it one for each phase, in that one for each owner. A row a lane, a group a CPU.

    Times are us from the run's origin (the format counts so), with three decimals: exact nanoseconds.
    """

    name = "recording.perfetto"
    suffix = ".perfetto.json"
    summary = "late wake-ups and their owners as a trace for ui.perfetto.dev"

    def render(self, subject: JudgedRecording) -> bytes:
        recording = subject.recording
        events = [*_names(recording), *(event for one in recording.causes for event in _slices(recording, one))]
        data = {"displayTimeUnit": "ns", "otherData": {"recording": recording.manifest.id}, "traceEvents": events}
        return (json.dumps(data, indent=None, separators=(",", ":"), ensure_ascii=True) + "\n").encode()


def _names(recording: Recording) -> Iterator[dict[str, Any]]:
    for lane, cpu in sorted({(one.hit.lane, one.hit.cpu) for one in recording.causes}):
        yield {"ph": "M", "name": "process_name", "pid": cpu, "tid": lane, "args": {"name": f"CPU {cpu}"}}
        yield {"ph": "M", "name": "thread_name", "pid": cpu, "tid": lane, "args": {"name": f"lane {lane}"}}


def _slices(recording: Recording, one: Attribution) -> Iterator[dict[str, Any]]:
    hit = one.hit
    origin_ns = recording.manifest.probe_facts.origin_ns or 0

    def piece(name: str, start_ns: int, ns: int, **args: Any) -> dict[str, Any]:
        at = (start_ns - origin_ns) / NS_PER_US
        return {
            "ph": "X", "cat": "late", "name": name, "pid": hit.cpu, "tid": hit.lane,
            "ts": round(at, 3), "dur": round(ns / NS_PER_US, 3), "args": args,
        }  # fmt: skip

    yield piece(
        f"late by {format_time(hit.latency_ns)}",
        hit.due_ns,
        hit.latency_ns,
        k=hit.k,
        due_ns=hit.due_ns,
        woke_ns=hit.woke_ns,
        main_cause=text.name(one.top),
        evidence=evidence(one),
        complete=one.complete,
        stall_possible=one.stall_possible,
    )
    for phase, group in groupby(one.parts, key=lambda part: part.phase):
        parts = list(group)
        whole = sum(part.ns for part in parts)
        yield piece(f"{phase}: {text.PHASES.get(phase, '')}", parts[0].start_ns, whole)
        for part in parts:
            yield piece(text.name(part.cause), part.start_ns, part.ns, kind=part.cause.kind, **_place(part.place))


def _place(place: Place | None) -> dict[str, Any]:
    """Where in the kernel, and the stack, the innermost function first."""
    if place is None:
        return {}
    return {"function": functions.function_of(place.function), "seen": place.at, "stack": " < ".join(place.chain)}
