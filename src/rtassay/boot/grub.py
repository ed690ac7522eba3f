"""GRUB 2: `grub-reboot` for one boot, `saved_entry` for the default."""

from __future__ import annotations

from dataclasses import replace

from rtassay.boards.base import LinuxBoard
from rtassay.boot import grub_menu
from rtassay.boot.base import Kernel
from rtassay.boot.shell import go_down, must, output, rt_by_release, write
from rtassay.model.errors import BoardError, UsageError

_PLACES = ("/boot/grub", "/boot/grub2")
_CUSTOM = "custom.cfg"


class Grub:
    """Needs grub-editenv (or grub2-editenv) on the board and a menu that honours `next_entry`, as those of all distributions do."""

    name = "grub"
    keeps_default = True

    def __init__(self, root: str = "") -> None:
        self._root = root

    async def fits(self, board: LinuxBoard) -> bool:
        return await self._place(board) is not None and await self._editenv(board) is not None

    async def kernels(self, board: LinuxBoard) -> list[Kernel]:
        place, cfg = await self._menu(board)
        default = grub_menu.default_of(cfg, await self._environment(board, place))
        real_time = await rt_by_release(board, self._root)
        found = [
            Kernel(
                entry.path,
                entry.title,
                entry.release,
                real_time.get(entry.release or ""),
                grub_menu.is_meant(entry, default),
            )
            for entry in grub_menu.entries(cfg)
        ]
        if not found:
            raise BoardError(f"GRUB on board '{board.name}' has no Linux in its menu", f"{place}/grub.cfg")
        return found

    async def use_once(self, board: LinuxBoard, kernel: Kernel) -> None:
        place, cfg = await self._menu(board)
        if "next_entry" not in cfg:
            raise BoardError(
                f"GRUB on board '{board.name}' cannot boot an entry once",
                f"{place}/grub.cfg does not look at next_entry",
                "run update-grub on the board (a hand-written menu needs the lines of 00_header)",
            )
        await self._set(board, place, f"next_entry={kernel.id}")
        if (await self._environment(board, place)).get("next_entry") != kernel.id:
            raise BoardError(f"GRUB on board '{board.name}' did not take the entry", f"{place}/grubenv is as before")

    async def take_back(self, board: LinuxBoard) -> None:
        place, _ = await self._menu(board)
        if (await self._environment(board, place)).get("next_entry"):
            await must(
                board, [*await self._tool(board, place), "unset", "next_entry"], "take back GRUB's choice for one boot"
            )

    async def use_by_default(self, board: LinuxBoard, kernel: Kernel) -> None:
        place, cfg = await self._menu(board)
        if "saved_entry" not in cfg:
            raise UsageError(
                f"GRUB on board '{board.name}' keeps no default of ours",
                f"{place}/grub.cfg does not look at saved_entry",
                "set GRUB_DEFAULT=saved in /etc/default/grub on the board and run update-grub; or use --once",
            )
        await self._set(board, place, f"saved_entry={kernel.id}")

    async def reboot(self, board: LinuxBoard) -> None:
        await go_down(board)

    async def with_words(self, board: LinuxBoard, kernel: Kernel, words: tuple[str, ...]) -> Kernel:
        """An entry in custom.cfg that boots as the kernel's own one, with more words."""
        place, cfg = await self._menu(board)
        if _CUSTOM not in cfg:
            raise UsageError(
                f"GRUB on board '{board.name}' reads no {_CUSTOM}",
                f"{place}/grub.cfg does not name it",
                "add the words to GRUB_CMDLINE_LINUX in /etc/default/grub there, and run update-grub",
            )
        entry = next(entry for entry in grub_menu.entries(cfg) if entry.path == kernel.id)
        old = grub_menu.without(await self._read(board, f"{place}/{_CUSTOM}"), grub_menu.TRIAL)
        await write(board, f"{place}/{_CUSTOM}", old + grub_menu.trial(entry, words), "add an entry to GRUB's menu")
        return replace(kernel, id=grub_menu.id_of(grub_menu.TRIAL), words=words)

    async def without_words(self, board: LinuxBoard) -> None:
        await self.remove(board, grub_menu.TRIAL)

    async def add(self, board: LinuxBoard, release: str) -> None:
        """Add an entry to custom.cfg, after all others, that boots in the same way as the default."""
        place, cfg = await self._menu(board, custom=False)
        if _CUSTOM not in cfg:
            raise UsageError(
                f"GRUB on board '{board.name}' reads no {_CUSTOM}",
                f"{place}/grub.cfg does not name it",
                "install the kernel with the board's own tools, then `rtassay kernel list`",
            )
        all_entries = grub_menu.entries(cfg)
        default = grub_menu.default_of(cfg, await self._environment(board, place))
        model = next((e for e in all_entries if grub_menu.is_meant(e, default) and e.release), None)
        if model is None:
            model = next((e for e in all_entries if e.release), None)
        if model is None:
            raise BoardError(f"GRUB's menu on board '{board.name}' has no entry to follow", f"{place}/grub.cfg")
        old = await self._read(board, f"{place}/{_CUSTOM}")
        if any(entry.path == grub_menu.id_of(release) for entry in grub_menu.entries(old)):
            return
        initrd = (await output(board, ["test", "-f", f"{self._root}/boot/initrd.img-{release}"]))[1] == 0
        text = old + grub_menu.beside(model, release, initrd)
        await write(board, f"{place}/{_CUSTOM}", text, "add an entry to GRUB's menu")

    async def remove(self, board: LinuxBoard, release: str) -> None:
        """Take the entry of `add` out of custom.cfg; other entries in it stay."""
        place, _ = await self._menu(board, custom=False)
        old = await self._read(board, f"{place}/{_CUSTOM}")
        text = grub_menu.without(old, release)
        if text != old:
            await write(board, f"{place}/{_CUSTOM}", text, "take an entry out of GRUB's menu")

    async def _set(self, board: LinuxBoard, place: str, assignment: str) -> None:
        await must(
            board,
            [*await self._tool(board, place), "set", assignment],
            f"set GRUB's {assignment.partition('=')[0]}",
            "root is needed, and /boot must not be read-only",
        )
        await output(board, ["sync"])

    async def _menu(self, board: LinuxBoard, custom: bool = True) -> tuple[str, str]:
        place = await self._place(board)
        if place is None:
            raise BoardError(f"board '{board.name}' has no readable grub.cfg", hint="log in as root, or with sudo")
        cfg = await self._read(board, f"{place}/grub.cfg")
        if custom and _CUSTOM in cfg:
            cfg += "\n" + await self._read(board, f"{place}/{_CUSTOM}")
        return place, cfg

    async def _place(self, board: LinuxBoard) -> str | None:
        for place in _PLACES:
            if await board.read(f"{self._root}{place}/grub.cfg"):
                return f"{self._root}{place}"
        return None

    async def _read(self, board: LinuxBoard, path: str) -> str:
        return (await board.read(path) or b"").decode(errors="replace")

    async def _editenv(self, board: LinuxBoard) -> str | None:
        return await board.which("grub-editenv") or await board.which("grub2-editenv")

    async def _tool(self, board: LinuxBoard, place: str) -> list[str]:
        tool = await self._editenv(board)
        if tool is None:
            raise BoardError(f"board '{board.name}' has no grub-editenv", hint="install grub-common there")
        return [tool, f"{place}/grubenv"]

    async def _environment(self, board: LinuxBoard, place: str) -> dict[str, str]:
        text, _, _ = await output(board, [*await self._tool(board, place), "list"])
        return {key: value for key, found, value in (line.partition("=") for line in text.splitlines()) if found}
