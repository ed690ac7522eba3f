"""Unsealed recordings whose stream was cut or damaged at any byte: readable and sealed with an account that says so, or refused by name."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from rtassay import store
from rtassay.model.errors import CorruptRecording, NewerFormat
from rtassay.model.manifest import Manifest, Plan, Source

DATA = (Path(__file__).parents[3] / "wire" / "golden" / "v1" / "cyclic.rtw").read_bytes()
SHORT = len(DATA) // 40


def unsealed(home: Path, data: bytes) -> Path:
    blank = Manifest(store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(data)
    return writer.path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[int, int]:
    recording = store.open_recording(unsealed(tmp_path_factory.mktemp("whole"), DATA))
    return {lane.entry.index: lane.entry.n for lane in recording.lanes}


@pytest.mark.parametrize("step", [SHORT, pytest.param(17, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", ["cut", "flipped"])
def test_damage_at_any_byte_is_told_and_nothing_is_made_up(
    kind: str, step: int, whole: dict[int, int], tmp_path: Path
) -> None:
    path = unsealed(tmp_path, DATA)
    for number, at in enumerate(range(0, len(DATA), step)):
        data = DATA[:at] if kind == "cut" else DATA[:at] + bytes([DATA[at] ^ 0x10]) + DATA[at + 1 :]
        (path / "stream.rtw").write_bytes(data)
        try:
            recording = store.open_recording(path)
        except (CorruptRecording, NewerFormat) as error:
            assert str(error)
            continue
        damage = recording.manifest.damage
        assert damage.cut or damage.bad_frames or damage.lost_frames or damage.skipped_bytes, (kind, at)
        for lane in recording.lanes:
            assert lane.entry.n <= whole[lane.entry.index]
        if number % 8 == 0:
            copy = unsealed(tmp_path / "sealed", data)
            with contextlib.suppress(CorruptRecording):
                manifest = store.seal(copy)
                assert manifest.sealed and (manifest.damage == damage or damage.cut)
                store.open_recording(copy, verify=True)
