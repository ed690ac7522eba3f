"""Boot loaders: choosing the kernel a board boots next. The first that fits a board is asked."""

from typing import Final

MEMBERS: Final = {
    "grub": "rtassay.boot.grub:Grub",
    "raspberry": "rtassay.boot.raspberry:Raspberry",
    "kexec": "rtassay.boot.kexec:Kexec",
}
