"""What a boot loader of a card is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rtassay.kernels.cards.files import Content, Files
from rtassay.model.errors import InputFileError


@dataclass(frozen=True, slots=True)
class New:
    """A kernel for the card. `initrd`: None where the first kernel has none. `trees`: device trees by their path below its own folder."""

    release: str
    kernel: Path
    initrd: bytes | None
    trees: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write."""

    files: Files
    path: str
    content: Content


class Menu(Protocol):
    """`name` of the boot loader, `title` of the kernel that it boots by default, `kernel` and `initrd` its files (None: it has no initrd).

    `files`: where the loader's own files lie.
    """

    name: str
    files: Files
    title: str
    kernel: bytes
    initrd: bytes | None

    def add(self, new: New, default: bool) -> list[Change]:
        """The files that make it bootable; those that the loader reads come last. Nothing is written here.

        The default stays unless `default`. Raises UsageError if the card's own files do not allow it.
        """
        ...

    def trial(self, new: New) -> str:
        """One sentence."""
        ...


def needed(files: Files, path: str, named_by: str) -> bytes:
    """The content of a file that the loader names. Raises InputFileError if it is not there."""
    content = files.read(path)
    if content is None:
        raise InputFileError(f"{files.where} holds no {path}", f"{named_by} names it")
    return content


def read_text(files: Files, path: str) -> str | None:
    """Bytes that are no UTF-8 come back as they were."""
    content = files.read(path)
    return None if content is None else content.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """The other way of `read_text`."""
    return text.encode("utf-8", "surrogateescape")
