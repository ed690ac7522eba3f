"""A file is whole or as it was before, and a full disk is called so."""

from __future__ import annotations

import errno
import hashlib
import os
from pathlib import Path

import pytest

from rtassay.model.errors import BoardError
from rtassay.store import disk


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError("Error writing bytes to file. Detail: [errno 28] No space left on device"), True),
        (OSError(errno.EIO, "Input/output error"), False),
        (OSError("something else"), False),
    ],
)
def test_a_full_disk_is_told_from_a_broken_one(error: OSError, full: bool) -> None:
    path = Path("/somewhere/x.rta/stream.rtw")
    assert disk.is_full(error) is full
    said = disk.disk_error(error, path, "it is all still there", 7)
    assert isinstance(said, BoardError) and "it is all still there" in f"{said} {said.hint}"
    assert ("the disk is full" in str(said)) is full and ("7 bytes written" in str(said)) is full
    without = str(disk.disk_error(error, path, "left"))
    assert "None" not in without and "bytes written" not in without
    if not full:
        assert str(path) in str(said) and disk.explain(error) in str(said)


def test_an_error_without_words_of_the_system_has_its_own() -> None:
    assert disk.explain(OSError(errno.EIO, "Input/output error")) == "Input/output error"
    assert disk.explain(OSError("my words")) == "my words"


def test_a_file_is_replaced_whole_and_synced_with_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    steps = []
    monkeypatch.setattr(disk, "sync_file", lambda at: steps.append(("file", at.read_bytes(), path.read_bytes())))
    monkeypatch.setattr(disk, "sync_directory", lambda at: steps.append(("directory", at, path.read_bytes())))
    disk.write_replacing(path, b"new", "left")
    assert steps == [("file", b"new", b"old"), ("directory", tmp_path, b"new")]
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for raised in (KeyboardInterrupt, OSError):
        with pytest.raises(raised), disk.replacing(path) as aside:
            aside.write_bytes(b"half")
            raise raised
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(BoardError, match="cannot write"):
        disk.write_replacing(tmp_path / "absent" / "file", b"", "left")


@pytest.mark.parametrize("sync", [disk.sync_file, disk.sync_directory])
def test_what_is_synced_is_closed_again(tmp_path: Path, sync: object, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path if sync is disk.sync_directory else tmp_path / "file"
    (tmp_path / "file").write_bytes(b"x")
    synced = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    sync(target)  # type: ignore[operator]
    assert synced == [target.stat().st_ino] and len(list(Path("/proc/self/fd").iterdir())) == open_before


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_size_and_hash_of_a_file(tmp_path: Path, size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    (tmp_path / "file").write_bytes(data)
    assert disk.sha256_of(tmp_path / "file") == (size, hashlib.sha256(data).hexdigest())
