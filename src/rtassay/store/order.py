"""The latest samples of a lane with their positions (its spills): they keep the order of late activations.

The probe keeps late samples one by one, up to a limit per second. If a run kept every sample, the spills come from the samples
instead: all at or above a latency that follows from the histogram, so none is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rtassay.model.events import Spill
from rtassay.model.recording import Spills
from rtassay.store.collect import LaneTally
from rtassay.store.tables import EventsWriter

# Rows of one lane that sealing keeps: one sample of a thousand, within these limits. The exceedances of the run's
# own deadline are kept up to the same number.
LEAST_ROWS = 1_000
MOST_ROWS = 200_000
ONE_OF = 1_000
# Rows of one lane in LATE: one sample of twenty, at most as many as a judgement reads; of all lanes together so many.
LATE_ONE_OF = 20
LATE_MOST_ROWS = 1_000_000

_FRAMES = ".spills"
_SCHEMA = pa.schema([("lane", pa.int16()), ("k", pa.int64()), ("latency_ns", pa.int64()), ("missed", pa.int64())])
_ROWS_AT_ONCE = 1 << 16


def late_from(table: tuple[Any, Any, Any], deadline_ns: int | None) -> int | None:
    """The latency from which samples become spills, by the lane's histogram (lower_ns, width_ns, counts). None: every bin holds too many."""
    lower, width, counts = table
    room = min(MOST_ROWS, max(LEAST_ROWS, _tail(counts)))
    if deadline_ns is not None:
        exceed = int(counts[lower + width > deadline_ns].sum())
        room = max(room, exceed) if exceed <= MOST_ROWS else room
    return _level(lower, counts, room)


def _tail(counts: Any) -> int:
    """One sample of ONE_OF, and the others of the bin of that rank unless it holds as many again: so the whole tail of a lane is in order, and later judgements
    need no check anew."""
    part = int(counts.sum()) // ONE_OF
    reaching = np.cumsum(counts[::-1])
    at = int(np.searchsorted(reaching, part + 1))
    return int(reaching[at]) if at < reaching.size and reaching[at] <= 2 * part else part


def kept_from(table: tuple[Any, Any, Any], lanes: int) -> int | None:
    """The latency from which LATE holds the samples of one of so many lanes, by its histogram. None: every bin holds too many."""
    lower, _, counts = table
    return _level(lower, counts, min(MOST_ROWS, LATE_MOST_ROWS // lanes, int(counts.sum()) // LATE_ONE_OF))


def _level(lower: Any, counts: Any, room: int) -> int | None:
    """The lowest edge of a bin that at most so many samples reach."""
    fits = np.flatnonzero(np.cumsum(counts[::-1])[::-1] <= room)
    return int(lower[fits[0]]) if fits.size else None


class SpillFrames:
    """The probe's SPILL frames, on disk until all samples were read: only missing samples need them. Constant memory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / _FRAMES
        self._rows: list[Spill] = []
        self._waiting = 0
        self._writer: Any = None

    def add(self, spill: Spill) -> None:
        """All samples of a frame."""
        self._rows.append(spill)
        self._waiting += len(spill.k)
        if self._waiting >= _ROWS_AT_ONCE:
            self._flush()

    def read(self) -> Iterator[Spill]:
        """All added frames, lane by lane within each piece, in order. `add` must not follow."""
        self._flush()
        if self._writer is None:
            return
        self._writer.close()
        with pq.ParquetFile(self.path) as file:
            for index in range(file.num_row_groups):
                columns = [column.to_numpy() for column in file.read_row_group(index, use_threads=False).columns]
                for lane in np.unique(columns[0]).tolist():
                    at = columns[0] == lane
                    yield Spill(lane, 0, *(column[at] for column in columns[1:]))

    def close(self) -> None:
        """Remove the file."""
        if self._writer is not None:
            self._writer.close()
            self.path.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._waiting:
            return
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.path, _SCHEMA, compression="zstd", compression_level=1)
        lanes = np.repeat([spill.lane for spill in self._rows], [len(spill.k) for spill in self._rows])
        columns = [lanes, *(np.concatenate([getattr(s, name) for s in self._rows]) for name in _SCHEMA.names[1:])]
        arrays = [pa.array(column).cast(field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
        self._writer.write_table(pa.table(arrays, schema=_SCHEMA))
        self._rows, self._waiting = [], 0


def is_whole(tally: LaneTally) -> bool:
    """Whether every sample of the lane's histogram is among its samples."""
    stitched = tally.stitcher
    told = tally.from_parts.total + tally.over
    return tally.has_samples and tally.from_samples.total >= told and not stitched.lost and not stitched.overlaps


def write_spills(
    rows: EventsWriter, lanes: dict[int, LaneTally], late: dict[int, Spills], frames: Iterable[Spill]
) -> None:
    """Write the spills of every lane: from its samples, and from the probe's frames where samples are missing. Each position comes once."""
    for lane, spills in sorted(late.items()):
        if len(spills):
            rows.add_spill(Spill(lane, 0, spills.k, spills.latency_ns, spills.missed))
    whole = {lane for lane, tally in lanes.items() if lane in late and is_whole(tally)}
    for frame in frames:
        if frame.lane in whole:
            continue
        new = np.ones(len(frame.k), bool) if frame.lane not in late else ~np.isin(frame.k, late[frame.lane].k)
        if new.any():
            rows.add_spill(Spill(frame.lane, 0, frame.k[new], frame.latency_ns[new], frame.missed[new]))
