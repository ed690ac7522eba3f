"""What real time costs on a virtual board: wake-ups and fixed works of both kernels in one experiment (function only: no figure of it is asserted)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from vboard import Board, Setup

FILE = """
name = "cost"
boards = ["{board}"]
kernels = ["stock", "rt"]
repeats = 3
order = "abba"
reboot = "each-block"
probes = ["rtprobe", "work:builtin", "work:hackbench"]
compare = ["kernel"]
[[loads]]
name = "idle"
[settings]
interval = "10ms"
duration = "3s"
[acceptance]
deadline = "1h"
p = 0.5
per = "combination"
"""


def rtassay(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *words],
        env={**os.environ, "RTASSAY_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=2400,
        check=False,
    )


@pytest.mark.full
@pytest.mark.parametrize("setup", [Setup("rt", "rt")], ids=lambda setup: setup.name)
def test_stock_against_rt(board: Board, tmp_path: Path) -> None:
    file, path = tmp_path / "cost.toml", tmp_path / "x"
    file.write_text(FILE.format(board=board.name))
    done = rtassay(tmp_path, "experiment", "run", str(file), "-o", str(path))
    assert done.returncode in (4, 5), done.stderr
    result = json.loads((path / "experiment.json").read_text())
    assert result["state"] == "complete" and result["cells_sealed"] == 18
    assert {row["probe"] for row in result["combinations"]} == {"rtprobe"}
    (cost,) = result["throughput"]
    assert (cost["a"], cost["b"], cost["unit_of"]) == ("stock", "rt", "boots")
    assert {row["work"] for row in cost["works"]} == {"builtin", "hackbench"}
    assert all(row["a"]["units"] == row["b"]["units"] == 3 for row in cost["parts"])
    assert cost["total"]["lo"] < cost["total"]["ratio"] < cost["total"]["hi"]
    assert any("function only" in note for note in cost["notes"])
    (kpi,) = (kpi for kpi in result["scorecard"]["kpis"] if kpi["id"] == "E1")
    assert kpi["rows"][0]["value"] == pytest.approx(cost["total"]["ratio"])
    assert "What real time costs" in (path / "report.html").read_text()
    left = board.text("ls -d /run/rtassay* /tmp/rtassay* /dev/shm/rtassay* 2>/dev/null; pgrep hackbench; true")
    assert left.strip() == ""


@pytest.mark.full
@pytest.mark.parametrize("setup", [Setup("rt", "rt")], ids=lambda setup: setup.name)
def test_the_verb_boots_both_kernels(board: Board, tmp_path: Path) -> None:
    page = tmp_path / "cost.html"
    words = (
        "--work",
        "builtin:switch,fork,5%",
        "--kernel",
        "stock",
        "--kernel",
        "rt",
        "--repeats",
        "1",
        "--rounds",
        "2",
    )
    done = rtassay(tmp_path, "throughput", board.name, *words, "-o", str(page), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["a"], told["b"]) == ("stock", "rt") and len(told["recordings"]) == 2
    assert all(row["a"]["rounds"] == row["b"]["rounds"] == 2 for row in told["parts"])
    kernels = [json.loads((Path(path) / "manifest.json").read_text()) for path in told["recordings"]]
    assert [one["labels"]["kernel"] for one in kernels] == ["stock", "rt"]
    assert ["rt" in one["inventory"]["kernel"]["release"] for one in kernels] == [False, True]
    assert "boot 2 of 2: rt" in done.stderr and page.stat().st_size > 10_000
