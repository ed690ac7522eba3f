"""A file format of a tool. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from rtassay.model.events import Event
from rtassay.model.manifest import Source


class Importer(Protocol):
    """One format. Reading streams: constant memory whatever the size of the file.

    `damage_allowed`: whether a cut or damaged file still gives a recording (our own streams, which say what was lost).
    """

    name: str
    summary: str
    damage_allowed: bool

    def recognises(self, head: bytes) -> bool:
        """Whether the first 64 KiB look like this format."""
        ...

    def source(self, path: Path) -> Source: ...

    def read(self, path: Path) -> Iterator[Event]:
        """Events of the whole file. Raises InputFileError with file, line and column for what cannot be."""
        ...
