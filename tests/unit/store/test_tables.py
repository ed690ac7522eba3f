"""The Parquet files of a recording, at the limits of their columns, groups and buffers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from rtassay.model.events import Gaps, Spill
from rtassay.store import tables
from rtassay.store.tables import GAP_MOST, EventsWriter, RowWriter, SamplesWriter


def groups_of(path: Path) -> list[int]:
    with pq.ParquetFile(path) as file:
        return [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]


def written(path: Path, *blocks: tuple[int, list[int]], gaps: list[int] | None = None) -> SamplesWriter:
    writer = SamplesWriter(path, {"made.by": "test"})
    for lane, latency_ns in blocks:
        gap = np.array(gaps or [0] * len(latency_ns), np.int64)
        writer.add(lane, np.array(latency_ns, np.int64), gap, gap)
    assert writer.close()
    assert tables.digest_file(path) == writer.digests
    return writer


def read(path: Path) -> list[tuple[int, list[int], list[int], list[int]]]:
    return [(lane, *(column.tolist() for column in columns)) for lane, *columns in tables._groups(path)]  # type: ignore[misc]


def test_the_lanes_that_are_left_are_written_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "samples.parquet"
    written(path, (5, [1, 2]), (0, [3]), (2, [4, 5]))
    assert [(lane, latency) for lane, latency, *_ in read(path)] == [(0, [3]), (2, [4, 5]), (5, [1, 2])]


def test_rows_are_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", 4)
    writer = RowWriter(tmp_path, tables.TELEMETRY)
    rows = [("m", "n", i, i / 2, "s") for i in range(9)]
    writer.add_all(rows)
    assert len(writer._rows) == 1, "only what makes no group waits"
    writer.close()
    assert groups_of(writer.path) == [4, 4, 1]
    found = pq.read_table(writer.path)
    assert found.schema.equals(tables.SCHEMAS[tables.TELEMETRY])
    assert [tuple(row.values()) for row in found.to_pylist()] == rows


def test_a_group_of_the_small_tables_has_64_ki_rows(tmp_path: Path) -> None:
    writer = RowWriter(tmp_path, tables.TELEMETRY)
    writer.add_all([("m", "n", 1, 0.5, "s")] * (2**16 + 1))
    writer.close()
    assert groups_of(writer.path) == [2**16, 1]


def spill(lane: int, *rows: tuple[int, int, int]) -> Spill:
    return Spill(lane, 0, *np.array(rows, np.int64).T)


def test_spills_have_groups_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", 3)
    writer = EventsWriter(tmp_path)
    writer.add_spill(spill(1, (5, 50, 0), (6, 60, 1)))
    writer.add(("break", 1, 7, 8, 9, 10, "{}"))
    writer.add_spill(spill(0, (2, 20, 0)))
    writer.add_spill(spill(0, (3, 30, 4)))
    writer.close()
    assert groups_of(writer.path) == [3, 1, 1]
    found = [tuple(row.values()) for row in pq.read_table(writer.path).to_pylist()]
    assert found == [
        *(
            ("spill", lane, None, k, latency, missed, None)
            for lane, k, latency, missed in ((1, 5, 50, 0), (1, 6, 60, 1), (0, 2, 20, 0))
        ),
        ("spill", 0, None, 3, 30, 4, None),
        ("break", 1, 7, 8, 9, 10, "{}"),
    ]


def test_gaps_have_groups_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS_AT_ONCE", 3)
    writer = EventsWriter(tmp_path)
    writer.add_gaps(Gaps(1, 0, *np.array([[5, 50], [6, 60]], np.int64).T))
    writer.add(("break", 1, 7, 8, 9, 10, "{}"))
    writer.add_gaps(Gaps(0, 9, *np.array([[2, 20]], np.int64).T))
    writer.add_spill(spill(1, (3, 30, 4)))
    writer.close()
    assert groups_of(writer.path) == [3, 1, 1]
    assert [tuple(row.values()) for row in pq.read_table(writer.path).to_pylist()] == [
        *(
            ("gap", lane, start, None, length, None, None)
            for lane, start, length in ((1, 5, 50), (1, 6, 60), (0, 2, 20))
        ),
        ("spill", 1, None, 3, 30, 4, None),
        ("break", 1, 7, 8, 9, 10, "{}"),
    ]


def test_no_events_are_an_empty_table(tmp_path: Path) -> None:
    writer = EventsWriter(tmp_path)
    writer.close()
    assert groups_of(writer.path) == [] and pq.read_table(writer.path).schema.equals(tables.SCHEMAS[tables.EVENTS])


def test_histogram_keeps_the_limits_of_its_lanes(tmp_path: Path) -> None:
    path = tmp_path / tables.HISTOGRAM
    columns = tuple(np.array(column, np.int64) for column in ([5, 2**40], [1, 2**31 - 1], [2**40, 1]))
    empty = tuple(np.zeros((3, 0), np.int64))
    tables.write_histogram(path, [(3, *columns), (4, *empty)], {3: 400_000, 4: 0})  # type: ignore[list-item]
    table = pq.read_table(path)
    assert tables.limits_of(table) == {3: 400_000, 4: 0}
    assert [tuple(row.values()) for row in table.to_pylist()] == [(3, 5, 1, 2**40), (3, 2**40, 2**31 - 1, 1)]
    assert tables.limits_of(table.replace_schema_metadata(None)) == {}


INT32 = (-(2**31), 2**31 - 1)


@pytest.mark.parametrize("latency_ns", [[*INT32], [INT32[0] - 1], [INT32[1] + 1], [0, -(2**62), 2**62]])
def test_latencies_are_int32_as_long_as_they_fit(tmp_path: Path, latency_ns: list[int]) -> None:
    path = tmp_path / "samples.parquet"
    written(path, (7, latency_ns))
    kind = "int32" if set(latency_ns) <= {0, *INT32} else "int64"
    assert str(pq.read_schema(path).field("latency_ns").type) == kind
    assert pq.read_schema(path).metadata[b"made.by"] == b"test"
    assert read(path) == [(7, latency_ns, [0] * len(latency_ns), [0] * len(latency_ns))]


@pytest.mark.parametrize("group_rows", [2, 100])
def test_a_latency_that_does_not_fit_widens_what_is_written_and_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group_rows: int
) -> None:
    monkeypatch.setattr(tables, "GROUP_ROWS", group_rows)
    path = tmp_path / "samples.parquet"
    written(path, (0, [1, -2, 3]), (1, [4]), (0, [2**40, 5]), (1, [-(2**41)]), gaps=None)
    rows: dict[int, list[int]] = {}
    for lane, latency_ns, _, _ in read(path):
        rows.setdefault(lane, []).extend(latency_ns)
    assert rows == {0: [1, -2, 3, 2**40, 5], 1: [4, -(2**41)]}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["samples.parquet"]


def test_gaps_are_cut_at_the_most_that_the_columns_hold(tmp_path: Path) -> None:
    writer = written(tmp_path / "a", (0, [1, 2]), gaps=[GAP_MOST, 0])
    assert writer.clipped_gaps == 0 and read(tmp_path / "a")[0][2] == [GAP_MOST, 0] and GAP_MOST == 2**31 - 1
    writer = written(tmp_path / "b", (0, [1, 2]), gaps=[GAP_MOST + 1, 3])
    assert writer.clipped_gaps == 2, "missed and dropped of one block"
    assert read(tmp_path / "b") == [(0, [1, 2], [GAP_MOST, 3], [GAP_MOST, 3])]


def test_a_lane_is_written_as_soon_as_a_group_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "GROUP_ROWS", 4)
    path = tmp_path / "samples.parquet"
    writer = written(path, (0, [1, 2, 3]), (1, [10, 11]), (0, [*range(4, 13)]), (1, [12, 13]))
    assert [(lane, latency) for lane, latency, _, _ in read(path)] == [
        *((0, [1, 2, 3, 4]), (0, [5, 6, 7, 8]), (0, [9, 10, 11, 12]), (1, [10, 11, 12, 13])),
    ]
    assert {lane: found[0] for lane, found in writer.digests.items()} == {0: 12, 1: 4}


@pytest.mark.parametrize(("page_rows", "groups"), [(2, [(1, 6), (0, 2), (1, 1)]), (100, [(1, 7), (0, 2)])])
def test_when_the_buffer_is_full_the_fullest_lane_is_written_in_whole_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page_rows: int, groups: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(tables, "_BUFFERED_ROWS", 9)
    monkeypatch.setattr(tables, "PAGE_ROWS", page_rows)
    path = tmp_path / "samples.parquet"
    written(path, (0, [1, 2]), (1, [10, 11, 12]), (1, [13, 14, 15]), (1, [16]))
    assert [(lane, len(latency)) for lane, latency, _, _ in read(path)] == groups


def test_nothing_is_written_below_a_full_group_and_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BUFFERED_ROWS", 9)
    monkeypatch.setattr(tables, "GROUP_ROWS", 9)
    path = tmp_path / "samples.parquet"
    writer = SamplesWriter(path, {})
    none = np.zeros(4, np.int64)
    for _ in range(2):
        writer.add(0, none, none, none)
    assert not path.exists()
    writer.add(1, none[:1], none[:1], none[:1])
    assert path.exists() and writer.close()
    assert [(lane, len(latency)) for lane, latency, _, _ in read(path)] == [(0, 8), (1, 1)]


def test_without_a_sample_there_is_no_file(tmp_path: Path) -> None:
    writer = SamplesWriter(tmp_path / "samples.parquet", {})
    writer.abort()
    assert writer.close() is False and list(tmp_path.iterdir()) == [] and writer.digests == {}


def test_an_abandoned_file_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "GROUP_ROWS", 1)
    writer = SamplesWriter(tmp_path / "samples.parquet", {})
    one = np.ones(1, np.int64)
    writer.add(0, one, one, one)
    writer.abort()
    assert not writer._writer.is_open


def test_the_digest_is_the_crc_of_all_latencies_in_order_and_the_sums_of_gaps(tmp_path: Path) -> None:
    import zlib

    path = tmp_path / "samples.parquet"
    writer = SamplesWriter(path, {})
    for latency_ns, missed, dropped in (([1, 2], [3, 4], [5, 6]), ([7], [8], [9])):
        writer.add(2, *(np.array(column, np.int64) for column in (latency_ns, missed, dropped)))
    writer.close()
    crc = zlib.crc32(np.array([1, 2, 7], "<i8").tobytes())
    assert writer.digests == {2: (3, crc, 15, 20)} == tables.digest_file(path)


def encodings(path: Path) -> Any:
    with pq.ParquetFile(path) as file:
        return {
            file.metadata.row_group(0).column(i).path_in_schema: file.metadata.row_group(0).column(i) for i in range(4)
        }


def test_a_coarse_clock_is_kept_in_a_dictionary_and_a_fine_one_in_byte_planes(tmp_path: Path) -> None:
    chance = np.random.default_rng(7)
    written(tmp_path / "coarse", (0, (chance.integers(0, 20, 20_000) * 18_519_001).tolist()))
    written(tmp_path / "fine", (0, chance.integers(0, 2**30, 20_000).tolist()))
    coarse, fine = encodings(tmp_path / "coarse"), encodings(tmp_path / "fine")
    assert coarse["latency_ns"].has_dictionary_page and "BYTE_STREAM_SPLIT" not in coarse["latency_ns"].encodings
    assert not fine["latency_ns"].has_dictionary_page and "BYTE_STREAM_SPLIT" in fine["latency_ns"].encodings
    for columns in (coarse, fine):
        assert {column.compression for column in columns.values()} == {"ZSTD"}
        assert all(columns[name].has_dictionary_page for name in ("lane", "missed", "dropped"))
