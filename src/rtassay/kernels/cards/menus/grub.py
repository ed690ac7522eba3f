"""GRUB 2 on a card: an entry in custom.cfg that boots as the default one does; the default itself stands in grubenv."""

from __future__ import annotations

import re

from rtassay.boot import grub_menu
from rtassay.kernels.cards.files import Files
from rtassay.kernels.cards.menus.base import Change, Menu, New, needed, read_text, to_bytes
from rtassay.model.errors import InputFileError, UsageError

_PLACES = ("/boot/grub", "/boot/grub2", "/grub", "/grub2")
_INITRD = re.compile(r"^\s*initrd(?:16|efi)?\s+(\S+)", re.MULTILINE)
_CUSTOM = "custom.cfg"
_BLOCK, _HEAD = 1024, "# GRUB Environment Block\n"


def find(parts: tuple[Files, ...]) -> Menu | None:
    for files in parts:
        for place in _PLACES:
            cfg = read_text(files, f"{place}/grub.cfg")
            if cfg is not None:
                return Grub(files, place, cfg)
    return None


class Grub:
    name = "grub"

    def __init__(self, files: Files, place: str, cfg: str) -> None:
        self.files, self._place, self._cfg = files, place, cfg
        self._environment = _read(read_text(files, f"{place}/grubenv") or "")
        default = grub_menu.default_of(cfg, self._environment)
        known = [entry for entry in grub_menu.entries(cfg) if entry.release]
        model = next((entry for entry in known if grub_menu.is_meant(entry, default)), known[0] if known else None)
        if model is None:
            raise InputFileError(f"GRUB's menu on {files.where} has no entry to follow", f"{place}/grub.cfg")
        self._model = model
        self.title = model.title
        self.kernel = needed(files, grub_menu.kernel_of(model), f"{place}/grub.cfg")
        path = _INITRD.search(model.body)
        self.initrd = needed(files, path[1], f"{place}/grub.cfg") if path else None

    def add(self, new: New, default: bool) -> list[Change]:
        if _CUSTOM not in self._cfg:
            raise UsageError(
                f"GRUB on {self.files.where} reads no {_CUSTOM}",
                f"{self._place}/grub.cfg does not name it",
                "run update-grub on the board (a hand-written menu needs the lines of 41_custom)",
            )
        if default and "saved_entry" not in self._cfg:
            raise UsageError(
                f"GRUB on {self.files.where} keeps no default of ours",
                f"{self._place}/grub.cfg does not look at saved_entry",
                "set GRUB_DEFAULT=saved in /etc/default/grub on the board and run update-grub",
            )
        below = self._place.rpartition("/")[0]
        made = [Change(self.files, f"{below}/vmlinuz-{new.release}", new.kernel)]
        if new.initrd is not None:
            made.append(Change(self.files, f"{below}/initrd.img-{new.release}", new.initrd))
        old = read_text(self.files, f"{self._place}/{_CUSTOM}") or ""
        entry = grub_menu.beside(self._model, new.release, new.initrd is not None)
        text = grub_menu.without(old, new.release) + entry
        made.append(Change(self.files, f"{self._place}/{_CUSTOM}", to_bytes(text)))
        if default:
            block = _block({**self._environment, "saved_entry": grub_menu.id_of(new.release)})
            made.append(Change(self.files, f"{self._place}/grubenv", block))
        return made

    def trial(self, new: New) -> str:
        return f"choose '{new.release}' in GRUB's menu, or run on the board: grub-reboot {grub_menu.id_of(new.release)}"


def _read(block: str) -> dict[str, str]:
    rows = (line.partition("=") for line in block.splitlines() if not line.startswith("#"))
    return {key: value for key, found, value in rows if found}


def _block(environment: dict[str, str]) -> bytes:
    """GRUB writes over its block in place, so it has one size."""
    text = _HEAD + "".join(f"{key}={value}\n" for key, value in environment.items())
    if len(text) > _BLOCK:
        raise UsageError("GRUB's environment is full", hint="grub-editenv on the board removes what is not needed")
    return text.ljust(_BLOCK, "#").encode()
