"""extlinux.conf, which U-Boot reads: its `default` for every boot. One boot goes by kexec, as U-Boot has no choice for one boot."""

from __future__ import annotations

import re
from dataclasses import replace

from rtassay.boards.base import LinuxBoard
from rtassay.boot import extlinux_menu
from rtassay.boot.base import Kernel
from rtassay.boot.extlinux_menu import INITRD, KERNEL, TREES, Label
from rtassay.boot.kexec import Kexec
from rtassay.boot.shell import go_down, output, rt_by_release, write
from rtassay.model.errors import BoardError, UsageError

_PLACE = "/boot/extlinux/extlinux.conf"
_RELEASE = re.compile(r"(?:vmlinuz|vmlinux|Image|zImage)-([^/\s]+)$")


class Extlinux:
    """Labels of /boot/extlinux/extlinux.conf. A kernel is tried by kexec, if kexec-tools are on the board."""

    name = "extlinux"
    keeps_default = True

    def __init__(self, root: str = "") -> None:
        self._root = root
        self._kexec = Kexec(root)

    async def fits(self, board: LinuxBoard) -> bool:
        text = await board.read(f"{self._root}{_PLACE}")
        return text is not None and extlinux_menu.default_of(text.decode(errors="replace")) is not None

    async def kernels(self, board: LinuxBoard) -> list[Kernel]:
        text = await self._text(board)
        default = extlinux_menu.default_of(text)
        real_time = await rt_by_release(board, self._root)
        found = []
        for label in extlinux_menu.labels(text):
            if label.value(KERNEL) is not None:
                release = _release(label)
                rt = real_time.get(release or "")
                found.append(Kernel(label.name, label.name, release, rt, label == default))
        if not found:
            raise BoardError(f"{_PLACE} of board '{board.name}' has no label with a kernel")
        return found

    async def use_once(self, board: LinuxBoard, kernel: Kernel) -> None:
        if not await self._kexec.fits(board) or kernel.release is None:
            raise UsageError(
                f"U-Boot on board '{board.name}' boots no kernel for one boot only",
                "extlinux.conf has no such choice, and kexec cannot do it there",
                "install kexec-tools on the board, or choose the kernel in U-Boot's menu on the serial console",
            )
        await self._kexec.use_once(board, replace(kernel, id=kernel.release))

    async def take_back(self, board: LinuxBoard) -> None:
        await self._kexec.take_back(board)

    async def use_by_default(self, board: LinuxBoard, kernel: Kernel) -> None:
        text = extlinux_menu.with_default(await self._text(board), kernel.id)
        await write(board, f"{self._root}{_PLACE}", text, "set the default of extlinux.conf")

    async def reboot(self, board: LinuxBoard) -> None:
        if (await board.read(f"{self._root}/sys/kernel/kexec_loaded") or b"").strip() == b"1":
            await self._kexec.reboot(board)
        else:
            await go_down(board)

    async def with_words(self, board: LinuxBoard, kernel: Kernel, words: tuple[str, ...]) -> Kernel:
        return replace(kernel, words=words)

    async def without_words(self, board: LinuxBoard) -> None:
        """Nothing was made."""

    async def add(self, board: LinuxBoard, release: str) -> None:
        """Add a label, after all others, that boots as the default one does, with the device trees of the new kernel if it brought some."""
        text = await self._text(board)
        first = extlinux_menu.default_of(text)
        if first is None:
            raise BoardError(f"{_PLACE} of board '{board.name}' has no label to follow")
        below = (first.value(KERNEL) or "").rpartition("/")[0]
        paths = {"kernel": f"{below}/vmlinuz-{release}", "initrd": f"{below}/initrd.img-{release}"}
        trees = f"/usr/lib/linux-image-{release}"
        if first.value(TREES) is not None and (await output(board, ["test", "-d", f"{self._root}{trees}"]))[1] == 0:
            paths["fdtdir"] = trees
        if (
            first.value(INITRD)
            and (await output(board, ["test", "-f", f"{self._root}/boot/initrd.img-{release}"]))[1] != 0
        ):
            raise BoardError(
                f"there is no initrd for {release} on board '{board.name}'",
                f"the label '{first.name}' has one, and no tool of the board made it",
                "install initramfs-tools there",
            )
        await write(
            board,
            f"{self._root}{_PLACE}",
            extlinux_menu.with_label(text, first, release, paths, default=False),
            "add a label to extlinux.conf",
        )

    async def remove(self, board: LinuxBoard, release: str) -> None:
        text = await self._text(board)
        kept = extlinux_menu.without(text, release)
        if kept != text:
            await write(board, f"{self._root}{_PLACE}", kept, "take a label out of extlinux.conf")

    async def _text(self, board: LinuxBoard) -> str:
        text = await board.read(f"{self._root}{_PLACE}")
        if text is None:
            raise BoardError(f"board '{board.name}' has no readable {_PLACE}")
        return text.decode(errors="surrogateescape")


def _release(label: Label) -> str | None:
    found = _RELEASE.search(label.value(KERNEL) or "")
    return found[1] if found else None
