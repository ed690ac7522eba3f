"""Boards, one module for each way to reach them."""

from typing import Final

MEMBERS: Final = {
    "local": "rtassay.boards.local:LocalBoard",
    "ssh": "rtassay.boards.ssh:SshBoard",
    "serial": "rtassay.boards.serial:SerialBoard",
    "qemu": "rtassay.boards.qemu:QemuBoard",
}
