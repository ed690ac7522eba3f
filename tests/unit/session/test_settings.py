"""Settings around a run, one step at a time: what is told, what ends the run, what is put back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rtassay.model.errors import BoardError
from rtassay.model.inventory import CpuState, inventory_of
from rtassay.model.knobs import WRITE, Action, Goal
from rtassay.model.tuning import DIFFERS, REFUSED, SAME, TOOK, Change, Reverted, Setting, Tuned, TuningPlan
from rtassay.session import settings, tuning
from rtassay.session.settings import Settings
from rtassay.session.tuning_plans import Asked

ONE = Setting("printk", "x", (Action(WRITE, "/p", "1"),))
LEFT = Setting("aspm", "y", left="the board has no such file")


class Board:
    name = "pi5"

    def __init__(self) -> None:
        self.notices: list[str] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)


class Scripted:
    """A `tuning` that plans `parts`, and notes what it was asked for."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *parts: Setting, fighting: tuple[str, ...] = (), **answer: Any
    ) -> None:
        self.board, self.log = Board(), list[Any]()
        self.changes: tuple[Change, ...] = (Change("printk", WRITE, "/p", "1", TOOK),)

        async def planned(
            board: Board, asked: Asked, goal: Goal, *, isolate: bool
        ) -> tuple[TuningPlan, tuple[str, ...]]:
            self.log.append((goal.isolated, isolate))
            return TuningPlan(parts), fighting

        async def apply(board: Board, plan: TuningPlan, *, for_ns: int) -> Tuned:
            self.log.append(f"apply {for_ns}")
            return Tuned("me", "t", "now", 1, "boot", self.changes)

        async def revert(board: Board) -> Reverted:
            self.log.append("revert")
            if "fails" in answer:
                raise answer["fails"]
            return Reverted(None, left=answer.get("left", ()))

        async def cpus(board: Board) -> CpuState:
            found: CpuState = answer["cpus"]
            return found

        for name, call in (("planned", planned), ("apply", apply), ("revert", revert)):
            monkeypatch.setattr(tuning, name, call)
        monkeypatch.setattr(settings, "read_cpus", cpus)

    def of(self, asked: Asked | None) -> Settings:
        return Settings(self.board, asked)  # type: ignore[arg-type]


def change(made: Settings, *, isolate: bool = False) -> None:
    asyncio.run(made.change(77, isolate=isolate))


def put_back(made: Settings) -> None:
    asyncio.run(made.put_back())


def test_what_is_not_changed_and_who_may_change_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(monkeypatch, ONE, LEFT, fighting=("tuned.service",))
    made = scripted.of(Asked(("printk",)))
    change(made)
    assert scripted.board.notices == [
        "aspm: not changed: the board has no such file",
        "tuned.service runs, and may change settings of the board by itself",
    ]
    assert scripted.log == [(None, False), "apply 77"]
    put_back(made)
    put_back(made)
    assert scripted.log[2:] == ["revert"], "once"


def test_a_plan_without_changes_touches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(monkeypatch, LEFT)
    made = scripted.of(Asked(("aspm",), goal=Goal(isolated=(5,))))
    change(made)
    put_back(made)
    assert scripted.log == [((5,), False)] and len(scripted.board.notices) == 1
    nothing = Scripted(monkeypatch)
    change(nothing.of(None))
    assert nothing.log == [] == nothing.board.notices


def test_isolated_cpus_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    free = inventory_of({"cpus": {"online": [0, 1, 2, 3]}}).cpus
    scripted = Scripted(monkeypatch, ONE, cpus=free)
    change(scripted.of(None), isolate=True)
    assert scripted.log == [((3,), True), "apply 77"]
    assert scripted.board.notices == [
        'no CPU is isolated here: CPU 3 is for the length of this run; a plan (--tune) with for = "isolated=LIST" names others'
    ]
    offline = Scripted(monkeypatch, ONE, cpus=inventory_of({}).cpus)
    change(offline.of(None), isolate=True)
    assert offline.log == [] and offline.board.notices == []


@pytest.mark.parametrize("state", [REFUSED, DIFFERS])
def test_changes_without_an_effect_end_the_run_and_are_put_back(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    scripted = Scripted(monkeypatch, ONE)
    wrong = [Change("printk", WRITE, f"/p{i}", "1", state, now="0") for i in range(5)]
    scripted.changes = (
        Change("printk", WRITE, "/a", "1", SAME),
        Change("printk", WRITE, "/b", "1", state, why="EPERM", now="0"),
        *wrong,
    )
    made = scripted.of(Asked(("printk",)))
    with pytest.raises(BoardError) as caught:
        change(made)
    assert caught.value.what == "6 of 7 changes of settings had no effect"
    assert caught.value.why == "/b: EPERM; /p0: shows 0; /p1: shows 0; /p2: shows 0"
    assert caught.value.hint == "rtassay tune --dry-run shows them; leave those settings out of the plan"
    put_back(made)
    assert scripted.log[-1] == "revert"


def test_what_is_not_put_back_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(monkeypatch, ONE, left=(("/p", "EINVAL"), ("/q", "EIO")))
    made = scripted.of(Asked(("printk",)))
    change(made)
    put_back(made)
    assert scripted.board.notices == [
        f"not put back: {what}: {why}; rtassay tune pi5 --revert tries again"
        for what, why in (("/p", "EINVAL"), ("/q", "EIO"))
    ]


@pytest.mark.parametrize("error", [BoardError("the link is gone"), OSError("the link is gone")])
def test_a_board_that_cannot_be_reached_puts_them_back_by_itself(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    scripted = Scripted(monkeypatch, ONE, fails=error)
    made = scripted.of(Asked(("printk",)))
    change(made)
    put_back(made)
    assert scripted.board.notices == [
        f"the settings are not put back yet ({error}): the board does it by itself; or rtassay tune pi5 --revert"
    ]


def test_settings_that_somebody_else_changed_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    tuned = {
        "owner": "ann@lab",
        "since": "now",
        "changes": [{"setting": "printk"}, {"setting": "printk"}, {"setting": "aspm"}],
    }
    scripted = Scripted(monkeypatch, ONE)
    made = scripted.of(Asked(("printk",)))
    for unknown in ({}, {"tuned": {"changes": []}}):
        made.tell(unknown)
    assert scripted.board.notices == []
    made.tell({"tuned": tuned})
    (told,) = scripted.board.notices
    assert told.startswith("settings of pi5 are changed by ann@lab since now: ") and "rtassay tune pi5 --revert" in told
    change(made)
    made.tell({"tuned": tuned})
    assert len(scripted.board.notices) == 1, "its own"
