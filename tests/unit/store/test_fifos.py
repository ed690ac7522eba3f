"""A FIFO in the place of any file of a recording: every reader ends with words, where a plain `open` would wait without end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from command_line import in_process

from rtassay import store
from rtassay.model.errors import RtassayError
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.model.recording import Message
from rtassay.session import attach
from rtassay.session.telemetry import recorded
from rtassay.store.reading import last_latencies
from rtassay.store.writer import is_running

CYCLIC = (Path(__file__).parents[3] / "wire" / "golden" / "v1" / "cyclic.rtw").read_bytes()
SEALED = (
    *("manifest.json", "findings.json", "histogram.parquet", "seconds.parquet", "events.parquet", "samples.parquet"),
    *("telemetry.parquet", "messages.jsonl", "logs/load-0.txt", "lock"),
)
UNSEALED = ("manifest.json", "stream.rtw", "telemetry.rtw", "load-0.rtw", "logs/load-0.txt", "attach.json", "lock")
WAIT_S = 60


class Hangs(BaseException):
    """No reader takes it for an error of the file."""


@pytest.fixture(autouse=True)
def no_hang() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(WAIT_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def recording(home: Path, *, sealed: bool) -> Path:
    blank = Manifest(store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    with store.RecordingWriter.create(home / "recordings", blank, "stream.rtw") as writer:
        for name in ("stream.rtw", "telemetry.rtw", "load-0.rtw"):
            writer.append_to(name, CYCLIC)
        writer.append_to("logs/load-0.txt", b"busy\n")
    if sealed:
        store.seal(writer.path, telemetry_rows=[("cpu", "all.busy", 1, 1.0, "%")], messages=[Message("cpu", 1, "x")])
        (writer.path / "findings.json").write_text("{}")
    else:
        known = {"schema": "rtassay/attach/1", "board": "far", "resume": {"directory": "/run"}}
        (writer.path / "attach.json").write_text(json.dumps(known))
    return writer.path


@pytest.mark.parametrize(
    ("sealed", "name"), [*((True, name) for name in SEALED), *((False, name) for name in UNSEALED)]
)
def test_no_reader_waits_for_a_fifo(sealed: bool, name: str, tmp_path: Path) -> None:
    path = recording(tmp_path, sealed=sealed)
    (path / name).unlink(missing_ok=True)
    os.mkfifo(path / name)
    is_running(path)
    readers = [
        lambda: store.open_recording(path, verify=True),
        lambda: store.histogram_from_samples(path),
        lambda: list(store.iter_samples(path, 0)),
        lambda: last_latencies(path),
        lambda: attach.board_of(path),
        lambda: recorded(path),
        lambda: store.RecordingWriter.resume(path).close(),
    ]
    for reader in readers:
        with contextlib.suppress(RtassayError, OSError):
            reader()
    verbs = [["list"], ["show", path], ["status", path], ["seal", path]]
    codes = {str(words[0]): in_process(*words, home=tmp_path).returncode for words in verbs}
    assert codes["list"] == 0 and set(codes.values()) <= {0, 2, 3, 5}, codes
    if name in ("manifest.json", "histogram.parquet", "samples.parquet", "stream.rtw"):
        assert codes["show"] == codes["seal"] == 2 if not sealed else codes["show"] == 2, codes
