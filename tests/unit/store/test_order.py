"""The order of late activations: which samples sealing keeps with their positions, and which are read only when a deadline asks."""

from __future__ import annotations

import runpy
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay import store
from rtassay.analysis.lane.account import accounts
from rtassay.model.errors import CorruptRecording
from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Samples, Spill
from rtassay.model.manifest import Manifest, Plan, Seal, Source
from rtassay.model.recording import Recording
from rtassay.store import managing, order, samples, tables
from rtassay.store.counts import Counts
from rtassay.store.reading import last_latencies
from rtassay.wire.encode import StreamEncoder

CYCLIC = runpy.run_path(str(Path(__file__).parents[3] / "wire" / "golden" / "make.py"))["cyclic"]
INTERVAL = 1_000_000


def block(lane: int, first_k: int, latency_ns: Any, missed: Any = None) -> Samples:
    none = np.zeros(len(latency_ns), np.int64)
    gaps = none if missed is None else np.asarray(missed, np.int64)
    return Samples(lane, first_k, np.asarray(latency_ns, np.int64), gaps, none)


def spill(lane: int, *rows: tuple[int, int, int]) -> Spill:
    return Spill(lane, 0, *np.array(rows, np.int64).reshape(-1, 3).T)


def sealed(home: Path, events: list[Event], **plan: Any) -> Path:
    blank = Manifest(store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan(**plan))
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(events))
    store.seal(writer.path)
    return writer.path


def rows(recording: Recording, lane: int = 0) -> list[tuple[int, int, int]]:
    spills = recording.lanes[lane].spills
    return [] if spills is None else list(spills.rows())


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits as for a long run: of 40 samples the ten latest are kept."""
    monkeypatch.setattr(order, "LEAST_ROWS", 10)
    monkeypatch.setattr(order, "MOST_ROWS", 20)


def table_of(values: list[int], width: int = 1) -> tuple[Any, Any, Any]:
    counts = Counts()
    counts.add_values(np.array(values))
    return counts.table(width)


def test_the_latest_of_a_thousand_are_kept_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    values = list(range(5000))
    assert order.late_from(table_of(values), None) == 4000
    monkeypatch.setattr(order, "LEAST_ROWS", 2)
    assert order.late_from(table_of(values), None) == 4994, "the 4,995th is p99.9, with which the tail begins"
    assert order.late_from(table_of([*values, *[4994] * 4]), None) == 4994
    assert order.late_from(table_of([*values, *[4994] * 5]), None) == 4995, "so many equal ones are no part of it"
    monkeypatch.setattr(order, "MOST_ROWS", 3)
    assert order.late_from(table_of(values), None) == 4997
    # the exceedances of the run's own deadline, up to the same limit; the upper end of a bin decides
    assert order.late_from(table_of(values), 4998) == 4997
    assert order.late_from(table_of(values), 4997) == 4997
    assert order.late_from(table_of(values), 4996) == 4997
    monkeypatch.setattr(order, "MOST_ROWS", 100)
    assert order.late_from(table_of(values), 4950) == 4950
    assert order.late_from(table_of([10, 20, 30, 40, 50], 10), 40) == 40
    assert order.late_from(table_of([10, 20, 30, 40, 50], 10), 39) == 30


def test_equal_samples_are_kept_together_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "LEAST_ROWS", 3)
    assert order.late_from(table_of([1, 2, 2, 2, 3, 3]), None) == 3
    assert order.late_from(table_of([2, 2, 2, 2]), None) is None
    assert order.late_from(table_of([]), None) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_late_samples_stand_at_the_positions_of_the_whole_sequence(data: st.DataObject) -> None:
    """Cut into any blocks, some of them skipped by their maximum: the same rows as by one sample after the other."""
    length = data.draw(st.integers(1, 40))
    numbers = st.lists(st.integers(0, 9), min_size=length, max_size=length)
    latency, missed, dropped = (np.array(data.draw(numbers)) for _ in range(3))
    missed, dropped = np.where(missed > 7, missed, 0), np.where(dropped > 8, dropped, 0)
    level, first_k = data.draw(st.integers(0, 9)), data.draw(st.integers(0, 3))
    late = samples.LateSamples(level, first_k)
    cuts = sorted(data.draw(st.sets(st.integers(1, length), max_size=5)))
    for begin, end in zip([0, *cuts], [*cuts, length], strict=True):
        part = [column[begin:end] for column in (latency, missed, dropped)]
        if end > begin and part[0].max() < level:
            late.skip(end - begin + int(part[1].sum() + part[2].sum()))
        else:
            late.take(*part)
    expected, k = [], first_k
    for value, gap, lost in zip(latency.tolist(), missed.tolist(), dropped.tolist(), strict=True):
        if value >= level:
            expected.append((k, value, gap))
        k += 1 + gap + lost
    assert list(late.spills().rows()) == expected


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("plan", "facts"), [({"deadline_ns": 900}, {}), ({}, {"requested": {"deadline_ns": 900}})])
def test_a_burst_beyond_the_probes_limit_has_its_order(
    tmp_path: Path, plan: dict[str, int], facts: dict[str, Any]
) -> None:
    """Fifteen late ones within a second, of which the probe sent two: their order is known all the same, down to the run's deadline."""
    latency = [50] * 100 + list(range(1000, 1015)) + [50] * 100
    frame = Spill(0, 13, *np.array([[100, 1000, 0], [101, 1001, 0]]).T)
    facts = {"interval_ns": INTERVAL, **facts}
    path = sealed(tmp_path, [Facts(facts), frame, block(0, 0, latency), End({})], **plan)
    recording = store.open_recording(path)
    assert rows(recording) == [(100 + i, 1000 + i, 0) for i in range(15)]
    assert accounts(recording)[0].ordered_from_ns == 51


