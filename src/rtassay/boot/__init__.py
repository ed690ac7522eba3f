"""Boot loaders: they choose the kernel that a board boots next. The first one that fits the board is used."""

from typing import Final

MEMBERS: Final = {
    "grub": "rtassay.boot.grub:Grub",
    "raspberry": "rtassay.boot.raspberry:Raspberry",
    "extlinux": "rtassay.boot.extlinux:Extlinux",
    "kexec": "rtassay.boot.kexec:Kexec",
}
