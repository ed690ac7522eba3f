"""The list of recordings: right whatever happens to its cache."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rtassay import store
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.store import index


def make(home: Path, number: int, **changes: object) -> Path:
    path = home / f"2026112{number}T000000-00000{number}.rta"
    path.mkdir(parents=True)
    lane = LaneEntry(0, "0", 0, 10**6, n=100 + number, missed=number, max_ns=5000 + number)
    blank = Manifest(
        path.name.removesuffix(".rta"), "", Source("rtprobe", "1", "rtw"), Plan(load="stress-ng"), (lane,), sealed=True
    )
    store.save_manifest(path, replace(blank, started_ns=0, ended_ns=2_500_000_000, **changes))  # type: ignore[arg-type]
    return path


def test_entries(tmp_path: Path) -> None:
    assert index.entries(tmp_path / "absent") == [] and not (tmp_path / "absent").exists()
    second, first = make(tmp_path, 2), make(tmp_path, 1)
    found = index.entries(tmp_path)
    assert [e.path for e in found] == [str(first), str(second)]
    assert (found[0].n, found[0].missed, found[0].max_ns, found[0].duration_s) == (101, 1, 5001, 2.5)
    assert found[0].sealed and found[0].load == "stress-ng" and found[0].state is None
    verdict = {"state": "HOLDS"}
    lanes = [{"demonstrated": {"deadline_ns": 7}}, {"demonstrated": {"deadline_ns": 9}}]
    store.save_findings(first, {"verdict": verdict, "lanes": lanes, "kernel": "6.1"})
    entry = index.entries(tmp_path)[0]
    assert (entry.state, entry.demonstrated_ns, entry.kernel) == ("HOLDS", 9, "6.1")
    lanes[0]["demonstrated"] = {"deadline_ns": None}  # type: ignore[dict-item]
    store.save_findings(first, {"verdict": None, "lanes": lanes})
    assert index.entries(tmp_path)[0].demonstrated_ns is None
    store.save_manifest(second, replace(store.load_manifest(second), inventory={"kernel": {"release": "6.12-rt"}}))
    assert index.entries(tmp_path)[1].kernel == "6.12-rt"
    shutil.rmtree(second)
    assert len(index.entries(tmp_path)) == 1


def test_rows_come_from_the_cache_until_the_manifest_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path, 1)
    before = index.entries(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(index, "describe", lambda path: pytest.fail("read again"))
        assert index.entries(tmp_path) == before
    store.save_manifest(path, replace(store.load_manifest(path), note="changed"))
    assert index.entries(tmp_path)[0].note == "changed"


def test_damaged_recordings_are_listed_as_such(tmp_path: Path) -> None:
    path = make(tmp_path, 1)
    (path / "manifest.json").write_text("{")
    (entry,) = index.entries(tmp_path)
    assert entry.error is not None and "damaged" in entry.error and entry.id == path.name.removesuffix(".rta")
    assert entry == index.IndexEntry(entry.id, str(path), error=entry.error), "nothing else is known of it"
    assert (entry.created, entry.sealed, entry.board, entry.kernel, entry.tool, entry.load) == (
        "",
        False,
        "",
        None,
        "",
        "",
    )
    assert (entry.lanes, entry.n, entry.missed, entry.max_ns, entry.labels, entry.duration_s) == (
        0,
        0,
        None,
        None,
        {},
        None,
    )
    (path / "manifest.json").unlink()
    assert index.entries(tmp_path)[0].error is not None


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, None])
def test_missing_or_corrupt_index_is_made_anew(tmp_path: Path, content: bytes | None) -> None:
    make(tmp_path, 1)
    expected = index.entries(tmp_path)
    file = tmp_path / index.FILE
    if content is None:
        data = bytearray(file.read_bytes())
        data[100:] = b"\xff" * (len(data) - 100)
        content = bytes(data)
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    file.write_bytes(content)
    assert index.entries(tmp_path) == expected
    assert index.entries(tmp_path) == expected
    with sqlite3.connect(file) as database:
        assert database.execute("select count(*) from recording").fetchone() == (1,)


def test_other_schema_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, 1)
    expected = index.entries(tmp_path)
    with sqlite3.connect(tmp_path / index.FILE) as database:
        database.execute("drop table recording")
        database.execute("create table recording (something int)")
        database.execute("pragma user_version = 99")
    assert index.entries(tmp_path) == expected
    monkeypatch.setattr(index, "VERSION", index.VERSION + 1)
    assert index.entries(tmp_path) == expected


def test_place_that_takes_no_index(tmp_path: Path) -> None:
    make(tmp_path, 1)
    (tmp_path / index.FILE).mkdir()
    assert [e.n for e in index.entries(tmp_path)] == [101]


def test_two_processes_at_once(tmp_path: Path) -> None:
    for number in range(1, 6):
        make(tmp_path, number)
    code = (
        "import sys\nfrom pathlib import Path\nfrom dataclasses import replace\nfrom rtassay import store\n"
        "from rtassay.store import index\nhome = Path(sys.argv[1])\n"
        "for i in range(30):\n"
        "    path = store.find(f'2026112{1 + (i + int(sys.argv[2])) % 5}', home=home)\n"
        "    store.save_manifest(path, replace(store.load_manifest(path), note=f'{sys.argv[2]} {i}'))\n"
        "    found = index.entries(home)\n"
        "    assert len(found) == 5 and not any(e.error for e in found), found\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(i)], stderr=subprocess.PIPE) for i in range(2)
    ]
    for process in running:
        _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors.decode()
    notes = {e.path: e.note for e in index.entries(tmp_path)}
    assert notes == {path: store.load_manifest(Path(path)).note for path in notes}
    assert (tmp_path / index.FILE).exists()