@pytest.mark.usefixtures("few")
def test_a_deadline_below_what_was_kept_reads_the_samples(tmp_path: Path) -> None:
    latency = [5, 90, 5, 80, 70, 5, 60, *[100] * 8, 5]
    missed = [0, 3, 0, 0, 1, *[0] * 11]
    facts = {"interval_ns": INTERVAL, "requested": {"deadline_ns": 95}}
    path = sealed(tmp_path, [Facts(facts), block(1, 0, latency, missed), block(0, 2, [5, 6]), End({})])
    recording = store.open_recording(path)
    second = accounts(recording)[1]
    assert [row[1] for row in rows(recording, 1)] == [90, 80, *[100] * 8]
    assert second.ordered_from_ns == 71
    for deadline in (95, 71):
        assert store.with_order(recording, deadline) is recording
    lower = store.with_order(recording, 70)
    assert [row[1] for row in rows(lower, 1)] == [90, 80, 70, *[100] * 8]
    assert rows(lower, 1)[:3] == [(1, 90, 3), (6, 80, 0), (7, 70, 1)]
    assert lower.lanes[0] is recording.lanes[0] and accounts(lower)[1].ordered_from_ns == 61
    everything = store.with_order(recording, 1)
    assert len(rows(everything, 1)) == 16 and accounts(everything)[1].ordered_from_ns == 0
    assert store.with_order(recording, None) is recording
    assert store.with_order(replace(recording, path=None), 1).lanes == recording.lanes


