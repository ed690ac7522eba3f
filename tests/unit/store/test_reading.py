"""What a recording holds when it is opened: every table, each lane's own part, and the files of another writer."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtassay import store
from rtassay.model.errors import CorruptRecording, UsageError
from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Samples, Second, Spill
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.model.recording import Message
from rtassay.store import tables
from rtassay.store.samples import SAMPLES
from rtassay.wire.encode import StreamEncoder

CYCLIC = runpy.run_path(str(Path(__file__).parents[3] / "wire" / "golden" / "make.py"))["cyclic"]


def made(home: Path, events: list[Event], *, sealed: bool = True, **parts: Any) -> Path:
    blank = Manifest(store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(events))
    if sealed:
        store.seal(writer.path, **parts)
    return writer.path


def block(lane: int, first_k: int, *latency_ns: int) -> Samples:
    none = np.zeros(len(latency_ns), np.int64)
    return Samples(lane, first_k, np.array(latency_ns, np.int64), none, none)


def second(lane: int, number: int, wall_offset_ns: int | None) -> Second:
    return Second(lane, number, 4, 1, 2, 3, 5, 60, 70, 4, 60, wall_offset_ns=wall_offset_ns)


@pytest.mark.parametrize("sealed", [False, True])
def test_every_lane_has_its_own_rows(tmp_path: Path, sealed: bool) -> None:
    part = HistogramPart(1, np.array([1000, 3000]), np.array([1000, 500]), np.array([3, 1]), 2)
    spill = Spill(2, 0, *np.array([[8, 90, 1]], np.int64).T)
    end = {"lanes": [{"lane": 1, "n": 6, "over": 2, "under": 1}]}
    path = made(
        tmp_path,
        [Facts({}), block(0, 0, 5, 6), second(1, 0, None), second(1, 1, 77), part, spill, End(end)],
        sealed=sealed,
    )
    recording = store.open_recording(path)
    first, middle, last = recording.lanes
    assert recording.path == str(path) and recording.manifest.sealed is sealed
    assert first.seconds is None and last.seconds is None
    # out of the samples: sealing reads them all again
    assert (list(first.spills.rows()) if first.spills else []) == ([(0, 5, 0), (1, 6, 0)] if sealed else [])
    assert middle.spills is None and last.spills and list(last.spills.rows()) == [(8, 90, 1)]
    columns = {
        name: getattr(middle.seconds, name).tolist() for name in ("second", "n", "missed", "dropped", "exceedances")
    }
    assert columns == {"second": [0, 1], "n": [4, 4], "missed": [1, 1], "dropped": [2, 2], "exceedances": [3, 3]}
    assert middle.seconds and middle.seconds.wall_offset_ns.tolist() == [0, 77]
    assert [getattr(middle.seconds, name).tolist() for name in ("min_ns", "max_ns", "sum_ns")] == [
        [5, 5],
        [60, 60],
        [70, 70],
    ]
    bins = middle.histogram
    assert (bins.lower_ns.tolist(), bins.width_ns.tolist(), bins.counts.tolist()) == ([1000, 3000], [1000, 500], [3, 1])
    assert (bins.over, bins.under, bins.limit_ns, bins.total) == (2, 1, None, 7)
    assert (first.histogram.lower_ns.tolist(), first.histogram.total, last.histogram.total) == ([5, 6], 2, 0)
    assert (first.histogram.over, first.histogram.under) == (0, 0)


def test_overflow_that_nobody_told_is_counted_as_none(tmp_path: Path) -> None:
    """A file with a last bin that was cut off before its trailer."""
    part = HistogramPart(0, np.array([1000]), np.array([1000]), np.array([3]), limit_ns=5000)
    (tmp_path / "a.txt").write_text("x")
    path = store.import_events(
        tmp_path, tmp_path / "a.txt", Source("cyclictest", None, "text", "skip"), [Facts({}), part]
    )
    (lane,) = store.open_recording(path).lanes
    assert (lane.entry.over, lane.histogram.over, lane.histogram.under, lane.histogram.limit_ns) == (None, 0, 0, 5000)
    assert lane.histogram.total == 3


@pytest.mark.parametrize("sealed", [False, True])
def test_samples_of_one_lane_alone(tmp_path: Path, sealed: bool) -> None:
    path = made(tmp_path, [Facts({}), block(0, 0, 5, 6), block(1, 0, 7), block(0, 3, 8), End({})], sealed=sealed)
    for lane, latency, dropped in ((0, [5, 6, 8], [0, 1, 0]), (1, [7], [0])):
        ((found, missed, behind),) = store.iter_samples(path, lane)
        assert found.tolist() == latency and missed.tolist() == [0] * len(latency) and behind.tolist() == dropped
        assert {column.dtype for column in (found, missed, behind)} == {np.dtype(np.int64)}
    assert list(store.iter_samples(path, 2)) == []


def test_counting_again_needs_sealed_samples(tmp_path: Path) -> None:
    path = made(tmp_path, [Facts({}), block(3, 0, 5, 5), block(1, 0, 7), End({})], sealed=False)
    with pytest.raises(UsageError, match="not sealed"):
        store.histogram_from_samples(path)
    store.seal(path)
    again = store.histogram_from_samples(path)
    assert list(again) == [1, 3] and again[3].lower_ns.tolist() == [5] and again[3].counts.tolist() == [2]


def test_a_coarse_source_is_counted_again_in_its_bins(tmp_path: Path) -> None:
    path = made(tmp_path, [Facts({"bin_width_ns": 1000}), block(0, 0, 5000, 5000), End({})])
    again = store.histogram_from_samples(path)[0]
    assert (again.lower_ns.tolist(), again.width_ns.tolist(), again.counts.tolist()) == ([5000], [1000], [2])
    assert store.open_recording(path).lanes[0].histogram.width_ns.tolist() == [1000]


def test_hashes_are_compared_only_on_demand(tmp_path: Path) -> None:
    path = made(tmp_path, CYCLIC())
    log = path / "logs" / "probe.txt"
    manifest = store.load_manifest(path)
    log.write_text("abc")
    from rtassay.store.sealing import seals_of

    store.save_manifest(path, replace(manifest, seals=seals_of(path)))
    store.open_recording(path, verify=True)
    log.write_text("abd")
    store.open_recording(path)
    with pytest.raises(CorruptRecording, match=r"probe\.txt is damaged"):
        store.open_recording(path, verify=True)


def rewritten(path: Path, name: str, change: Any, **options: Any) -> None:
    """Another writer's table in the place of ours, with the seal that fits."""
    from rtassay.store.sealing import seals_of

    pq.write_table(change(pq.read_table(path / name)), path / name, **options)
    store.save_manifest(path, replace(store.load_manifest(path), seals=seals_of(path)))


