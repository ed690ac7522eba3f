"""Waits until a board has cooled down, so that a cell does not measure the heat of the previous one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rtassay.session.board_files import read_files

_ZONES = "/sys/class/thermal/thermal_zone[0-9]*/temp"
_EVERY_S = 5.0
# Plausible temperatures; a broken zone shows values outside this range.
_COLDEST_MC, _HOTTEST_MC = -50_000, 150_000


@dataclass(frozen=True, slots=True)
class Cooled:
    """`to_c`: the hottest zone at the end, None if the board has none. `reached`: whether it is as cool as asked for."""

    to_c: float | None
    waited_s: float
    reached: bool


async def cool_down(
    board: Any, to_c: float | None, at_most_s: float, stop: asyncio.Event, on_wait: Callable[[str], None]
) -> Cooled:
    """Wait until the hottest zone is at `to_c`, or `at_most_s` have passed, or `stop`; without `to_c` simply that long.

    For a board without thermal zones the wait takes all of `at_most_s`: its temperature is not known.
    """
    begun = time.monotonic()
    while True:
        now_c = await hottest_c(board)
        waited_s = time.monotonic() - begun
        reached = to_c is not None and now_c is not None and now_c <= to_c
        if reached or waited_s >= at_most_s or stop.is_set():
            return Cooled(now_c, waited_s, reached)
        on_wait(_words(now_c, to_c, at_most_s - waited_s))
        try:
            await asyncio.wait_for(stop.wait(), min(_EVERY_S, max(0.05, at_most_s - waited_s)))
        except TimeoutError:
            continue


async def hottest_c(board: Any) -> float | None:
    """The hottest thermal zone in degrees Celsius; None if none can be read. Raises BoardError."""
    await board.open()
    try:
        files = await read_files(board, await board.probe(), [_ZONES])
    finally:
        await board.close()
    values = [int(text) for content in files.values() if (text := content.strip()).lstrip(b"-").isdigit()]
    sane = [value for value in values if _COLDEST_MC < value < _HOTTEST_MC]
    return max(sane) / 1000 if sane else None


def _words(now_c: float | None, to_c: float | None, left_s: float) -> str:
    if to_c is None:
        return f"{left_s:.0f} s more"
    if now_c is None:
        return f"the board reports no temperature: {left_s:.0f} s more"
    return f"{now_c:.1f} degC, to {to_c:g} degC, at most {left_s:.0f} s more"