@pytest.mark.usefixtures("few")
def test_more_late_ones_than_the_limit_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sealed(tmp_path, [Facts({}), block(0, 0, range(40)), End({})])
    recording = store.open_recording(path)
    monkeypatch.setattr(samples, "READ_MOST", 30)
    assert len(rows(store.with_order(recording, 10))) == 30
    assert store.with_order(recording, 9) is recording


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("statistics", [True, False])
def test_row_groups_without_a_late_sample_count_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statistics: bool
) -> None:
    """Groups of three samples: one has missed activations and nothing late, another nothing at all; statistics may be absent."""
    monkeypatch.setattr(tables, "GROUP_ROWS", 3)
    latency = [1, 2, 3, 1, 1, 1, 50, 60, 1, *range(70, 92)]
    missed = [0, 4, 0, *[0] * 28]
    path = sealed(tmp_path, [Facts({}), block(0, 0, latency, missed), End({})])
    if not statistics:
        from rtassay.store.sealing import seals_of

        table = pq.read_table(path / samples.SAMPLES)
        pq.write_table(table, path / samples.SAMPLES, row_group_size=3, write_statistics=False)
        store.save_manifest(path, replace(store.load_manifest(path), seals=seals_of(path)))
    recording = store.open_recording(path)
    assert rows(recording)[0][1] == 82
    assert rows(store.with_order(recording, 50))[:3] == [(10, 50, 0), (11, 60, 0), (13, 70, 0)]


@pytest.mark.usefixtures("few")
def test_samples_that_cannot_be_read_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = sealed(tmp_path, [Facts({}), block(0, 0, range(40)), End({})])
    recording = store.open_recording(path)
    file = path / samples.SAMPLES
    file.write_bytes(file.read_bytes()[:-9] + b"\0" * 9)
    with pytest.raises(CorruptRecording, match=r"samples\.parquet is damaged or missing"):
        store.with_order(recording, 5)


@pytest.mark.usefixtures("few")
def test_where_samples_are_missing_the_probes_own_frames_fill_in(tmp_path: Path) -> None:
    """Samples 20 to 29 never arrived, the frame with the late one among them did. Nothing stands twice."""
    part = HistogramPart(0, np.array([5, 90, 95]), np.array([1, 1, 1]), np.array([38, 1, 1]))
    first, last = [5] * 10 + [90] + [5] * 9, [5] * 10
    frame = spill(0, (10, 90, 0), (25, 95, 0))
    events: list[Event] = [Facts({}), block(0, 0, first), frame, block(0, 30, last), part, End({})]
    recording = store.open_recording(sealed(tmp_path, events))
    assert rows(recording) == [(10, 90, 0), (25, 95, 0)]
    assert accounts(recording)[0].ordered_from_ns == 6


