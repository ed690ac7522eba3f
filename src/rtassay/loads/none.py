"""No load: the board as it is. The verdict then speaks of an idle board, and a check says so."""

from __future__ import annotations

from rtassay.loads.base import LoadResult, LoadSpec
from rtassay.model.errors import UsageError


class NoLoad:
    """Starts nothing."""

    name = "none"
    program: str | None = None
    summary = "no load: the board as it is"

    def commands(self, spec: LoadSpec) -> list[list[str]]:
        if spec.argument:
            raise UsageError("load 'none' takes no argument", hint="write --load none")
        return []

    def result(self, output: bytes) -> LoadResult:
        return LoadResult(None, None)
