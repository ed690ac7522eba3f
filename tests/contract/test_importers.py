"""What every importer must do, over the whole table of the room and every golden file of tests/data/importers/<name>.

`*.ok.*` files have a `.count` beside them: lane and samples, made by an awk script that shares no code with the importers.
`*.bad.*` files must be refused by name, and leave nothing behind.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

import pytest

from rtassay import store
from rtassay.analysis.lane.account import accounts
from rtassay.importers.base import Importer
from rtassay.model import rooms
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Facts, HistogramPart, Samples

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "importers"
RTW = ROOT / "wire" / "golden" / "v1" / "cyclic.rtw"
MEMBERS = sorted(rooms.table("importers"))
FOREIGN = (
    b"",
    b"\x00" * 1000,
    b"hello world\n" * 100,
    b'{"json": true}',
    b"12 34\n56 78\n",
    b"<xml/>",
    b"a,b\n1,2\n\n",
)


def goldens(kind: str) -> list[tuple[str, Path]]:
    found = [
        (name, path)
        for name in MEMBERS
        for path in sorted((DATA / name).glob(f"*.{kind}.*"))
        if path.suffix != ".count"
    ]
    return found + ([("rtw", RTW)] if kind == "ok" else [])


OK, BAD = goldens("ok"), goldens("bad")
IDS_OK = [f"{name}-{path.name}" for name, path in OK]
IDS_BAD = [f"{name}-{path.name}" for name, path in BAD]


def importer(name: str, path: Path | None = None) -> Importer:
    """One that is told the unit where the name of the golden file says it (`_us.ok.`), as `--unit` does."""
    made: Importer = rooms.load("importers", name)()
    if path is not None and hasattr(made, "unit") and (unit := re.search(r"_(ns|us|ms|s)\.(?:ok|bad)\.", path.name)):
        made.unit = unit[1]
    return made


@pytest.mark.parametrize("name", MEMBERS)
def test_has_golden_files_with_their_origin_and_says_what_it_is(name: str) -> None:
    member = importer(name)
    assert member.name == name and member.summary and isinstance(member.damage_allowed, bool)
    assert any(of == name for of, _ in OK), f"put a file into tests/data/importers/{name}"
    if name != "rtw":
        assert any(of == name for of, _ in BAD)
        notes = (DATA / name / "README.md").read_text()
        assert "icence" in notes or "Apache-2.0" in notes


def test_counts_are_what_awk_says() -> None:
    for script in sorted(DATA.glob("count*.sh")):
        done = subprocess.run([script, "--check"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "path"), OK, ids=IDS_OK)
def test_is_recognised_by_its_own_importer_and_no_other(name: str, path: Path) -> None:
    head = path.read_bytes()[: 64 * 1024]
    assert [other for other in rooms.table("importers") if importer(other).recognises(head)] == [name]


@pytest.mark.parametrize("name", MEMBERS)
def test_recognises_nothing_foreign(name: str) -> None:
    assert not any(importer(name).recognises(head) for head in FOREIGN)


@pytest.mark.parametrize(("name", "path"), OK, ids=IDS_OK)
def test_accounts_for_every_sample(name: str, path: Path, tmp_path: Path) -> None:
    member = importer(name, path)
    source = member.source(path)
    assert source.tool and source.format == name
    assert source.late_policy in ("counted", "skip", "catch_up", "unknown")
    made = store.import_events(tmp_path, path, source, member.read(path), labels={"k": "v"})
    recording = store.open_recording(made, verify=True)
    assert recording.manifest.sealed and recording.manifest.labels == {"k": "v"}
    assert len({lane.entry.name for lane in recording.lanes}) == len(recording.lanes)
    for lane in recording.lanes:
        assert lane.entry.n == lane.histogram.total >= 0
    counted = [(lane.entry.name, lane.entry.n) for lane in recording.lanes]
    assert any(n for _, n in counted)
    for account in accounts(recording):
        # A sequence has an order; a histogram has none, but for the largest samples that rtprobe-lite keeps one by one.
        ordered = account.ordered_from_ns is not None
        kept_order = recording.manifest.has_samples or name == "console"
        assert ordered == (kept_order and account.entry.n > 0), account.entry.name
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if name == "rtw":
        assert digest in (made / "logs" / "original.sha256").read_text()
        return
    kept = made / "original" / path.name
    assert kept.read_bytes() == path.read_bytes()
    assert recording.manifest.seals[f"original/{path.name}"].sha256 == digest
    rows = [line.rsplit("\t", 1) for line in path.with_name(path.name + ".count").read_text().splitlines()]
    assert counted == [(lane, int(n)) for lane, n in rows]


@pytest.mark.parametrize(("name", "path"), OK, ids=IDS_OK)
def test_ends_with_its_account(name: str, path: Path) -> None:
    events = list(importer(name, path).read(path))
    assert sum(isinstance(event, Facts) for event in events) == 1
    assert isinstance(events[-1], End) and any(isinstance(event, Samples | HistogramPart) for event in events)


@pytest.mark.parametrize(("name", "path"), BAD, ids=IDS_BAD)
def test_refuses_by_name_and_leaves_nothing(name: str, path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputFileError) as caught:
        member = importer(name, path)
        store.import_events(tmp_path, path, member.source(path), member.read(path))
    assert str(path) in str(caught.value) and caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "path"),
    [OK[IDS_OK.index(next(i for i, (n, _) in zip(IDS_OK, OK, strict=True) if n == m))] for m in MEMBERS],
    ids=MEMBERS,
)
def test_cut_and_damaged_files(name: str, path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    file = tmp_path / path.name
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