def test_without_samples_the_frames_are_all_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept in pieces and on disk meanwhile; the file for it is gone in the end."""
    monkeypatch.setattr(order, "_ROWS_AT_ONCE", 2)
    frames = [spill(1, (1, 90, 0), (2, 91, 0), (3, 92, 1)), spill(0, (7, 80, 0)), spill(1, (9, 93, 0))]
    path = sealed(tmp_path, [Facts({}), *frames, Note("break", 0, {}), End({})])
    recording = store.open_recording(path, verify=True)
    assert rows(recording, 0) == [(7, 80, 0)]
    assert rows(recording, 1) == [(1, 90, 0), (2, 91, 0), (3, 92, 1), (9, 93, 0)]
    assert not [file for file in path.rglob(".spills*")]


def test_a_sample_told_twice_counts_once(tmp_path: Path) -> None:
    part = HistogramPart(0, np.array([90]), np.array([1]), np.array([2]))
    path = sealed(tmp_path, [Facts({}), spill(0, (3, 90, 0)), spill(0, (3, 90, 0)), part, End({})])
    recording = store.open_recording(path)
    assert rows(recording) == [(3, 90, 0)] and accounts(recording)[0].ordered_from_ns is None


def test_every_exceedance_of_a_sealed_stream_has_its_order(tmp_path: Path) -> None:
    recording = store.open_recording(sealed(tmp_path, CYCLIC()))
    for lane in accounts(recording):
        assert lane.ordered_from_ns is not None and lane.ordered_from_ns <= 0 and lane.spills.k.size == lane.entry.n


def test_an_imported_sequence_with_an_interval_has_events(tmp_path: Path) -> None:
    """Three bursts of four late ones in a table: the number of events is known, at a deadline below the latest thousand too."""
    from rtassay.analysis.judge import judge
    from rtassay.cli.import_ import _with_interval
    from rtassay.importers.table import TableImporter

    latency = np.full(3000, 5.0)
    for begin in (100, 700, 2000):
        latency[begin : begin + 4] = 60.5
    latency[2500:] = 7.25
    file = tmp_path / "a.csv"
    file.write_text("latency_us\n" + "\n".join(map(str, latency)))
    member = TableImporter()
    events = _with_interval(member.read(file), INTERVAL)
    recording = store.open_recording(store.import_events(tmp_path, file, member.source(file), events))
    for deadline, exceedances, clusters in ((50_000, 12, 3), (7_000, 512, 4), (60_510, 0, 0)):
        verdict = judge(store.with_order(recording, deadline), deadline_ns=deadline, p_target=0.5).verdict
        assert verdict is not None and (verdict.exceedances, verdict.events) == (exceedances, clusters)


def test_the_last_latency_of_every_lane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "GROUP_ROWS", 3)
    path = sealed(tmp_path, [Facts({}), block(0, 0, [1, 2, 3, 4, 7]), block(1, 0, [5, 9, 8, 6]), End({})])
    assert last_latencies(path) == {0: 7, 1: 6}
    part = HistogramPart(0, np.array([5]), np.array([1]), np.array([9]))
    assert last_latencies(sealed(tmp_path, [Facts({}), part, End({})])) == {}


@pytest.mark.parametrize(
    ("deadline_ns", "spilled", "width", "level"),
    [
        (21, [20], 1, 30),  # 20 does not reach 21: 30 is not there
        (20, [20], 1, 20),
        (20, [20, 30], 1, None),
        (21, [30], 1, None),
        (31, [], 1, None),
        (30, [], 1, 30),
        (1, None, 1, 10),
        (25, [20], 10, 20),  # bins of 10: 20 .. 29 reaches 25
        (30, [20], 10, 30),
        (25, [20, 30], 10, None),
    ],
)
def test_from_where_samples_are_missing(
    deadline_ns: int, spilled: list[int] | None, width: int, level: int | None
) -> None:
    from rtassay.model.manifest import LaneEntry
    from rtassay.model.recording import Histogram, Lane, Spills

    bins = Histogram(np.array([10, 20, 30]), np.full(3, width), np.ones(3, np.int64))
    none = np.zeros(len(spilled or ()), np.int64)
    lane = Lane(
        LaneEntry(0, "0", 0, None, 3),
        bins,
        None,
        None if spilled is None else Spills(none, np.array(spilled, np.int64), none),
    )
    assert samples._missing_from(lane, deadline_ns, width) == level
    many = replace(lane, histogram=Histogram(bins.lower_ns, bins.width_ns, np.array([samples.READ_MOST, 0, 1])))
    assert samples._missing_from(many, 1, width) is None, "too many to be read"
    some = replace(
        lane, histogram=Histogram(bins.lower_ns, bins.width_ns, np.array([samples.READ_MOST - 1, 0, 1])), spills=None
    )
    assert samples._missing_from(some, 1, width) == 10


def test_frames_that_waited_come_back_lane_by_lane(tmp_path: Path) -> None:
    frames = order.SpillFrames(tmp_path)
    for made in (spill(2, (5, 50, 1)), spill(0, (1, 10, 0), (3, 30, 2)), spill(2, (7, 70, 0))):
        frames.add(made)
    found = list(frames.read())
    assert [(one.lane, one.suppressed) for one in found] == [(0, 0), (2, 0)], (
        "what was left out is told by other tables"
    )
    assert [list(zip(one.k, one.latency_ns, one.missed, strict=True)) for one in found] == [
        [(1, 10, 0), (3, 30, 2)],
        [(5, 50, 1), (7, 70, 0)],
    ]
    frames.close()
    assert list(tmp_path.iterdir()) == [] and list(order.SpillFrames(tmp_path).read()) == []


@pytest.fixture
def more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 samples the four latest stand among the events, and the twenty latest in LATE."""
    monkeypatch.setattr(order, "LEAST_ROWS", 4)
    monkeypatch.setattr(order, "LATE_ONE_OF", 2)


