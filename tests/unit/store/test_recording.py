"""A recording from its first byte to its seal, on good and bad days."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtassay import store
from rtassay.model import warnings
from rtassay.model.errors import BoardError, CorruptRecording, InputFileError, NewerFormat, UsageError
from rtassay.model.events import End, Facts, FileContent, HistogramPart, Note, Output, Parser, Samples, Spill
from rtassay.model.manifest import Manifest, Plan, RunWarning, Source
from rtassay.store import sealing
from rtassay.wire.encode import StreamEncoder
from rtassay.wire.stream import StreamParser

ROOT = Path(__file__).parents[3]
CYCLIC = runpy.run_path(str(ROOT / "wire" / "golden" / "make.py"))["cyclic"]
DATA = (ROOT / "wire" / "golden" / "v1" / "cyclic.rtw").read_bytes()


def manifest(**changes: Any) -> Manifest:
    blank = Manifest(store.new_id(), "2026-11-21T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    return replace(blank, **changes)


def record(home: Path, data: bytes, **changes: Any) -> Path:
    with store.RecordingWriter.create(home, manifest(**changes), "stream.rtw") as writer:
        for start in range(0, len(data), 1000):
            writer.append(data[start : start + 1000])
    return writer.path


def latencies(events: list[Any], lane: int) -> list[int]:
    return [v for e in events if isinstance(e, Samples) and e.lane == lane for v in e.latency_ns.tolist()]


def everything(path: Path, lane: int) -> tuple[list[int], list[int], list[int]]:
    blocks = list(store.iter_samples(path, lane))
    latency, missed, dropped = (np.concatenate([b[i] for b in blocks]).tolist() for i in range(3))
    return latency, missed, dropped


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = record(tmp_path_factory.mktemp("home"), DATA)
    store.seal(path)
    return path


def test_unsealed_and_sealed_say_the_same(tmp_path: Path) -> None:
    path = record(tmp_path, DATA)
    before = store.open_recording(path)
    kept = [everything(path, lane) for lane in (0, 1)]
    assert not before.manifest.sealed
    manifest_after = store.seal(path)
    after = store.open_recording(path, verify=True)
    assert after.manifest == manifest_after and manifest_after.sealed
    assert sorted(p.name for p in path.iterdir()) == [
        *("events.parquet", "histogram.parquet", "jitter.parquet", "logs", "manifest.json", "samples.parquet"),
        "seconds.parquet",
    ]
    assert replace(before.manifest, sealed=True, seals=manifest_after.seals) == manifest_after
    assert [everything(path, lane) for lane in (0, 1)] == kept
    for a, b in zip(before.lanes, after.lanes, strict=True):
        assert a.entry == b.entry
        # The probe's own frames have the late ones up to a limit; sealing takes them out of all samples.
        assert a.spills and b.spills and set(a.spills.rows()) <= set(b.spills.rows())
        for table in ("histogram", "seconds"):
            left, right = getattr(a, table), getattr(b, table)
            for name in (one.name for one in fields(left)):
                x, y = getattr(left, name), getattr(right, name)
                assert np.array_equal(x, y) if hasattr(x, "dtype") else x == y
    assert before.events == after.events and [e.kind for e in after.events] == ["signal"]


def test_samples_and_account(sealed: Path) -> None:
    recording = store.open_recording(sealed)
    m = recording.manifest
    assert m.warnings == () and m.damage.cut is False and m.end_reason == "signal" and m.has_samples
    assert m.started_ns == 1_000_000_000_000 and m.wall_start == "2001-09-09T02:03:20.000Z"
    assert m.source.version == "0.1.0" and m.bin_width_ns == 1
    events = CYCLIC()
    for lane in recording.lanes:
        e = lane.entry
        assert e.due == e.n + e.missed + e.dropped + e.truncated
        latency, missed, dropped = everything(sealed, e.index)
        assert latency == latencies(events, e.index) and len(latency) == e.n == lane.histogram.total
        assert sum(missed) + 2 == e.missed and sum(dropped) == e.dropped and e.first_k == 2
        assert e.over == 0 and e.obtained_start == e.obtained_end and e.tid == 4243 + e.index
        # The k of every spilled sample follows from the columns as RECORDING.md says.
        k = np.arange(e.n) + np.concatenate([[0], np.cumsum(np.array(missed) + np.array(dropped))[:-1]]) + e.first_k
        at = {int(a): latency[j] for j, a in enumerate(k)}
        assert lane.spills and all(at[k] == latency_ns for k, latency_ns, _ in lane.spills.rows())
    again = store.histogram_from_samples(sealed)
    for lane in recording.lanes:
        assert np.array_equal(again[lane.entry.index].counts, lane.histogram.counts)
        assert np.array_equal(again[lane.entry.index].lower_ns, lane.histogram.lower_ns)


def test_other_tools_read_the_parquet(sealed: Path) -> None:
    import duckdb

    samples = duckdb.sql(
        f"select lane, count(*), max(latency_ns) from '{sealed}/samples.parquet' group by 1 order by 1"
    )
    assert samples.fetchall() == [(0, 120, 5_000_000_000), (1, 120, 5_000_000_000)]
    for name in ("histogram", "seconds"):
        column = "count" if name == "histogram" else "n"
        (total,) = duckdb.sql(f"select sum({column}) from '{sealed}/{name}.parquet'").fetchall()[0]
        assert total == 240
    kinds = duckdb.sql(f"select kind, count(*) from '{sealed}/events.parquet' group by 1 order by 1").fetchall()
    assert dict(kinds)["signal"] == 1 and dict(kinds)["spill"] == len(store.open_recording(sealed).lanes[0].spills) * 2


def test_cut_stream_seals_with_what_is_there(tmp_path: Path) -> None:
    events = CYCLIC()
    whole = StreamEncoder()
    frames = [whole.encode(event) for event in events]
    # FACTS, three blocks of lane 0, and half a SECOND.
    path = record(tmp_path, b"".join(frames[:4]) + frames[4][:40], plan=Plan(deadline_ns=100_000))
    store.seal(path)
    recording = store.open_recording(path, verify=True)
    assert recording.manifest.damage.cut and recording.manifest.damage.skipped_bytes == 40
    assert recording.manifest.end_reason == "cut" and recording.manifest.sealed
    first, second = (lane.entry for lane in recording.lanes)
    latency, missed, _ = everything(path, 0)
    assert latency == latencies(events, 0)
    assert (first.n, first.missed, first.dropped) == (120, sum(missed) + 2, 3)
    assert first.truncated is None and first.due == first.n + first.missed + first.dropped
    assert first.exceedances == sum(value >= 100_000 for value in latency)
    assert first.max_ns == max(latency) and first.min_ns == -37 and first.sum_ns == sum(latency)
    assert second.n == 0 and second.due is None and second.missed is None


def test_lost_block_keeps_its_place_and_is_reported(tmp_path: Path) -> None:
    events = CYCLIC()
    encoder = StreamEncoder()
    frames = [encoder.encode(event) for event in events]
    path = record(tmp_path, b"".join(frames[:2] + frames[3:]))  # the second block of lane 0 never arrived
    sealed = store.seal(path)
    assert sealed.damage.lost_frames == 1
    lane = sealed.lanes[0]
    assert lane.n == 120  # as END and HISTOGRAM say
    latency, missed, dropped = everything(path, 0)
    assert len(latency) == 80 and dropped[39] == 3 + 40
    assert len(latency) + sum(missed) + sum(dropped) + lane.first_k == lane.due
    counts = {"samples": 80, "HISTOGRAM": 120, "SECOND": 120, "END": 120}
    assert RunWarning(warnings.COUNTS_DIFFER, 0, {"of": "samples", "counts": counts}) in sealed.warnings
    assert RunWarning(warnings.ACTIVATIONS_LOST, 0, {"activations": 40}) in sealed.warnings
    assert {warning.lane for warning in sealed.warnings} == {0}
    assert store.open_recording(path).lanes[0].histogram.total == 120  # the more complete one


def test_disagreeing_end_is_kept_and_reported(tmp_path: Path) -> None:
    events = CYCLIC()
    end = events[-1].data
    wrong = {**end, "lanes": [{**end["lanes"][0], "n": 119}, end["lanes"][1]]}
    path = record(tmp_path, StreamEncoder().encode_all([*events[:-1], End(wrong)]))
    sealed = store.seal(path)
    (warning,) = sealed.warnings
    assert sealed.lanes[0].n == 119 and (warning.code, warning.lane) == (warnings.COUNTS_DIFFER, 0)
    assert warning.facts["of"] == "samples" and warning.facts["counts"]["END"] == 119
    assert store.load_manifest(path).warnings == sealed.warnings


def test_differing_histogram_is_reported(tmp_path: Path) -> None:
    events = CYCLIC()
    for i, e in enumerate(events):
        if isinstance(e, HistogramPart) and e.lane == 1:
            events[i] = replace(e, lower_ns=np.concatenate([e.lower_ns[:1] - 1, e.lower_ns[1:]]))
    sealed = store.seal(record(tmp_path, StreamEncoder().encode_all(events)))
    assert sealed.warnings == (RunWarning(warnings.HISTOGRAM_DIFFERS, 1),)


@pytest.mark.parametrize(
    ("said", "kept"), [("response:futex", "response:futex"), (None, "unknown"), ("cyclic", "unknown"), (7, "unknown")]
)
def test_a_lane_keeps_the_measure_that_its_probe_states(tmp_path: Path, said: Any, kept: str) -> None:
    events = CYCLIC()
    facts = events[0].data
    events[0] = Facts({**facts, "lanes": [facts["lanes"][0], {**facts["lanes"][1], "measure": said}]})
    sealed = store.seal(record(tmp_path, StreamEncoder().encode_all(events)))
    assert [lane.measure for lane in sealed.lanes] == ["wake-up", kept]


@pytest.mark.parametrize("rows_at_once", [1, 3, 1 << 16])
def test_spills_come_back_as_columns_by_rising_k(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    """Frames of two lanes between other events, the second one of a lane out of order: sealed and unsealed say the same."""
    monkeypatch.setattr("rtassay.store.tables._ROWS_AT_ONCE", rows_at_once)

    def spill(lane: int, *rows: tuple[int, int, int]) -> Spill:
        return Spill(lane, 0, *np.array(rows, np.int64).T)

    late = [spill(0, (50, 900, 8), (51, -7, 0)), spill(1, (9, 5_000_000_000, 1)), spill(0, (3, 1, 0), (4, 2, 0))]
    base = [e for e in CYCLIC() if not isinstance(e, Spill | Samples)]
    path = record(
        tmp_path, StreamEncoder().encode_all([base[0], late[0], Note("break", 0, {"k": 3}), *late[1:], *base[1:]])
    )
    unsealed = store.open_recording(path)
    store.seal(path)
    for recording in (unsealed, store.open_recording(path, verify=True)):
        first, second = (lane.spills for lane in recording.lanes)
        assert first and list(first.rows()) == [(3, 1, 0), (4, 2, 0), (50, 900, 8), (51, -7, 0)]
        assert second and list(second.rows()) == [(9, 5_000_000_000, 1)] and second.k.dtype == np.int64
        assert [event.kind for event in recording.events] == ["break", "signal"]
        assert recording.lanes[0].entry.spilled is not None


def test_a_lane_without_spills_has_none(tmp_path: Path) -> None:
    events = [e for e in CYCLIC() if not (isinstance(e, Samples) or (isinstance(e, Spill) and e.lane == 1))]
    path = record(tmp_path, StreamEncoder().encode_all(events))
    store.seal(path)
    first, second = store.open_recording(path).lanes
    assert first.spills and second.spills is None


def test_without_samples(tmp_path: Path) -> None:
    events = [e for e in CYCLIC() if not isinstance(e, Samples)]
    path = record(tmp_path, StreamEncoder().encode_all(events))
    sealed = store.seal(path)
    assert not sealed.has_samples and sealed.warnings == () and not (path / "samples.parquet").exists()
    assert store.open_recording(path).lanes[0].histogram.total == 120
    assert list(store.iter_samples(path, 0)) == []
    with pytest.raises(UsageError, match="keeps no samples"):
        store.histogram_from_samples(path)


def test_limits_of_a_source_survive_sealing(tmp_path: Path) -> None:
    part = HistogramPart(0, np.array([1000, 2000]), np.array([1000, 1000]), np.array([7, 2]), 3, 400_000)
    facts = {"lanes": [{"lane": 0, "name": "0", "cpu": None}], "interval_ns": 10**6}

    class Text(Parser):
        def feed(self, data: bytes) -> list[Any]:
            return []

        def finish(self) -> list[Any]:
            return [Facts(facts), part, End({"lanes": [{"lane": 0, "n": 12, "over": 3}]})]

    source = Source("cyclictest", "2.4", "stream", "skip")
    with store.RecordingWriter.create(tmp_path, manifest(source=source), "stream.txt") as writer:
        writer.append(b"text")
    with pytest.raises(CorruptRecording, match="no parser"):
        store.seal(writer.path)
    store.seal(writer.path, parser_for=lambda m: Text())
    recording = store.open_recording(writer.path)
    (lane,) = recording.lanes
    assert (lane.histogram.over, lane.histogram.limit_ns, lane.histogram.total) == (3, 400_000, 12)
    assert recording.manifest.bin_width_ns == 1000 and lane.entry.missed is None and lane.entry.n == 12
    assert recording.manifest.warnings == () and not recording.manifest.damage.cut


def test_wide_latency_after_a_written_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rtassay.store import tables

    monkeypatch.setattr(tables, "GROUP_ROWS", 32)
    monkeypatch.setattr("rtassay.store.stitch._BATCH_ROWS", 16)
    path = record(tmp_path, DATA)
    store.seal(path)
    assert everything(path, 0)[0] == latencies(CYCLIC(), 0)
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path / "samples.parquet")
    assert file.num_row_groups == 8 and str(file.schema_arrow.field("latency_ns").type) == "int64"


def test_telemetry_and_loads(tmp_path: Path) -> None:
    encoder = StreamEncoder()
    load = encoder.encode_all([Facts({"command": "guard"}), Output(1, 1, b"one\n"), Output(2, 2, b"two\n"), End({})])
    watch = StreamEncoder()
    telemetry = watch.encode_all([Facts({"paths": ["/a"]}), FileContent(1, "/a", 0, b"5"), End({})])
    rows = [("cpu", "cpu0.busy", 10, 0.5, "ratio"), ("cpu", "cpu1.busy", 10, 0.6, "ratio")]
    rows.append(("cpu", "cpu0.busy", 20, 0.7, "ratio"))
    path = record(tmp_path, DATA)
    (path / "load-0.rtw").write_bytes(load)
    (path / "telemetry.rtw").write_bytes(telemetry)
    seen = []

    def finish(m: Manifest, at: Path) -> Manifest:
        seen.append((at, m.lanes[0].n, m.sealed, (at / "logs" / "load-0.txt").read_text()))
        (at / "logs" / "probe.txt").write_text("stderr")
        return replace(m, note="finished")

    sealed = store.seal(path, telemetry_rows=iter(rows), finish=finish)
    assert seen == [(path, 120, False, "one\ntwo\n")] and sealed.note == "finished"
    assert {"logs/load-0.txt", "logs/probe.txt", "telemetry.parquet"} <= set(sealed.seals)
    assert not list(path.glob("*.rtw"))
    series = {s.name: s for s in store.open_recording(path, verify=True).telemetry}
    assert series["cpu0.busy"].mono_ns.tolist() == [10, 20] and series["cpu0.busy"].values.tolist() == [0.5, 0.7]


def test_log_of_our_own_loads_is_text(tmp_path: Path) -> None:
    inner = StreamEncoder().encode_all([Facts({"command": "load"}), Note("work", None, {"operations": 7}), End({})])
    outer = [Facts({"command": "guard"}), Output(1, 1, inner[:30]), Output(2, 2, b"oops\n"), Output(3, 1, inner[30:])]
    path = record(tmp_path, DATA)
    (path / "load-0.rtw").write_bytes(StreamEncoder().encode_all([*outer, End({})]))
    store.seal(path)
    expected = 'oops\n{"command": "load"}\n{"event": "work", "operations": 7}\n{}\n'
    assert (path / "logs" / "load-0.txt").read_text() == expected


def test_telemetry_nobody_decoded_is_kept(tmp_path: Path) -> None:
    path = record(tmp_path, DATA)
    (path / "telemetry.rtw").write_bytes(b"something")
    sealed = store.seal(path)
    assert (path / "telemetry.rtw").read_bytes() == b"something" and "telemetry.rtw" in sealed.seals
    assert sealed.warnings == (RunWarning(warnings.TELEMETRY_NOT_DECODED, None, {"file": "telemetry.rtw"}),)
    store.open_recording(path, verify=True)


def test_sealing_a_sealed_one_changes_nothing(tmp_path: Path) -> None:
    path = record(tmp_path, DATA)
    first = store.seal(path)
    (path / "stream.rtw").write_bytes(DATA)  # as a crash between manifest and removal leaves it
    assert store.seal(path) == first and not (path / "stream.rtw").exists()


@pytest.mark.parametrize("wrong", ["a sample changed", "a sample lost", "missed changed", "dropped changed"])
def test_samples_that_do_not_read_back_as_written_keep_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """A disk that gives back something else than it was given: the stream is the only copy, and stays."""
    from rtassay.store import tables

    groups = tables._groups

    def other(file: Path) -> Iterator[tuple[int, Any, Any, Any]]:
        for lane, latency_ns, missed, dropped in groups(file):
            columns = [latency_ns.copy(), missed.copy(), dropped.copy()]
            if wrong == "a sample lost":
                columns = [column[:-1] for column in columns]
            else:
                columns[{"a": 0, "missed": 1, "dropped": 2}[wrong.split()[0]]][3] += 1
            yield lane, *columns

    path = record(tmp_path, DATA)
    monkeypatch.setattr(tables, "_groups", other)
    with pytest.raises(CorruptRecording, match="does not read back"):
        store.seal(path)
    assert not store.load_manifest(path).sealed and (path / "stream.rtw").read_bytes() == DATA
    monkeypatch.undo()
    assert store.seal(path).sealed and everything(path, 0)[0] == latencies(CYCLIC(), 0)


def test_a_resumed_recording_goes_on_where_each_of_its_files_ends(tmp_path: Path) -> None:
    """What a board still holds is fetched from these sizes on: a file whose size is forgotten would be written twice."""
    with store.RecordingWriter.create(tmp_path, manifest(), "stream.rtw") as writer:
        for name, size in (("stream.rtw", 1000), ("telemetry.rtw", 345), ("load-0.rtw", 12), ("load-1.rtw", 7)):
            writer.append_to(name, b"x" * size)
    with store.RecordingWriter.resume(writer.path) as again:
        assert [again.written(name) for name in ("stream.rtw", "telemetry.rtw", "load-0.rtw", "load-1.rtw")] == [
            1000,
            345,
            12,
            7,
        ]
        assert again.stream_bytes == 1000 and again.written("load-2.rtw") == 0
        again.append_to("telemetry.rtw", b"y" * 5)
        assert again.written("telemetry.rtw") == 350
    assert (writer.path / "telemetry.rtw").read_bytes() == b"x" * 345 + b"y" * 5


STEPS = [
    *("begun", "decoded", "written", "moved histogram.parquet", "moved events.parquet", "moved samples.parquet"),
    *("finished", "sealed"),
]


@pytest.mark.parametrize("step", STEPS)
def test_sigkill_at_every_step_of_sealing(tmp_path: Path, step: str) -> None:
    path = record(tmp_path, DATA)
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom rtassay.store import sealing\n"
        "def die(step):\n    if step == sys.argv[2]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "sealing.reached = die\nsealing.seal(Path(sys.argv[1]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path), step], check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    left = store.open_recording(path, verify=True)
    assert left.manifest.sealed is (step == "sealed")
    assert left.lanes[0].histogram.total == 120
    assert not store.is_running(path)
    store.seal(path)
    assert everything(path, 1)[0] == latencies(CYCLIC(), 1)
    assert sorted(p.name for p in path.iterdir() if p.name.startswith((".", "stream", "lock"))) == []


def test_lock_tells_running_from_abandoned(tmp_path: Path) -> None:
    writer = store.RecordingWriter.create(tmp_path, manifest(), "stream.rtw")
    writer.append(DATA[:5000])
    assert store.is_running(writer.path) and writer.stream_bytes == 5000
    assert (writer.path / "stream.rtw").stat().st_size == 5000  # others can read it at once
    with pytest.raises(UsageError, match=f"process {os.getpid()}"):
        store.seal(writer.path)
    writer.close()
    writer.close()
    assert not store.is_running(writer.path)
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom rtassay import store\nfrom rtassay.model.manifest import *\n"
        "w = store.RecordingWriter.create(Path(sys.argv[1]), Manifest('killed', '', Source('rtprobe', None, 'rtw')), 'stream.rtw')\n"
        "w.append(b'abc'); print(store.is_running(w.path), flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, capture_output=True, timeout=300)
    assert done.stdout == b"True\n" and not store.is_running(tmp_path / "killed.rta")
    assert store.open_recording(tmp_path / "killed.rta").manifest.damage.skipped_bytes == 3


def test_writer_refuses_names_outside(tmp_path: Path) -> None:
    with store.RecordingWriter.create(tmp_path, manifest(), "stream.rtw") as writer:
        for name in ("../x", "/etc/x", "a/b/c", ""):
            with pytest.raises(ValueError):
                writer.append_to(name, b"")
        with pytest.raises(UsageError, match="already"):
            store.RecordingWriter.create(tmp_path, writer.manifest, "stream.rtw")


def test_empty_stream(tmp_path: Path) -> None:
    path = record(tmp_path, b"")
    assert store.open_recording(path).lanes == ()
    sealed = store.seal(path)
    assert sealed.damage.cut and sealed.lanes == () and store.open_recording(path).lanes == ()


@pytest.mark.parametrize("name", ["histogram.parquet", "samples.parquet", "seconds.parquet", "events.parquet"])
def test_damaged_parts_are_named(sealed: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / sealed.name
    shutil.copytree(sealed, path)
    good = (path / name).read_bytes()
    (path / name).write_bytes(good[:-1])
    with pytest.raises(CorruptRecording, match=f"{name} is damaged: it has {len(good) - 1} bytes, sealed were"):
        store.open_recording(path)
    (path / name).unlink()
    with pytest.raises(CorruptRecording, match=f"{name} is missing"):
        store.open_recording(path)
    for at in range(0, len(good), max(1, len(good) // 60)):
        (path / name).write_bytes(good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :])
        with pytest.raises(CorruptRecording, match=f"{name} is damaged"):
            store.open_recording(path, verify=True)
        try:  # without hashes: either noticed as what it is, or harmless; never another exception
            store.open_recording(path)
            everything(path, 0)
            store.histogram_from_samples(path)
        except CorruptRecording:
            pass


def test_damaged_data_page_is_noticed_without_hashes(sealed: Path, tmp_path: Path) -> None:
    path = tmp_path / sealed.name
    shutil.copytree(sealed, path)
    import pyarrow.parquet as pq

    with pq.ParquetFile(path / "samples.parquet") as file:
        column = file.metadata.row_group(0).column(1)
        at = column.data_page_offset + column.total_compressed_size - 3
    data = bytearray((path / "samples.parquet").read_bytes())
    data[at] ^= 1
    (path / "samples.parquet").write_bytes(data)
    with pytest.raises(CorruptRecording, match=r"samples\.parquet"):
        everything(path, 0)


def test_manifest_errors_say_where(sealed: Path, tmp_path: Path) -> None:
    path = tmp_path / sealed.name
    shutil.copytree(sealed, path)
    text = (path / "manifest.json").read_text()
    (path / "manifest.json").write_text(text.replace('"n": 120', '"n": "many"', 1))
    with pytest.raises(CorruptRecording, match=r"\$\.lanes\[0\]\.n"):
        store.load_manifest(path)
    (path / "manifest.json").write_text(text.replace('"version": 2,\n "sealed"', '"version": 7,\n "sealed"', 1))
    with pytest.raises(NewerFormat, match=r"version 7.*version 2") as caught:
        store.open_recording(path)
    assert caught.value.exit_code == 2
    (path / "manifest.json").write_text(text.replace('"version": 2,\n "sealed"', '"version": 1,\n "sealed"', 1))
    with pytest.raises(InputFileError, match=r"version 1.*version 2"):
        store.open_recording(path)
    for broken in ("", "{", text[: len(text) // 2], "[]", '{"schema": "x", "version": 2}', "\x00", "[" * 10**5):
        (path / "manifest.json").write_text(broken)
        with pytest.raises(CorruptRecording):
            store.open_recording(path)
    (path / "manifest.json").unlink()
    with pytest.raises(CorruptRecording, match=r"manifest\.json"):
        store.open_recording(path)


def test_newer_stream_is_refused(tmp_path: Path) -> None:
    from rtassay.wire.encode import frame

    path = record(tmp_path, frame(1, 0, b"{}", version=2))
    for reader in (store.open_recording, store.seal):
        with pytest.raises(NewerFormat, match="version 2"):
            reader(path)
    assert not store.load_manifest(path).sealed and (path / "stream.rtw").exists()


def test_findings(tmp_path: Path) -> None:
    path = record(tmp_path, DATA)
    assert store.load_findings(path) is None
    store.save_findings(path, {"schema": "rtassay/show/1", "n": 1})
    assert store.load_findings(path) == {"schema": "rtassay/show/1", "n": 1}
    (path / "findings.json").write_text("{")
    assert store.load_findings(path) is None


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(mount)], check=True)
    try:
        yield mount
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)


@pytest.mark.root
def test_full_disk_while_recording(small_disk: Path) -> None:
    writer = store.RecordingWriter.create(small_disk, manifest(), "stream.rtw")
    writer.append(DATA)
    with pytest.raises(BoardError, match="the disk is full") as caught:
        for _ in range(1000):
            writer.append(bytes(4096))
    assert str(writer.path / "stream.rtw") in str(caught.value) and caught.value.exit_code == 3
    assert f"{writer.stream_bytes} bytes" in str(caught.value)
    with pytest.raises(BoardError, match="the disk is full"):
        writer.update(replace(writer.manifest, note="x" * 100_000))
    writer.close()
    assert store.open_recording(writer.path).lanes[0].histogram.total == 120


@pytest.mark.root
def test_full_disk_while_sealing(small_disk: Path) -> None:
    failed = 0
    for pages_left in range(12):  # from nothing fits to everything fits: the disk gets full at every step once
        path = record(small_disk, DATA)
        filler = small_disk / "filler"
        free = os.statvfs(small_disk)
        filler.write_bytes(bytes((free.f_bavail - pages_left) * free.f_bsize))
        before = (path / "stream.rtw").read_bytes()
        try:
            store.seal(path)
        except BoardError as error:
            failed += 1
            assert "the disk is full" in str(error) and error.exit_code == 3
            assert (path / "stream.rtw").read_bytes() == before and not list(path.rglob("*.parquet"))
            assert not store.load_manifest(path).sealed
            assert store.open_recording(path).lanes[1].histogram.total == 120
        filler.unlink()
        assert store.seal(path).sealed and len(everything(path, 0)[0]) == 120
        shutil.rmtree(path)
    assert 4 <= failed < 12


def test_light_reading_imports_nothing_heavy(sealed: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom rtassay import store\nfrom rtassay.store import index\n"
        "p = store.find(sys.argv[1]); m = store.load_manifest(p); store.check_sizes(p, m); store.load_findings(p)\n"
        "index.entries(p.parent)\n"
        "print([x for x in ('numpy', 'pyarrow', 'scipy', 'rich') if x in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(sealed)], check=True, capture_output=True, timeout=300)
    assert done.stdout == b"[]\n"


def test_parser_given_by_probe_is_asked_for_the_manifest(tmp_path: Path) -> None:
    with store.RecordingWriter.create(tmp_path, manifest(), "stream.bin") as writer:
        writer.append(DATA)
    asked = []

    def parser_for(m: Manifest) -> StreamParser:
        asked.append(m.id)
        return StreamParser()

    sealed = sealing.seal(writer.path, parser_for=parser_for)
    assert asked == [writer.manifest.id] and sealed.lanes[0].n == 120
