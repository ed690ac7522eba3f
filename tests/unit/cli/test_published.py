"""`published`, `report --against` and the reading options of `import`, through the entry point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rtassay.cli.main import run
from rtassay.published import load

DATA = Path(__file__).parents[2] / "data" / "importers"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def imported(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert run(["import", "--json", *argv]) == 0
    return str(json.loads(capsys.readouterr().out)["recordings"][0]["id"])


def test_published_results_as_json_carry_their_source_and_doubts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "--board", "rk3562", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["schema"] == "rtassay/published/1" and len(data["results"]) == 4
    assert all(row["locator"] and row["verification"] for row in data["results"])
    assert [(check["id"], check["rows"]) for check in data["checks"]] == [
        ("COUNT-MISMATCH", ["R025", "R026", "R027", "R028"])
    ]


def test_published_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["published", "--board", "pi5", "--kernel", "rt"]) == 0
    shown = capsys.readouterr()
    assert [line[:4] for line in shown.out.splitlines()[1:]] == ["R002", "R095"] and "max us" in shown.out
    assert run(["published"]) == 0
    told = capsys.readouterr().out.splitlines()[1:]
    for row, line in zip(load(), told, strict=True):
        assert line.split()[0] == row.id
        for figure in (row.min_us, row.avg_us, row.max_us, row.kernel):
            assert f"  {' '.join(figure.split())}" in line, "piped output has no width: nothing is cut"
    assert run(["published", "--check"]) == 0
    assert {"COUNT-MISMATCH", "SUMMARY-INCONSISTENT", "DUPLICATE-RESULT"} <= set(capsys.readouterr().out.split())
    assert run(["published", "no-such-board"]) == 2


def test_a_report_beside_published_results(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    name = imported(capsys, "--label", "load=hackbench", str(DATA / "rtla-timerlat" / "two-columns.ok.txt"))
    for suffix, mark in ((".md", "| R002 |"), (".html", ">R002</th>")):
        target = home / f"page{suffix}"
        assert run(["report", name, "--against", "published:pi5", "-o", str(target)]) == 0
        text = target.read_text()
        assert mark in text and "36802" in text and "times as long" in text and "load" in text
    assert run(["report", name, "--against", "published:zx81", "-o", "x.md"]) == 2
    assert run(["report", name, "--against", "other", "-o", "x.md"]) == 2
    assert run(["report", name, "--against", "published", "-o", "x.json"]) == 2
    assert not (home / "x.md").exists() and not (home / "x.json").exists()


def test_how_to_read_a_table_is_said_with_options(capsys: pytest.CaptureFixture[str]) -> None:
    name = imported(
        capsys, "--column", "t_s", "--unit", "s", "--lane-column", "cpu", str(DATA / "table" / "two-cpus.ok.csv")
    )
    assert run(["show", name, "--json"]) == 0
    lanes = json.loads(capsys.readouterr().out)["lanes"]
    assert [(lane["name"], lane["cpu"], lane["n"], lane["max_ns"]) for lane in lanes] == [
        ("0", 0, 200, 398_000_000),
        ("1", 1, 200, 399_000_000),
    ]
    assert run(["import", "--column", "t_s", str(DATA / "oslat" / "bias.ok.txt")]) == 2
    assert run(["import", "--lane-column", "cpu", str(DATA / "oslat" / "bias.ok.txt")]) == 2
    assert "means nothing" in capsys.readouterr().err


def test_import_and_show_name_the_measure_of_each_lane(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "--json", str(DATA / "rtla-timerlat" / "three-columns.ok.txt")]) == 0
    (made,) = json.loads(capsys.readouterr().out)["recordings"]
    assert made["lanes"][:2] == [
        {"name": "cpu0 irq", "cpu": 0, "measure": "timer-irq"},
        {"name": "cpu0 thread", "cpu": 0, "measure": "timer-thread"},
    ]
    run(["show", "--json", made["id"]])
    shown = json.loads(capsys.readouterr().out)
    assert [lane["measure"] for lane in shown["lanes"]] == ["timer-irq", "timer-thread", "timer-user"] * 2
    assert shown["pooled"]["measure"] == "timer-thread"


def test_a_measure_is_taken_where_the_file_has_none_and_refused_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    table = str(DATA / "table" / "two-cpus.ok.csv")
    assert run(["import", "--json", table, "--measure", "response:futex"]) == 0
    (made,) = json.loads(capsys.readouterr().out)["recordings"]
    assert {lane["measure"] for lane in made["lanes"]} == {"response:futex"}
    assert run(["import", "--measure", "wake-up", str(DATA / "rtla-timerlat" / "three-columns.ok.txt")]) == 2
    assert "--measure means nothing for the format rtla-timerlat" in capsys.readouterr().err
