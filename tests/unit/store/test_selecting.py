"""Recordings are found by what is recorded of them, and a label of the same name decides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rtassay.model.errors import UsageError
from rtassay.model.inventory import KernelState
from rtassay.model.views import view_of
from rtassay.store import selecting
from rtassay.store.index import IndexEntry
from rtassay.store.selecting import conditions, holds, matching, select, why_none

STOCK = IndexEntry(
    "1", "/r/1.rta", "2026-11-01T10:00:00.000Z", True, "pi5", "6.1.0-56-amd64", False, "rtprobe", "cyclic",
    "stress-ng:cpu@0-1 + hackbench", {"ambient": "21C"}, name="before", state="INVALID MEASUREMENT",
)  # fmt: skip
RT = replace(
    STOCK,
    id="2",
    path="/r/2.rta",
    created="2026-11-03T10:00:00.000Z",
    kernel="6.1.0-56-rt-amd64",
    realtime=True,
    name=None,
    state="VIOLATED",
)
FILE = IndexEntry(
    "3",
    "/r/3.rta",
    "2026-11-04T10:00:00.000Z",
    True,
    "",
    None,
    None,
    "cyclictest",
    "",
    "",
    {"kernel": "rt"},
    file="old.txt",
)


@pytest.fixture(autouse=True)
def entries(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[IndexEntry]:
    found = [STOCK, RT, FILE, IndexEntry("4", "/r/4.rta", error="damaged")]
    monkeypatch.setattr(selecting.index, "entries", lambda place: found if place == tmp_path else [])
    monkeypatch.setattr(selecting, "home", lambda: tmp_path)
    return found


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("kernel=6.1.0-56-amd64", "1"),
        ("kernel=6.1.0-56-rt-amd64", "2"),
        ("os=linux", "12"),
        ("os=linux-rt", "2"),
        ("os=linux-stock", "1"),
        ("kernel=stock", "1"),
        ("kernel=rt", "23"),
        ("board=pi5", "12"),
        ("load=stress-ng", "12"),
        ("load=stress-ng:cpu@0-1", "12"),
        ("load=hackbench", "12"),
        ("load=stress-ng:cpu@0-1 + hackbench", "12"),
        ("tool=cyclictest", "3"),
        ("probe=cyclic", "12"),
        ("ambient=21C", "12"),
        ("since=2026-11-02", "23"),
        ("until=2026-11-03", "12"),
        ("until=2026-11-03T10:00+00:00", "12"),
        ("until=2026-11-03T09:59+00:00", "1"),
        ("verdict=VIOLATED", "2"),
        ("verdict=invalid", "1"),
        ("verdict=invalid-measurement", "1"),
        ("verdict=none", "3"),
        ("name=before", "1"),
        ("name=old.txt", "3"),
        ("kernel=rt,board=pi5", "2"),
        ("board=pi5,load=hackbench,since=2026-11-02T09:00+00:00", "2"),
    ],
)
def test_facts_and_labels_select(text: str, ids: str) -> None:
    assert [path.name for path in select(text)] == [f"{one}.rta" for one in ids]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kernel=5.4", "kernel is one of 6.1.0-56-amd64, 6.1.0-56-rt-amd64, rt, stock"),
        ("colour=red", "no recording has a label colour"),
        ("kernel=stock,tool=cyclictest", "kernel=stock alone is known; tool=cyclictest alone is known"),
        ("since=2027-01-01", "the newest is of 2026-11-04"),
    ],
)
def test_what_selects_nothing_tells_what_there_is(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        select(text)
    assert refused.value.hint == hint


def test_a_date_that_is_none_is_named() -> None:
    with pytest.raises(UsageError, match="since=yesterday is not a date"):
        select("since=yesterday")


def test_a_label_decides_where_there_is_one() -> None:
    """A person said so: a kernel labelled `mine` is not selected by what else is known."""
    labelled = replace(RT, labels={"kernel": "mine"})
    assert holds(labelled, "kernel", "mine") and not holds(labelled, "kernel", "rt")


def test_an_experiment_beside_the_recordings_counts_each_cell_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = tmp_path / "recordings"
    (tmp_path / "experiments" / "one" / "recordings").mkdir(parents=True)
    labels = {"experiment": "one", "cell": "c1"}
    first, again = (replace(STOCK, id=str(i), path=f"/e/{i}.rta", labels=labels) for i in (7, 8))
    other = replace(first, id="9", path="/e/9.rta", labels=labels | {"cell": "c2"})
    monkeypatch.setattr(selecting, "home", lambda: home)
    monkeypatch.setattr(selecting.index, "entries", lambda place: [first, again, other] if place != home else [STOCK])
    assert [path.name for path in select("experiment=one")] == ["8.rta", "9.rta"]
    assert [path.name for path in select("board=pi5")] == ["1.rta"]


def test_a_text_that_is_no_condition() -> None:
    assert conditions("20261122T193309-40319b") is None and conditions("=x") is None and conditions("a=") is None
    assert conditions("note=a,b") == [("note", "a,b")]


@pytest.mark.parametrize(
    ("told", "realtime"),
    [
        ({}, None),
        ({"version": "#1 SMP PREEMPT_RT Debian"}, True),
        ({"version": "#1 SMP PREEMPT RT"}, True),
        ({"version": "#1 SMP PREEMPT_DYNAMIC"}, False),
        ({"preempt_model": "PREEMPT_RT"}, True),
        ({"preempt_model": "VOLUNTARY"}, False),
        ({"config_rt": True}, True),
        ({"config_rt": False}, False),
        ({"realtime_file": "1\n", "version": "#1 SMP PREEMPT"}, True),
    ],
)
def test_a_kernel_is_real_time_by_any_proof_of_it(told: dict[str, object], realtime: bool | None) -> None:
    assert view_of(KernelState, told).realtime is realtime


def test_all_conditions_of_all_texts_and_no_damaged_recording(tmp_path: Path) -> None:
    def ids(*texts: str) -> str:
        return "".join(entry.id for entry in matching(texts, tmp_path))

    assert ids() == "1234" and ids("board=pi5") == "12" == ids("since=2020-01-01,board=pi5")
    assert ids("board=pi5", "kernel=rt") == "2" and ids("board=pi5,kernel=rt", "tool=cyclictest") == ""
    assert ids("ambient=21C") == "12" and ids("ambient=5C") == "" and ids("experiment=x") == ""
    assert "".join(entry.id for entry in matching(["board=pi5"])) == "12", "our own recordings without a place"


def test_a_text_or_a_name_that_cannot_select_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        matching(["board=pi5", "what"], tmp_path)
    assert refused.value.what == "'what' is not a condition"
    assert refused.value.hint == "write kernel=rt, board=pi5 or since=2026-11-01"
    with pytest.raises(UsageError) as refused:
        matching(["colour=red"], tmp_path)
    assert refused.value.what == "no recording has a label 'colour'"
    assert (
        refused.value.hint
        == "known: board, kernel, os, load, tool, probe, verdict, name, experiment, since, until, ambient"
    )


def test_why_nothing_was_found(tmp_path: Path) -> None:
    assert why_none(["board=x", "since=2027-01-01,until=2020-01-01"], tmp_path) == (
        "board is one of pi5; the newest is of 2026-11-04; the oldest is of 2026-11-01"
    )
    assert why_none(["verdict=HOLDS,ambient=21C"], tmp_path) == (
        "verdict is one of invalid, invalid-measurement, none, violated; ambient=21C alone is known"
    )
    empty = tmp_path / "empty"
    assert why_none(["since=2027-01-01,until=2020-01-01", "board=x", "what"], empty) == (
        "there is no recording; there is no recording; no recording has a label board"
    )


@pytest.mark.parametrize(
    ("condition", "created", "met"),
    [
        ("since=2026-11-01T10:00:00+00:00", "2026-11-01T10:00:00+00:00", True),
        ("since=2026-11-01T10:00:01+00:00", "2026-11-01T10:00:00+00:00", False),
        ("until=2026-11-01T10:00:00+00:00", "2026-11-01T10:00:00+00:00", True),
        ("until=2026-11-01T10:00:00+00:00", "2026-11-01T10:00:00.000001+00:00", False),
        ("until=2026-11-01", "2026-11-01T23:59:59.999999", True),
        ("until=2026-11-01", "2026-11-02T00:00:00", False),
    ],
)
def test_until_includes_its_moment_or_its_day(condition: str, created: str, met: bool) -> None:
    key, _, value = condition.partition("=")
    assert holds(replace(STOCK, created=created), key, value) is met


def test_a_date_that_is_none_has_a_hint() -> None:
    with pytest.raises(UsageError) as refused:
        holds(STOCK, "until", "soon")
    assert (refused.value.what, refused.value.hint) == (
        *("until=soon is not a date", "write until=2026-11-01 or until=2026-11-01T14:00"),
    )


def test_recordings_of_experiments_are_only_read_if_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "experiments" / "one" / "recordings").mkdir(parents=True)
    (tmp_path / "experiments" / "two" / "recordings").mkdir(parents=True)
    monkeypatch.setattr(selecting, "home", lambda: tmp_path / "recordings")
    made = replace(STOCK, id="0", labels={"experiment": "one"})
    monkeypatch.setattr(
        selecting.index, "entries", lambda place: [STOCK, RT] if place.name == "recordings" and place.parent == tmp_path
        else [replace(made, id=f"0{place.parent.name}")]
    )  # fmt: skip
    assert [entry.id for entry in matching(["experiment=one"])] == ["0one", "0two"], "sorted among all of them"
    assert [entry.id for entry in matching(["board=pi5"])] == ["1", "2"]
    assert [entry.id for entry in matching(["experiment=one,board=pi5"])] == ["0one", "0two"]
