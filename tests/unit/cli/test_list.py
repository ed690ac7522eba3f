"""Recordings are listed by what is known of them, sorted, and called by their names everywhere."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Done, in_process

from rtassay import api
from rtassay.figures.naming import names
from rtassay.store import save_findings

DATA = Path(__file__).parents[2] / "data" / "cyclictest"
# file -> what is said of it; the first is the oldest
FILES = {"q-H100-t2.txt": {"kernel": "rt", "site": "lab"}, "q-h50-t2.txt": {"kernel": "stock"}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("home")
    files = [DATA / name for name in FILES]
    for file, labels in zip(files, FILES.values(), strict=True):
        words = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        done = in_process("import", file, *words, home=place)
        assert done.returncode == 0, done.stderr
        wait_for_the_next_second()
    done = in_process("import", files[0], "--name", "before", home=place)
    assert done.returncode == 0, done.stderr
    return place


def wait_for_the_next_second() -> None:
    """The id of a recording begins with its second, and a list is in the order of the ids."""
    began_s = int(time.time())
    while int(time.time()) == began_s:
        time.sleep(0.02)


def listed(home: Path, *words: str) -> list[str]:
    """What the listed recordings are called, in the order of the rows."""
    done = in_process("list", *words, "--json", home=home)
    assert done.returncode == 0, done.stderr
    return [row["name"] or row["file"] for row in json.loads(done.stdout)["recordings"]]


def test_conditions_choose_and_all_must_hold(home: Path) -> None:
    first, second, third = listed(home)
    assert (first, third) == ("q-H100-t2.txt", "before")
    assert listed(home, "kernel=rt") == [first] and listed(home, "kernel=stock") == [second]
    assert listed(home, "tool=cyclictest", "site=lab") == [first]
    assert listed(home, "name=before") == ["before"] and listed(home, "verdict=none,kernel=rt") == [first]
    assert listed(home, "since=2026-01-01") == [first, second, third] and listed(home, "until=2020-01-01") == []


def test_what_fits_nothing_is_no_error_and_a_key_that_nobody_has_is_one(home: Path) -> None:
    none = in_process("list", "kernel=5.4", home=home)
    assert none.returncode == 0 and not none.stdout and "kernel is one of rt, stock" in none.stderr
    unknown = in_process("list", "kernal=rt", home=home)
    assert unknown.returncode == 2 and "kernal" in unknown.stderr and "kernel" in unknown.stderr.split("known:")[1]
    word = in_process("list", "rt", home=home)
    assert word.returncode == 2 and "'rt' is not a condition" in word.stderr


@pytest.mark.parametrize(
    ("typed", "written"),
    [("--kernel=rt", "kernel=VALUE"), ("--since=2026-01-01", "since=VALUE"), ("--label=a=b", "KEY=VALUE")],
)
def test_a_condition_that_is_typed_as_an_option_is_told_how_to_write_it(
    typed: str, written: str, tmp_path: Path
) -> None:
    done = in_process("list", typed, home=tmp_path)
    assert done.returncode == 2 and f"rtassay list {written}" in done.stderr
    assert "No such option" in in_process("list", "--kernal=rt", home=tmp_path).stderr


def test_a_list_is_sorted_by_a_column_and_rows_without_a_value_are_last(home: Path) -> None:
    rows = json.loads(in_process("list", "--sort", "worst", "--reverse", "--json", home=home).stdout)["recordings"]
    worst = [row["max_ns"] for row in rows]
    assert worst == sorted(worst, reverse=True) and len(rows) == 3
    assert listed(home, "--sort", "name")[0] == "before"
    assert listed(home, "--sort", "kernel")[-1] == listed(home, "--sort", "kernel", "--reverse")[-1] == "before"
    assert in_process("list", "--sort", "colour", home=home).returncode == 2


def shown_id(done: Done) -> str:
    assert done.returncode == 0, done.stderr
    identity = json.loads(done.stdout)["id"]
    assert isinstance(identity, str)
    return identity


def test_a_name_names_the_recording_and_a_file_that_two_came_from_does_not(home: Path) -> None:
    by_name = shown_id(in_process("show", "before", "--json", home=home))
    assert by_name == shown_id(in_process("show", by_name[:22], "--json", home=home))
    twice = in_process("show", "q-H100-t2.txt", home=home)
    assert twice.returncode == 2 and "fits 2 recordings" in twice.stderr and by_name in twice.stderr
    assert in_process("show", listed(home)[1], home=home).returncode == 0


def test_a_name_is_given_afterwards_and_the_old_one_is_kept(tmp_path: Path) -> None:
    assert in_process("import", DATA / "q-H100-t2.txt", "--name", "one", home=tmp_path).returncode == 0
    done = in_process("label", "one", "--name", "two", home=tmp_path)
    assert done.returncode == 0 and "'two'" in done.stdout
    (manifest,) = tmp_path.glob("recordings/*.rta/manifest.json")
    assert json.loads(manifest.read_text())["history"][0]["name"] == "one"
    assert in_process("show", "one", home=tmp_path).returncode == 2
    assert json.loads(in_process("show", "two", "--json", home=tmp_path).stdout)["name"] == "two"


@pytest.mark.parametrize("name", ["a/b", "kernel=rt", "-x", " ", "x" * 61, "a\x1bb", ".", ".."])
def test_a_name_that_could_be_something_else_is_refused(name: str, tmp_path: Path) -> None:
    done = in_process("import", DATA / "q-H100-t2.txt", f"--name={name}", home=tmp_path)
    assert done.returncode == 2 and "--name" in done.stderr and not listed(tmp_path)


def test_one_name_is_not_for_two_files(tmp_path: Path) -> None:
    done = in_process("import", DATA / "q-H100-t2.txt", DATA / "q-h50-t2.txt", "--name", "x", home=tmp_path)
    assert done.returncode == 2 and not listed(tmp_path)


def test_reports_lists_figures_and_comparisons_show_the_name(home: Path, tmp_path: Path) -> None:
    assert "before" in in_process("list", home=home).stdout
    assert in_process("show", "before", home=home).stdout.startswith("before (2")
    page = tmp_path / "page.html"
    assert in_process("report", "before", "-o", page, home=home).returncode == 0
    assert "<h1>before" in page.read_text() and "<title>NO REQUIREMENT STATED: before" in page.read_text()
    done = in_process("compare", "before", "--with", "kernel=stock", "--format", "markdown", home=home)
    told = done.stdout.replace("\\", "")
    assert done.returncode == 0 and f"A before {shown_id(in_process('show', 'before', '--json', home=home))}" in told
    assert f"B {listed(home)[1]} 2" in told


def test_recordings_that_only_their_names_tell_apart_are_called_by_them(tmp_path: Path) -> None:
    for name in ("first", "second"):
        assert in_process("import", DATA / "q-H100-t2.txt", "--name", name, home=tmp_path).returncode == 0
    found = [api.open(path)._findings for path in tmp_path.glob("recordings/*.rta")]
    assert set(names(found)) == {"first", "second"}
    (file,) = (replace(one, name=None) for one in found[:1])
    assert names([file]) == ["q-H100-t2.txt"], "not by its load, which nobody knows"
    assert names([file, replace(file, source={**file.source, "file": "other.txt"})]) == ["q-H100-t2.txt", "other.txt"]
    done = in_process("compare", "first", "--with", "second", "--json", home=tmp_path)
    told = json.loads(done.stdout)
    assert (told["a"]["title"], told["b"]["title"]) == ("first", "second"), told["a"]["title"]


def test_a_list_tells_no_holds_without_its_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A histogram: nothing tells whether late ones come singly."""
    done = in_process("import", DATA / "q-H100-t2.txt", "--label", "load=all", home=tmp_path)
    assert done.returncode == 0, done.stderr
    row = json.loads(in_process("list", "--json", home=tmp_path).stdout)["recordings"][0]
    path = Path(row["path"])
    assert row["assumes"] == [] and row["state"] is None
    findings = json.loads((path / "findings.json").read_text())
    findings["verdict"] = {"state": "HOLDS", "assumes": [{"code": "singly", "facts": {}}], "per_hour": None}
    del findings["sha256"]
    save_findings(path, findings)
    monkeypatch.setenv("COLUMNS", "250")
    done = in_process("list", home=tmp_path)
    assert done.stdout.rstrip().endswith("HOLDS, if late ones come singly"), done.stdout
    assert listed(tmp_path, "verdict=holds") == ["q-H100-t2.txt"]
