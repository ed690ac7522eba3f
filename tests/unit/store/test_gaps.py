"""Gaps of a busy lane from the stream to a recording that is opened, and what is said of them."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.model.errors import CorruptRecording
from rtassay.model.events import End, Event, Gaps
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.model.recording import Recording
from rtassay.reports.recording import noise
from rtassay.store import tables
from rtassay.store.sealing import seals_of
from rtassay.wire.encode import StreamEncoder

MAKE = runpy.run_path(str(Path(__file__).parents[3] / "wire" / "golden" / "make.py"))
ORIGIN_NS: int = MAKE["ORIGIN_NS"]
NOISE = MAKE["noise"]
MS = 1_000_000


def made(home: Path, events: list[Event], *, sealed: bool) -> Path:
    blank = Manifest(store.new_id(), "2026-11-23T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(events))
    if sealed:
        store.seal(writer.path)
    return writer.path


def gaps_of(recording: Recording, lane: int) -> list[tuple[int, int]]:
    found = recording.lanes[lane].gaps
    return [] if found is None else list(zip(found.start_ns.tolist(), found.length_ns.tolist(), strict=True))


@pytest.mark.parametrize("sealed", [False, True])
def test_gaps_come_back_with_their_lane_and_in_order(tmp_path: Path, sealed: bool) -> None:
    late = Gaps(0, 0, *np.array([[ORIGIN_NS + MS, 7000]], np.int64).T)
    recording = store.open_recording(made(tmp_path, [*NOISE()[:-1], late, NOISE()[-1]], sealed=sealed))
    kept = [(ORIGIN_NS + MS, 7000), (ORIGIN_NS + 6 * MS, 5_000_000), (ORIGIN_NS + 25 * MS, 5000)]
    assert gaps_of(recording, 0) == kept and recording.lanes[1].gaps is None
    first, second = (lane.entry for lane in recording.lanes)
    assert (first.gaps, first.gaps_kept) == (4, 2) and (second.gaps, second.gaps_kept) == (None, None)


def test_a_stream_that_was_cut_counts_what_came(tmp_path: Path) -> None:
    recording = store.open_recording(made(tmp_path, NOISE()[:-1], sealed=True))
    assert (recording.lanes[0].entry.gaps, recording.lanes[0].entry.gaps_kept) == (4, 2)


def test_gaps_spills_and_events_mixed_in_one_group_are_told_apart(tmp_path: Path) -> None:
    path = made(tmp_path, NOISE(), sealed=True)
    before = store.open_recording(path)
    rewritten(path, lambda table: table.combine_chunks()[::-1])
    after = store.open_recording(path)
    assert gaps_of(after, 0) == gaps_of(before, 0)
    assert after.lanes[0].spills is not None and before.lanes[0].spills is not None
    assert list(after.lanes[0].spills.rows()) == list(before.lanes[0].spills.rows())


def test_a_gap_without_its_start_is_damage(tmp_path: Path) -> None:
    path = made(tmp_path, NOISE(), sealed=True)

    def without(table: pa.Table) -> pa.Table:
        at = table.column_names.index("mono_ns")
        return table.set_column(at, table.field(at), pa.nulls(len(table), table.field(at).type))

    rewritten(path, without)
    with pytest.raises(CorruptRecording, match="a gap lacks"):
        store.open_recording(path)


def test_findings_tell_the_share_the_longest_gaps_and_how_many(tmp_path: Path) -> None:
    recording = store.open_recording(made(tmp_path, NOISE(), sealed=True))
    findings = judge(recording)
    first, second = findings.lanes
    assert first.noise is not None and second.noise is None and findings.pooled.noise is None
    assert first.noise.share == pytest.approx(5_016_000 / 30_000_000)
    assert (first.noise.gaps, first.noise.kept) == (4, 2)
    assert [(gap.start_ns - ORIGIN_NS, gap.length_ns) for gap in first.noise.longest] == [
        (6 * MS, 5 * MS),
        (25 * MS, 5000),
    ]
    told = noise.in_words(findings, replaced(recording, ORIGIN_NS))
    assert told == (
        "16.7 % of the time of CPU0 total was taken; longest gap 5 ms on CPU0 total, 0.006000 s after the start; 4 gaps, 2 kept"
    )
    assert noise.rows(findings, replaced(recording, ORIGIN_NS)) == [
        ("CPU0 total", "0.006000", "5000.0"),
        ("CPU0 total", "0.025000", "5.0"),
    ]


def test_a_recording_of_wake_ups_has_no_noise(tmp_path: Path) -> None:
    recording = store.open_recording(made(tmp_path, MAKE["cyclic"](), sealed=True))
    findings = judge(recording)
    assert all(lane.noise is None for lane in findings.lanes)
    assert noise.in_words(findings, recording) is None and noise.rows(findings, recording) == []


def test_a_share_is_not_told_where_windows_were_dropped(tmp_path: Path) -> None:
    events = NOISE()
    (end,) = [event for event in events if isinstance(event, End)]
    end.data["lanes"][0] |= {"due": 5, "dropped": 2}
    recording = store.open_recording(made(tmp_path, events, sealed=True))
    first = judge(recording).lanes[0]
    assert first.noise is not None and first.noise.share is None


def replaced(recording: Recording, started_ns: int) -> Recording:
    return replace(recording, manifest=replace(recording.manifest, started_ns=started_ns))


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """`events.parquet` as another writer would have it, sealed again."""
    pq.write_table(change(pq.read_table(path / tables.EVENTS)), path / tables.EVENTS)
    store.save_manifest(path, replace(store.load_manifest(path), seals=seals_of(path)))
