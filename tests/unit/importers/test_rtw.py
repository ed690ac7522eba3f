"""Import of our own streams, whole, cut and damaged, and what is not one."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from rtassay import store
from rtassay.importers.rtw import RtwImporter
from rtassay.model.errors import BoardError, InputFileError, NewerFormat
from rtassay.model.events import End, Facts, HistogramPart
from rtassay.model.manifest import Source
from rtassay.wire.encode import frame

GOLDEN = Path(__file__).parents[3] / "wire" / "golden" / "v1"
CYCLIC = GOLDEN / "cyclic.rtw"


def import_file(home: Path, path: Path) -> Path:
    importer = RtwImporter()
    return store.import_events(
        home,
        path,
        importer.source(path),
        importer.read(path),
        labels={"a": "b"},
        note="n",
        damage=lambda: importer.damage,
    )


def test_whole_stream(tmp_path: Path) -> None:
    path = import_file(tmp_path, CYCLIC)
    recording = store.open_recording(path, verify=True)
    m = recording.manifest
    assert m.sealed and m.labels == {"a": "b"} and m.note == "n" and m.source.version == "0.1.0"
    assert m.source.late_policy == "counted" and m.damage.cut is False and m.warnings == ()
    assert m.plan.deadline_ns == 100_000 and m.plan.policy == "fifo" and m.plan.command == ("rtprobe", "cyclic")
    assert [lane.histogram.total for lane in recording.lanes] == [120, 120]
    # Samples are kept once; the file is known by its hash.
    assert not (path / "original").exists()
    digest = hashlib.sha256(CYCLIC.read_bytes()).hexdigest()
    assert (path / "logs" / "original.sha256").read_text() == f"{digest}  cyclic.rtw\n"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_cut_and_damaged(tmp_path: Path) -> None:
    data = bytearray(CYCLIC.read_bytes())
    damaged = tmp_path / "f.rtw"
    damaged.write_bytes(data[: len(data) - 100])
    m = store.load_manifest(import_file(tmp_path, damaged))
    assert m.damage.cut and m.end_reason == "cut" and [lane.n for lane in m.lanes] == [120, 120]
    data[10] ^= 1  # the FACTS are lost
    damaged.write_bytes(data)
    assert RtwImporter().recognises(bytes(data[:65536]))
    m = store.load_manifest(import_file(tmp_path, damaged))
    assert m.damage.lost_frames == 1 and m.facts == {} and m.lanes[0].n == 120 and m.source.version is None


def test_recognises() -> None:
    importer = RtwImporter()
    assert importer.recognises(CYCLIC.read_bytes()[:65536]) and importer.recognises(frame(1, 0, b"{}", version=9))
    for other in (b"", b"# /dev/cpu_dma_latency set to 0us\n", b"\xf7RT", b"text \xf7RTW text"):
        assert not importer.recognises(other)


@pytest.mark.parametrize("name", ["watch.rtw", "guard.rtw"])
def test_stream_of_another_command(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputFileError, match=r"holds no measurement: it is the stream of rtprobe (watch|guard)"):
        import_file(tmp_path, GOLDEN / name)
    assert list(tmp_path.iterdir()) == []


def test_not_a_stream_missing_and_newer(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"hello" * 1000)
    with pytest.raises(InputFileError, match="holds no measurement"):
        import_file(tmp_path, other)
    with pytest.raises(InputFileError, match="cannot read"):
        import_file(tmp_path, tmp_path / "absent")
    other.write_bytes(frame(1, 0, b"{}", version=9))
    with pytest.raises(NewerFormat):
        import_file(tmp_path, other)
    other.unlink()
    assert list(tmp_path.iterdir()) == []


def test_file_of_another_tool_is_kept_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "cyclictest.txt"
    file.write_bytes(b"000005 000010\n")
    part = HistogramPart(0, np.array([5000]), np.array([1000]), np.array([10]))
    events = [Facts({"lanes": [{"lane": 0}]}), part, End({"lanes": [{"lane": 0, "n": 10}]})]
    source = Source("cyclictest", "2.4", "cyclictest-histogram", "skip")
    path = store.import_events(tmp_path / "home", file, source, iter(events))
    assert (path / "original" / "cyclictest.txt").read_bytes() == file.read_bytes()
    m = store.open_recording(path, verify=True).manifest
    assert "original/cyclictest.txt" in m.seals and m.bin_width_ns == 1000 and m.lanes[0].due is None


def test_unwritable_home(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BoardError):
        import_file(tmp_path / "file", CYCLIC)


def test_real_stream_of_rtprobe(tmp_path: Path) -> None:
    (file,) = GOLDEN.glob("real-*.rtw")
    recording = store.open_recording(import_file(tmp_path, file), verify=True)
    m = recording.manifest
    assert m.warnings == () and not m.damage.cut and m.end_reason == "duration" and m.plan.duration_ns == 10**9
    assert [lane.measure for lane in m.lanes] == ["wake-up", "wake-up"]
    for lane in recording.lanes:
        e = lane.entry
        assert e.due == e.n + e.missed + e.dropped + e.truncated and lane.histogram.total == e.n
        blocks = list(store.iter_samples(Path(str(recording.path)), e.index))
        latency, missed, dropped = (np.concatenate([block[i] for block in blocks]) for i in range(3))
        assert (len(latency), int(missed.sum()), int(dropped.sum())) == (e.n, e.missed, e.dropped)
        assert (int(latency.min()), int(latency.max()), int(latency.sum())) == (e.min_ns, e.max_ns, e.sum_ns)
        assert e.due is not None and e.first_k + len(latency) + int(missed.sum() + dropped.sum()) == e.due
        assert m.started_ns is not None and m.ended_ns == e.closed_ns