@pytest.mark.usefixtures("more")
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_the_order_is_the_same_from_the_file_of_late_samples_and_from_all_samples(data: st.DataObject) -> None:
    lanes = data.draw(st.integers(1, 2))
    events: list[Event] = [
        Facts({"interval_ns": INTERVAL, "requested": {"deadline_ns": data.draw(st.integers(1, 60))}})
    ]
    for lane in range(lanes):
        length = data.draw(st.integers(1, 60))
        latency = data.draw(st.lists(st.integers(-2, 40), min_size=length, max_size=length))
        missed = data.draw(st.lists(st.sampled_from([0, 0, 0, 2]), min_size=length, max_size=length))
        events.append(block(lane, data.draw(st.integers(0, 3)), latency, missed))
    with tempfile.TemporaryDirectory() as home:
        recording = store.open_recording(sealed(Path(home), [*events, End({})]))
        manifest = recording.manifest
        without = replace(recording, manifest=replace(manifest, seals=_but(manifest, samples.LATE)))
        for deadline in range(1, 42, 2):
            told, read = store.with_order(recording, deadline), store.with_order(without, deadline)
            assert [rows(told, lane) for lane in range(lanes)] == [rows(read, lane) for lane in range(lanes)]


def _but(manifest: Manifest, name: str) -> dict[str, Seal]:
    return {file: seal for file, seal in manifest.seals.items() if file != name}


@pytest.mark.usefixtures("more")
def test_a_deadline_within_the_late_samples_decodes_no_others(tmp_path: Path) -> None:
    """Nor does it need them: their order stays known when the samples are removed."""
    path = sealed(tmp_path, [Facts({"interval_ns": INTERVAL}), block(0, 0, range(40)), block(1, 0, [7] * 30), End({})])
    recording = store.open_recording(path, verify=True)
    assert [row[1] for row in rows(recording)] == [36, 37, 38, 39] and rows(recording, 1) == []
    (path / samples.SAMPLES).rename(path / "aside")
    assert [row[1] for row in rows(store.with_order(recording, 21))] == list(range(21, 40))
    with pytest.raises(CorruptRecording, match=r"samples\.parquet"):
        store.with_order(recording, 19)
    (path / "aside").rename(path / samples.SAMPLES)
    assert len(rows(store.with_order(recording, 19))) == 21
    assert len(rows(store.with_order(recording, 5), 1)) == 30
    managing.remove_samples(path)
    left = store.open_recording(path, verify=True)
    assert samples.LATE in left.manifest.seals and len(rows(store.with_order(left, 21))) == 19
    assert store.with_order(left, 5).lanes[1] is left.lanes[1]


def test_late_samples_have_a_file_where_they_are_more_than_stand_among_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not (sealed(tmp_path, [Facts({}), block(0, 0, range(40)), End({})]) / samples.LATE).exists()
    assert order.kept_from(table_of(list(range(100))), 1) == 95
    assert order.kept_from(table_of([5] * 100), 1) is None
    monkeypatch.setattr(order, "LATE_MOST_ROWS", 6)
    assert order.kept_from(table_of(list(range(200))), 1) == 194
    assert order.kept_from(table_of(list(range(200))), 2) == 197
    monkeypatch.setattr(order, "MOST_ROWS", 2)
    assert order.kept_from(table_of(list(range(200))), 2) == 198


@pytest.mark.usefixtures("more")
def test_late_samples_that_cannot_be_read_are_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = sealed(tmp_path, [Facts({}), block(0, 0, range(40)), End({})])
    recording = store.open_recording(path)
    (path / samples.LATE).write_bytes(b"PAR1 no more")
    with pytest.raises(CorruptRecording, match=r"late\.parquet is damaged or missing"):
        store.with_order(recording, 25)
