"""Reads the samples of a sealed recording: row group by row group, all of a lane or only its latest ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rtassay.model.errors import CorruptRecording
from rtassay.model.files import require_regular
from rtassay.model.manifest import Manifest
from rtassay.model.recording import Lane, Recording, Spills

SAMPLES = "samples.parquet"
# The largest samples of each lane with their positions, for a judgement at a deadline that more of them reach than stand among the events.
LATE = "late.parquet"
# At most so many late samples of one lane are read: beyond it the order of the largest ones stands for all (bench: verdict).
READ_MOST = 200_000

Block = tuple[Any, Any, Any]  # latency_ns, missed, dropped


class LateSamples:
    """Collects one lane's samples at or above `from_ns`, block by block in order of time."""

    def __init__(self, from_ns: int, first_k: int) -> None:
        self.from_ns = from_ns
        self._next_k = first_k
        self._found: list[tuple[Any, Any, Any]] = []

    def take(self, latency_ns: Any, missed: Any, dropped: Any) -> None:
        """Samples as `samples.parquet` holds them: integer arrays of one length; None for `missed` or `dropped` that are all 0."""
        at = np.flatnonzero(latency_ns >= self.from_ns)
        lost = [column for column in (missed, dropped) if column is not None and column.any()]
        gaps = sum(column.astype(np.int64) for column in lost) if lost else None
        if at.size:
            k = at + self._next_k
            if gaps is not None:
                k += np.cumsum(gaps)[at] - gaps[at]
            behind = np.zeros(at.size, np.int64) if missed is None else missed[at].astype(np.int64)
            self._found.append((k, latency_ns[at].astype(np.int64), behind))
        self._next_k += len(latency_ns) + (0 if gaps is None else int(gaps.sum()))

    def skip(self, activations: int) -> None:
        """Skip this many activations, which have no sample at or above `from_ns`."""
        self._next_k += activations

    def spills(self) -> Spills:
        """The collected samples, by rising position."""
        none = np.zeros(0, np.int64)
        return Spills(*(np.concatenate([none, *(block[i] for block in self._found)]) for i in range(3)))


def with_order(recording: Recording, deadline_ns: int | None) -> Recording:
    """The recording with all exceedances of a deadline among its spills, if every sample was kept.

    Sealing has put the latest samples there; a lower deadline reads more of them, at most READ_MOST a lane: from LATE, and below what that
    holds from the samples. Unsealed recordings stay as they are. Raises CorruptRecording.
    """
    seals = recording.manifest.seals
    if deadline_ns is None or recording.path is None or not (SAMPLES in seals or LATE in seals):
        return recording
    path, width_ns = Path(recording.path), recording.manifest.bin_width_ns
    wanted = {lane.entry.index: _missing_from(lane, deadline_ns, width_ns) for lane in recording.lanes}
    levels = {index: level for index, level in wanted.items() if level is not None}
    if not levels:
        return recording
    found = _kept(path, levels) if LATE in seals else {}
    first = {lane.entry.index: lane.entry.first_k for lane in recording.lanes}
    lower = {index: LateSamples(level, first[index]) for index, level in levels.items() if index not in found}
    if lower and SAMPLES in seals:
        found |= {index: late.spills() for index, late in _late_samples(path, lower).items()}
    if not found:
        return recording
    lanes = tuple(
        replace(lane, spills=_of_part(lane, found[lane.entry.index])) if lane.entry.index in found else lane
        for lane in recording.lanes
    )
    return replace(recording, lanes=lanes)


def _kept(path: Path, levels: dict[int, int]) -> dict[int, Spills]:
    """Of each lane the samples from a level on, of the lanes of which LATE holds them all: those whose smallest sample there is no larger."""
    found = {}
    with damage_of(path / LATE), open_parquet(path / LATE) as file:
        for index in range(file.num_row_groups):
            level = levels.get(lane_of_group(file, index))
            if level is None or level < _least(file, index, "latency_ns"):
                continue
            k, latency_ns, missed = _decoded(file, index, ["k", "latency_ns", "missed"])
            late = np.flatnonzero(latency_ns >= level)
            lost = np.zeros(late.size, np.int64) if missed is None else missed[late].astype(np.int64)
            found[lane_of_group(file, index)] = Spills(k[late], latency_ns[late], lost)
    return found


def _of_part(lane: Lane, spills: Spills) -> Spills:
    """Of a traced run, the spills of the untraced part."""
    untraced = lane.entry.untraced
    return spills if untraced is None else spills.at(spills.k < untraced.due)


