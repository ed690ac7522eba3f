"""What kexec is asked, by architecture. That kernels boot so is shown in tests/lab; here a script takes kexec's place."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from rtassay.boards.local import LocalBoard
from rtassay.boot.base import Kernel
from rtassay.boot.kexec import Kexec

KERNEL_BYTES = 1000


def asked(root: Path, monkeypatch: pytest.MonkeyPatch, machine: str, command_line: str) -> list[str]:
    """The words for kexec on such a board, whose /boot has one kernel with an initrd."""
    for path, content in {
        "boot/vmlinuz-6.1": "k" * KERNEL_BYTES,
        "boot/initrd.img-6.1": "",
        "proc/cmdline": f"{command_line}\n",
        "sys/kernel/kexec_loaded": "1\n",
        "bin/kexec": f'#!/bin/sh\nprintf "%s\\n" "$@" > {root}/asked\n',
        "bin/uname": f"#!/bin/sh\necho {machine}\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    for program in ("kexec", "uname"):
        (root / "bin" / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin:{os.environ['PATH']}")

    async def main() -> None:
        board = LocalBoard()
        await board.open()
        try:
            await Kexec(str(root)).use_once(board, Kernel("6.1", "6.1", "6.1", None))
        finally:
            await board.close()

    asyncio.run(main())
    return (root / "asked").read_text().splitlines()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("BOOT_IMAGE=/boot/vmlinuz-6.1 root=/dev/vda1 ro quiet", "root=/dev/vda1 ro quiet"),
        ("console=ttyS0 BOOT_IMAGE=/k quiet", "console=ttyS0 quiet"),
        ('root=/dev/sda dyndbg="file a.c +p" NOT_BOOT_IMAGE=1', 'root=/dev/sda dyndbg="file a.c +p" NOT_BOOT_IMAGE=1'),
        ("quiet rtassay.words=1 isolcpus=1", "quiet"),
        ("", ""),
    ],
)
def test_the_command_line_goes_on_less_what_a_boot_loader_called_its_kernel(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = asked(tmp_path, monkeypatch, "x86_64", before)
    boot = f"{tmp_path}/boot"
    assert words == ["-l", f"{boot}/vmlinuz-6.1", f"--command-line={after}", f"--initrd={boot}/initrd.img-6.1"]


@pytest.mark.parametrize(("machine", "wanted"), [("armv7l", True), ("armv6l", True), ("aarch64", False)])
def test_only_32_bit_arm_is_told_how_much_room_a_kernel_takes(
    machine: str, wanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = asked(tmp_path, monkeypatch, machine, "quiet")
    assert (f"--image-size={8 * KERNEL_BYTES}" in words) == wanted
