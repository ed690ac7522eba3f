"""Follows a script board to one wake-up: which blocks of code ran before it, as a plugin of QEMU saw them. It costs the guest no virtual time."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from rtassay.lab import places

_SOURCE = Path(__file__).with_name("path.c")
_PLUGIN, _OUT = "path.so", "path"
_NEW_API = 9  # the first version of QEMU with the second version of the interface
_SDT, _NT_STAPSDT = b"stapsdt\0", 3
_OWN = b"rtprobe\0activation\0"
COMPILER = "gcc"


@dataclass(frozen=True, slots=True)
class Follow:
    """`marker`: address of rtprobe's tracepoint `activation`. `hit`: the activation to follow to, counted in those that ran, from 0."""

    marker: int
    hit: int

    def words(self, home: Path, qemu: str) -> list[str]:
        """Options of QEMU; the plugin is compiled into `home`. `qemu`: its version as it says it. Raises BoardError if it cannot be compiled."""
        places.need(COMPILER)
        plugin = home / _PLUGIN
        major = re.search(r"version (\d+)", qemu)
        api = 2 if major and int(major[1]) >= _NEW_API else 1
        compile_it = [COMPILER, "-O2", "-shared", "-fPIC", f"-DAPI={api}", "-o", str(plugin), str(_SOURCE)]
        places.run(compile_it, what="compile the plugin of QEMU")
        return ["-plugin", f"{plugin},marker={self.marker:#x},hit={self.hit},out={home / _OUT}"]


def path_in(home: Path) -> bytes | None:
    """What the plugin wrote: pairs of address and number of instructions (uint64, little endian), the latest last. None: it never came there."""
    path = home / _OUT
    return path.read_bytes() if path.exists() else None


def marker_of(probe: bytes) -> int | None:
    """The address of the tracepoint in an rtprobe for x86_64, from its ELF note (NT_STAPSDT); None if it has none.

    Format: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation.
    """
    at = probe.find(_SDT)
    while at >= 12:
        name, content, kind = struct.unpack_from("<III", probe, at - 12)
        note = probe[at + len(_SDT) : at + len(_SDT) + content]
        if (name, kind) == (len(_SDT), _NT_STAPSDT) and note[24:].startswith(_OWN):
            return int.from_bytes(note[:8], "little")
        at = probe.find(_SDT, at + 1)
    return None
