"""Settings around one run: applied before it, put back on every way out, and refused ones end it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rtassay.model.errors import BoardError
from rtassay.model.knobs import WRITE, Action
from rtassay.model.tuning import REFUSED, SAME, TOOK, Change, Reverted, Setting, Tuned, TuningPlan
from rtassay.session import tuned_run, tuning

PLAN = TuningPlan((Setting("printk", "x", (Action(WRITE, "/proc/sys/kernel/printk", "1"),)),))


class Board:
    """Notes what happens to it."""

    name = "pi5"

    def __init__(self, log: list[str]) -> None:
        self.log = log

    async def open(self) -> None:
        self.log.append("open")

    async def close(self) -> None:
        self.log.append("close")


def became(*states: str) -> Tuned:
    changes = tuple(Change("printk", "write", f"/x{i}", "1", state, why="EPERM") for i, state in enumerate(states))
    return Tuned("me", "t", "now", 1, "boot", changes)


def held(monkeypatch: pytest.MonkeyPatch, states: tuple[str, ...], inside: str = "", left: Any = ()) -> list[str]:
    log: list[str] = []

    async def apply(board: Board, plan: TuningPlan, *, for_ns: int) -> Tuned:
        log.append(f"apply {','.join(plan.ids)}")
        assert for_ns > 10**9
        return became(*states)

    async def revert(board: Board) -> Reverted:
        log.append("revert")
        return Reverted(None, left=left)

    monkeypatch.setattr(tuning, "apply", apply)
    monkeypatch.setattr(tuning, "revert", revert)

    async def run() -> None:
        async with tuned_run.tuned(lambda: Board(log), PLAN, 10**9):  # type: ignore[arg-type,return-value]
            log.append("run")
            if inside:
                raise BoardError(inside)

    try:
        asyncio.run(run())
    except BoardError as error:
        log.append(str(error))
    return log


def test_they_are_there_during_the_run_only(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ["open", "apply printk", "close", "run", "open", "revert", "close"]
    assert held(monkeypatch, (TOOK,)) == whole
    assert held(monkeypatch, (REFUSED, SAME)) == whole  # one part of it is enough


def test_they_are_put_back_after_a_run_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    assert held(monkeypatch, (TOOK,), "the cable was cut")[-4:] == ["open", "revert", "close", "the cable was cut"]


def test_a_setting_that_is_refused_ends_the_run_before_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    log = held(monkeypatch, (REFUSED,))
    assert log[:4] == ["open", "apply printk", "revert", "close"] and "run" not in log
    assert log[-1].startswith("settings did not take") and "printk: EPERM" in log[-1]


def test_what_could_not_be_put_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    log = held(monkeypatch, (TOOK,), left=(("/x0", "EINVAL"),))
    assert log[-1].startswith("/x0 could not be put back") and "EINVAL" in log[-1]


def test_without_settings_the_board_is_not_touched() -> None:
    async def run() -> None:
        async with tuned_run.tuned(lambda: pytest.fail("opened"), None, 1):
            pass

    asyncio.run(run())