def _missing_from(lane: Lane, deadline_ns: int, width_ns: int) -> int | None:
    """The lower edge of the bins that reach the deadline; None if the spills hold all their samples, or there are too many."""
    bins = lane.histogram
    reaching = bins.lower_ns + bins.width_ns > deadline_ns
    exceed = int(bins.counts[reaching].sum())
    have = 0 if lane.spills is None else int((lane.spills.latency_ns + width_ns > deadline_ns).sum())
    if have >= exceed or exceed > READ_MOST:
        return None
    return int(bins.lower_ns[reaching].min())


def _late_samples(path: Path, lanes: dict[int, LateSamples]) -> dict[int, LateSamples]:
    """One reading of the samples. A row group without a late sample, by its statistics, is not decoded."""
    with _open(path) as file, damage_of(path / SAMPLES):
        for index in range(file.num_row_groups):
            late = lanes.get(lane_of_group(file, index))
            if late is None:
                continue
            rows = file.metadata.row_group(index).num_rows
            if _most(file, index, "latency_ns") < late.from_ns:
                late.skip(rows + sum(_sum(file, index, name) for name in ("missed", "dropped")))
                continue
            late.take(*_decoded(file, index, ["latency_ns", "missed", "dropped"]))
    return lanes


def _decoded(file: Any, index: int, names: Sequence[str]) -> tuple[Any, ...]:
    """Columns of a row group. Of `missed` and `dropped` one that holds only 0, by its statistics, is not decoded, as is mostly so: None."""
    wanted = [name for name in names if name not in ("missed", "dropped") or _most(file, index, name) != 0]
    table = file.read_row_group(index, columns=wanted, use_threads=False)
    return tuple(table.column(name).to_numpy() if name in wanted else None for name in names)


def _most(file: Any, index: int, name: str) -> float:
    """The largest value of a column in a row group, by its statistics; infinity if they are missing."""
    found = file.metadata.row_group(index).column(file.metadata.schema.names.index(name)).statistics
    return float("inf") if found is None or not found.has_min_max else found.max


def _least(file: Any, index: int, name: str) -> float:
    """The smallest value of a column in a row group, by its statistics; infinity if they are missing."""
    found = file.metadata.row_group(index).column(file.metadata.schema.names.index(name)).statistics
    return float("inf") if found is None or not found.has_min_max else found.min


def _sum(file: Any, index: int, name: str) -> int:
    if _most(file, index, name) == 0:
        return 0
    return int(file.read_row_group(index, columns=[name], use_threads=False).column(0).to_numpy().sum(dtype=np.int64))


def all_samples(path: Path, manifest: Manifest, lane: int) -> Iterator[Block]:
    """latency_ns, missed, dropped (int64) of one lane, row group by row group; nothing if no samples were kept."""
    if SAMPLES not in manifest.seals:
        return
    with _open(path) as file:
        for index in range(file.num_row_groups):
            with damage_of(path / SAMPLES):
                if lane_of_group(file, index) != lane:
                    continue
                table = file.read_row_group(index, columns=["latency_ns", "missed", "dropped"], use_threads=False)
                columns = [table.column(i).to_numpy().astype(np.int64) for i in range(3)]
            yield columns[0], columns[1], columns[2]


def _open(path: Path) -> Any:
    with damage_of(path / SAMPLES):
        return open_parquet(path / SAMPLES)


def open_parquet(file: Path, **options: Any) -> Any:
    """A `pq.ParquetFile` of a regular file. Raises OSError and what pyarrow raises."""
    import pyarrow.parquet as pq

    require_regular(file)
    return pq.ParquetFile(file, page_checksum_verification=True, **options)


@contextlib.contextmanager
def damage_of(file: Path) -> Iterator[None]:
    """Turns an error of pyarrow about a file into CorruptRecording."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError, IndexError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CorruptRecording(f"{file} is damaged or missing", reason) from error


def lane_of_group(file: Any, index: int) -> int:
    """The lane of a row group, from its statistics: all its rows are of one lane."""
    statistics = file.metadata.row_group(index).column(0).statistics
    if statistics is not None and statistics.has_min_max and statistics.min == statistics.max:
        return int(statistics.min)
    lanes = np.unique(file.read_row_group(index, columns=["lane"]).column(0).to_numpy())
    if len(lanes) != 1:
        raise KeyError(f"row group {index} holds samples of {len(lanes)} lanes")
    return int(lanes[0])
