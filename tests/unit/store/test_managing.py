"""Labels edited, samples removed, recordings in the trash: nothing is lost that was not asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import in_process

from rtassay import store
from rtassay.cli.prune import choose
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.store import managing
from rtassay.store.index import IndexEntry, entries
from rtassay.store.writer import Lock

DATA = (Path(__file__).parents[3] / "wire" / "golden" / "v1" / "cyclic.rtw").read_bytes()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    directory = tmp_path / "recordings"
    directory.mkdir()
    return directory


def sealed(home: Path, tool: str = "rtprobe") -> Path:
    path = unsealed(home, tool)
    store.seal(path)
    return path


def unsealed(home: Path, tool: str = "rtprobe") -> Path:
    blank = Manifest(
        store.new_id(), "2026-11-21T12:00:00Z", Source(tool, None, "rtw", "counted"), Plan(), labels={"site": "a"}
    )
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(DATA)
    return writer.path


def test_an_edit_keeps_what_was_there_before_and_drops_the_findings(home: Path) -> None:
    path = sealed(home)
    store.save_findings(path, {"verdict": None})
    managing.edit(path, labels={"load": "idle", "site": None}, note="case open")
    after = store.load_manifest(path)
    assert (after.labels, after.note) == ({"load": "idle"}, "case open")
    assert [(e.labels, e.note, e.samples_removed) for e in after.history] == [({"site": "a"}, None, 0)]
    assert store.load_findings(path) is None
    assert managing.edit(path, labels={"load": "idle"}).history == after.history  # nothing changed, nothing noted
    assert managing.edit(path, labels={}, note="").note is None
    assert store.open_recording(path, verify=True).manifest.labels == {"load": "idle"}


def test_what_cannot_be_edited_is_refused_and_unchanged(home: Path) -> None:
    path, raw = sealed(home), unsealed(home)
    before = (path / "manifest.json").read_bytes()
    with pytest.raises(UsageError, match="no label 'nope'"):
        managing.edit(path, labels={"nope": None})
    with pytest.raises(UsageError, match="not sealed"):
        managing.edit(raw, labels={"a": "b"})
    lock = Lock(path)
    try:
        for act in (
            lambda: managing.edit(path, labels={"a": "b"}),
            lambda: managing.put_away(path),
            lambda: managing.remove(path),
        ):
            with pytest.raises(UsageError):
                act()
    finally:
        lock.release(remove=True)
    assert (path / "manifest.json").read_bytes() == before


def test_samples_go_and_all_else_stays(home: Path) -> None:
    path = sealed(home)
    before = store.open_recording(path)
    size = (path / "samples.parquet").stat().st_size
    assert managing.remove_samples(path) == size
    after = store.open_recording(path, verify=True)
    assert not after.manifest.has_samples and after.manifest.history[-1].samples_removed == size
    assert replace(after.manifest, has_samples=True, seals=before.manifest.seals, history=()) == before.manifest
    for old, new in zip(before.lanes, after.lanes, strict=True):
        assert old.histogram.total == new.histogram.total
        assert (old.spills is None) == (new.spills is None)
        assert old.spills is None or new.spills is None or list(old.spills.rows()) == list(new.spills.rows())
    assert managing.remove_samples(path) == 0
    with pytest.raises(UsageError, match="import"):
        managing.remove_samples(sealed(home, "cyclictest"))


def test_a_crash_between_manifest_and_samples_leaves_a_whole_recording(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sealed(home)
    monkeypatch.setattr(managing, "_unlink", lambda file: (_ for _ in ()).throw(BoardError("killed here")))
    with pytest.raises(BoardError):
        managing.remove_samples(path)
    store.open_recording(path, verify=True)
    monkeypatch.undo()
    assert managing.remove_samples(path) > 0 and not (path / "samples.parquet").exists()


def test_the_trash_gives_back_what_it_took(home: Path) -> None:
    path = sealed(home)
    bytes_before = {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()}
    gone = managing.put_away(path)
    assert not path.exists() and entries(home) == [] and [t.id for t in managing.trashed(home)] == [gone.id]
    assert managing.take_back(gone.id[:20], home) == path
    assert {file.name: file.read_bytes() for file in path.iterdir() if file.is_file()} == bytes_before
    managing.put_away(path)
    with pytest.raises(UsageError):
        managing.take_back("nothing", home)
    path.mkdir()
    with pytest.raises(UsageError, match="exists already"):
        managing.take_back(gone.id, home)


def entry(number: int, board: str = "pi", sealed: bool = True) -> IndexEntry:
    return IndexEntry(f"r{number}", f"/r{number}", created=f"2026-11-{number:02}T00:00:00Z", board=board, sealed=sealed)


def test_what_prune_chooses() -> None:
    every = [entry(1), entry(2), entry(3, "nuc"), entry(4), entry(5, sealed=False)]
    now = 1_796_774_400.0  # 2026-12-09
    assert [e.id for e in choose(every, 1, None, now)] == ["r1", "r2"]
    assert [e.id for e in choose(every, None, "36d", now)] == ["r1", "r2"]
    assert [e.id for e in choose(every, 2, "36d", now)] == ["r1"]
    assert choose(every, 9, None, now) == []


def test_the_verbs(home: Path) -> None:
    path = sealed(home)
    name = path.name.removesuffix(".rta")
    done = in_process("label", name, "load=idle", "--json", home=home.parent)
    assert done.returncode == 0 and json.loads(done.stdout)["recordings"][0]["labels"] == {"site": "a", "load": "idle"}
    assert store.load_findings(path) is not None  # judged anew
    dry = json.loads(
        in_process("prune", "--older", "1s", "--samples-only", "--dry-run", "--json", home=home.parent).stdout
    )
    assert dry["dry_run"] and dry["bytes"] == (path / "samples.parquet").stat().st_size
    assert (
        in_process("prune", "--older", "1s", "--samples-only", home=home.parent).returncode == 0
        and not (path / "samples.parquet").exists()
    )
    assert in_process("rm", name, home=home.parent).returncode == 0 and not path.exists()
    assert in_process("rm", "--restore", name, home=home.parent).returncode == 0 and path.exists()
    assert in_process("prune", "--keep", "0", home=home.parent).returncode == 0
    freed = json.loads(in_process("prune", "--trash", "--json", home=home.parent).stdout)
    assert freed["bytes"] > 0 and list((home / ".trash").iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [("label", "x"), ("label", "k=v"), ("label", "x", "k=v", "--remove", "k"), ("prune",), ("prune", "--trash", "--keep", "1"),
     ("rm", "x", "--forever", "--restore"), ("rm", "nope"), ("prune", "--older", "soon")],
)  # fmt: skip
def test_usage_errors_of_the_verbs(home: Path, line: tuple[str, ...]) -> None:
    done = in_process(*line, home=home.parent)
    assert done.returncode == 2 and "Traceback" not in done.stderr
