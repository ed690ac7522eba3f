"""Only regular files are opened: a FIFO that nobody writes to must not stop a reader. Files are replaced whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rtassay import store
from rtassay.boards import known
from rtassay.cli.report import write_bytes
from rtassay.experiments.files import read
from rtassay.model.errors import RtassayError
from rtassay.model.files import open_regular, read_regular, replace_file
from rtassay.store.manifests import load_findings, load_manifest
from rtassay.store.paths import MANIFEST


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    file, fifo = tmp_path / "file", tmp_path / "fifo"
    file.write_bytes(b"text")
    os.mkfifo(fifo)
    assert read_regular(file) == b"text"
    for path in (fifo, tmp_path, Path("/dev/null"), tmp_path / "absent"):
        with pytest.raises(OSError):
            open_regular(path)


@pytest.mark.parametrize(
    "reads", [load_manifest, store.open_recording, read], ids=["manifest", "recording", "experiment"]
)
def test_readers_of_json_and_toml_do_not_wait_for_a_fifo(reads: Callable[[Path], object], tmp_path: Path) -> None:
    name = "experiment.toml" if reads is read else MANIFEST
    os.mkfifo(tmp_path / name)
    with pytest.raises(RtassayError):
        reads(tmp_path / name if reads is read else tmp_path)


def test_a_cache_and_the_file_of_boards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "findings.json")
    os.mkfifo(tmp_path / known.FILE)
    assert load_findings(tmp_path) is None
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    with pytest.raises(RtassayError, match="cannot be read"):
        known.known_boards()


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    replace_file(path, b"old")
    order: list[str] = []
    sync, rename = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (order.append("sync"), sync(fd))[1])
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append("rename"), rename(self, to))[1])
    replace_file(path, b"new")
    assert path.read_bytes() == b"new" and order == ["sync", "rename"]

    def full(fd: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, b"newer")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def test_what_is_no_regular_file_is_written_to_and_stays(tmp_path: Path) -> None:
    """`-o /dev/null` as root put a regular file in its place."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_bytes(str(path), b"a page")
    assert os.read(reader, 100) == b"a page" and path.is_fifo()
    os.close(reader)
