"""rtassay tune: what it shows, its exit codes and JSON, and what bad input is told. The board's part is made up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtassay.model.errors import BoardError
from rtassay.model.knobs import WRITE, Action
from rtassay.model.tuning import DIFFERS, REFUSED, SAME, TOOK, Reverted, Setting, Tuned, TuningPlan
from rtassay.session import keeping, tuning

from ...support.command_line import in_process

PLAN = TuningPlan(
    (
        Setting("one", "One", (Action(WRITE, "/proc/sys/vm/a", "1"), Action(WRITE, "/proc/sys/vm/b", "2"))),
        Setting("two", "Two", (), "not there: no such file"),
    )
)
SEEN = tuple(replace(change, before="7") for change in PLAN.changes)
MADE = Tuned("ann@host", "aa", "2026-11-23T06:00:00Z", 3600 * 10**9, "boot", SEEN, guarded=True)


class Made:
    """What the board does; `states` of its changes."""

    states = (TOOK, TOOK)
    applied = 0
    there: Tuned | None = None
    left: tuple[tuple[str, str], ...] = ()


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Made:
    made = Made()

    async def planned(*words: Any) -> tuple[TuningPlan, tuple[str, ...]]:
        return PLAN, ("tuned.service",)

    async def look(board: Any, plan: TuningPlan) -> tuning.Look:
        return tuning.Look(tuple(one for one in SEEN if one.setting in plan.ids), "")

    async def apply(board: Any, plan: TuningPlan, *, for_ns: int, known: Any) -> Tuned:
        made.applied += 1
        changes = tuple(replace(one, state=state, why="no") for one, state in zip(SEEN, made.states, strict=True))
        return replace(MADE, for_ns=for_ns, changes=changes)

    async def status(board: Any) -> Tuned | None:
        return made.there

    async def revert(board: Any) -> Reverted:
        if made.left == (("raise", ""),):
            raise BoardError("no root")
        return Reverted(made.there, left=made.left)

    for function in (planned, look, apply, status, revert):
        monkeypatch.setattr(tuning, function.__name__, function)
    return made


def test_each_change_is_shown_before_it_is_made(board: Made, tmp_path: Path) -> None:
    done = in_process("tune", "--profile", "shared", "--dry-run", home=tmp_path)
    assert done.returncode == 0 and board.applied == 0
    assert "one: echo 1 > /proc/sys/vm/a  (now 7)" in done.stdout
    assert "two: not changed: not there: no such file" in done.stdout
    assert "tuned.service runs" in done.stderr
    data = json.loads(in_process("tune", "--only", "one", "--dry-run", "--json", home=tmp_path).stdout)
    assert data["changed"] is False and data["left"] == [{"setting": "two", "why": "not there: no such file"}]
    assert [one["before"] for one in data["changes"]] == ["7", "7"]


@pytest.mark.parametrize(
    ("states", "code", "said"),
    [
        ((TOOK, SAME), 0, "one changed by ann@host"),
        ((TOOK, REFUSED), 4, "refused: echo 2"),
        ((DIFFERS, TOOK), 4, "differs"),
    ],
)
def test_the_exit_code_tells_whether_all_was_read_back(
    states: tuple[str, str], code: int, said: str, board: Made, tmp_path: Path
) -> None:
    board.states = states
    done = in_process("tune", "--profile", "shared", "--for", "30m", home=tmp_path)
    assert done.returncode == code and board.applied == 1 and said in done.stdout and "for 30min" in done.stdout


def test_a_plan_of_nothing_changes_nothing(board: Made, tmp_path: Path) -> None:
    done = in_process("tune", "--profile", "shared", "--except", "one", home=tmp_path)
    assert done.returncode == 0 and board.applied == 0 and "nothing to change" in done.stdout


def test_what_is_changed_now(board: Made, tmp_path: Path) -> None:
    assert "nothing is changed" in in_process("tune", home=tmp_path).stdout
    board.there = replace(MADE, changes=tuple(replace(one, state=TOOK) for one in SEEN), guarded=False)
    done = in_process("tune", home=tmp_path)
    assert "ann@host" in done.stdout and "(before 7)" in done.stdout and "guard is dead" in done.stdout
    data = json.loads(in_process("tune", "--json", home=tmp_path).stdout)
    assert data["changed"] and data["settings"] == ["one"] and data["guarded"] is False


def test_a_revert_says_what_it_put_back_and_what_not(board: Made, tmp_path: Path) -> None:
    assert "nothing was changed" in in_process("tune", "--revert", home=tmp_path).stdout
    board.there = replace(MADE, changes=tuple(replace(one, state=TOOK) for one in SEEN))
    assert "put back one" in in_process("tune", "--revert", home=tmp_path).stdout
    board.left = (("/proc/sys/vm/a", "it stays at 1"),)
    done = in_process("tune", "--revert", home=tmp_path)
    assert done.returncode == 3 and "/proc/sys/vm/a: it stays at 1" in done.stderr
    data = json.loads(in_process("tune", "--revert", "--json", home=tmp_path).stdout)
    assert data["not_put_back"] == [{"what": "/proc/sys/vm/a", "why": "it stays at 1"}]
    board.left = (("raise", ""),)
    assert in_process("tune", "--revert", home=tmp_path).returncode == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--profile", "fast"), "no profile 'fast'"),
        (("--profile", "shared", "--only", "a"), "exclude each other"),
        (("--revert", "--dry-run"), "--revert stands alone"),
        (("--dry-run",), "nothing is asked"),
        (("--profile", "shared", "--for", "1ns"), "--for 1ns"),
        (("--plan", "/no/such"), "cannot read /no/such"),
        (("--plan", "/dev/zero"), "no regular file"),
        (("--profile", "shared", "--goal", "x"), "no NAME=VALUE"),
        (("nowhere", "--revert"), "nowhere"),
    ],
)
def test_bad_input_is_told_before_a_board_is_looked_at(
    words: tuple[str, ...], said: str, board: Made, tmp_path: Path
) -> None:
    done = in_process("tune", *words, home=tmp_path)
    assert done.returncode == 2 and said in done.stderr and board.applied == 0


def test_what_is_kept_is_shown_with_its_removal_before_it_is_written(
    board: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    async def keep(board: Any, files: Any) -> None:
        written.extend(file.text for file in files)

    monkeypatch.setattr(keeping, "keep", keep)
    looked = in_process("tune", "--only", "one", "--keep", "--dry-run", home=tmp_path)
    assert "/etc/sysctl.d/90-rtassay.conf:" in looked.stdout and "vm.a = 1" in looked.stdout
    assert "to remove them: rm /etc/sysctl.d/90-rtassay.conf" in looked.stdout and written == []
    done = in_process("tune", "--only", "one", "--keep", home=tmp_path)
    assert done.returncode == 0 and board.applied == 1 and len(written) == 1
    assert "from the next boot on" in done.stderr
    assert in_process("tune", "--keep", home=tmp_path).returncode == 2
    assert in_process("tune", "--keep", "--revert", home=tmp_path).returncode == 2
