"""Sealing step by step: what is made in which order, what stays, and what a failure leaves."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtassay import store
from rtassay.model import warnings
from rtassay.model.errors import BoardError, CorruptRecording
from rtassay.model.events import End, Event, Facts, Note, Output, Samples
from rtassay.model.manifest import Damage, Manifest, Plan, RunWarning, Seal, Source
from rtassay.model.recording import Message
from rtassay.store import sealing, tables
from rtassay.wire.encode import StreamEncoder

CYCLIC = runpy.run_path(str(Path(__file__).parents[3] / "wire" / "golden" / "make.py"))["cyclic"]
DATA = StreamEncoder().encode_all(CYCLIC())


def record(home: Path, data: bytes = DATA) -> Path:
    blank = Manifest(store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(data)
    return writer.path


def names(path: Path) -> set[str]:
    return {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}


def test_every_step_is_reached_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest says sealed only after all files are in place; the stream goes last."""
    path, steps = record(tmp_path), []

    def step(name: str) -> None:
        steps.append((name, store.load_manifest(path).sealed, (path / "stream.rtw").exists()))

    monkeypatch.setattr(sealing, "reached", step)
    store.seal(path, telemetry_rows=[("m", "n", 1, 2.0, "s")], messages=[Message("kernel", 1, "x")])
    moved = ("histogram", "seconds", "events", "jitter", "samples", "telemetry")
    assert [name for name, _, _ in steps] == [
        *("begun", "decoded", "written", *(f"moved {name}.parquet" for name in moved), "moved messages.jsonl"),
        *("finished", "sealed"),
    ]
    assert [sealed for _, sealed, _ in steps] == [False] * (len(steps) - 1) + [True]
    assert all(there for _, _, there in steps) and not (path / "stream.rtw").exists()


def test_a_step_is_a_named_failpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("rtassay.model.failpoints.reached", seen.append)
    sealing.reached("begun")
    assert seen == ["seal begun"]


def test_what_sealing_leaves_and_what_the_seals_name(tmp_path: Path) -> None:
    path = record(tmp_path)
    (path / "logs" / "probe.txt").write_text("said")
    (path / "logs" / ".hidden").write_text("x")
    (path / "load-0.rtw").write_bytes(b"")
    (path / "findings.json").write_text("{}")
    (path / ".sealing").mkdir()
    (path / ".sealing" / "old").write_text("of a crash")
    manifest = store.seal(path)
    whole = {
        "histogram.parquet",
        "seconds.parquet",
        "events.parquet",
        "jitter.parquet",
        "samples.parquet",
        "logs/probe.txt",
        "logs/load-0.txt",
    }
    assert set(manifest.seals) == whole
    assert names(path) == whole | {"logs/.hidden", "manifest.json", "findings.json"}
    assert manifest.seals["logs/probe.txt"] == Seal(4, hashlib.sha256(b"said").hexdigest())
    assert not (path / ".sealing").exists() and not (path / "lock").exists()


def test_known_seals_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    known = {"a": Seal(7, "told")}
    assert sealing.seals_of(tmp_path, known=known) == {
        "a": Seal(7, "told"),
        "b": Seal(1, hashlib.sha256(b"b").hexdigest()),
    }


def test_progress_counts_the_bytes_of_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtassay.store.streams._CHUNK_BYTES", 1000)
    seen: list[tuple[int, int]] = []
    store.seal(record(tmp_path), progress=lambda done, total: seen.append((done, total)))
    assert [done for done, _ in seen] == [*range(1000, len(DATA), 1000), len(DATA)]
    assert {total for _, total in seen} == {len(DATA)}


def test_a_failed_finish_leaves_the_recording_as_it_was(tmp_path: Path) -> None:
    path = record(tmp_path)
    before = names(path)

    def full(manifest: Manifest, at: Path) -> Manifest:
        raise OSError(28, "No space left on device")

    with pytest.raises(BoardError, match="the disk is full"):
        store.seal(path, finish=full, messages=[Message("kernel", 1, "x")], telemetry_rows=[("m", "n", 1, 2.0, "s")])
    assert names(path) == before and not (path / ".sealing").exists()
    assert not store.is_running(path) and not store.load_manifest(path).sealed
    assert store.seal(path).sealed


def test_an_interrupt_while_decoding_leaves_no_open_file(tmp_path: Path) -> None:
    path = record(tmp_path)
    blank = store.load_manifest(path)
    out = tmp_path / "out"
    out.mkdir()

    def events() -> Any:
        yield from CYCLIC()[:5]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sealing.write_tables(out, blank, events(), Damage)
    left = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]
    assert not [name for name in left if name.startswith(str(out))]


