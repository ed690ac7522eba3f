"""The firmware of a Raspberry Pi: the new kernel gets a folder of its own (os_prefix), tryboot.txt boots it once, config.txt stays.

With os_prefix the firmware takes kernel, initramfs, cmdline.txt and device trees from that folder
(raspberrypi.com/documentation/computers/config_txt.html, "os_prefix"; "tryboot").
"""

from __future__ import annotations

from rtassay.boot import raspberry
from rtassay.kernels.cards.files import Content, Files
from rtassay.kernels.cards.menus.base import Change, Menu, New, needed, read_text, to_bytes

_MODELS = ("bcm27", "bcm28")
_BY_MODEL = ("kernel8.img", "kernel_2712.img", "kernel7l.img", "kernel7.img", "kernel.img")


def find(parts: tuple[Files, ...]) -> Menu | None:
    for files in parts:
        config = read_text(files, "/config.txt") if files.kind == "FAT" else None
        # Where the firmware starts U-Boot, U-Boot chooses the kernel.
        if config is not None and not (raspberry.chosen(config) or "").lower().startswith("u-boot"):
            return Raspberry(files, config)
    return None


class Raspberry:
    name = "raspberry"

    def __init__(self, files: Files, config: str) -> None:
        self.files, self._config = files, config
        self.title = raspberry.chosen(config) or "the kernel of its model"
        named = raspberry.initramfs(config)
        self.initrd = None if named is None else needed(files, f"/{named}", "config.txt")
        self.kernel = self._kernel()

    def _kernel(self) -> bytes:
        """The named one; without a name one of those that models boot by themselves."""
        named = raspberry.chosen(self._config)
        if named is not None:
            return needed(self.files, f"/{named}", "config.txt")
        there = [name for name in _BY_MODEL if name in self.files.names("/")]
        return needed(self.files, f"/{there[0] if there else _BY_MODEL[0]}", "the firmware")

    def add(self, new: New, default: bool) -> list[Change]:
        folder = raspberry.folder_of(new.release)
        made: dict[str, Content] = {raspberry.KERNEL: new.kernel}
        if new.initrd is not None:
            made[raspberry.INITRD] = new.initrd
        made["cmdline.txt"] = self.files.read("/cmdline.txt") or b""
        made |= self._trees(new)
        text = to_bytes(self._choosing(new))
        changes = [Change(self.files, f"/{folder}/{name}", content) for name, content in made.items()]
        changes.append(Change(self.files, "/tryboot.txt", text))
        return [*changes, Change(self.files, "/config.txt", text)] if default else changes

    def trial(self, new: New) -> str:
        return (
            f"run on the board: sudo reboot '0 tryboot' (bootloader of 2021 or later), or with an older one set "
            f"os_prefix={raspberry.folder_of(new.release)}/ and kernel={raspberry.KERNEL} in config.txt"
        )

    def _choosing(self, new: New) -> str:
        kernel = f"{raspberry.folder_of(new.release)}/{raspberry.KERNEL}"
        return raspberry.choosing(self._config, kernel, raspberry.INITRD if new.initrd is not None else None)

    def _trees(self, new: New) -> dict[str, Content]:
        """Those of the new kernel; if it brings none for a Raspberry Pi, copies of the card's: the firmware does not use the folder without."""
        own: dict[str, Content] = {
            path.rpartition("/")[2]: tree
            for path, tree in new.trees.items()
            if path.rpartition("/")[2].startswith(_MODELS) and path.endswith(".dtb")
        }
        if own:
            return own
        names = [name for name, folder in self.files.names("/").items() if name.endswith(".dtb") and not folder]
        return {name: self.files.read(f"/{name}") or b"" for name in names}
