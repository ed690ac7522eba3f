"""extlinux.conf, as U-Boot reads it (doc/usage/... "distro boot"): a label for the new kernel that boots as the default one does."""

from __future__ import annotations

from pathlib import PurePosixPath

from rtassay.boot.extlinux_menu import INITRD, KERNEL, TREE, TREES, default_of, label_of, with_label
from rtassay.kernels.cards.files import Content, Files
from rtassay.kernels.cards.menus.base import Change, Menu, New, needed, read_text, to_bytes
from rtassay.model.errors import InputFileError

_PLACES = ("/extlinux/extlinux.conf", "/boot/extlinux/extlinux.conf")


def find(parts: tuple[Files, ...]) -> Menu | None:
    for files in parts:
        for place in _PLACES:
            text = read_text(files, place)
            if text is not None:
                return Extlinux(files, place, text)
    return None


class Extlinux:
    name = "extlinux"

    def __init__(self, files: Files, place: str, text: str) -> None:
        self.files, self._place, self._text = files, place, text
        self._first = default_of(text)
        if self._first is None:
            raise InputFileError(f"{place} of {files.where} has no label with a kernel")
        self.title = self._first.name
        named = self._first.value(INITRD)
        self.initrd = None if named is None else needed(files, self._path(named), place)
        self.kernel = needed(files, self._path(self._first.value(KERNEL) or ""), place)

    def add(self, new: New, default: bool) -> list[Change]:
        assert self._first is not None
        kernel = self._first.value(KERNEL) or ""
        below = str(PurePosixPath(kernel).parent).removesuffix("/")
        paths = {"kernel": f"{below}/vmlinuz-{new.release}", "initrd": f"{below}/initrd.img-{new.release}"}
        made: list[Change] = [Change(self.files, self._path(paths["kernel"]), new.kernel)]
        if new.initrd is not None:
            made.append(Change(self.files, self._path(paths["initrd"]), new.initrd))
        trees, tree_words = self._trees(new, below)
        made += [Change(self.files, self._path(path), content) for path, content in trees.items()]
        text = with_label(self._text, self._first, new.release, {**paths, **tree_words}, default)
        return [*made, Change(self.files, self._place, to_bytes(text))]

    def trial(self, new: New) -> str:
        return f"choose '{label_of(new.release)}' in U-Boot's menu on the serial console"

    def _trees(self, new: New, below: str) -> tuple[dict[str, Content], dict[str, str]]:
        """(device trees to write, lines of the label to change): the new kernel's own where the first label names one of theirs."""
        assert self._first is not None
        folder = f"{below}/dtbs-{new.release}"
        named = self._first.value(TREE)
        if named is not None:
            wanted = PurePosixPath(named).name
            own = next((path for path in new.trees if PurePosixPath(path).name == wanted), None)
            return ({}, {}) if own is None else ({f"{folder}/{own}": new.trees[own]}, {"fdt": f"{folder}/{own}"})
        if self._first.value(TREES) is not None and new.trees:
            return {f"{folder}/{path}": tree for path, tree in new.trees.items()}, {"fdtdir": folder}
        return {}, {}

    def _path(self, named: str) -> str:
        """A path of the file, which is below its own folder if it does not begin with a slash."""
        return named if named.startswith("/") else f"{self._place.rpartition('/')[0]}/{named}"
