"""rtassay doctor: boards, recordings and inventories; exit codes, JSON, JUnit, and what bad input is told."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from knob_readings import reading, seen

from rtassay.boards import cleaning
from rtassay.boards.base import LinuxBoard
from rtassay.model import rooms, tuning
from rtassay.model.errors import UsageError
from rtassay.model.events import FileContent
from rtassay.model.knobs import ABSENT, OK, UNKNOWN, WRITE, WRONG, Goal, parse_goal
from rtassay.model.tuning import TOOK, Change, Tuned
from rtassay.session import board_files, examining, inventory

from ...support.command_line import in_process

TEXT = Path(__file__).parents[2] / "data" / "cyclictest" / "q-H100-t2.txt"


@pytest.fixture
def on_lab_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine answers as the RT board of the lab did."""

    async def read(board: LinuxBoard, rtprobe: str, paths: list[str], apart_ns: int) -> board_files.Reading:
        assert "/proc/interrupts" in paths and "1h:/proc/cmdline" in paths and apart_ns == 10**9
        return reading("lab-rt")

    monkeypatch.setattr(examining, "read_twice", read)


def told(done: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(done.stdout)
    return data


def test_a_board_is_looked_at_and_what_is_wrong_is_exit_1(tmp_path: Path, on_lab_board: None) -> None:
    done = in_process(
        "doctor", "--for", "isolated=1,period=1ms,priority=80", "--junit", tmp_path / "x.xml", home=tmp_path
    )
    assert done.returncode == 1, done.stderr
    for word in (
        "WRONG",
        "UNKNOWN",
        "NOT THERE",
        "FINE",
        "lockup-detector",
        "evidence C",
        "echo 0 > /proc/sys/kernel/watchdog",
    ):
        assert word in done.stdout
    assert "6.1.0-56-rt-amd64 on emulated CPUs, whose host decides when they run" in done.stdout
    assert "about 1 h (12 runs of 5 min)" in done.stdout and "CPU 1, priority 80, period 1ms" in done.stdout
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "x.xml").iter("testcase")}
    assert set(cases) == set(rooms.table("knobs"))
    assert cases["lockup-detector"].find("failure") is not None and cases["overcommit"].find("skipped") is not None
    assert len(cases["preempt-rt"].findall("failure")) == 0


def test_json_has_every_setting_ranked(tmp_path: Path, on_lab_board: None) -> None:
    data = told(in_process("doctor", "--json", home=tmp_path))
    assert data["schema"] == "rtassay/doctor/1" and data["kind"] == "board" and data["kernel"] == "6.1.0-56-rt-amd64"
    assert sum(data["counts"].values()) == len(data["settings"]) == len(rooms.table("knobs"))
    order = [(WRONG, UNKNOWN, ABSENT, OK).index(one["state"]) for one in data["settings"]]
    assert order == sorted(order)
    wrong = [("high", "medium", "low").index(one["severity"]) for one in data["settings"] if one["state"] == WRONG]
    assert wrong and wrong == sorted(wrong)
    assert {one["group"] for one in data["settings"]} == {
        "power",
        "isolation",
        "interrupts",
        "memory",
        "system",
        "raspberry",
        "kernel",
    }


def test_an_imported_recording_tells_nothing_and_nothing_of_it_is_fine(tmp_path: Path) -> None:
    assert in_process("import", TEXT, "--name", "old", home=tmp_path).returncode == 0
    done = in_process("doctor", "old", "--json", home=tmp_path)
    assert done.returncode == 4, done.stderr
    assert set(told(done)["counts"]) == {WRONG, UNKNOWN, ABSENT, OK}
    assert told(done)["counts"][UNKNOWN] == len(rooms.table("knobs")) and "preempt-rt" in told(done)["unknown_required"]


def test_an_inventory_file_is_looked_at_without_its_board(tmp_path: Path) -> None:
    described = inventory.describe(reading("pi3-rt").first)
    file = tmp_path / "pi.json"
    file.write_text(json.dumps({"schema": "rtassay/inventory/1", "board": "pi", "inventory": described}))
    done = in_process("doctor", file, "--json", home=tmp_path)
    states = {one["id"]: one["state"] for one in told(done)["settings"]}
    assert done.returncode == 1 and told(done)["kind"] == "inventory"
    assert states["governor"] == WRONG and states["preempt-rt"] == OK and states["pi-throttled"] == UNKNOWN
    file.write_text('{"schema": "rtassay/show/1"}')
    assert "is no inventory" in in_process("doctor", file, home=tmp_path).stderr
    file.write_text("{")
    wrong = in_process("doctor", file, home=tmp_path)
    assert wrong.returncode == 2 and "is no JSON" in wrong.stderr and "board inventory" in wrong.stderr


