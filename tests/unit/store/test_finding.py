"""A recording by what a person types, and the words when that is none or several."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay import store
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Manifest, Source

IDS = [f"2026112{day}T100000-{tail}" for day, tail in enumerate("abcdefgh")]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    return make(tmp_path / "recordings", IDS)


def make(home: Path, ids: list[str], names: dict[str, str] | None = None, file: str | None = None) -> Path:
    for one in ids:
        path = home / f"{one}.rta"
        path.mkdir(parents=True)
        source = Source("rtprobe", None, "rtw", file=file)
        store.save_manifest(path, Manifest(one, "2026-11-21", source, name=(names or {}).get(one)))
    return home


def refused(name: str, home: Path | None = None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        store.find(name, home)
    return caught.value


def test_nothing_found_names_the_newest_six(home: Path) -> None:
    found = refused("zzz")
    assert found.what == "there is no recording 'zzz'" and found.why == f"no path, id or name of one in {home}"
    assert found.hint == f"the newest are {', '.join(IDS[2:])}"
    few = make(home.parent / "few", IDS[:2])
    assert refused("zzz", few).hint == f"the newest are {IDS[0]}, {IDS[1]}"
    assert refused("zzz", few).why == f"no path, id or name of one in {few}"
    assert (
        refused("", few).what == "there is no recording ''"
        and refused(".rta", few).what == "there is no recording '.rta'"
    )


def test_several_that_fit_are_named_six_of_them(home: Path) -> None:
    found = refused("2026112")
    assert found.what == "'2026112' fits 8 recordings" and found.why is None
    assert found.hint == f"which one: {', '.join(IDS[:6])} and 2 more"
    assert refused("2026", make(home.parent / "six", IDS[:6])).hint == f"which one: {', '.join(IDS[:6])}"
    assert str(refused("2026", make(home.parent / "seven", IDS[:7])).hint).endswith(f"{IDS[5]} and 1 more")


def test_another_directory_is_looked_through_alone(home: Path) -> None:
    other = make(home.parent / "other", ["20200101T000000-x"])
    assert store.find("2020", other) == other / "20200101T000000-x.rta"
    assert store.find(IDS[3]) == home / f"{IDS[3]}.rta" == store.find(f"{IDS[3]}.rta") == store.find(IDS[3][:10])
    assert refused("2020").what == "there is no recording '2020'"


def test_a_path_goes_before_every_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / f"{IDS[1]}.rta"
    monkeypatch.setenv("HOME", str(home.parent))
    assert store.find(f"~/recordings/{IDS[1]}.rta") == path == store.find(str(path / "manifest.json"))
    monkeypatch.chdir(path)
    assert store.find(".") == Path() and store.find("manifest.json") == Path()
    assert refused("").what == "there is no recording ''", "an empty name is not this directory"
    found = refused(str(home))
    assert (found.what, found.why) == (f"{home} is not a recording", "it has no manifest.json")
    (home / "manifest.json").mkdir()
    assert refused(str(home / "manifest.json")).what.endswith("is not a recording")


def test_a_name_decides_where_the_beginning_of_an_id_does_not(tmp_path: Path) -> None:
    home = make(tmp_path, IDS[:2], {IDS[0]: "2026", IDS[1]: "other"}, file="a.csv")
    assert store.find("2026", home).stem == IDS[0], "both ids begin so, one recording is called so"
    assert store.find(IDS[1][:9], home).stem == IDS[1]
    assert refused("a.csv", home).what == "'a.csv' fits 2 recordings"
    make(home, ["20300101T000000-z"], {"20300101T000000-z": "a.csv"})
    assert store.find("a.csv", home).stem == "20300101T000000-z", "a person's name goes before that of a file"
