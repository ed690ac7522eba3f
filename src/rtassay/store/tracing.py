"""The kernel's trace of a run: `trace.rtw` with the pages as they came, and `causes.parquet` with the causes of the late time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from rtassay.model.causes import Attribution, Cause, Hit, Moved, Part, Place, Trace
from rtassay.model.errors import CorruptRecording, RtassayError
from rtassay.model.events import Event, Note, TracePage, TraceText
from rtassay.model.manifest import LaneEntry, Manifest
from rtassay.model.measures import APPLICATION
from rtassay.model.notes import HitNote
from rtassay.model.views import view_of
from rtassay.store.collect import TRACE_BEGIN
from rtassay.wire.encode import StreamEncoder
from rtassay.wire.stream import StreamParser, read_events

TRACE: Final = "trace.rtw"
TRACE_HIT: Final = "trace_hit"

_KALLSYMS = "kallsyms"
_HEADER_PAGE = "header_page"
_FORMAT = "format/"
_ROWS_AT_ONCE = 1 << 16
_CALLED_BY = " < "
_HIT_COLUMNS = ("lane", "cpu", "tid", "k", "due_ns", "woke_ns")

TelemetryRow = tuple[str, str, int, float, str]
_CPU_COUNTER = re.compile(r"cpu(\d+)\.(smi|steal)")
# Kernels that are preempted anywhere outside of locks, by the words of `Inventory.kernel`.
_PREEMPTIBLE = ("PREEMPT_RT", "PREEMPT")
_DYNAMIC = ("full", "lazy")


class Counters:
    """Passes telemetry on, and keeps each rise of SMIs and stolen time with the readings around it."""

    def __init__(self) -> None:
        self.moved: list[Moved] = []
        self._last_ns: dict[str, int] = {}

    def watching(self, rows: Iterable[TelemetryRow]) -> Iterator[TelemetryRow]:
        """The same rows. Both counters are told as what they rose by since their last reading; `steal` as a share of that time."""
        for row in rows:
            _, name, mono_ns, value, _ = row
            if (match := _CPU_COUNTER.fullmatch(name)) is not None:
                start_ns = self._last_ns.get(name)
                self._last_ns[name] = mono_ns
                if start_ns is not None and value > 0:
                    by = round(value if match[2] == "smi" else value * (mono_ns - start_ns))
                    self.moved.append(Moved(match[2], int(match[1]), start_ns, mono_ns, by))
            yield row


class TraceFrames:
    """Takes all events of a stream. Texts, pages and events of the trace go to `trace.rtw` as they come."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / TRACE
        self._encoder = StreamEncoder()
        self._file: Any = None

    def add(self, event: Event) -> None:
        if isinstance(event, TraceText | TracePage) or (
            isinstance(event, Note) and event.name in (TRACE_BEGIN, TRACE_HIT)
        ):
            if self._file is None:
                self._file = self.path.open("xb")
            self._file.write(self._encoder.encode(event))

    def close(self) -> bool:
        """Whether there is a file."""
        if self._file is None:
            return False
        self._file.close()
        return True


def kernel_trace(path: Path, manifest: Manifest) -> Trace:
    """The trace of a sealed recording as the board sent it; without pages where there is none. Raises CorruptRecording."""
    file = path / TRACE
    if not file.exists():
        return Trace("", {}, {}, ())
    try:
        return trace_of(file, manifest.lanes)
    except OSError as error:
        raise CorruptRecording(f"{file} cannot be read", error.strerror) from error


def trace_of(path: Path, lanes: Iterable[LaneEntry]) -> Trace:
    """A `trace.rtw` as the decoder takes it: its captured hits, with the CPUs of their lanes. Damaged frames are left out."""
    lanes = tuple(lanes)
    cpus = {lane.index: lane.cpu for lane in lanes}
    followed = any(lane.measure == APPLICATION for lane in lanes)
    return trace_in(read_events(path, StreamParser()), cpus, followed=followed)


def trace_in(events: Iterable[Event], cpus: dict[int, int | None], *, followed: bool = False) -> Trace:
    """The trace among the events of a stream. `cpus`: of its lanes."""
    texts: dict[str, str] = {}
    pages: dict[int, list[bytes]] = {}
    hits: list[Hit] = []
    for event in events:
        match event:
            case TraceText(name, content):
                texts[name] = content.decode("utf-8", "replace")
            case TracePage(cpu, page):
                pages.setdefault(cpu, []).append(page)
            case Note(name, lane, data) if name == TRACE_HIT and (told := view_of(HitNote, data)).captured:
                hit = _hit(told, lane, cpus)
                hits += [] if hit is None else [hit]
    return Trace(
        header_page=texts.get(_HEADER_PAGE, ""),
        formats={name.removeprefix(_FORMAT): text for name, text in texts.items() if name.startswith(_FORMAT)},
        pages={cpu: tuple(found) for cpu, found in pages.items()},
        hits=tuple(hits),
        kallsyms=texts.get(_KALLSYMS, ""),
        followed=followed,
    )


