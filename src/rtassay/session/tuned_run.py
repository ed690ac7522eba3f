"""Settings of a board for the length of one run: changed before it, put back after it, on every way out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from rtassay.boards.base import LinuxBoard
from rtassay.model.errors import BoardError
from rtassay.model.tuning import SAME, TOOK, Tuned, TuningPlan
from rtassay.session import tuning

# Beyond the run itself: loads that start late, a link that is lost, the collecting at the end.
_BEYOND_NS = 1800 * 1_000_000_000


@asynccontextmanager
async def tuned(open_board: Callable[[], LinuxBoard], plan: TuningPlan | None, length_ns: int) -> AsyncIterator[None]:
    """Apply a plan around the body; None: nothing. `open_board`: a new contact with the board, which is opened and closed here.

    Raises BoardError if a setting does not take, or if something could not be put back; the board then says what.
    """
    if plan is None:
        yield
        return
    await _apply(open_board(), plan, length_ns + _BEYOND_NS)
    try:
        yield
    finally:
        await _revert(open_board())


async def _apply(board: LinuxBoard, plan: TuningPlan, for_ns: int) -> None:
    await board.open()
    try:
        became = await tuning.apply(board, plan, for_ns=for_ns)
        if why := refused(became):
            await tuning.revert(board)
            raise BoardError("settings did not take", why, "leave them out of the plan")
    finally:
        await board.close()


async def _revert(board: LinuxBoard) -> None:
    await board.open()
    try:
        done = await tuning.revert(board)
    finally:
        await board.close()
    if done.left:
        what, why = done.left[0]
        raise BoardError(f"{what} could not be put back", why, f"rtassay tune {board.name} --revert tries again")


def refused(became: Tuned) -> str | None:
    """The settings of which no change took, with the reason; None if each did something or was as wanted already."""
    settings = dict.fromkeys(change.setting for change in became.changes)
    found = []
    for name in settings:
        changes = [change for change in became.changes if change.setting == name]
        if not any(change.state in (TOOK, SAME) for change in changes):
            found.append(f"{name}: {changes[0].why or changes[0].state}")
    return "; ".join(found) or None
