"""A program that tells its result at its end, in a format that an importer reads: its output is kept as it comes, and read as that file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from rtassay.model import rooms
from rtassay.model.errors import InputFileError
from rtassay.model.events import Event, Facts, Parser


class WholeText(Parser):
    """All events come from `finish`: those of the importer `format_name`, beside them `facts`.

    `facts`: what the live run knows. Its "lanes" (none: the importer tells all) and its interval replace the importer's field by field. A text
    that the importer refuses gives no events: the run ends with the tool's own words.
    """

    def __init__(self, format_name: str, facts: dict[str, Any]) -> None:
        self._format = format_name
        self._facts = facts
        self._text = bytearray()

    def feed(self, data: bytes) -> list[Event]:
        self._text += data
        return []

    def finish(self) -> list[Event]:
        with tempfile.NamedTemporaryFile(prefix="rtassay-") as file:
            file.write(self._text)
            file.flush()
            try:
                events = list(rooms.load("importers", self._format)().read(Path(file.name)))
            except InputFileError:
                return []
        return [self._own(event) if isinstance(event, Facts) else event for event in events]

    def _own(self, told: Facts) -> Facts:
        own = {lane["lane"]: lane for lane in self._facts.get("lanes", ())}
        every = {key: self._facts[key] for key in ("interval_ns",) if key in self._facts}
        lanes = [{**lane, **every, **own.get(lane["lane"], {})} for lane in told.data.get("lanes", ())]
        summary = {**told.data.get("import", {}), "live": True}
        return Facts({**told.data, **self._facts, "lanes": lanes, "import": summary})