def test_samples_without_statistics_are_read_by_their_lane(tmp_path: Path) -> None:
    path = made(tmp_path, [Facts({}), block(2, 0, 5, 6), End({})])
    rewritten(path, SAMPLES, lambda table: table, write_statistics=False)
    assert [columns[0].tolist() for columns in store.iter_samples(path, 2)] == [[5, 6]]
    assert list(store.histogram_from_samples(path)) == [2]


@pytest.mark.parametrize("statistics", [False, True])
def test_a_row_group_of_two_lanes_is_damage(tmp_path: Path, statistics: bool) -> None:
    path = made(tmp_path, [Facts({}), block(0, 0, 5), block(1, 0, 6), End({})])
    rewritten(path, SAMPLES, lambda table: table.combine_chunks(), write_statistics=statistics)
    for read in (lambda: list(store.iter_samples(path, 0)), lambda: store.histogram_from_samples(path)):
        with pytest.raises(CorruptRecording, match=r"samples\.parquet.*damaged"):
            read()


@pytest.mark.parametrize("name", [tables.HISTOGRAM, tables.SECONDS, tables.EVENTS])
def test_a_table_without_one_of_its_columns_is_damage(tmp_path: Path, name: str) -> None:
    path = made(tmp_path, CYCLIC())
    rewritten(path, name, lambda table: table.drop_columns([table.column_names[-1]]))
    with pytest.raises(CorruptRecording, match="it lacks columns"):
        store.open_recording(path)


def test_a_table_with_more_columns_is_read(tmp_path: Path) -> None:
    path = made(tmp_path, CYCLIC())
    before = store.open_recording(path)
    for name in (tables.HISTOGRAM, tables.SECONDS, tables.EVENTS):
        rewritten(path, name, lambda table: table.append_column("mine", pa.array([1] * len(table))))
    after = store.open_recording(path)
    assert after.events == before.events and after.lanes[0].histogram.total == before.lanes[0].histogram.total


@pytest.mark.parametrize("name", [tables.HISTOGRAM, tables.SECONDS, tables.EVENTS])
def test_a_table_that_was_never_sealed_is_missed(tmp_path: Path, name: str) -> None:
    path = made(tmp_path, CYCLIC())
    manifest = store.load_manifest(path)
    store.save_manifest(path, replace(manifest, seals={k: v for k, v in manifest.seals.items() if k != name}))
    with pytest.raises(CorruptRecording, match="never sealed"):
        store.open_recording(path)


