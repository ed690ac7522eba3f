"""The entry of each recording in the list, field by field, and what a list leaves out."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtassay import store
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.store import index, selecting
from rtassay.store.index import IndexEntry, describe
from rtassay.store.paths import make_directory, recordings

SOURCE = Source("rtprobe", "1", "rtw")
LANES = (
    LaneEntry(0, "0", 0, 10**6, n=100, missed=2, max_ns=900),
    LaneEntry(1, "1", 1, 10**6, n=50, missed=3, max_ns=700),
)
BLANK = Manifest("20261121T000000-a", "2026-11-21T00:00:00Z", SOURCE, lanes=LANES)


def made(home: Path, findings: dict[str, Any] | None = None, **changes: Any) -> IndexEntry:
    path = home / f"{BLANK.id}.rta"
    path.mkdir(parents=True, exist_ok=True)
    store.save_manifest(path, replace(BLANK, **changes))
    if findings is not None:
        store.save_findings(path, findings)
    return describe(path)


def test_counts_are_of_all_lanes(tmp_path: Path) -> None:
    entry = made(tmp_path)
    assert (entry.lanes, entry.n, entry.missed, entry.max_ns) == (2, 150, 5, 900)
    assert made(tmp_path, lanes=LANES[::-1]).max_ns == 900
    unknown = (LANES[0], replace(LANES[1], missed=None, max_ns=None))
    assert (made(tmp_path, lanes=unknown).missed, made(tmp_path, lanes=unknown).max_ns) == (None, 900)
    assert (made(tmp_path, lanes=()).missed, made(tmp_path, lanes=()).max_ns, made(tmp_path, lanes=()).n) == (
        0,
        None,
        0,
    )


@pytest.mark.parametrize(
    ("changes", "duration_s"),
    [
        ({"started_ns": 5 * 10**9, "ended_ns": 7 * 10**9, "plan": Plan(duration_ns=9)}, 2.0),
        ({"started_ns": 5, "plan": Plan(duration_ns=3 * 10**9)}, 3.0),
        ({"ended_ns": 5, "plan": Plan(duration_ns=3 * 10**9)}, 3.0),
        ({"plan": Plan(count=1000, interval_ns=10**6)}, 1.0),
        ({"plan": Plan(count=1000, interval_ns=10**6, duration_ns=4 * 10**9)}, 4.0),
        ({"plan": Plan(count=1000)}, None),
        ({"plan": Plan(interval_ns=10**6)}, None),
        ({}, None),
    ],
)
def test_the_length_is_that_of_the_run_or_of_its_plan(
    tmp_path: Path, changes: dict[str, Any], duration_s: float | None
) -> None:
    assert made(tmp_path, **changes).duration_s == duration_s


@pytest.mark.parametrize(
    ("changes", "findings", "kernel", "realtime"),
    [
        ({}, None, None, None),
        ({"inventory": {"kernel": {"release": "6.1"}}}, None, "6.1", None),
        ({"facts": {"kernel": {"release": "5.10", "version": "#1 SMP PREEMPT_RT"}}}, None, "5.10", True),
        ({"inventory": {"kernel": {"release": "6.1", "config_rt": False}}, "facts": {"kernel": {"version": "#1 PREEMPT_RT"}}}, None, "6.1", False),
        ({"inventory": {"kernel": {"release": "6.1"}}}, {"kernel": "6.2"}, "6.2", None),
        ({}, {"kernel": 7}, None, None),
    ],
)  # fmt: skip
def test_the_kernel(
    tmp_path: Path, changes: dict[str, Any], findings: dict[str, Any] | None, kernel: str | None, realtime: bool | None
) -> None:
    entry = made(tmp_path, findings, **changes)
    assert (entry.kernel, entry.realtime) == (kernel, realtime)


def test_the_load_and_the_method(tmp_path: Path) -> None:
    assert made(tmp_path, {"load": "x"}, plan=Plan(load="y")).load == "x"
    assert made(tmp_path, {"load": ""}, plan=Plan(load="y")).load == "y"
    assert (
        made(tmp_path, plan=Plan(probe="p")).probe == "" and made(tmp_path, plan=Plan("p", command=("p",))).probe == "p"
    )


@pytest.mark.parametrize(
    ("findings", "demonstrated_ns"),
    [
        ({"lanes": [{"demonstrated": {"deadline_ns": 7}}, {"demonstrated": {"deadline_ns": 9.0}}]}, 9),
        ({"lanes": [{"demonstrated": {"deadline_ns": 7}}, {"demonstrated": None}]}, None),
        ({"lanes": [{"demonstrated": {"deadline_ns": 7}}, "odd"]}, None),
        ({"lanes": [], "pooled": {"demonstrated": {"deadline_ns": 5}}}, 5),
        ({"pooled": {"demonstrated": {"deadline_ns": 5}}}, 5),
        ({"pooled": 3}, None),
        ({}, None),
    ],
)
def test_the_demonstrated_deadline_is_that_of_the_worst_lane(
    tmp_path: Path, findings: dict[str, Any], demonstrated_ns: int | None
) -> None:
    assert made(tmp_path, findings).demonstrated_ns == demonstrated_ns


def test_a_busy_index_is_read_another_time(tmp_path: Path) -> None:
    made(tmp_path)
    (entry,) = index.entries(tmp_path)
    with sqlite3.connect(tmp_path / index.FILE, isolation_level=None) as database:
        for words in ("database is locked", "database is busy"):
            file = (tmp_path / index.FILE).stat().st_ino

            class Busy:
                def __enter__(self) -> None:
                    raise sqlite3.OperationalError(words)  # noqa: B023

                def __exit__(self, *_: object) -> None:
                    return None

            patched = pytest.MonkeyPatch()
            patched.setattr(index, "_database", lambda home: Busy())
            assert index._read(tmp_path) == {} and index.entries(tmp_path) == [entry]
            patched.undo()
            assert (tmp_path / index.FILE).stat().st_ino == file, "it is kept"
        database.execute("SELECT 1")


def test_what_is_gone_leaves_the_index_and_what_is_new_enters_it(tmp_path: Path) -> None:
    made(tmp_path)
    index.entries(tmp_path)
    (tmp_path / f"{BLANK.id}.rta").rename(tmp_path / "20261122T000000-b.rta")
    assert [entry.path for entry in index.entries(tmp_path)] == [str(tmp_path / "20261122T000000-b.rta")]
    assert list(index._read(tmp_path)) == [str(tmp_path / "20261122T000000-b.rta")]


def test_recordings_are_directories_of_that_name_here_and_below(tmp_path: Path) -> None:
    for name in ("b.rta", "recordings/a.rta", "c.txt", "other/d.rta"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "e.rta").write_text("a file")
    assert [path.name for path in recordings(tmp_path)] == ["a.rta", "b.rta"]
    assert list(recordings(tmp_path / "absent")) == []
    make_directory(tmp_path / "x" / "y")
    make_directory(tmp_path / "x" / "y")
    assert (tmp_path / "x" / "y").is_dir()


def test_what_is_not_known_of_a_recording_is_no_value(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    blank = IndexEntry("1", "/r/1.rta", created="2026-11-01T10:00:00Z", labels={"z": "1", "m": "2", "a": "3", "k": "4"})
    known = replace(blank, id="2", board="pi", kernel="6.1", tool="t", probe="p", load="l", labels={})
    monkeypatch.setattr(selecting.index, "entries", lambda place: [blank, known])
    for key, value in (("kernel", "6.1"), ("board", "pi"), ("tool", "t"), ("probe", "p"), ("load", "l")):
        assert selecting.why_none([f"{key}=nope"], tmp_path) == f"{key} is one of {value}"
    with pytest.raises(selecting.UsageError) as caught:
        selecting.matching(["q=1"], tmp_path)
    assert str(caught.value.hint).endswith("since, until, a, k, m, z")


def test_seconds_that_do_not_tell_the_wall_clock_have_0_there(tmp_path: Path) -> None:
    """In an unsealed stream of another tool the parser may leave it out; in a table it is null."""
    from rtassay.model.events import Second
    from rtassay.store.sealed import _numpy
    from rtassay.store.unsealed import _columns

    rows = [Second(0, i, 4, 1, 2, 3, 5, 60, 70, 4, 60, wall_offset_ns=offset) for i, offset in ((0, None), (1, 77))]
    columns = _columns(rows)
    assert columns is not None and columns.wall_offset_ns.tolist() == [0, 77] and columns.second.tolist() == [0, 1]
    assert _columns([]) is None is _columns(None)
    import pyarrow as pa

    assert _numpy(pa.table({"a": pa.array([None, 5], pa.int64())}))["a"].tolist() == [0, 5]


def test_a_recording_is_called_by_its_name_or_its_file() -> None:
    blank = IndexEntry("1", "/r/1.rta")
    assert index.called(blank) is None and index.called(replace(blank, file="a.csv")) == "a.csv"
    assert index.called(replace(blank, file="a.csv", name="b")) == "b"
