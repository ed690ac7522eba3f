"""extlinux.conf on a board: what it lists, its default, a label added and taken away; one boot only by kexec."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from rtassay.boards.local import LocalBoard
from rtassay.boot.base import Kernel
from rtassay.boot.extlinux import Extlinux
from rtassay.model.errors import BoardError, UsageError

STOCK, RT, NEW = "6.1.0-1-arm64", "6.1.0-1-rt-arm64", "6.12.1-rt"
CONF = f"""\
menu title kernels
default {STOCK}
timeout 30

label {STOCK}
\tlinux /boot/vmlinuz-{STOCK}
\tinitrd /boot/initrd.img-{STOCK}
\tfdtdir /usr/lib/linux-image-{STOCK}
\tappend root=LABEL=rtassay rw

label {RT}
\tlinux /boot/vmlinuz-{RT}
\tinitrd /boot/initrd.img-{RT}
\tappend root=LABEL=rtassay rw
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "boot/extlinux").mkdir(parents=True)
    (tmp_path / "boot/extlinux/extlinux.conf").write_text(CONF)
    for release, line in ((STOCK, "# CONFIG_PREEMPT_RT is not set"), (RT, "CONFIG_PREEMPT_RT=y")):
        (tmp_path / f"boot/config-{release}").write_text(f"{line}\n")
    return tmp_path


def on(root: Path, work: Callable[[Extlinux, Any], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        board = LocalBoard()
        await board.open()
        try:
            return await work(Extlinux(str(root)), board)
        finally:
            await board.close()

    return asyncio.run(main())


def conf(root: Path) -> str:
    return (root / "boot/extlinux/extlinux.conf").read_text()


def test_its_labels_are_the_kernels(root: Path) -> None:
    kernels = on(root, lambda u_boot, board: u_boot.kernels(board))
    assert kernels == [Kernel(STOCK, STOCK, STOCK, False, True), Kernel(RT, RT, RT, True, False)]
    assert on(root, lambda u_boot, board: u_boot.fits(board)) and conf(root) == CONF


def test_the_default_changes_one_line(root: Path) -> None:
    on(root, lambda u_boot, board: u_boot.use_by_default(board, Kernel(RT, RT, RT)))
    assert conf(root) == CONF.replace(f"default {STOCK}", f"default {RT}")
    assert [kernel.default for kernel in on(root, lambda u_boot, board: u_boot.kernels(board))] == [False, True]


def test_a_kernel_gets_a_label_as_the_default_one_and_leaves_without_a_trace(root: Path) -> None:
    with pytest.raises(BoardError, match="no initrd for"):
        on(root, lambda u_boot, board: u_boot.add(board, NEW))
    (root / f"boot/initrd.img-{NEW}").touch()
    (root / f"usr/lib/linux-image-{NEW}").mkdir(parents=True)
    on(root, lambda u_boot, board: u_boot.add(board, NEW))
    assert conf(root).startswith(CONF) and f"\tfdtdir /usr/lib/linux-image-{NEW}\n" in conf(root)
    added = on(root, lambda u_boot, board: u_boot.kernels(board))[-1]
    assert (added.release, added.default) == (NEW, False)
    on(root, lambda u_boot, board: u_boot.add(board, NEW))  # twice is once
    assert conf(root).count(f"label rtassay-{NEW}\n") == 1
    on(root, lambda u_boot, board: u_boot.remove(board, NEW))
    assert conf(root) == CONF


def test_without_kexec_no_kernel_is_tried_and_nothing_changes(root: Path) -> None:
    with pytest.raises(UsageError, match="one boot only"):
        on(root, lambda u_boot, board: u_boot.use_once(board, Kernel(RT, RT, RT)))
    assert conf(root) == CONF
