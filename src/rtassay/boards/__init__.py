"""Transports: ways to reach a board."""

from typing import Final

MEMBERS: Final = {
    "local": "rtassay.boards.local:LocalBoard",
    "ssh": "rtassay.boards.ssh:SshBoard",
    "qemu": "rtassay.boards.qemu:QemuBoard",
}