@pytest.mark.parametrize("statistics", [False, True])
@pytest.mark.parametrize("order", [1, -1])
def test_events_and_spills_mixed_in_one_group_are_told_apart(tmp_path: Path, order: int, statistics: bool) -> None:
    spill = Spill(0, 0, *np.array([[8, 90, 1], [9, 91, 0]], np.int64).T)
    notes: list[Event] = [Note("break", 0, {"k": 1}), Note("zzz", None, {"mono_ns": 5})]
    path = made(tmp_path, [Facts({}), spill, *notes, End({})])
    rewritten(path, tables.EVENTS, lambda table: table.combine_chunks()[::order], write_statistics=statistics)
    recording = store.open_recording(path)
    found = [(event.kind, event.lane, event.mono_ns, event.fields) for event in recording.events]
    assert found[::order] == [
        ("break", 0, None, {"event": "break", "k": 1}),
        ("zzz", None, 5, {"event": "zzz", "mono_ns": 5}),
    ]
    assert recording.lanes[0].spills and list(recording.lanes[0].spills.rows()) == [(8, 90, 1), (9, 91, 0)]


def test_an_event_that_lacks_its_kind_is_damage(tmp_path: Path) -> None:
    path = made(tmp_path, [Facts({}), Note("break", 0, {"k": 1}), Note("zzz", None, {}), End({})])

    def without(table: pa.Table) -> pa.Table:
        at = table.column_names.index("kind")
        return table.set_column(at, table.field(at), pa.array(["break", None], table.field(at).type))

    rewritten(path, tables.EVENTS, without)
    with pytest.raises(CorruptRecording, match="an event lacks its kind"):
        store.open_recording(path)


@pytest.mark.parametrize("lacks", ["lane", "k", "latency_ns", "missed"])
def test_a_spill_that_lacks_a_value_is_damage(tmp_path: Path, lacks: str) -> None:
    spill = Spill(0, 0, *np.array([[8, 90, 1], [9, 91, 0]], np.int64).T)
    path = made(tmp_path, [Facts({}), spill, End({})])

    def without(table: pa.Table) -> pa.Table:
        at = table.column_names.index(lacks)
        column = table.column(at).to_pylist()
        return table.set_column(at, table.field(at), pa.array([column[0], None], table.field(at).type))

    rewritten(path, tables.EVENTS, without)
    with pytest.raises(CorruptRecording, match="a spill lacks"):
        store.open_recording(path)


def test_messages_come_back_in_order_of_time(tmp_path: Path) -> None:
    given = [Message("kernel", 30, "späte"), Message("kernel", 10, 'a "quoted" one'), Message("x", 20, "")]
    path = made(tmp_path, CYCLIC(), messages=given)
    assert store.open_recording(path, verify=True).messages == (given[1], given[2], given[0])
    assert store.open_recording(made(tmp_path, CYCLIC())).messages == ()
    from rtassay.store.sealing import seals_of

    (path / "messages.jsonl").write_text("{")
    store.save_manifest(path, replace(store.load_manifest(path), seals=seals_of(path)))
    with pytest.raises(CorruptRecording, match=r"messages\.jsonl is damaged"):
        store.open_recording(path)


def test_telemetry_is_one_series_for_each_monitor_name_and_unit(tmp_path: Path) -> None:
    rows = [("a", "n", 1, 0.5, "s"), ("b", "n", 2, 1.5, "s"), ("a", "n", 3, 2.5, "s"), ("a", "n", 4, 3.5, "Hz")]
    path = made(tmp_path, CYCLIC(), telemetry_rows=rows)
    found = {
        (s.monitor, s.name, s.unit): (s.mono_ns.tolist(), s.values.tolist())
        for s in store.open_recording(path).telemetry
    }
    assert found == {
        ("a", "n", "s"): ([1, 3], [0.5, 2.5]),
        ("b", "n", "s"): ([2], [1.5]),
        ("a", "n", "Hz"): ([4], [3.5]),
    }
    assert store.open_recording(made(tmp_path, CYCLIC())).telemetry == ()


def test_an_unsealed_recording_without_its_stream_says_so(tmp_path: Path) -> None:
    path = made(tmp_path, CYCLIC(), sealed=False)
    (path / "stream.rtw").unlink()
    for read in (store.open_recording, store.seal, lambda at: list(store.iter_samples(at, 0))):
        with pytest.raises(CorruptRecording, match="stream"):
            read(path)
    with pytest.raises(CorruptRecording, match="holds no stream"):
        store.RecordingWriter.resume(path)
