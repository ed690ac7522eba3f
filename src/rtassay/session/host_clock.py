"""The offset of the board's clocks from ours, for people who compare logs. Nothing in the analysis depends on it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from rtassay.boards.base import LinuxBoard
from rtassay.model.errors import BoardError
from rtassay.model.events import Facts
from rtassay.model.views import integer
from rtassay.wire.stream import StreamParser

_TIMEOUT_S = 20.0


async def compare(
    board: LinuxBoard, rtprobe: str, since: Mapping[str, int | float | None] | None = None
) -> dict[str, int | float | None]:
    """`offset_ns`: the board's calendar minus ours, known to `round_trip_ns`; `board_mono_ns` and `host_mono_ns` at that moment.

    `since`, an earlier comparison, adds `drift_ppm`: by how much the board's monotonic clock ran faster than ours from then on.
    Raises BoardError.
    """
    facts: Facts | None = None
    parser = StreamParser(only={"Facts"})
    # The board reads its clock between this moment and the arrival of the facts.
    asked_mono, asked_wall = time.monotonic_ns(), time.time_ns()
    process = await board.start([rtprobe, "watch", "--count", "1", "/proc/uptime"])
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            async for chunk in process.chunks():
                came_mono, came_wall = time.monotonic_ns(), time.time_ns()
                facts = next((event for event in parser.feed(chunk) if isinstance(event, Facts)), facts)
                if facts is not None:
                    break
            await process.close_stdin()
            await process.wait(_TIMEOUT_S)
    except TimeoutError as error:
        raise BoardError(f"board '{board.name}' does not answer", "while its clock was read") from error
    told = {} if facts is None else facts.data
    board_mono, board_wall = integer(told.get("mono_ns")), integer(told.get("wall_ns"))
    if board_mono is None or board_wall is None:
        raise BoardError(f"board '{board.name}' does not tell its clock")
    host_mono = (asked_mono + came_mono) // 2
    found: dict[str, int | float | None] = {
        "offset_ns": board_wall - (asked_wall + came_wall) // 2,
        "round_trip_ns": came_mono - asked_mono,
        "board_mono_ns": board_mono,
        "host_mono_ns": host_mono,
    }
    if since is not None:
        there, here = board_mono - int(since["board_mono_ns"] or 0), host_mono - int(since["host_mono_ns"] or 0)
        found["drift_ppm"] = round((there - here) / here * 1e6, 3) if here > 0 else None
    return found
