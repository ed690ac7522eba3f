"""The firmware of a Raspberry Pi: `kernel=` in config.txt names the file it boots.

For one boot the firmware's own `tryboot` is used if present: it reads tryboot.txt once, and a board that hangs comes back with
config.txt at the next power cycle. Older firmware gets a guard instead: config.txt is changed, and the first thing the new boot does is
to put the old one back. A kernel that never gets so far leaves config.txt.rtassay on the card, to be renamed by hand.

Words for one boot stand in a second cmdline.txt, which only the config.txt of that boot names.

A kernel that was put onto the card itself (`kernels.cards`) has a folder of its own beside config.txt, named by os_prefix.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rtassay.boards.base import LinuxBoard
from rtassay.boot.base import Kernel
from rtassay.boot.shell import go_down, must, output, sh, write
from rtassay.model.errors import BoardError, UsageError

_PLACES = ("/boot/firmware", "/boot")
_KERNEL = re.compile(r"^\s*kernel\s*=\s*(\S+)\s*$")
_SECTION = re.compile(r"^\s*\[(.+)\]\s*$")
_OURS = re.compile(r"kernel-(\d.*)\.img|rtassay-(\d.*)/kernel\.img")
_PREFIX = re.compile(r"^\s*os_prefix\s*=\s*(\S*)\s*$")
_INITRAMFS = re.compile(r"^\s*initramfs[ =]\s*(\S+)")
_CMDLINE = re.compile(r"^\s*cmdline\s*=\s*(\S+)")
_AUTO = re.compile(r"^\s*auto_initramfs\s*=\s*1\s*$")
_OUR_MARK = "#rtassay: "
KERNEL, INITRD = "kernel.img", "initrd.img"
"""Names in the folder of one kernel."""
_SAVED = "config.txt.rtassay"
_TRIAL = "cmdline-rtassay.txt"
_UNIT = "/etc/systemd/system/rtassay-boot-guard.service"
_WANTS = "/etc/systemd/system/sysinit.target.wants/rtassay-boot-guard.service"
_INIT = "/etc/init.d/S00rtassay-boot-guard"
_TRYBOOT = (
    "if [ -d /run/systemd/system ]; then systemctl reboot --reboot-argument='0 tryboot'; else reboot '0 tryboot'; fi; "
    "sleep 30; reboot -f"
)
_FILES = 'cd "$1" && for f in kernel*.img vmlinuz* Image* rtassay-*/kernel.img; do [ -f "$f" ] && echo "$f"; done; true'


class Raspberry:
    """Kernels are the files beside config.txt. Only those of `add` tell their release, by their name."""

    name = "raspberry"
    keeps_default = True

    def __init__(self, root: str = "") -> None:
        self._root = root

    async def fits(self, board: LinuxBoard) -> bool:
        return await self._place(board) is not None

    async def kernels(self, board: LinuxBoard) -> list[Kernel]:
        place = await self._found(board)
        default = chosen(await self._config(board, place)) or await self._firmware_default(board)
        files = (await sh(board, _FILES, place)).split()
        found = [Kernel(file, file, _release(file), default=file == default) for file in files]
        if not found:
            raise BoardError(f"there is no kernel beside {place}/config.txt on board '{board.name}'")
        return found

    async def use_once(self, board: LinuxBoard, kernel: Kernel) -> None:
        place = await self._found(board)
        await self.take_back(board)
        config = await self._config(board, place)
        if await self._has_tryboot(board):
            await write(
                board, f"{place}/tryboot.txt", await self._choosing(board, place, config, kernel), "write tryboot.txt"
            )
            return
        # The order makes every crash safe: first the guard that restores, then the saved file, then the change.
        await self._install_guard(board, place)
        await must(
            board,
            ["sh", "-c", 'cp "$1/config.txt" "$1/$2" && sync', "sh", place, _SAVED],
            "keep config.txt",
            "root is needed, and the boot partition must not be read-only",
        )
        await write(
            board, f"{place}/config.txt", await self._choosing(board, place, config, kernel), "change config.txt"
        )

    async def take_back(self, board: LinuxBoard) -> None:
        place = await self._found(board)
        await must(board, ["sh", "-c", self._restoring(place), "sh"], "put config.txt back")

    async def use_by_default(self, board: LinuxBoard, kernel: Kernel) -> None:
        place = await self._found(board)
        await self.take_back(board)
        config = await self._config(board, place)
        await write(
            board, f"{place}/config.txt", await self._choosing(board, place, config, kernel), "change config.txt"
        )

    async def reboot(self, board: LinuxBoard) -> None:
        place = await self._found(board)
        if await board.read(f"{place}/tryboot.txt") is not None:
            await go_down(board, _TRYBOOT)
        else:
            await go_down(board)

    async def with_words(self, board: LinuxBoard, kernel: Kernel, words: tuple[str, ...]) -> Kernel:
        """A cmdline.txt of its own, where the firmware looks for that of this kernel."""
        place = await self._found(board)
        folder = kernel.id.rpartition("/")[0]
        name = cmdline(await self._config(board, place))
        at = [f"{place}/{folder}/{name}", f"{place}/{name}"] if folder else [f"{place}/{name}"]
        lines = [text for path in at if (text := await board.read(path)) is not None]
        # The firmware reads one line.
        line = lines[0].decode(errors="surrogateescape").partition("\n")[0].strip() if lines else ""
        if not line:
            raise BoardError(f"board '{board.name}' has no {name} that words could be added to", f"looked at {at[-1]}")
        target = f"{place}/{folder}/{_TRIAL}" if folder else f"{place}/{_TRIAL}"
        await write(board, target, f"{line} {' '.join(words)}\n", f"write {_TRIAL}")
        return replace(kernel, words=words)

    async def without_words(self, board: LinuxBoard) -> None:
        place = await self._found(board)
        script = 'rm -f "$1/$2" "$1"/rtassay-*/"$2"; sync'
        await must(board, ["sh", "-c", script, "sh", place, _TRIAL], f"remove {_TRIAL}")

    async def add(self, board: LinuxBoard, release: str) -> None:
        """The kernel goes beside config.txt as `kernel-RELEASE.img`, where the firmware can find it."""
        place = await self._found(board)
        source = f"{self._root}/boot/vmlinuz-{release}"
        argv = [
            "sh",
            "-c",
            'cp "$1" "$2.new" && mv "$2.new" "$2" && sync',
            "sh",
            source,
            f"{place}/kernel-{release}.img",
        ]
        await must(board, argv, "put the kernel beside config.txt")

    async def remove(self, board: LinuxBoard, release: str) -> None:
        place = await self._found(board)
        paths = (f"{place}/kernel-{release}.img", f"{place}/{folder_of(release)}")
        await must(board, ["sh", "-c", 'rm -rf "$@" && sync', "sh", *paths], "remove the kernel's file")

    async def _choosing(self, board: LinuxBoard, place: str, config: str, kernel: Kernel) -> str:
        folder, _, _ = kernel.id.rpartition("/")
        has = folder and (await output(board, ["test", "-f", f"{place}/{folder}/{INITRD}"]))[1] == 0
        return choosing(config, kernel.id, INITRD if has else None, _TRIAL if kernel.words else None)

    def _restoring(self, place: str) -> str:
        """A script for the board that restores the old config.txt and removes our files. The guard runs it too."""
        unit, wants, init = (f"{self._root}{path}" for path in (_UNIT, _WANTS, _INIT))
        return (
            f'[ ! -f "{place}/{_SAVED}" ] || mv "{place}/{_SAVED}" "{place}/config.txt"; '
            f'rm -f "{place}/tryboot.txt" "{wants}" "{unit}" "{init}"; sync'
        )

    async def _install_guard(self, board: LinuxBoard, place: str) -> None:
        script = self._restoring(place)
        if (await output(board, ["test", "-d", f"{self._root}/etc/systemd/system"]))[1] == 0:
            text = (
                "[Unit]\nDescription=rtassay: put the old config.txt back\nDefaultDependencies=no\n"
                f"After=local-fs.target\nBefore=sysinit.target\n[Service]\nType=oneshot\nExecStart=/bin/sh -c '{script}'\n"
            )
            await write(board, f"{self._root}{_UNIT}", text, "install the boot guard")
            link = 'mkdir -p "${2%/*}" && ln -sf "$1" "$2" && sync'
            await must(board, ["sh", "-c", link, "sh", _UNIT, f"{self._root}{_WANTS}"], "install the boot guard")
        elif (await output(board, ["test", "-d", f"{self._root}/etc/init.d"]))[1] == 0:
            await write(board, f"{self._root}{_INIT}", f"#!/bin/sh\n{script}\n", "install the boot guard")
            await must(board, ["chmod", "755", f"{self._root}{_INIT}"], "install the boot guard")
        else:
            raise UsageError(
                f"board '{board.name}' has no place for a boot guard",
                "neither systemd nor /etc/init.d",
                "choose the kernel by hand in config.txt",
            )

    async def _has_tryboot(self, board: LinuxBoard) -> bool:
        """A bootloader that says its version in the device tree knows tryboot if it is of 2021 or later."""
        raw = await board.read(f"{self._root}/proc/device-tree/chosen/bootloader/build-timestamp") or b""
        return len(raw) == 4 and int.from_bytes(raw, "big") >= 1609459200

    async def _firmware_default(self, board: LinuxBoard) -> str:
        """The kernel of this model if config.txt names none."""
        model = (await board.read(f"{self._root}/proc/device-tree/model") or b"").decode(errors="replace")
        machine, _, _ = await output(board, ["uname", "-m"])
        if "Raspberry Pi 5" in model:
            return "kernel_2712.img"
        if machine.strip() == "aarch64":
            return "kernel8.img"
        if "Raspberry Pi 4" in model:
            return "kernel7l.img"
        return "kernel.img" if machine.strip() == "armv6l" else "kernel7.img"

    async def _config(self, board: LinuxBoard, place: str) -> str:
        return (await board.read(f"{place}/config.txt") or b"").decode(errors="surrogateescape")

    async def _found(self, board: LinuxBoard) -> str:
        place = await self._place(board)
        if place is None:
            raise BoardError(f"board '{board.name}' has no config.txt")
        return place

    async def _place(self, board: LinuxBoard) -> str | None:
        for place in _PLACES:
            path = f"{self._root}{place}/config.txt"
            words = await board.read(path)
            # Debian leaves a note at the old place that says where the file is now.
            if words is not None and b"DO NOT EDIT THIS FILE" not in words:
                return f"{self._root}{place}"
        return None


def _release(file: str) -> str | None:
    """The release of a kernel that `add` or `kernels.cards` put here; of other files it cannot be known."""
    ours = _OURS.fullmatch(file)
    return (ours[1] or ours[2]) if ours else None


def folder_of(release: str) -> str:
    """The folder of a kernel that was put onto the card itself."""
    return f"rtassay-{release}"


def _of_every_board(config: str) -> list[str]:
    """Lines in no section or in [all]."""
    section, found = "all", []
    for line in config.splitlines():
        head = _SECTION.match(line)
        if head:
            section = head[1].lower()
        elif section == "all":
            found.append(line)
    return found


def chosen(config: str) -> str | None:
    """The kernel that config.txt names for every board ([all] or no section), with its folder; the last one counts."""
    kernel, prefix = None, ""
    for line in _of_every_board(config):
        if found := _KERNEL.match(line):
            kernel = found[1]
        elif found := _PREFIX.match(line):
            prefix = found[1]
    return None if kernel is None else f"{prefix}{kernel}"


def initramfs(config: str) -> str | None:
    """The initramfs of that kernel: the one that is named, or with auto_initramfs=1 the one that belongs to the kernel's name."""
    prefix = (chosen(config) or "").rpartition("/")
    named, auto = None, False
    for line in _of_every_board(config):
        found = _INITRAMFS.match(line)
        named = found[1] if found else named
        auto = auto or _AUTO.match(line) is not None
    if named is None and auto:
        named = (prefix[2] or "kernel8.img").replace("kernel", "initramfs", 1).removesuffix(".img")
    return None if named is None else f"{prefix[0]}{prefix[1]}{named}"


