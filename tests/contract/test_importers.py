"""What every importer must do, over the whole table of the room. A new member needs an example file here."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay import store
from rtassay.importers.base import Importer
from rtassay.model import rooms
from rtassay.model.errors import InputFileError
from rtassay.model.events import HistogramPart, Samples

ROOT = Path(__file__).parents[2]
EXAMPLES = {"rtw": ROOT / "wire" / "golden" / "v1" / "cyclic.rtw"}
MEMBERS = sorted(rooms.table("importers"))
FOREIGN = (b"", b"\x00" * 1000, b"hello world\n" * 100, b"PAR1", b'{"json": true}')


def importer(name: str) -> Importer:
    made: Importer = rooms.load("importers", name)()
    return made


@pytest.mark.parametrize("name", MEMBERS)
def test_has_an_example_and_says_what_it_is(name: str) -> None:
    assert name in EXAMPLES, f"put an example of {name} into EXAMPLES"
    assert importer(name).name == name and importer(name).summary and isinstance(importer(name).damage_allowed, bool)


@pytest.mark.parametrize("name", MEMBERS)
def test_recognises_its_own_and_nothing_else(name: str) -> None:
    heads = {other: EXAMPLES[other].read_bytes()[: 64 * 1024] for other in MEMBERS}
    assert [other for other, head in heads.items() if importer(name).recognises(head)] == [name]
    assert not any(importer(name).recognises(head) for head in FOREIGN)


@pytest.mark.parametrize("name", MEMBERS)
def test_becomes_a_sealed_recording(name: str, tmp_path: Path) -> None:
    path, member = EXAMPLES[name], importer(name)
    source = member.source(path)
    assert source.tool and source.format and source.late_policy in ("counted", "skip", "catch_up", "unknown")
    assert any(isinstance(event, Samples | HistogramPart) for event in importer(name).read(path))
    made = store.import_events(tmp_path, path, source, member.read(path), labels={"k": "v"})
    recording = store.open_recording(made, verify=True)
    assert recording.manifest.sealed and recording.manifest.labels == {"k": "v"} and recording.lanes
    for lane in recording.lanes:
        assert lane.entry.n == lane.histogram.total > 0


@pytest.mark.parametrize("name", MEMBERS)
def test_cut_and_damaged_files(name: str, tmp_path: Path) -> None:
    data = EXAMPLES[name].read_bytes()
    file = tmp_path / EXAMPLES[name].name
    for at in range(0, len(data), max(1, len(data) // 40)):
        for broken in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            file.write_bytes(broken)
            try:
                events = list(importer(name).read(file))
            except InputFileError as error:
                assert str(file) in str(error)
                assert not importer(name).damage_allowed
            else:
                assert importer(name).damage_allowed or events


@pytest.mark.parametrize("name", MEMBERS)
def test_absent_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match="absent"):
        importer(name).source(tmp_path / "absent")
    with pytest.raises(InputFileError, match="absent"):
        list(importer(name).read(tmp_path / "absent"))
