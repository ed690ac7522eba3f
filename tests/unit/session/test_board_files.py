"""Files the probe leaves on the board."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rtassay.boards.local import LocalBoard
from rtassay.model.errors import BoardError
from rtassay.session.board_files import take_file


def take(path: Path) -> bytes:
    taken = bytearray()

    async def moved() -> None:
        board = LocalBoard()
        await board.open()
        try:
            await take_file(board, str(path), taken.extend)
        finally:
            await board.close()

    asyncio.run(moved())
    return bytes(taken)


def test_a_file_of_any_size_moves_from_the_board(tmp_path: Path) -> None:
    left = tmp_path / "probe.trace"
    content = bytes(range(256)) * 20_000
    left.write_bytes(content)
    assert take(left) == content
    assert not left.exists()


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match=r"nothing\.trace"):
        take(tmp_path / "nothing.trace")
