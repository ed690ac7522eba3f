"""This machine as a board: what was started here has ended when `close` returns."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rtassay.boards.local import LocalBoard
from rtassay.wire.stream import StreamParser, read_events

DEAF = "trap '' TERM; echo $$; while :; do sleep 0.2; done"


def test_close_ends_a_guarded_command_that_ignores_sigterm(tmp_path: Path) -> None:
    """Without waiting for the guard's grace, and without killing the guard itself."""
    stream = tmp_path / "guard.rtw"

    async def work() -> int:
        board = LocalBoard()
        process = await board.start(
            [await board.probe(), "guard", "--attached", "-o", str(stream), "--", "sh", "-c", DEAF]
        )
        deaf = int(await anext(process.chunks()))
        await board.close()
        return deaf

    deaf = asyncio.run(work())
    assert not Path(f"/proc/{deaf}").exists()
    parser = StreamParser()
    list(read_events(stream, parser))
    assert parser.ended