def test_a_name_that_is_nothing_lists_boards_and_recordings(tmp_path: Path) -> None:
    done = in_process("doctor", "pi9", home=tmp_path)
    assert done.returncode == 2 and "no board and no recording 'pi9'" in done.stderr and "local" in done.stderr


@pytest.mark.parametrize(
    ("text", "goal"),
    [
        ("isolated=2-3,period=1ms,priority=80", Goal((2, 3), 1_000_000, 80)),
        ("isolated=1,3,5", Goal((1, 3, 5))),
        ("priority=99", Goal(priority=99)),
        (None, Goal()),
    ],
)
def test_a_goal_is_read(text: str | None, goal: Goal) -> None:
    assert parse_goal(text) == goal


@pytest.mark.parametrize(
    "text", ["", "2-3", "cpus=1", "isolated=x", "period=1", "period=0ms", "priority=0", "priority=100", "priority=x"]
)
def test_a_goal_that_is_wrong_is_told_how(text: str) -> None:
    with pytest.raises(UsageError):
        parse_goal(text)


def test_two_readings_are_told_apart_by_their_time() -> None:
    def frame(path: str, at_ms: int, content: bytes | None, error: int = 0) -> FileContent:
        return FileContent(at_ms * 1_000_000, path, error, content)

    frames = [
        frame("/a", 0, b"1"), frame("@kmsg", 1, b"x\n"), frame("@kmsg", 2, b"y\n"), frame("/gone", 3, None, 2),
        frame("/a", 1000, None), frame("@kmsg", 1001, b"z\n"), frame("/gone", 1003, None, 13),
    ]  # fmt: skip
    found = board_files._apart(frames, 10**9)
    assert found.first == {"/a": b"1", "@kmsg": b"x\ny\n"} and found.later == {"/a": b"1", "@kmsg": b"z\n"}
    assert found.errors == {"/gone": 2} and found.spans == {"/a": 10**9, "@kmsg": 10**9}


def test_lists_that_are_long_are_cut_and_the_cut_is_told(tmp_path: Path) -> None:
    from rtassay.reports.examination import examination_text

    found = examining.judge(examining.members(), "x", "board", seen("vm"), Goal((1,)))
    long = next(one for one in found.found if len(one.actions) > 6)
    assert examination_text.changes(long)[-1] == f"and {len(long.actions) - 6} more (--json)"
    assert len(examination_text.changes(replace(long, actions=long.actions[:7]))) == 7


def test_settings_of_one_reason_stand_together_and_leave_room_for_it() -> None:
    from rtassay.reports.examination import examination_text

    found = examining.judge(examining.members(), "x", "board", seen("lab-rt"), Goal())
    rows = examination_text.by_reason(found.of(UNKNOWN))
    assert max(len(names) for names, _ in rows) <= 40
    assert sorted(", ".join(names for names, _ in rows).replace(",,", ",").split(", ")) == sorted(
        one.id for one in found.of(UNKNOWN)
    )


def test_a_board_that_somebody_tuned_says_how_it_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Tuned("ann@host", "aa", "2026-11-23T06:00:00Z", 1, "B", (Change("printk", WRITE, "/p", "1", TOOK),))
    files = {
        tuning.ABOUT: json.dumps(tuning.about_dict(made)).encode(),
        tuning.JOURNAL: b"boot\tB\nvalue\t/p\t4\n",
        tuning.BOOT_ID: b"B\n",
    }

    async def read(board: LinuxBoard, rtprobe: str, paths: list[str], apart_ns: int) -> board_files.Reading:
        found = reading("lab-rt")
        found.first.update(files)
        return found

    monkeypatch.setattr(examining, "read_twice", read)
    done = in_process("doctor", home=tmp_path)
    offer = "settings of local are changed by ann@host since 2026-11-23T06:00:00Z: printk; `rtassay tune local --revert` puts them back"
    assert offer in done.stderr
    assert told(in_process("doctor", "--json", home=tmp_path))["tuned"]["owner"] == "ann@host"

    class Transport:
        name = "pi5"

        async def run(self, script: str) -> bytes:
            return next((data for path, data in files.items() if path in script), b"")

    assert asyncio.run(cleaning._changed(Transport())) == [offer.replace("local", "pi5")]  # type: ignore[arg-type]
