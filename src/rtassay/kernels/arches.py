"""What a build has to know of an architecture."""

from __future__ import annotations

import platform
from dataclasses import dataclass

from rtassay.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Target:
    """`name` as Debian says it, `make` as the kernel's Makefile does; `cross`: prefix of its compiler; `image`: the file below arch/."""

    name: str
    make: str
    machine: str
    cross: str
    image: str
    boots_from: str

    @property
    def prefix(self) -> str:
        """CROSS_COMPILE; empty on a machine of this architecture."""
        return "" if platform.machine() == self.machine else self.cross


TARGETS = {
    target.name: target
    for target in (
        Target("amd64", "x86_64", "x86_64", "x86_64-linux-gnu-", "bzImage", "arch/x86/boot/bzImage"),
        Target("arm64", "arm64", "aarch64", "aarch64-linux-gnu-", "Image", "arch/arm64/boot/Image"),
        Target("armhf", "arm", "armv7l", "arm-linux-gnueabihf-", "zImage", "arch/arm/boot/zImage"),
        Target("riscv64", "riscv", "riscv64", "riscv64-linux-gnu-", "Image", "arch/riscv/boot/Image"),
    )
}
_ALIASES = {
    "x86_64": "amd64",
    "x86": "amd64",
    "aarch64": "arm64",
    "arm": "armhf",
    "armv7l": "armhf",
    "riscv": "riscv64",
}


def target_named(name: str | None) -> Target:
    """The architecture of a name as Debian, uname or the kernel writes it; None: this machine's. Raises UsageError for other names."""
    wanted = (name or platform.machine()).lower()
    wanted = _ALIASES.get(wanted, wanted)
    if wanted not in TARGETS:
        raise UsageError(f"rtassay builds no kernels for '{wanted}'", hint=f"known: {', '.join(TARGETS)}")
    return TARGETS[wanted]
