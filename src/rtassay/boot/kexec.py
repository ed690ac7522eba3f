"""kexec: starts one kernel directly from another, without firmware and boot loader. A plain reboot works as before."""

from __future__ import annotations

import re
from dataclasses import replace

from rtassay.boards.base import LinuxBoard
from rtassay.boot.base import Kernel
from rtassay.boot.shell import go_down, must, output, rt_by_release, sh
from rtassay.model import foreign
from rtassay.model.errors import BoardError, UsageError

_LIST = 'for f in "$1"/boot/vmlinuz-* "$1"/boot/Image-*; do [ -f "$f" ] && echo "$f"; done; true'
_BOOT_IMAGE = re.compile(r"(^| )BOOT_IMAGE=\S*")
_INITRDS = ("initrd.img-{0}", "initramfs-{0}.img", "initrd-{0}")
_DOWN = "if [ -d /run/systemd/system ]; then systemctl kexec; sleep 60; fi; kexec -e"
# Before the words of one boot; the kernel takes it for a parameter of a module that there is not.
_OURS = "rtassay.words=1"


class Kexec:
    """Every kernel in /boot, with the initrd of its release and the command line of the running one. It keeps no default."""

    name = "kexec"
    keeps_default = False

    def __init__(self, root: str = "") -> None:
        self._root = root

    async def fits(self, board: LinuxBoard) -> bool:
        if await board.which("kexec") is None:
            return False
        refused = (await board.read(f"{self._root}/proc/sys/kernel/kexec_load_disabled") or b"1").strip()
        return refused == b"0" and bool(await self._files(board))

    async def kernels(self, board: LinuxBoard) -> list[Kernel]:
        real_time = await rt_by_release(board, self._root)
        found = [(path.rpartition("/")[2].partition("-")[2], path) for path in await self._files(board)]
        return [Kernel(release, path, release, real_time.get(release)) for release, path in found]

    async def use_once(self, board: LinuxBoard, kernel: Kernel) -> None:
        paths = {known.id: known.title for known in await self.kernels(board)}
        release = kernel.id
        argv = [
            "kexec",
            "-l",
            paths[release],
            f"--command-line={await self._command_line(board, kernel.words)}",
        ]
        argv += await self._arm_options(board, paths[release])
        for name in _INITRDS:
            path = f"{self._root}/boot/{name.format(release)}"
            if (await output(board, ["test", "-f", path]))[1] == 0:
                argv.append(f"--initrd={path}")
                break
        await must(
            board, argv, f"load kernel {release} for kexec", "root is needed; a locked-down kernel refuses kexec", 120.0
        )
        if (await board.read(f"{self._root}/sys/kernel/kexec_loaded") or b"").strip() != b"1":
            raise BoardError(f"board '{board.name}' did not keep the kernel that kexec loaded")

    async def take_back(self, board: LinuxBoard) -> None:
        if (await board.read(f"{self._root}/sys/kernel/kexec_loaded") or b"").strip() == b"1":
            await must(board, ["kexec", "-u"], "unload the kernel that kexec had loaded")

    async def use_by_default(self, board: LinuxBoard, kernel: Kernel) -> None:
        raise UsageError(
            f"board '{board.name}' keeps no default for kexec",
            "kexec does not use the boot loader, and only the boot loader keeps a default",
            "use --once",
        )

    async def reboot(self, board: LinuxBoard) -> None:
        await go_down(board, _DOWN)

    async def with_words(self, board: LinuxBoard, kernel: Kernel, words: tuple[str, ...]) -> Kernel:
        return replace(kernel, words=words)

    async def without_words(self, board: LinuxBoard) -> None:
        """Nothing was made."""

    async def add(self, board: LinuxBoard, release: str) -> None:
        """Its files in /boot are all that kexec needs."""

    async def remove(self, board: LinuxBoard, release: str) -> None:
        """Without its files kexec does not offer it."""

    async def _command_line(self, board: LinuxBoard, words: tuple[str, ...]) -> str:
        """The running kernel's command line without BOOT_IMAGE of its boot loader and words of one boot, and with `words`. kexec's own --reuse-cmdline is missing on 32-bit ARM."""
        told = await board.read(f"{self._root}/proc/cmdline")
        if told is None:
            raise BoardError(f"board '{board.name}' does not tell its kernel's command line", "/proc/cmdline")
        line = _BOOT_IMAGE.sub("", told.decode(errors="replace").strip()).partition(_OURS)[0].strip()
        return " ".join((line, _OURS, *words)) if words else line

    async def _arm_options(self, board: LinuxBoard, path: str) -> list[str]:
        """On 32-bit ARM kexec puts the initrd right behind the place it thinks the kernel unpacks itself into; kernels built for many
        platforms do so up to 3 MiB higher, over the initrd, and panic. With room for eight times the file it lies well clear."""
        if not (await sh(board, "uname -m")).startswith("arm"):
            return []
        size = foreign.number((await sh(board, 'wc -c < "$1"', path)).strip())
        return [] if size is None else [f"--image-size={8 * size}"]

    async def _files(self, board: LinuxBoard) -> list[str]:
        return (await sh(board, _LIST, self._root)).split()
