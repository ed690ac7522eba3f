"""What an image of a kernel tells of itself without a boot: architecture, version, configuration. Bytes in, facts out.

Formats: Documentation/x86/boot.rst (bzImage), Documentation/arm64/booting.rst and riscv/boot-image-header.rst (Image) of the kernel, ELF. A zImage
does not say where its packed kernel lies, so it is looked for.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
import zlib
from dataclasses import dataclass

_ELF = b"\x7fELF"
_MACHINES = {3: "i386", 40: "armhf", 62: "amd64", 183: "arm64", 243: "riscv64"}
_GZIP, _XZ, _LZMA = b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x5d\0\0"
_CONFIG_START, _CONFIG_END = b"IKCFG_ST", b"IKCFG_ED"
_VERSION = re.compile(rb"Linux version ([0-9]\S{0,127}) ([ -~]{0,400})\n?")
_XEN_PHYS32_ENTRY = 18
_PT_NOTE = 4
_LARGEST = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Image:
    """`arch` as Debian says it; None: no image of a kernel that is known here. `bootable`: what QEMU gets: without its decompressor, where QEMU can
    enter it so. `config`: the text of the configuration that the kernel carries, if any."""

    arch: str | None
    bootable: bytes
    release: str | None
    version: str | None
    config: str | None


def read(content: bytes) -> Image:
    """The facts of an image. Damaged parts are absent; nothing is raised."""
    if content.startswith(_GZIP):  # Image.gz, as packages of other distributions have it
        content = _unpacked(content) or content
    arch = _arch(content)
    inner = _inner(content, arch)
    release, version = _version(inner or content)
    return Image(
        arch=arch,
        bootable=inner if arch == "amd64" and inner is not None and _enters_directly(inner) else content,
        release=release or _header_release(content),
        version=version,
        config=None if inner is None else _config(inner),
    )


def _arch(content: bytes) -> str | None:
    if content[:4] == _ELF and len(content) >= 20:
        return _MACHINES.get(struct.unpack_from("<H", content, 18)[0])
    if content[0x202:0x206] == b"HdrS" and len(content) >= 0x260:
        return "amd64" if content[0x236] & 1 else "i386"
    if content[0x38:0x3C] == b"ARMd":
        return "arm64"
    if content[0x38:0x3C] == b"RSC\x05":
        return "riscv64"
    if content[0x24:0x28] == b"\x18\x28\x6f\x01":
        return "armhf"
    return None


def _inner(content: bytes, arch: str | None) -> bytes | None:
    """The kernel inside an image, or the image itself where nothing is packed; None if it is packed in a way that is not known here."""
    if arch == "amd64" and not content.startswith(_ELF):
        sectors = content[0x1F1] or 4
        offset, length = struct.unpack_from("<II", content, 0x248)
        return _unpacked(content[(sectors + 1) * 512 + offset :][:length])
    if arch == "armhf" and not content.startswith(_ELF):
        return _looked_for(content)
    return None if arch is None else content


def _looked_for(content: bytes) -> bytes | None:
    """The packed kernel inside a zImage: the first place that unpacks to something with a version."""
    for magic in (_GZIP, _XZ, _LZMA):
        at = content.find(magic)
        while at >= 0:
            inner = _unpacked(content[at:])
            if inner is not None and _VERSION.search(inner):
                return inner
            at = content.find(magic, at + 1)
    return None


def _unpacked(packed: bytes) -> bytes | None:
    try:
        if packed[:2] == _GZIP[:2]:
            return zlib.decompressobj(31).decompress(packed, _LARGEST)
        if packed[:6] == _XZ:
            return lzma.LZMADecompressor().decompress(packed, _LARGEST)
        if packed[:3] == b"BZh":
            return bz2.BZ2Decompressor().decompress(packed, _LARGEST)
        if packed[:3] == _LZMA:
            return lzma.LZMADecompressor(lzma.FORMAT_ALONE).decompress(packed, _LARGEST)
        if packed[:4] == b"\x28\xb5\x2f\xfd":
            return _zstd(packed)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error):
        return None
    return None


def _zstd(packed: bytes) -> bytes:
    """The kernel appends its size to the frame."""
    import pyarrow as pa

    with pa.input_stream(pa.BufferReader(packed[:-4]), compression="zstd") as stream:
        content: bytes = stream.read(min(int.from_bytes(packed[-4:], "little"), _LARGEST))
    return content


def _version(content: bytes) -> tuple[str | None, str | None]:
    found = _VERSION.search(content)
    if found is None:
        return None, None
    words = found[2].decode("ascii")
    return found[1].decode("ascii", "replace"), "#" + words.partition("#")[2] if "#" in words else None


def _header_release(content: bytes) -> str | None:
    """The release that the header of a bzImage points to."""
    if content[0x202:0x206] != b"HdrS" or len(content) < 0x210:
        return None
    at = struct.unpack_from("<H", content, 0x20E)[0] + 0x200
    words = content[at : at + 128].partition(b"\0")[0].split()
    return words[0].decode("ascii", "replace") if words else None


def _config(kernel: bytes) -> str | None:
    start = kernel.find(_CONFIG_START)
    end = kernel.find(_CONFIG_END, start)
    if start < 0 or end < 0:
        return None
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(kernel[start + len(_CONFIG_START) : end])) as file:
            return file.read(_LARGEST).decode("utf-8", "replace")
    except (OSError, EOFError, zlib.error):
        return None


def _enters_directly(kernel: bytes) -> bool:
    """Whether QEMU can enter it without a decompressor: a 64-bit ELF file with the note of PVH (XEN_ELFNOTE_PHYS32_ENTRY)."""
    if kernel[:5] != _ELF + b"\x02" or len(kernel) < 64:
        return False
    try:
        (table,) = struct.unpack_from("<Q", kernel, 32)
        size, count = struct.unpack_from("<HH", kernel, 54)
        for number in range(count):
            kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", kernel, table + number * size)
            if kind == _PT_NOTE and _has_note(kernel[offset : offset + length]):
                return True
    except struct.error:
        pass
    return False


def _has_note(notes: bytes) -> bool:
    at = 0
    while at + 12 <= len(notes):
        name, content, kind = struct.unpack_from("<III", notes, at)
        if kind == _XEN_PHYS32_ENTRY and notes[at + 12 : at + 12 + name] == b"Xen\0":
            return True
        at += 12 + (name + 3 & ~3) + (content + 3 & ~3)
    return False
