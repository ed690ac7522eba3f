"""The initrd of a card's first kernel, made anew for another one: the same programs and scripts, with the modules of the other kernel.

Nothing of the card is executed for it. Formats: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel (cpio "newc").
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rtassay.lab.initramfs import Initramfs
from rtassay.lab.places import need, run
from rtassay.model.errors import InputFileError

_HEAD, _MAGIC = 110, b"070701"
_END = "TRAILER!!!"
_DIR, _FILE, _TYPE = 0o040000, 0o100000, 0o170000
_MODULES = re.compile(r"(?:usr/)?lib/modules/([^/]+)(/.*)?")
_MODULE = re.compile(r"\.ko(?:\.(?:xz|gz|zst))?$")
_LARGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Made:
    """An initrd. `absent`: modules of the first one's that the other kernel does not have, neither as a module nor built in."""

    content: bytes
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    """One file of an archive; `raw` with its head and padding."""

    name: str
    mode: int
    raw: bytes


def remade(first: bytes, modules: Path, release: str, pack: bool = True) -> Made:
    """The initrd for `release`, whose modules with their lists lie in `modules` (lib/modules/RELEASE). `pack`: with gzip.

    Raises InputFileError for an initrd that cannot be read.
    """
    early, packed = _early(first)
    entries = _entries(_unpacked(packed))
    folders = {match[1] for entry in entries if (match := _MODULES.fullmatch(entry.name))}
    wanted = {_stem(entry.name) for entry in entries if _MODULE.search(entry.name)}
    kept = b"".join(entry.raw for entry in entries if not _MODULES.fullmatch(entry.name))
    if not folders:
        return Made(early + _packed(kept + Initramfs().finish(), pack), ())
    chosen, absent = _chosen(modules, wanted)
    below = "usr/lib/modules" if any(entry.name.startswith("usr/lib/modules/") for entry in entries) else "lib/modules"
    archive = Initramfs()
    with tempfile.TemporaryDirectory(prefix="rtassay-initrd-") as scratch:
        for path, content in sorted(_listed(Path(scratch), modules, chosen, release).items()):
            folder = f"{below}/{release}/{path}".rpartition("/")[0]
            archive.directory(folder)
            archive.file(f"{below}/{release}/{path}", content)
    return Made(early + _packed(kept + archive.finish(), pack), tuple(sorted(absent)))


def _packed(archive: bytes, pack: bool) -> bytes:
    # No date and no name: the same inputs give the same bytes.
    return gzip.compress(archive, 6, mtime=0) if pack else archive


def _early(content: bytes) -> tuple[bytes, bytes]:
    """Archives that are not packed (microcode) in front of the last part, and that part."""
    at = 0
    while content[at : at + 6] == _MAGIC:
        end = _end(content, at)
        if not content[end:].strip(b"\0"):
            break
        at = end + len(content[end:]) - len(content[end:].lstrip(b"\0"))
    return content[:at], content[at:]


def _end(content: bytes, at: int) -> int:
    """Behind the archive that begins at `at`."""
    while True:
        entry, at = _next(content, at)
        if entry.name == _END:
            return at


def _next(content: bytes, at: int) -> tuple[_Entry, int]:
    head = content[at : at + _HEAD]
    try:
        if len(head) < _HEAD or head[:6] not in (_MAGIC, b"070702"):
            raise ValueError
        mode, size, name_size = (int(head[6 + 8 * n : 14 + 8 * n], 16) for n in (1, 6, 11))
    except ValueError as error:
        raise InputFileError("the initrd of the card is damaged", f"no entry of an archive at byte {at}") from error
    name_end = at + _HEAD + name_size
    begin = name_end + -name_end % 4
    end = begin + size
    name = content[at + _HEAD : name_end - 1].decode("utf-8", "surrogateescape").removeprefix("./")
    entry = _Entry(name, mode, content[at : end + -end % 4])
    if end > len(content):
        raise InputFileError("the initrd of the card is damaged", f"it ends within {name}")
    return entry, end + -end % 4


def _entries(archive: bytes) -> list[_Entry]:
    """Of all archives one behind the other, without their end marks."""
    found: list[_Entry] = []
    at = 0
    while archive[at:].strip(b"\0"):
        at += len(archive[at:]) - len(archive[at:].lstrip(b"\0")) if archive[at] == 0 else 0
        entry, at = _next(archive, at)
        if entry.name != _END:
            found.append(entry)
    return found


def _unpacked(packed: bytes) -> bytes:
    try:
        if packed[:6] == _MAGIC:
            return packed
        if packed[:2] == b"\x1f\x8b":
            return zlib.decompressobj(31).decompress(packed, _LARGEST)
        if packed[:6] == b"\xfd7zXZ\0":
            return lzma.LZMADecompressor().decompress(packed, _LARGEST)
        if packed[:3] == b"BZh":
            return bz2.BZ2Decompressor().decompress(packed, _LARGEST)
        if packed[:4] == b"\x28\xb5\x2f\xfd":
            return _zstd(packed)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise InputFileError("the initrd of the card is damaged", str(error)) from error
    raise InputFileError(
        "the initrd of the card is packed in a way that rtassay does not read",
        f"it begins with {packed[:4].hex()}; known: gzip, xz, bzip2, zstd, and none",
        "set COMPRESS=zstd in /etc/initramfs-tools/initramfs.conf of the card, or deploy over SSH",
    )


def _zstd(packed: bytes) -> bytes:
    import pyarrow as pa

    with pa.input_stream(pa.BufferReader(packed), compression="zstd") as stream:
        content: bytes = stream.read(_LARGEST)
    return content


def _stem(path: str) -> str:
    """A module's name: files write `-` where the kernel says `_`."""
    return _MODULE.sub("", PurePosixPath(path).name).replace("-", "_")


def _chosen(modules: Path, wanted: set[str]) -> tuple[list[str], set[str]]:
    """(paths below `modules` of the wanted modules and all that they need, wanted ones that are not there)."""
    needs = _dependencies(modules)
    by_name = {_stem(path): path for path in needs}
    builtin = {_stem(line) for line in _lines(modules / "modules.builtin")}
    found: set[str] = set()
    new = {by_name[name] for name in wanted if name in by_name}
    while new:
        found |= new
        new = {need for path in new for need in needs.get(path, ())} - found
    return sorted(found), {name for name in wanted if name not in by_name and name not in builtin}


def _dependencies(modules: Path) -> Mapping[str, tuple[str, ...]]:
    rows = (line.split(":", 1) for line in _lines(modules / "modules.dep"))
    return {row[0]: tuple(row[1].split()) for row in rows if len(row) == 2}


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.is_file() else []


def _listed(scratch: Path, modules: Path, chosen: list[str], release: str) -> dict[str, bytes]:
    """The chosen modules with lists that name them alone."""
    home = scratch / "lib/modules" / release
    for path in (*chosen, "modules.order", "modules.builtin", "modules.builtin.modinfo"):
        if (modules / path).is_file():
            target = home / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((modules / path).read_bytes())
    home.mkdir(parents=True, exist_ok=True)
    depmod(scratch, release)
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def depmod(root: Path, release: str) -> None:
    """Write the lists of the modules below `root`. Raises BoardError."""
    need("depmod")
    run(["depmod", "-b", str(root), release], what=f"list the modules of {release}")
