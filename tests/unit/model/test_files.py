"""Only regular files are opened: a FIFO that nobody writes to must not stop a reader."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rtassay import store
from rtassay.boards import known
from rtassay.experiments.files import read
from rtassay.model.errors import RtassayError
from rtassay.model.files import open_regular, read_regular
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