def test_a_log_of_the_session_is_kept(tmp_path: Path) -> None:
    path = record(tmp_path)
    (path / "load-0.rtw").write_bytes(StreamEncoder().encode_all([Facts({}), Output(1, 1, b"of the stream"), End({})]))
    (path / "logs" / "load-0.txt").write_text("of the session")
    store.seal(path)
    assert (path / "logs" / "load-0.txt").read_text() == "of the session"


def test_logs_are_made_where_the_directory_is_gone(tmp_path: Path) -> None:
    path = record(tmp_path)
    (path / "logs").rmdir()
    (path / "load-3.rtw").write_bytes(
        StreamEncoder().encode_all([Facts({}), Output(1, 2, b"x"), Note("n", None, {}), End({})])
    )
    store.seal(path)
    assert (path / "logs" / "load-3.txt").read_text() == "x"


def test_only_fd_1_of_a_load_of_ours_holds_a_stream(tmp_path: Path) -> None:
    inner = StreamEncoder().encode_all([Facts({"a": 1}), Note("n", None, {"b": 2}), End({})])
    path = record(tmp_path)
    outer: list[Event] = [
        Facts({}),
        Output(1, 2, inner),
        Output(2, 1, b"plain\n"),
        Output(3, 1, inner),
        Output(4, 2, b"err\n"),
    ]
    (path / "load-0.rtw").write_bytes(StreamEncoder().encode_all([*outer, End({})]))
    store.seal(path)
    lines = [{"a": 1}, {"event": "n", "b": 2}, {}]
    text = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    found = (path / "logs" / "load-0.txt").read_bytes()
    assert found.startswith(inner + b"plain\n") and found.endswith(b"err\n")
    middle = found.removeprefix(inner + b"plain\n").removesuffix(b"err\n")
    assert sorted(json.loads(line)["b"] for line in middle.splitlines() if b'"b"' in line) == [2]
    assert len(middle.splitlines()) == len(text.splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "decoded", "kept"),
    [(b"x", False, True), (b"", False, False), (b"x", True, False), (None, False, False)],
)
def test_telemetry_is_kept_only_where_it_holds_something_that_was_not_decoded(
    tmp_path: Path, content: bytes | None, decoded: bool, kept: bool
) -> None:
    path = record(tmp_path)
    if content is not None:
        (path / "telemetry.rtw").write_bytes(content)
    manifest = store.seal(path, telemetry_rows=[] if decoded else None)
    warning = RunWarning(warnings.TELEMETRY_NOT_DECODED, None, {"file": "telemetry.rtw"})
    assert manifest.warnings == ((warning,) if kept else ())
    assert (path / "telemetry.parquet").exists() is decoded is ("telemetry.parquet" in manifest.seals)
    if decoded:
        assert not (path / "telemetry.rtw").exists()


def test_gaps_that_the_columns_cannot_hold_are_told(tmp_path: Path) -> None:
    far = np.array([tables.GAP_MOST + 1, 0], np.int64)
    one = np.array([1, 2], np.int64)
    path = record(tmp_path, StreamEncoder().encode_all([Facts({}), Samples(0, 0, one, far, np.zeros(2, np.int64))]))
    manifest = store.seal(path)
    assert manifest.warnings == (RunWarning(warnings.GAPS_CUT, None, {"gaps": 1, "most": 2**31 - 1}),)
    assert manifest.lanes[0].missed == 2**31, "the account has the whole number"


def test_a_recording_without_a_stream_cannot_be_sealed(tmp_path: Path) -> None:
    path = record(tmp_path)
    (path / "stream.rtw").unlink()
    with pytest.raises(CorruptRecording, match="its stream is missing"):
        store.seal(path)
    assert not store.is_running(path)


@pytest.mark.parametrize(("left", "words"), [(None, "is sealed"), ("{", "cannot be read"), ("", "cannot be read")])
def test_a_manifest_that_cannot_be_synced_hides_no_error_and_takes_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str | None, words: str
) -> None:
    """left: what the failed write left of the manifest; None: all of it."""
    path, save = record(tmp_path), sealing.save_manifest

    def fails(at: Path, manifest: Manifest) -> None:
        save(at, manifest)
        if left is not None:
            (at / "manifest.json").write_text(left)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sealing, "save_manifest", fails)
    with pytest.raises(BoardError, match="cannot write") as caught:
        store.seal(path)
    assert caught.value.hint is not None and words in caught.value.hint
    assert {tables.HISTOGRAM, tables.EVENTS} <= names(path)
