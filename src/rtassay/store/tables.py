"""The Parquet files of a recording (RECORDING.md): schemas, row-wise writers, and the writer of samples."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtassay.model.recording import Spills
from rtassay.store.samples import LATE

if TYPE_CHECKING:
    from rtassay.model.events import Gaps, Spill

HISTOGRAM = "histogram.parquet"
# The histogram of the traced part of a run; HISTOGRAM is then that of the untraced part.
TRACED = "traced.parquet"
JITTER = "jitter.parquet"
SECONDS = "seconds.parquet"
EVENTS = "events.parquet"
TELEMETRY = "telemetry.parquet"
CAUSES = "causes.parquet"
# Kind of a sample kept one by one.
SPILL = "spill"
# Kind of a gap that a busy lane found: mono_ns is its start, latency_ns its length.
GAP = "gap"

_COLUMNS = {
    HISTOGRAM: "lane int16, lower_ns int64, width_ns int32, count int64",
    TRACED: "lane int16, lower_ns int64, width_ns int32, count int64",
    JITTER: "lane int16, lower_ns int64, width_ns int32, count int64",
    SECONDS: "lane int16, second int64, n int64, missed int64, dropped int64, exceedances int64, "
    "min_ns int64, max_ns int64, sum_ns int64, wall_offset_ns int64",
    EVENTS: "kind string, lane int16, mono_ns int64, k int64, latency_ns int64, missed int64, text string",
    LATE: "lane int16, k int64, latency_ns int64, missed int32",
    CAUSES: "lane int16, cpu int32, tid int32, k int64, due_ns int64, woke_ns int64, phase string, start_ns int64, ns int64, "
    "kind string, name string, number int64, pid int32, priority int32, top bool, evidence string, complete bool, "
    "events_lost bool, stall_possible bool, function string, stack_at string, chain string",
    TELEMETRY: "monitor string, name string, mono_ns int64, value double, unit string",
}
SCHEMAS = {
    name: pa.schema([(column.split()[0], pa.type_for_alias(column.split()[1])) for column in columns.split(", ")])
    for name, columns in _COLUMNS.items()
}

GROUP_ROWS = 1 << 20
# A page holds whole 128 KiB blocks of zstd per byte plane: one Huffman table per plane costs 0.2 B per sample less than
# pyarrow's pages of 20 000 rows, where planes share a block (docs/decisions/2026-11-21-sample-encoding.md).
PAGE_ROWS = 1 << 17
_BUFFERED_ROWS = 8 * GROUP_ROWS
_TRIAL_ROWS = 2 * PAGE_ROWS
_ROWS_AT_ONCE = 1 << 16
_INT32_MAX = 2**31 - 1
# The most missed or dropped activations behind one sample that the columns hold.
GAP_MOST = _INT32_MAX
_SMALL: dict[str, Any] = {"compression": "zstd", "compression_level": 3, "write_page_checksum": True}
# Metadata of histogram.parquet: where the histogram of a source with a limit ends, per lane.
LIMITS_KEY = b"rtassay.limits_ns"


class RowWriter:
    """Rows of one of the small tables, written in row groups of 64 Ki: constant memory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._schema = SCHEMAS[name]
        self.path = directory / name
        self._rows: list[Sequence[Any]] = []
        self._writer = pq.ParquetWriter(self.path, self._schema, **_SMALL)

    def add(self, row: Sequence[Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def add_all(self, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self.add(row)

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            columns = [
                pa.array(column, field.type)
                for column, field in zip(zip(*self._rows, strict=True), self._schema, strict=True)
            ]
            self._writer.write_table(pa.table(columns, schema=self._schema))
            self._rows = []


class EventsWriter(RowWriter):
    """`events.parquet`: events as rows; spills and gaps, of which there may be millions, as columns in row groups of their own."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, EVENTS)
        self._spills: list[Spill] = []
        self._spilled = 0
        self._gaps: list[Gaps] = []
        self._n_gaps = 0

    def add_spill(self, spill: Spill) -> None:
        """All samples of a frame."""
        self._spills.append(spill)
        self._spilled += len(spill.k)
        if self._spilled >= _ROWS_AT_ONCE:
            self._flush_spills()

    def add_gaps(self, gaps: Gaps) -> None:
        """All gaps of a frame."""
        self._gaps.append(gaps)
        self._n_gaps += len(gaps.start_ns)
        if self._n_gaps >= _ROWS_AT_ONCE:
            self._flush_gaps()

    def close(self) -> None:
        self._flush_spills()
        self._flush_gaps()
        super().close()

    def _flush_spills(self) -> None:
        if not self._spilled:
            return
        columns: dict[str, Any] = {"lane": _lanes_of([(spill.lane, len(spill.k)) for spill in self._spills])}
        for name in ("k", "latency_ns", "missed"):
            columns[name] = np.concatenate([getattr(spill, name) for spill in self._spills])
        self._write_columns(SPILL, columns)
        self._spills, self._spilled = [], 0

    def _flush_gaps(self) -> None:
        if not self._n_gaps:
            return
        columns: dict[str, Any] = {"lane": _lanes_of([(gaps.lane, len(gaps.start_ns)) for gaps in self._gaps])}
        columns["mono_ns"] = np.concatenate([gaps.start_ns for gaps in self._gaps])
        columns["latency_ns"] = np.concatenate([gaps.length_ns for gaps in self._gaps])
        self._write_columns(GAP, columns)
        self._gaps, self._n_gaps = [], 0

    def _write_columns(self, kind: str, columns: dict[str, Any]) -> None:
        rows = len(columns["lane"])
        columns["kind"] = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), [kind])
        arrays = [
            pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(rows, field.type)
            for field in self._schema
        ]
        self._writer.write_table(pa.table(arrays, schema=self._schema))


def _lanes_of(blocks: list[tuple[int, int]]) -> Any:
    """The lane of each row, from (lane, rows) of each block."""
    return np.repeat([lane for lane, _ in blocks], [rows for _, rows in blocks])


def write_histogram(path: Path, rows: Iterable[tuple[int, Any, Any, Any]], limits_ns: dict[int, int]) -> None:
    """`histogram.parquet` from (lane, lower_ns, width_ns, counts), and the limits of sources that have one."""
    schema = SCHEMAS[HISTOGRAM].with_metadata({LIMITS_KEY: json.dumps(limits_ns)})
    with pq.ParquetWriter(path, schema, **_SMALL) as writer:
        for lane, lower_ns, width_ns, counts in rows:
            columns = (np.full(len(lower_ns), lane), lower_ns, width_ns, counts)
            arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema))


def write_late(directory: Path, lanes: dict[int, Spills]) -> None:
    """`late.parquet`: one row group for each lane."""
    schema = SCHEMAS[LATE]
    with pq.ParquetWriter(
        directory / LATE,
        schema,
        compression="zstd",
        compression_level=1,
        write_page_checksum=True,
        use_dictionary=["lane", "missed"],
        column_encoding={"k": "DELTA_BINARY_PACKED", "latency_ns": "BYTE_STREAM_SPLIT"},
    ) as writer:
        for lane, spills in sorted(lanes.items()):
            columns = (np.full(len(spills), lane), spills.k, spills.latency_ns, spills.missed)
            arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=len(spills))


def limits_of(table: Any) -> dict[int, int]:
    """The limits that `write_histogram` put into a table read back."""
    text = (table.schema.metadata or {}).get(LIMITS_KEY, b"{}")
    return {int(lane): int(limit_ns) for lane, limit_ns in json.loads(text).items()}


class SamplesWriter:
    """`samples.parquet`: row groups of at most 1 Mi rows of one lane. `digests` maps lane to what `digest_file` must find again.

    Latencies are int32; the first one that does not fit rewrites what is there as int64.
    """

    def __init__(self, path: Path, metadata: dict[str, str]) -> None:
        self.path = path
        self.digests: dict[int, tuple[int, int, int, int]] = {}
        self.clipped_gaps = 0
        self._metadata = metadata
        self._writer: Any = None
        self._wide = False
        self._encoding: str | None = None
        self._pending: dict[int, list[tuple[Any, Any, Any]]] = {}
        self._rows: dict[int, int] = {}

    def add(self, lane: int, latency_ns: Any, missed: Any, dropped: Any) -> None:
        """Samples of one lane in order of time (int64 arrays of one length)."""
        if not self._wide and (int(latency_ns.min()) < -_INT32_MAX - 1 or int(latency_ns.max()) > _INT32_MAX):
            self._widen()
        block = (latency_ns if self._wide else latency_ns.astype(np.int32), self._narrow(missed), self._narrow(dropped))
        self._pending.setdefault(lane, []).append(block)
        self._rows[lane] = self._rows.get(lane, 0) + len(latency_ns)
        while self._rows[lane] >= GROUP_ROWS:
            self._flush(lane, GROUP_ROWS)
        if sum(self._rows.values()) >= _BUFFERED_ROWS:
            fullest = max(self._rows, key=lambda index: self._rows[index])
            self._flush(fullest, self._rows[fullest] // PAGE_ROWS * PAGE_ROWS or self._rows[fullest])

    def close(self) -> bool:
        """Write the rest; False (and no file) when there was no sample."""
        for lane in sorted(self._rows):
            if self._rows[lane]:
                self._flush(lane, self._rows[lane])
        if self._writer is None:
            return False
        self._writer.close()
        return True

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _narrow(self, gaps: Any) -> Any:
        if int(gaps.max()) > GAP_MOST:
            self.clipped_gaps += 1
            gaps = np.minimum(gaps, GAP_MOST)
        return gaps.astype(np.int32)

    def _flush(self, lane: int, rows: int) -> None:
        latency_ns, missed, dropped = (np.concatenate([block[i] for block in self._pending[lane]]) for i in range(3))
        rest = (latency_ns[rows:], missed[rows:], dropped[rows:])
        self._pending[lane] = [rest] if len(rest[0]) else []
        self._rows[lane] = len(rest[0])
        latency_ns, missed, dropped = latency_ns[:rows], missed[:rows], dropped[:rows]
        self.digests[lane] = _digest(self.digests.get(lane), latency_ns, missed, dropped)
        if self._writer is None:
            self._encoding = _best_encoding(latency_ns)
            self._writer = self._open(self.path)
        self._write(self._writer, lane, latency_ns, missed, dropped)

    def _schema(self) -> Any:
        fields = [
            ("lane", pa.int16()),
            ("latency_ns", pa.int64() if self._wide else pa.int32()),
            ("missed", pa.int32()),
            ("dropped", pa.int32()),
        ]
        return pa.schema(fields, metadata=self._metadata)

    def _open(self, path: Path) -> Any:
        assert self._encoding is not None
        return pq.ParquetWriter(path, self._schema(), **_options(self._encoding, ["lane", "missed", "dropped"]))

    def _write(self, writer: Any, lane: int, latency_ns: Any, missed: Any, dropped: Any) -> None:
        columns = (np.full(len(latency_ns), lane, np.int16), latency_ns, missed, dropped)
        schema = self._schema()
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        writer.write_table(pa.table(arrays, schema=schema), row_group_size=GROUP_ROWS)

    def _widen(self) -> None:
        self._wide = True
        self._pending = {
            lane: [(latency.astype(np.int64), missed, dropped) for latency, missed, dropped in blocks]
            for lane, blocks in self._pending.items()
        }
        if self._writer is None:
            return
        self._writer.close()
        narrow = self.path.with_name(self.path.name + ".narrow")
        self.path.rename(narrow)
        self._writer = self._open(self.path)
        for group in _groups(narrow):
            self._write(self._writer, *group)
        narrow.unlink()


def digest_file(
    path: Path, take: Callable[[int, Any, Any, Any], None] = lambda *block: None
) -> dict[int, tuple[int, int, int, int]]:
    """Per lane: rows, CRC-32 of all latencies in order, sums of missed and dropped, read back from the file.

    `take` gets every block: lane, latency_ns, missed, dropped.
    """
    found: dict[int, tuple[int, int, int, int]] = {}
    for lane, latency_ns, missed, dropped in _groups(path):
        found[lane] = _digest(found.get(lane), latency_ns, missed, dropped)
        take(lane, latency_ns, missed, dropped)
    return found


def _groups(path: Path) -> Iterable[tuple[int, Any, Any, Any]]:
    with pq.ParquetFile(path) as file:
        for index in range(file.num_row_groups):
            table = file.read_row_group(index, use_threads=False)
            lane, latency_ns, missed, dropped = (column.to_numpy() for column in table.columns)
            yield int(lane[0]), latency_ns, missed, dropped


def _digest(
    before: tuple[int, int, int, int] | None, latency_ns: Any, missed: Any, dropped: Any
) -> tuple[int, int, int, int]:
    rows, crc, all_missed, all_dropped = before or (0, 0, 0, 0)
    crc = zlib.crc32(np.ascontiguousarray(latency_ns, np.int64).data, crc)
    return rows + len(latency_ns), crc, all_missed + int(missed.sum()), all_dropped + int(dropped.sum())


def _options(encoding: str, dictionary: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "compression": "zstd",
        "compression_level": 1,  # higher levels find chance matches and grow the file
        "write_page_checksum": True,
        "data_page_size": 64 << 20,
        "dictionary_pagesize_limit": 8 << 20,
        "write_batch_size": PAGE_ROWS,
        "max_rows_per_page": PAGE_ROWS,
        "use_dictionary": [*dictionary, "latency_ns"] if encoding == "dictionary" else (dictionary or False),
    }
    if encoding != "dictionary":
        options["column_encoding"] = {"latency_ns": "BYTE_STREAM_SPLIT"}
    return options


def _best_encoding(latency_ns: Any) -> str:
    """Dictionary for coarse clocks, byte planes for fine ones: whichever is smaller for the first samples."""
    column = pa.table({"latency_ns": latency_ns[:_TRIAL_ROWS]})
    sizes = {}
    for encoding in ("dictionary", "planes"):
        sink = pa.BufferOutputStream()
        pq.write_table(column, sink, **_options(encoding, []))
        sizes[encoding] = sink.getvalue().size
    return min(sizes, key=lambda encoding: sizes[encoding])
