"""Edits, the trash and removal: every word that is said, every byte that is counted, and what stays as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rtassay import store
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Edit, Manifest, Plan, Seal, Source
from rtassay.store import managing
from rtassay.store.writer import Lock

BLANK = Manifest(
    "20261121T120000-abcdef", "", Source("rtprobe", "1", "rtw"), Plan(), sealed=True, labels={"site": "a", "b": "1"}
)


def made(home: Path, identity: str = BLANK.id, files: dict[str, bytes] | None = None, **changes: object) -> Path:
    path = home / f"{identity}.rta"
    path.mkdir(parents=True)
    store.save_manifest(path, replace(BLANK, id=identity, **changes))  # type: ignore[arg-type]
    for name, data in (files or {}).items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(data)
    return path


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        managing.time, "gmtime", lambda: __import__("time").struct_time((2026, 11, 23, 4, 5, 6, 0, 0, 0))
    )


def test_size_is_that_of_files_below_it_and_of_no_link(tmp_path: Path) -> None:
    path = made(tmp_path, files={"a": b"12345", "logs/b": b"123"})
    base = (path / "manifest.json").stat().st_size
    (path / "link").symlink_to(path / "a")
    assert managing.size_of(path) == base + 8
    assert managing.size_of(tmp_path / "absent") == 0


def test_note_and_name_are_set_kept_and_removed(tmp_path: Path) -> None:
    path = made(tmp_path, note="n", name="m", files={"findings.json": b"{}"})
    before = Edit("2026-11-23T04:05:06Z", {"site": "a", "b": "1"}, "n", 0, "m")
    changed = managing.edit(path, labels={"c": "2"})
    assert (changed.labels, changed.note, changed.name) == ({"site": "a", "b": "1", "c": "2"}, "n", "m")
    assert changed.history == (before,) and store.load_manifest(path) == changed
    assert not (path / "findings.json").exists() and not (path / "lock").exists()
    changed = managing.edit(path, labels={}, name="")
    assert (changed.note, changed.name, len(changed.history)) == ("n", None, 2)
    changed = managing.edit(path, labels={}, note="", name="x")
    assert (changed.note, changed.name, len(changed.history)) == (None, "x", 3)
    (path / "findings.json").write_bytes(b"{}")
    assert managing.edit(path, labels={"site": "a"}, name="x") == changed
    assert (path / "findings.json").exists(), "nothing changed"


def test_what_is_refused_says_what_there_is(tmp_path: Path) -> None:
    path = made(tmp_path)
    with pytest.raises(UsageError) as caught:
        managing.edit(path, labels={"site": None, "x": None, "y": None})
    assert (caught.value.what, caught.value.why) == (f"{path.name} has no label 'x'", "its labels are: b, site")
    bare = made(tmp_path, "20261121T120000-bare", labels={})
    with pytest.raises(UsageError) as caught:
        managing.edit(bare, labels={"x": None})
    assert caught.value.why == "its labels are: none"
    raw = made(tmp_path, "20261121T120000-raw", sealed=False)
    with pytest.raises(UsageError) as caught:
        managing.edit(raw, labels={})
    assert (caught.value.what, caught.value.hint) == (f"{raw.name} is not sealed", "rtassay seal finishes it")


def test_samples_are_removed_with_their_seal_and_a_note_of_it(tmp_path: Path) -> None:
    seals = {"samples.parquet": Seal(5, "x"), "histogram.parquet": Seal(1, "y")}
    path = made(tmp_path, files={"samples.parquet": b"12345"}, seals=seals, has_samples=True, note="n", name="m")
    assert managing.remove_samples(path) == 5 and not (path / "samples.parquet").exists()
    after = store.load_manifest(path)
    assert after.seals == {"histogram.parquet": Seal(1, "y")} and after.has_samples is False
    assert after.history == (Edit("2026-11-23T04:05:06Z", {"site": "a", "b": "1"}, "n", 5, "m"),)
    (path / "samples.parquet").write_bytes(b"123")
    assert managing.remove_samples(path) == 3, "a leftover of a crash"
    assert managing.remove_samples(path) == 0
    imported = made(tmp_path, "20261121T120000-imp", seals=seals, source=Source("cyclictest", None, "x"))
    with pytest.raises(UsageError) as caught:
        managing.remove_samples(imported)
    assert (caught.value.what, caught.value.why, caught.value.hint) == (
        f"{imported.name} is an import of cyclictest", "its samples are the only full account", "rtassay rm removes it",
    )  # fmt: skip
    (path / "samples.parquet").mkdir()
    with pytest.raises(BoardError, match=r"cannot remove .*samples\.parquet"):
        managing.remove_samples(path)


def test_the_trash_holds_the_last_of_each_name(tmp_path: Path) -> None:
    path = made(tmp_path, files={"a": b"12345"})
    size = managing.size_of(path)
    gone = managing.put_away(path)
    assert gone == managing.Trashed(BLANK.id, tmp_path / ".trash" / path.name, size)
    again = managing.put_away(made(tmp_path, files={"a": b"1"}))
    assert again.bytes == size - 4 and list(managing.trashed(tmp_path)) == [again]
    managing.put_away(made(tmp_path, "20251121T120000-old"))
    assert [one.id for one in managing.trashed(tmp_path)] == ["20251121T120000-old", BLANK.id]
    assert list(managing.trashed(tmp_path / "absent")) == []
    assert managing.take_back(BLANK.id, tmp_path) == path and path.is_dir()
    managing.put_away(path)
    made(tmp_path)
    with pytest.raises(UsageError) as caught:
        managing.take_back(BLANK.id, tmp_path)
    assert (caught.value.what, caught.value.hint) == (f"{path} exists already", "remove that one first")


def test_removal_tells_how_much_it_freed(tmp_path: Path) -> None:
    path = made(tmp_path, files={"a": b"12345"})
    size = managing.size_of(path)
    lock = Lock(path)
    for act in (managing.remove, managing.put_away):
        with pytest.raises(UsageError) as caught:
            act(path)
        assert caught.value.what == f"{path.name} is being written"
        assert caught.value.hint == "end the run first; rtassay status shows it"
    lock.release(remove=True)
    assert managing.remove(path) == size and not path.exists()


@pytest.mark.parametrize(
    ("act", "what", "hint"),
    [
        (managing.remove, "cannot remove PATH", "a part of it may be gone"),
        (managing.put_away, "cannot move PATH to the trash", "the recording is as it was"),
    ],
)
def test_a_disk_that_refuses_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act, what: str, hint: str
) -> None:  # type: ignore[no-untyped-def]
    path = made(tmp_path)

    def refuse(*args: object, **options: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(managing.shutil, "rmtree", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(BoardError) as caught:
        act(path)
    assert (caught.value.what, caught.value.why, caught.value.hint) == (
        what.replace("PATH", str(path)),
        "Input/output error",
        hint,
    )


def test_a_recording_that_cannot_be_taken_back_stays_in_the_trash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made(tmp_path)
    inside = managing.put_away(path).path
    monkeypatch.setattr(managing, "sync_directory", lambda at: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(BoardError) as caught:
        managing.take_back(BLANK.id, tmp_path)
    assert (caught.value.what, caught.value.why) == (f"cannot take {inside} back", "Input/output error")
