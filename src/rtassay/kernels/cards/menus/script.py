"""A script of U-Boot (boot.scr): the first one stays as boot-first.scr, and a new boot.scr chooses between it and a copy for the new kernel.

The format of the file is U-Boot's legacy image of the type "script" (include/image.h); mkimage makes it.
"""

from __future__ import annotations

import re
import struct
import tempfile
from pathlib import Path

from rtassay.kernels.cards.files import Files
from rtassay.kernels.cards.menus.base import Change, Menu, New, needed
from rtassay.lab.places import need, run
from rtassay.model.errors import InputFileError, UsageError

_PLACES = ("/boot.scr", "/boot/boot.scr")
_HEAD, _MAGIC, _SCRIPT = 64, 0x27051956, 6
_FIRST = "boot-first.scr"
# As scripts write it: behind `load ... addr`, with a variable for its folder or without.
_KERNEL = re.compile(r"(?<![\w.-])((?:vmlinuz|zImage|Image|uImage)(?:-([\w.+~-]+))?)(?![\w.-])")
_INITRD = re.compile(r"(?<![\w.-])((?:initrd\.img|uInitrd|initramfs|ramdisk)(?:[-.][\w.+~-]+)?)(?![\w.-])")
_KVERS = re.compile(r"^(\s*setenv\s+fk_kvers\s+)(['\"]?)([\w.+~-]+)\2\s*$", re.MULTILINE)
_CHOICE = """\
# Written by rtassay: `setenv rtassay_kernel {release}; boot` at U-Boot's prompt boots that kernel once.
if test -z "${{rtassay_kernel}}"; then setenv rtassay_kernel {default}; fi
echo "kernel: ${{rtassay_kernel}}"
load ${{devtype}} ${{devnum}}:${{distro_bootpart}} ${{scriptaddr}} ${{prefix}}boot-${{rtassay_kernel}}.scr
source ${{scriptaddr}}
"""
_CHOSEN = re.compile(r"setenv rtassay_kernel (\S+); fi$", re.MULTILINE)


def find(parts: tuple[Files, ...]) -> Menu | None:
    for files in parts:
        for place in _PLACES:
            content = files.read(place)
            if content is not None:
                return Script(files, place.rpartition("/")[0], content)
    return None


class Script:
    name = "u-boot script"

    def __init__(self, files: Files, below: str, content: bytes) -> None:
        self.files, self._below = files, below
        self._where = f"{below}/boot.scr of {files.where}"
        self._chosen: str | None = None
        text = text_of(content, self._where)
        if "rtassay_kernel" in text:
            self._chosen = (_CHOSEN.search(text) or ["", "first"])[1]
            kept = files.read(f"{below}/{_FIRST}")
            if kept is None:
                raise InputFileError(f"{self._where} names {_FIRST}, which is not there")
            content, text = kept, text_of(kept, f"{below}/{_FIRST}")
        self._first, self._text = content, text
        kvers, kernel = _KVERS.search(text), _KERNEL.search(text)
        if kvers is None and kernel is None:
            raise InputFileError(
                f"{self._where} loads no kernel that can be recognised",
                "no file vmlinuz, zImage, Image or uImage",
                "deploy over SSH, or write the script anew by hand",
            )
        self._kvers = None if kvers is None else kvers[3]
        self._kernel = f"vmlinuz-{self._kvers}" if kernel is None or kvers is not None else kernel[1]
        initrd = _INITRD.search(text)
        self._initrd = f"initrd.img-{self._kvers}" if kvers is not None else None if initrd is None else initrd[1]
        self.title = self._kernel
        self.initrd = self._found(self._initrd) if self._initrd is not None else None
        self.kernel = needed(files, f"{self._folder_of(self._kernel)}/{self._kernel}", self._where)

    def add(self, new: New, default: bool) -> list[Change]:
        folder = self._folder_of(self._kernel)
        made = [Change(self.files, f"{folder}/vmlinuz-{new.release}", new.kernel)]
        if new.initrd is not None:
            content = wrapped(new.initrd, "ramdisk") if self._is_wrapped() else new.initrd
            made.append(Change(self.files, f"{folder}/initrd.img-{new.release}", content))
        if self._kvers is not None:
            made += [
                Change(self.files, f"{folder}/dtbs/{new.release}/{path}", tree) for path, tree in new.trees.items()
            ]
        made.append(
            Change(
                self.files, f"{self._below}/boot-{new.release}.scr", wrapped(self._for(new.release).encode(), "script")
            )
        )
        made.append(Change(self.files, f"{self._below}/{_FIRST}", self._first))
        text = _CHOICE.format(release=new.release, default=new.release if default else self._chosen or "first")
        return [*made, Change(self.files, f"{self._below}/boot.scr", wrapped(text.encode(), "script"))]

    def trial(self, new: New) -> str:
        return f"at U-Boot's prompt on the serial console: setenv rtassay_kernel {new.release}; boot"

    def _for(self, release: str) -> str:
        """The first script with the files of another kernel."""
        if self._kvers is not None:
            return _KVERS.sub(lambda match: f"{match[1]}{match[2]}{release}{match[2]}", self._text)
        text = _KERNEL.sub(lambda match: f"vmlinuz-{release}" if match[1] == self._kernel else match[1], self._text)
        return text if self._initrd is None else text.replace(self._initrd, f"initrd.img-{release}")

    def _folder_of(self, name: str) -> str:
        for folder in (self._below, f"{self._below}/boot", "/boot", ""):
            if name in self.files.names(folder or "/"):
                return folder
        raise UsageError(f"{self._where} loads {name}, which is not beside it", "its files lie elsewhere")

    def _found(self, name: str) -> bytes | None:
        content = self.files.read(f"{self._folder_of(name)}/{name}")
        if content is not None and content[:4] == _MAGIC.to_bytes(4, "big"):
            return content[_HEAD:]
        return content

    def _is_wrapped(self) -> bool:
        assert self._initrd is not None
        content = self.files.read(f"{self._folder_of(self._initrd)}/{self._initrd}") or b""
        return content[:4] == _MAGIC.to_bytes(4, "big")


def text_of(content: bytes, where: str) -> str:
    """The text of a script. Raises InputFileError for an image of another type."""
    if len(content) < _HEAD + 8 or int.from_bytes(content[:4], "big") != _MAGIC or content[30] != _SCRIPT:
        raise InputFileError(f"{where} is no script of U-Boot", "it has another head", "a FIT image is not read here")
    (length,) = struct.unpack_from(">I", content, _HEAD)
    # Behind the head: the lengths of all parts, ended by 0; then the one part.
    return content[_HEAD + 8 : _HEAD + 8 + length].decode("utf-8", "surrogateescape")


def wrapped(content: bytes, kind: str) -> bytes:
    """U-Boot's legacy image around a script or a ramdisk. The same content gives the same bytes."""
    need("mkimage")
    with tempfile.TemporaryDirectory(prefix="rtassay-script-") as scratch:
        source, made = Path(scratch, "in"), Path(scratch, "out")
        source.write_bytes(content)
        argv = ["env", "SOURCE_DATE_EPOCH=0", "mkimage", "-A", "arm", "-O", "linux", "-T", kind, "-C", "none"]
        run([*argv, "-n", "rtassay", "-d", str(source), str(made)], what="make U-Boot's image")
        return made.read_bytes()
