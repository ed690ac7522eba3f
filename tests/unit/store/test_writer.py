"""A recording while it is made: its files, its lock, and what failing writes leave."""

from __future__ import annotations

import errno
import fcntl
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtassay import store
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Manifest, Source
from rtassay.store import disk
from rtassay.store import writer as writing
from rtassay.store.writer import Lock, RecordingWriter

BLANK = Manifest("20261122T120000-abcdef", "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw"))


def fail(number: int) -> Any:
    def call(*_: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return call


def test_a_new_recording_has_its_parts_at_once(tmp_path: Path) -> None:
    with RecordingWriter.create(tmp_path / "new", BLANK, "stream.rtw") as writer:
        assert writer.path == tmp_path / "new" / f"{BLANK.id}.rta"
        assert {file.name for file in writer.path.iterdir()} == {"manifest.json", "logs", "lock", "stream.rtw"}
        assert writer.stream_bytes == 0 == writer.written("stream.rtw") == writer.written("other")
        assert (writer.path / "lock").read_text() == f"{os.getpid()}\n"
        assert not store.load_manifest(writer.path).sealed
        writer.update(replace(BLANK, note="later"))
        assert writer.manifest.note == "later" == store.load_manifest(writer.path).note
    assert not store.is_running(writer.path)


def test_a_write_that_takes_only_a_part_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingWriter.create(tmp_path, BLANK, "stream.rtw") as writer:
        write = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
        writer.append(b"0123456789")
        writer.append_to("logs/probe.txt", b"abcd")
        monkeypatch.undo()
        assert writer.stream_bytes == 10 and writer.written("logs/probe.txt") == 4
        assert (writer.path / "stream.rtw").read_bytes() == b"0123456789"
        assert (writer.path / "logs" / "probe.txt").read_bytes() == b"abcd"


@pytest.mark.parametrize("method", ["sync", "close"])
def test_every_file_is_synced_and_a_failure_of_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    writer = RecordingWriter.create(tmp_path, BLANK, "stream.rtw")
    writer.append(b"abc")
    writer.append_to("telemetry.rtw", b"d")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    getattr(writer, method)()
    assert synced == [(writer.path / name).stat().st_ino for name in ("stream.rtw", "telemetry.rtw")]
    assert store.is_running(writer.path) is (method == "sync")
    writer.close()
    again = RecordingWriter.resume(writer.path)
    again.append(b"x")
    again.append_to("telemetry.rtw", b"x")
    monkeypatch.setattr(os, "fsync", fail(28))
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(BoardError, match=r"the disk is full: 4 bytes written to .*stream\.rtw"):
        getattr(again, method)()
    if method == "close":
        assert len(list(Path("/proc/self/fd").iterdir())) == open_before - 3, "two files and the lock"
        again.close()
    monkeypatch.undo()
    again.close()
    assert not store.is_running(writer.path)


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with RecordingWriter.create(tmp_path, BLANK, "stream.rtw") as writer:
        (writer.path / "telemetry.rtw").mkdir()
        with pytest.raises(BoardError, match="cannot write"):
            writer.append_to("telemetry.rtw", b"x")
        os.mkfifo(writer.path / "load-0.rtw")
        reader = os.open(writer.path / "load-0.rtw", os.O_RDONLY | os.O_NONBLOCK)  # without one, opening waits for ever
        with pytest.raises(BoardError, match="cannot write") as caught:
            writer.append_to("load-0.rtw", b"x")
        os.close(reader)
        assert (caught.value.what, caught.value.why) == (
            f"cannot write {writer.path / 'load-0.rtw'}",
            "it is no regular file",
        )
        assert writer.written("load-0.rtw") == 0


def test_a_recording_that_cannot_be_begun_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "save_manifest", lambda *_: (_ for _ in ()).throw(BoardError("no", "why")))
    with pytest.raises(BoardError, match="no"):
        RecordingWriter.create(tmp_path, BLANK, "stream.rtw")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="not a name"):
        RecordingWriter.create(tmp_path, BLANK, "../stream.rtw")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/..", "/x", "a/b/c"])
def test_a_name_outside_the_recording_is_refused(tmp_path: Path, name: str) -> None:
    with RecordingWriter.create(tmp_path, BLANK, "stream.rtw") as writer, pytest.raises(ValueError, match="not a name"):
        writer.append_to(name, b"x")


def test_only_an_unsealed_recording_that_nobody_writes_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_TRY_EVERY_S", 0)
    writer = RecordingWriter.create(tmp_path, BLANK, "stream.rtw")
    with pytest.raises(UsageError, match=f"process {os.getpid()} is writing"):
        RecordingWriter.resume(writer.path)
    writer.close()
    RecordingWriter.resume(writer.path).close()
    store.save_manifest(writer.path, replace(BLANK, sealed=True))
    with pytest.raises(UsageError, match="is sealed"):
        RecordingWriter.resume(writer.path)


def test_a_lock_waits_for_who_only_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`is_running` holds a shared lock for a moment: until then the lock is tried again, up to 20 times every 10 ms."""
    looking = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(looking, fcntl.LOCK_SH)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 19:
            fcntl.flock(looking, fcntl.LOCK_UN)

    monkeypatch.setattr("time.sleep", wait)
    Lock(tmp_path).release()
    assert waits == [0.01] * 19
    fcntl.flock(looking, fcntl.LOCK_SH)
    waits.extend([0] * 100)
    with pytest.raises(UsageError, match="in use"):
        Lock(tmp_path)
    assert len(waits) == 19 + 100 + 19
    os.close(looking)
    lock = Lock(tmp_path)
    lock.release(remove=True)
    lock.release(remove=True)
    assert not (tmp_path / "lock").exists()


def test_looking_at_a_recording_that_nobody_writes_disturbs_nothing(tmp_path: Path) -> None:
    assert not store.is_running(tmp_path) and list(tmp_path.iterdir()) == []
    (tmp_path / "lock").write_text("1\n")
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    assert not store.is_running(tmp_path)
    held = Lock(tmp_path)
    assert store.is_running(tmp_path)
    held.release()
    assert not store.is_running(tmp_path) and (tmp_path / "lock").exists()
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_lock_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="cannot write"):
        Lock(tmp_path / "absent")


def test_a_manifest_whose_directory_cannot_be_synced_leaves_no_recording_that_nothing_can_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest is renamed by then: it stayed behind alone, without a stream."""

    def fails(directory: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(directory))

    monkeypatch.setattr(disk, "sync_directory", fails)
    with pytest.raises(BoardError, match="Input/output error"):
        RecordingWriter.create(tmp_path, BLANK, "stream.rtw")
    assert list(tmp_path.iterdir()) == []


def test_what_is_resumed_has_the_manifest_and_the_sizes_of_before(tmp_path: Path) -> None:
    with RecordingWriter.create(tmp_path, replace(BLANK, note="n"), "stream.rtw") as writer:
        writer.append(b"abc")
        writer.append_to("telemetry.rtw", b"defgh")
    with RecordingWriter.resume(writer.path) as again:
        assert (again.manifest, again.path, again.stream_file) == (replace(BLANK, note="n"), writer.path, "stream.rtw")
        assert (again.stream_bytes, again.written("telemetry.rtw")) == (3, 5)
        again.append(b"x")
        assert again.stream_bytes == 4
    assert (writer.path / "stream.rtw").read_bytes() == b"abcx"
