"""Files that are cut off in a line, that contradict themselves, or whose lines have no end: named, never taken as whole, never slow."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path

import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.cli.import_files import formats_of
from rtassay.importers.base import events_of
from rtassay.model import rooms
from rtassay.model.errors import InputFileError
from rtassay.model.findings import CheckResult

DATA = Path(__file__).parents[2] / "data" / "importers"
JITTER = next((DATA / "jitterdebugger").glob("*.ok.json"))
PATIENCE_S = 20.0


def checks_of(name: str, path: Path, home: Path) -> dict[str, CheckResult]:
    member = rooms.load("importers", name)(**({"unit": "us"} if name == "table" else {}))
    made = store.import_events(home, path, member.source(path), events_of(member, path))
    return {check.id: check for check in judge(store.open_recording(made)).checks}


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("cyclictest", "h40.ok.txt"),
        ("cyclictest", "q.ok.txt"),
        ("cyclictest-verbose", "h40.ok.txt"),
        ("table", "one-column.ok.csv"),
    ],
)
def test_a_line_that_may_be_torn_is_named(name: str, file: str, tmp_path: Path) -> None:
    """The last number of it may be a part of a larger one."""
    data = (DATA / name / file).read_bytes().rstrip(b"\n") + b"\n"
    path = tmp_path / file
    path.write_bytes(data[:-2])
    found = checks_of(name, path, tmp_path / "home")["COUNT-MISMATCH"]
    assert found.severity == "warning" and found.kind == "optimism"
    assert found.facts["torn_line"] == data.count(b"\n")
    path.write_bytes(data)
    assert "torn_line" not in checks_of(name, path, tmp_path / "home")["COUNT-MISMATCH"].facts


def test_samples_beyond_the_last_bin_need_a_maximum_there(tmp_path: Path) -> None:
    """150 in the bins and a count of 150150: the file says that 150000 samples are above a millisecond, and that none is."""
    data = json.loads(JITTER.read_text())
    lanes = data["cpu"].values()
    path = tmp_path / "results.json"
    path.write_text(json.dumps(data))
    assert checks_of("jitterdebugger", path, tmp_path / "home")["SUMMARY-INCONSISTENT"].severity == "pass"
    for lane in lanes:
        lane["count"] = 1001 * sum(lane["histogram"].values())
        lane["max"] = max(map(int, lane["histogram"]))
    path.write_text(json.dumps(data))
    found = checks_of("jitterdebugger", path, tmp_path / "home")["SUMMARY-INCONSISTENT"]
    assert found.severity == "invalid" and "beyond the last bin" in found.message


@pytest.mark.parametrize("fill", [b" ", b"a", b"000001 ", b"cyclictest "], ids=["spaces", "letters", "cells", "names"])
def test_lines_without_an_end_cost_no_time(fill: bytes, tmp_path: Path) -> None:
    line = fill * (200_000 // len(fill))
    path = tmp_path / "long.txt"
    path.write_bytes(line + b"\n" + (DATA / "cyclictest" / "h40.ok.txt").read_bytes())
    begun = time.monotonic()
    formats_of(path)
    member = rooms.load("importers", "cyclictest")()
    with contextlib.suppress(InputFileError):
        list(member.read(path))
    assert time.monotonic() - begun < PATIENCE_S


@pytest.mark.parametrize("name", sorted(rooms.table("importers")))
def test_a_fifo_is_no_file(name: str, tmp_path: Path) -> None:
    """It would be waited for without end."""
    path = tmp_path / "file"
    os.mkfifo(path)
    member = rooms.load("importers", name)()
    with pytest.raises(InputFileError, match="no regular file"):
        formats_of(path)
    with pytest.raises(InputFileError):
        member.source(path)
        list(member.read(path))
