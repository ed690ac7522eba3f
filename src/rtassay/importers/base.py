"""A file format of a tool. To add one: a file here, a line in `__init__.py`, a page in docs/extend.

What a format does to its numbers goes into FACTS under `import`, and so into `manifest.facts["import"]`:

| key | holds |
| --- | --- |
| `format` | name of the importer |
| `caveats` | list of sentences: what this format hides, rounds or mixes, as far as it holds for this file |
| `measures` | lane name -> what its numbers are, where that is not wake-up latency of a thread: `irq`, `thread`, `user` (three parts of one activation), `noise` (time taken from a busy loop), `stall` (longest gap of one), `mixture` (several of these added up by the tool) |
| `inconsistent` | list of sentences: where the file contradicts itself (a sum, a summary block, min <= avg <= max) |
| `load` | the load the file declares, in its words |
| `tool_max_ns`, `tool_avg_ns` | lane name -> value of the file's own summary, where it is kept apart from the histogram |
| `over_at_least` | true: `over` is the least that is certain, as the file does not count what lies above its last bin |
| others | of one format, documented in its file |
"""

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