def _hit(told: HitNote, lane: int | None, cpus: dict[int, int | None]) -> Hit | None:
    """None for an event that lacks a field, or has no CPU."""
    lane = told.lane if lane is None else lane
    cpu = cpus.get(lane) if told.cpu is None and lane is not None else told.cpu
    if lane is None or cpu is None or told.tid is None or told.k is None or told.due_ns is None or told.woke_ns is None:
        return None
    return Hit(lane, cpu, told.tid, told.k, told.due_ns, told.woke_ns) if told.woke_ns >= told.due_ns else None


def write_causes(directory: Path, manifest: Manifest, moved: Sequence[Moved]) -> str | None:
    """`causes.parquet` beside a `trace.rtw`; what the decoder says if it cannot read the pages. Raises OSError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from rtassay.store.tables import CAUSES, SCHEMAS

    trace, schema = trace_of(directory / TRACE, manifest.lanes), SCHEMAS[CAUSES]
    try:
        attributions = _attribute(trace, manifest, moved) if trace.hits else ()
    except RtassayError as error:
        return str(error)
    with pq.ParquetWriter(directory / CAUSES, schema, compression="zstd", write_page_checksum=True) as writer:
        rows: list[dict[str, Any]] = []
        for one in attributions:
            rows += _rows(one)
            if len(rows) >= _ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(rows, schema))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema))
    return None


def _attribute(trace: Trace, manifest: Manifest, moved: Sequence[Moved]) -> Sequence[Attribution]:
    from rtassay.causes.attribution import attribute

    board = manifest.board_start
    return attribute(
        trace,
        # A clock that counts instructions stops with the host.
        virtual=board.virtualisation not in (None, "none") and board.virtual_time is None,
        realtime=board.kernel.realtime,
        preemptible=_preemptible(manifest),
        moved=moved,
    )


def _preemptible(manifest: Manifest) -> bool | None:
    """Whether the kernel is preemptible outside of locks; None if the board does not tell."""
    kernel = manifest.board_start.kernel
    if kernel.preempt_model == "PREEMPT_DYNAMIC":
        return None if kernel.preempt_dynamic is None else kernel.preempt_dynamic in _DYNAMIC
    return None if kernel.preempt_model is None else kernel.preempt_model in _PREEMPTIBLE


def _rows(one: Attribution) -> Iterator[dict[str, Any]]:
    """One row per part; a hit without any time has one row of 0 ns."""
    hit = one.hit
    common = {name: getattr(hit, name) for name in _HIT_COLUMNS} | {
        "evidence": " ".join(one.evidence),
        "complete": one.complete,
        "events_lost": one.events_lost,
        "stall_possible": one.stall_possible,
    }
    for part in one.parts or (Part("A", one.top, hit.due_ns, 0),):
        cause = part.cause
        yield common | {
            "phase": part.phase,
            "start_ns": part.start_ns,
            "ns": part.ns,
            "kind": cause.kind,
            "name": cause.name,
            "number": cause.number,
            "pid": cause.pid,
            "priority": cause.priority,
            "top": cause == one.top,
            **_place_row(part.place),
        }


def read_causes(path: Path) -> tuple[Attribution, ...]:
    """The attributions of a recording, in the order of the file. Raises what pyarrow raises, and KeyError or ValueError for another table."""
    import pyarrow.parquet as pq

    from rtassay.store.tables import CAUSES

    found: list[Attribution] = []
    hit: Hit | None = None
    group: list[dict[str, Any]] = []
    with pq.ParquetFile(path / CAUSES, page_checksum_verification=True) as file:
        for index in range(file.num_row_groups):
            for row in file.read_row_group(index, use_threads=False).to_pylist():
                at = Hit(*(row[name] for name in _HIT_COLUMNS))
                if at != hit and group:
                    found.append(_attribution(group))
                    group = []
                hit = at
                group.append(row)
    if group:
        found.append(_attribution(group))
    return tuple(found)


def _attribution(rows: list[dict[str, Any]]) -> Attribution:
    parts = tuple(Part(row["phase"], _cause(row), row["start_ns"], row["ns"], _place(row)) for row in rows)
    first = rows[0]
    top = next((part.cause for part, row in zip(parts, rows, strict=True) if row["top"]), parts[0].cause)
    return Attribution(
        hit=Hit(*(first[name] for name in _HIT_COLUMNS)),
        parts=tuple(part for part in parts if part.ns or len(parts) > 1),
        top=top,
        evidence=tuple(first["evidence"].split()),
        complete=first["complete"],
        events_lost=first["events_lost"],
        stall_possible=first["stall_possible"],
    )


def _place_row(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {"function": None, "stack_at": None, "chain": None}
    return {"function": place.function, "stack_at": place.at, "chain": _CALLED_BY.join(place.chain)}


def _place(row: dict[str, Any]) -> Place | None:
    if row["function"] is None:
        return None
    return Place(row["function"], row["stack_at"], tuple(row["chain"].split(_CALLED_BY)) if row["chain"] else ())


def _cause(row: dict[str, Any]) -> Cause:
    return Cause(row["kind"], row["name"], row["number"], row["pid"], row["priority"])
