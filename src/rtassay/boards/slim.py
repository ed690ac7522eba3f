"""As few bytes of a program as run on a board: what a slow line has to carry."""

from __future__ import annotations

import gzip
import lzma
import struct
from collections.abc import Callable, Sequence

# Class of an ELF file -> what its header holds of the two tables (offset of programs, offset of sections; size and number of a program's
# entry), and what an entry holds (offset and size in the file).
_LAYOUTS = {1: ("I", 28, 42, 4, 16), 2: ("Q", 32, 54, 8, 32)}
# Boards unpack with so much memory.
_DICTIONARY_BYTES = 1024 * 1024


def for_loading(program: bytes) -> bytes:
    """An ELF program without what only debuggers read: names, lines, sections. Other bytes as they are."""
    layout = _LAYOUTS.get(program[4]) if program[:4] == b"\x7fELF" and len(program) > 64 else None
    if layout is None or program[5] not in (1, 2):
        return program
    order, (word, at, counts, offset_at, size_at) = "<>"[program[5] - 1], layout
    width = struct.calcsize(word)
    first, sections = struct.unpack_from(f"{order}{word}{word}", program, at)
    size, count = struct.unpack_from(f"{order}HH", program, counts)
    end = first + size * count
    if not 0 < end <= len(program):
        return program
    for entry in range(first, end, size):
        offset = struct.unpack_from(f"{order}{word}", program, entry + offset_at)[0]
        end = max(end, offset + struct.unpack_from(f"{order}{word}", program, entry + size_at)[0])
    if end > sections:
        return program
    head = bytearray(program[:end])
    struct.pack_into(f"{order}{word}", head, at + width, 0)
    struct.pack_into(f"{order}HH", head, counts + 6, 0, 0)
    return bytes(head)


def _by_xz(data: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": _DICTIONARY_BYTES}]
    return lzma.compress(data, check=lzma.CHECK_CRC32, filters=filters)


# What unpacks on the board, best first, and what packs here.
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "unxz": _by_xz,
    "gzip": lambda data: gzip.compress(data, 9, mtime=0),
}
UNPACKERS: Sequence[str] = tuple(_PACKERS)


def packed(data: bytes, unpackers: Sequence[str]) -> tuple[bytes, str]:
    """The bytes for a board that has these of UNPACKERS, in their order, and the command that unpacks them there."""
    if not unpackers:
        return data, "cat"
    best = unpackers[0]
    return _PACKERS[best](data), f"{best} -dc"
