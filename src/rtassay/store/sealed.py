"""Opens sealed recordings, from their Parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rtassay.model.errors import CorruptRecording
from rtassay.model.files import read_regular
from rtassay.model.manifest import Manifest
from rtassay.model.recording import EventRow, GapTable, Histogram, Lane, Message, Recording, Seconds, Series, Spills
from rtassay.store.parts import split
from rtassay.store.paths import MESSAGES
from rtassay.store.samples import damage_of, open_parquet

if TYPE_CHECKING:
    from rtassay.model.causes import Attribution

SECOND_COLUMNS = ("second", "n", "missed", "dropped", "exceedances", "min_ns", "max_ns", "sum_ns", "wall_offset_ns")


def _read_table(path: Path, name: str) -> Any:
    from rtassay.store.tables import SCHEMAS

    with open_parquet(path / name) as file:
        if not set(SCHEMAS[name].names) <= set(file.schema_arrow.names):
            raise KeyError(f"it lacks columns: it has {', '.join(file.schema_arrow.names)}")
        return file.read(columns=SCHEMAS[name].names, use_threads=False)


def open_sealed(path: Path, manifest: Manifest) -> Recording:
    """The recording with its small tables. Raises CorruptRecording with the file."""
    from rtassay.store import tables

    for name in (tables.HISTOGRAM, tables.SECONDS, tables.EVENTS):
        if name not in manifest.seals:
            raise CorruptRecording(f"{path / name} is missing from the recording", "it was never sealed")
    with damage_of(path / tables.HISTOGRAM):
        table = _read_table(path, tables.HISTOGRAM)
        histogram, limits = _numpy(table), tables.limits_of(table)
    with damage_of(path / tables.SECONDS):
        seconds = _numpy(_read_table(path, tables.SECONDS))
    with damage_of(path / tables.EVENTS):
        events, spills, gaps = _events(path)
    jitter = _bins(path, tables.JITTER) if tables.JITTER in manifest.seals else {}
    lanes = []
    for entry in manifest.lanes:
        at = histogram["lane"] == entry.index
        lower, width, counts = (histogram[column][at] for column in ("lower_ns", "width_ns", "count"))
        bins = Histogram(lower, width, counts, entry.over or 0, entry.under or 0, limits.get(entry.index))
        at = seconds["lane"] == entry.index
        rollups = Seconds(*(seconds[column][at] for column in SECOND_COLUMNS)) if at.any() else None
        kept = (spills.get(entry.index), gaps.get(entry.index), jitter.get(entry.index))
        lanes.append(Lane(entry, bins, rollups, *kept))
    series = _telemetry(path) if tables.TELEMETRY in manifest.seals else ()
    messages = _messages(path) if MESSAGES in manifest.seals else ()
    attributions = _causes(path) if tables.CAUSES in manifest.seals else ()
    whole = Recording(manifest, tuple(lanes), tuple(events), series, messages, str(path), causes=attributions)
    return split(whole, _bins(path, tables.TRACED) if tables.TRACED in manifest.seals else {})


def _causes(path: Path) -> tuple[Attribution, ...]:
    from rtassay.store.tables import CAUSES
    from rtassay.store.tracing import read_causes

    with damage_of(path / CAUSES):
        return read_causes(path)


def _bins(path: Path, name: str) -> dict[int, Histogram]:
    """The histograms of a table, lane by lane."""
    with damage_of(path / name):
        table = _numpy(_read_table(path, name))
    found = {}
    for index in np.unique(table["lane"]).tolist():
        at = table["lane"] == index
        found[int(index)] = Histogram(*(table[column][at] for column in ("lower_ns", "width_ns", "count")))
    return found


def _numpy(table: Any) -> dict[str, Any]:
    """Columns as int64; a null (the source does not know) becomes 0, as in `Seconds` of a stream."""
    return {name: _known(table.column(name), 0).to_numpy().astype(np.int64) for name in table.column_names}


def _known(column: Any, else_: int) -> Any:
    """A column with a value in place of its nulls. pyarrow loads its functions for that (30 ms of CPU), so only where there are some."""
    return column.fill_null(else_) if column.null_count else column


def event_row(row: dict[str, Any]) -> EventRow:
    """Raises ValueError for a row without a kind."""
    if row["kind"] is None:
        raise ValueError("an event lacks its kind")
    return EventRow(row["kind"], row["lane"], row["mono_ns"], json.loads(row["text"]) if row["text"] else {})


def _events(path: Path) -> tuple[list[EventRow], dict[int, Spills], dict[int, GapTable]]:
    """Read `events.parquet`: events, and by lane the spills and the gaps. Raises errors of pyarrow, and KeyError."""
    from rtassay.store.tables import EVENTS, GAP, SCHEMAS, SPILL

    wanted = SCHEMAS[EVENTS].names
    events: list[EventRow] = []
    blocks: dict[str, list[tuple[Any, ...]]] = {SPILL: [], GAP: []}
    columns_of = {SPILL: ("lane", "k", "latency_ns", "missed"), GAP: ("lane", "mono_ns", "latency_ns")}
    with open_parquet(path / EVENTS, read_dictionary=["kind"]) as file:
        if not set(wanted) <= set(file.schema_arrow.names):
            raise KeyError(f"it lacks columns: it has {', '.join(file.schema_arrow.names)}")
        for index in range(file.num_row_groups):
            # Do not decode the empty columns of a group of spills or gaps.
            only = next((kind for kind in blocks if _of_one_kind(file, index, kind)), None)
            columns = [name for name in wanted if name != "text"] if only else wanted
            table = file.read_row_group(index, columns=columns, use_threads=False)
            if only:
                blocks[only].append(_kind_columns(table, only, columns_of[only]))
                continue
            for kind, found in blocks.items():
                are = _equals(table.column("kind"), kind)
                if are.any():
                    found.append(_kind_columns(table.filter(are), kind, columns_of[kind]))
                    table = table.filter(~are)
            events += [event_row(row) for row in table.to_pylist()]
    return events, by_lane(blocks[SPILL]), gaps_by_lane(blocks[GAP])


def _of_one_kind(file: Any, index: int, kind: str) -> bool:
    """Whether the statistics of a row group say that all its rows are of this kind."""
    column = file.metadata.row_group(index).column(file.schema_arrow.names.index("kind"))
    found = column.statistics
    return found is not None and found.has_min_max and found.min == found.max == kind and not found.null_count


def _equals(column: Any, value: str) -> Any:
    """A numpy mask of the rows of a dictionary column that hold `value`."""
    parts = []
    for chunk in column.chunks:
        codes = [i for i, known in enumerate(chunk.dictionary.to_pylist()) if known == value]
        parts.append(np.isin(_known(chunk.indices, -1).to_numpy(zero_copy_only=False), codes))
    return np.concatenate(parts) if parts else np.zeros(0, bool)


def _kind_columns(table: Any, kind: str, names: tuple[str, ...]) -> tuple[Any, ...]:
    """These columns of rows that are all spills, or all gaps."""
    if any(table.column(name).null_count for name in names):
        raise ValueError(f"a {kind} lacks one of {', '.join(names)}")
    return tuple(table.column(name).to_numpy().astype(np.int64, copy=False) for name in names)


def gaps_by_lane(blocks: list[tuple[Any, ...]]) -> dict[int, GapTable]:
    """Blocks of (lane, start_ns, length_ns) as one table a lane, by rising start."""
    if not blocks:
        return {}
    lane, start_ns, length_ns = (np.concatenate([block[i] for block in blocks]) for i in range(3))
    found = {}
    for index in np.unique(lane).tolist():
        at = np.flatnonzero(lane == index)
        at = at[np.argsort(start_ns[at], kind="stable")]
        found[int(index)] = GapTable(start_ns[at], length_ns[at])
    return found


def by_lane(blocks: list[tuple[Any, ...]]) -> dict[int, Spills]:
    """Blocks of (lane, k, latency_ns, missed) as one table a lane, by rising k, each k once."""
    if not blocks:
        return {}
    lane, k, latency_ns, missed = (np.concatenate([block[i] for block in blocks]) for i in range(4))
    found = {}
    for index in np.unique(lane).tolist():
        at = np.flatnonzero(lane == index)
        positions = k[at]
        if (positions[1:] <= positions[:-1]).any():
            positions, first = np.unique(positions, return_index=True)  # a damaged stream may hold one sample twice
            at = at[first]
        found[int(index)] = Spills(positions, latency_ns[at], missed[at])
    return found


def _telemetry(path: Path) -> tuple[Series, ...]:
    from rtassay.store.tables import TELEMETRY

    with damage_of(path / TELEMETRY):
        table = _read_table(path, TELEMETRY)
    keys = list(zip(*(table.column(name).to_pylist() for name in ("monitor", "name", "unit")), strict=True))
    mono_ns, values = table.column("mono_ns").to_numpy(), table.column("value").to_numpy()
    rows: dict[tuple[str, str, str], list[int]] = {}
    for index, key in enumerate(keys):
        rows.setdefault(key, []).append(index)
    return tuple(Series(monitor, name, unit, mono_ns[at], values[at]) for (monitor, name, unit), at in rows.items())


def _messages(path: Path) -> tuple[Message, ...]:
    with damage_of(path / MESSAGES):
        return tuple(Message(**json.loads(line)) for line in read_regular(path / MESSAGES).decode().splitlines())