def cmdline(config: str) -> str:
    """The file that holds the kernel's command line, beside the kernel's folder or in it."""
    named = [found[1] for line in _of_every_board(config) if (found := _CMDLINE.match(line))]
    return named[-1] if named else "cmdline.txt"


def choosing(config: str, kernel: str, initrd: str | None = None, cmdline: str | None = None) -> str:
    """config.txt with another kernel, everything else as it was. An earlier `kernel=` of any section is commented out; for a kernel in a
    folder of its own, with its `initrd` there, also what names an initramfs or another folder; with another `cmdline` what names one."""
    folder, _, name = kernel.rpartition("/")
    of_folder = (_PREFIX, _INITRAMFS, _AUTO) if folder else ()
    replaced = (_KERNEL, *of_folder, *(() if cmdline is None else (_CMDLINE,)))
    lines = []
    for line in config.splitlines():
        # What an earlier choice of a folder had added or commented out.
        if line.startswith("os_prefix=rtassay-") or line == _initramfs_line(INITRD):
            continue
        plain = line.removeprefix(_OUR_MARK)
        line = plain if plain != line and not _KERNEL.match(plain) else line
        lines.append(f"{_OUR_MARK}{line}" if any(word.match(line) for word in replaced) else line)
    more = [f"os_prefix={folder}/"] if folder else []
    more += [f"kernel={name}", *([] if initrd is None else [_initramfs_line(initrd)])]
    more += [] if cmdline is None else [f"cmdline={cmdline}"]
    return "\n".join([*lines, "[all]", *more, ""])


def _initramfs_line(name: str) -> str:
    return f"initramfs {name} followkernel"
