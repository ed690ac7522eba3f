"""A card: its partitions, and whether it may be written at all. A mounted device never is."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rtassay.kernels.cards.files import Ext, Fat, Files
from rtassay.lab.places import need, run
from rtassay.model.errors import BoardError, InputFileError, UsageError

_SECTOR = 512
_EXT_MAGIC_AT, _EXT_MAGIC = 0x438, b"\x53\xef"


@dataclass(frozen=True, slots=True)
class Card:
    """`parts`: file systems that can be written, in their order; others are left out. `root`: the one with the system's modules."""

    path: Path
    parts: tuple[Files, ...]
    root: Files


class _Partition(msgspec.Struct):
    node: str
    start: int
    size: int


class _Table(msgspec.Struct):
    partitions: tuple[_Partition, ...] = ()
    sectorsize: int = _SECTOR


class _Told(msgspec.Struct):
    partitiontable: _Table


def opened(path: Path, this_one: bool = False, system: Path = Path("/")) -> Card:
    """The card in an image file, or of a block device. `this_one`: a device that is not removable is meant.

    Raises UsageError for one that is mounted or not removable, InputFileError for one without a Linux system on ext2 to ext4, BoardError
    when a tool or a right is missing.
    """
    allowed(path, this_one, system)
    parts: list[Files] = []
    for where, offset in _places(path):
        kind = _kind(path, offset)
        if kind == "ext":
            parts.append(Ext(path, offset, where))
        elif kind == "FAT":
            parts.append(Fat(path, offset, where))
    roots = [part for part in parts if isinstance(part, Ext) and modules_of(part) is not None]
    if not roots:
        raise InputFileError(
            f"{path} holds no Linux system that a kernel can be added to",
            "no partition with ext2, ext3 or ext4 has a folder lib/modules",
            "a card of a board; btrfs, f2fs and squashfs are deployed over SSH: rtassay kernel deploy BUILD BOARD",
        )
    return Card(path, tuple(parts), roots[0])


def modules_of(root: Files) -> str | None:
    """The folder of all kernels' modules: where /lib is a link it lies below /usr."""
    for folder in ("/usr/lib", "/lib"):
        if root.names(folder).get("modules"):
            return f"{folder}/modules"
    return None


def allowed(path: Path, this_one: bool, system: Path = Path("/")) -> None:
    """Raises UsageError unless the card may be written. `system`: where /proc and /sys are."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputFileError(f"cannot open the card {path}", error.strerror) from error
    if stat.S_ISREG(mode):
        _not_attached(path, system)
    elif stat.S_ISBLK(mode):
        allowed_device(path, path.stat().st_rdev, this_one, system)
    else:
        raise UsageError(f"{path} is no card", "it is neither a file nor a block device")
    if not os.access(path, os.R_OK | os.W_OK):
        raise BoardError(
            f"{path} cannot be written by you",
            hint="ask for the group of the device (often `disk`), or work on a copy of it in a file",
        )


def _not_attached(path: Path, system: Path) -> None:
    for loop in sorted((system / "sys/block").glob("loop*/loop/backing_file")):
        if loop.read_text().strip() == str(path.resolve()):
            raise UsageError(
                f"{path} is in use as /dev/{loop.parts[-3]}",
                "a mounted card would be written by two at once",
                f"umount it, then: losetup -d /dev/{loop.parts[-3]}",
            )


def allowed_device(path: Path, number: int, this_one: bool, system: Path = Path("/")) -> None:
    """Raises UsageError unless the block device with this number may be written: whole, used by nobody, and removable or `this_one`."""
    told = (system / "sys/dev/block" / f"{os.major(number)}:{os.minor(number)}").resolve()
    name = told.name
    if (told / "partition").exists():
        raise UsageError(f"{path} is a partition", "a card is written as a whole", f"name it: /dev/{told.parent.name}")
    used = _in_use([told, *(part.parent for part in told.glob("*/partition"))], system)
    if used is not None:
        raise UsageError(f"{path} is in use", used, "umount all of it first; a mounted device is never written")
    removable = _text(told / "removable") == "1"
    if not removable and not this_one:
        raise UsageError(
            f"{path} is not removable",
            f"it is {_text(told / 'device/model') or name}, {int(_text(told / 'size') or 0) * _SECTOR / 1e9:.1f} GB",
            "if this is really the card: --yes-this-one",
        )


def _in_use(parts: Sequence[Path], system: Path) -> str | None:
    """What uses one of these devices: a mount, swap, or another device on top of it."""
    numbers = {_text(part / "dev"): part.name for part in parts}
    for line in (_text(system / "proc/self/mountinfo") or "").splitlines():
        fields = line.split()
        if len(fields) > 4 and fields[2] in numbers:
            return f"/dev/{numbers[fields[2]]} is mounted on {fields[4]}"
    # Overlays and btrfs hide the number of the device, and swap has none here: the name counts as well.
    for source in ("proc/self/mounts", "proc/swaps"):
        for line in (_text(system / source) or "").splitlines():
            word = line.split(" ")[0].split("\t")[0]
            if word.removeprefix("/dev/") in numbers.values():
                return f"{word} is in use ({source.rpartition('/')[2]})"
    for part in parts:
        holders = sorted(holder.name for holder in part.glob("holders/*"))
        if holders:
            return f"/dev/{part.name} belongs to /dev/{holders[0]}"
    return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _places(path: Path) -> list[tuple[str, int]]:
    """(name, offset in bytes) of each partition; of a file system without a table the whole."""
    need("sfdisk")
    if _kind(path, 0) is not None and not _has_table(path):
        return [(str(path), 0)]
    try:
        told = run(["sfdisk", "--json", str(path)], what=f"read the partitions of {path}")
        table = msgspec.json.decode(told.encode(), type=_Told).partitiontable
    except (BoardError, msgspec.MsgspecError) as error:
        raise InputFileError(
            f"{path} is no image of a card", "it has no partition table and no file system", "a raw image, unpacked"
        ) from error
    return [(f"{path}, partition {n}", part.start * table.sectorsize) for n, part in enumerate(table.partitions, 1)]


def _has_table(path: Path) -> bool:
    """A FAT file system has the same two last bytes as a partition table, so entries of a table are looked at, too."""
    head = _bytes(path, 0, _SECTOR)
    types = [head[446 + 16 * n + 4] for n in range(4)]
    flags = [head[446 + 16 * n] for n in range(4)]
    return head[510:512] == b"\x55\xaa" and any(types) and all(flag in (0, 0x80) for flag in flags)


def _kind(path: Path, offset: int) -> str | None:
    if _bytes(path, offset + _EXT_MAGIC_AT, 2) == _EXT_MAGIC:
        return "ext"
    head = _bytes(path, offset, _SECTOR)
    if head[510:512] == b"\x55\xaa" and (head[54:57] == b"FAT" or head[82:85] == b"FAT"):
        return "FAT"
    return None


def _bytes(path: Path, offset: int, count: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read(count).ljust(count, b"\0")
