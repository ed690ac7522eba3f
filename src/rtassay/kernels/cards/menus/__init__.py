"""Boot loaders as they lie on a card. The first that is found decides, in the order in which a board would ask them."""

from __future__ import annotations

from rtassay.kernels.cards.files import Files
from rtassay.kernels.cards.menus import extlinux, grub, raspberry, script
from rtassay.kernels.cards.menus.base import Menu
from rtassay.model.errors import InputFileError


def found_in(parts: tuple[Files, ...]) -> Menu:
    """Raises InputFileError if there is none."""
    for find in (raspberry.find, extlinux.find, script.find, grub.find):
        menu: Menu | None = find(parts)
        if menu is not None:
            return menu
    raise InputFileError(
        "the card has no boot loader that rtassay knows",
        "no config.txt of a Raspberry Pi, extlinux.conf, boot.scr or grub.cfg on its FAT and ext partitions",
        "deploy over SSH while the board runs: rtassay kernel deploy BUILD BOARD",
    )
