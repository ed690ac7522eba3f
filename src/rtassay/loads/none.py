"""No load: the board as it is. The verdict then speaks of an idle board, and a check says so."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.loads.base import LoadCommand, LoadSpec, Meter
from rtassay.loads.tools import RepeatMeter
from rtassay.model.errors import UsageError


class NoLoad:
    """Starts nothing."""

    name = "none"
    summary = "no load: the board as it is"

    def needs(self, argument: str | None) -> str | None:
        if argument:
            raise UsageError("load 'none' takes no argument", hint="write --load none")
        return None

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        self.needs(spec.argument)
        return []

    def meter(self, argv: Sequence[str]) -> Meter:
        return RepeatMeter()
