"""The differences between the architectures of virtual boards."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from rtassay.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Arch:
    """`name` as Debian says it; `uname` as uname -m does."""

    name: str
    uname: str
    qemu: str
    machine: tuple[str, ...]
    console: str
    triplet: str
    loader: str  # of dynamic programs, as they ask for it
    flavour: str  # of its kernels: linux-image-FLAVOUR and linux-image-rt-FLAVOUR
    threads: str = (
        "single"  # of QEMU, for the CPUs of a board (docs/decisions/2026-11-23-one-thread-for-a-virtual-board.md)
    )


ARCHES = {
    # `max` and a Cortex-A72: the CPUs of common real-time boards, as far as QEMU knows them.
    "amd64": Arch(
        "amd64",
        "x86_64",
        "qemu-system-x86_64",
        ("-M", "q35", "-cpu", "max"),
        "ttyS0",
        "x86_64-linux-gnu",
        "lib64/ld-linux-x86-64.so.2",
        "amd64",
    ),
    "arm64": Arch(
        "arm64",
        "aarch64",
        "qemu-system-aarch64",
        ("-M", "virt", "-cpu", "cortex-a72"),
        "ttyAMA0",
        "aarch64-linux-gnu",
        "lib/ld-linux-aarch64.so.1",
        "arm64",
    ),
    # 32-bit. highmem=off: this machine places PCI above 4 GiB otherwise, and a kernel without LPAE cannot reach it there.
    "armhf": Arch(
        "armhf",
        "armv7l",
        "qemu-system-arm",
        ("-M", "virt,highmem=off", "-cpu", "cortex-a15"),
        "ttyAMA0",
        "arm-linux-gnueabihf",
        "lib/ld-linux-armhf.so.3",
        "armmp",
        "multi",
    ),
}
_ALIASES = {**{arch.uname: arch.name for arch in ARCHES.values()}, "armv7": "armhf"}


def arch_named(name: str | None) -> Arch:
    """The architecture of a name as Debian or uname writes it. None: this machine's, or amd64. Raises UsageError for other names."""
    wanted = (name or platform.machine()).lower()
    wanted = _ALIASES.get(wanted, wanted)
    if name is None and wanted not in ARCHES:
        wanted = "amd64"
    if wanted not in ARCHES:
        raise UsageError(f"the lab has no boards of architecture '{name}'", hint=f"known: {', '.join(ARCHES)}")
    return ARCHES[wanted]
