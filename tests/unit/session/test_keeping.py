"""Files that keep settings, written into a directory of the test's own: all or none, and never over those of others."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from rtassay.boards.local import LocalBoard
from rtassay.model.errors import BoardError
from rtassay.model.tuning import KEPT_SYSCTL, KEPT_UNIT, KeptFile
from rtassay.session.keeping import keep

FILES = (KeptFile(KEPT_SYSCTL, "a = 1\n"), KeptFile(KEPT_UNIT, "[Unit]\nDescription='$x'\n"))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="settings are kept by root")


def kept(root: Path, files: tuple[KeptFile, ...] = FILES) -> None:
    async def run() -> None:
        board = LocalBoard()
        await board.open()
        try:
            await keep(board, files, str(root))
        finally:
            await board.close()

    asyncio.run(run())


def contents(root: Path) -> dict[str, str]:
    return {f"/{path.relative_to(root)}": path.read_text() for path in root.rglob("*") if path.is_file()}


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    for file in FILES:
        (tmp_path / file.path[1:]).parent.mkdir(parents=True)
    return tmp_path


def test_all_files_are_written_and_the_same_ones_again(root: Path) -> None:
    kept(root)
    kept(root)
    assert contents(root) == {file.path: file.text for file in FILES}


def test_a_file_with_other_contents_is_left_and_then_none_is_written(root: Path) -> None:
    theirs = root / KEPT_UNIT[1:]
    theirs.write_text("theirs\n")
    with pytest.raises(BoardError, match="with other contents") as caught:
        kept(root)
    assert f"rm {theirs}" in str(caught.value.hint)
    assert contents(root) == {KEPT_UNIT: "theirs\n"}


def test_a_board_that_would_not_read_them_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="would not read these files"):
        kept(tmp_path)
    assert contents(tmp_path) == {}
