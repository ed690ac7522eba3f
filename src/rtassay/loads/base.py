"""A load: what keeps the board busy. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """What the session knows when it asks a load for its command lines."""

    argument: str | None
    cpus: tuple[int, ...]
    duration_s: int
    memory_available_bytes: int | None
    rtprobe: str
    program: str | None


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Work done, as the load's own output tells: None where it does not."""

    operations: float | None
    unit: str | None
    error: str | None = None


class Load(Protocol):
    """One load. It runs under `rtprobe guard --wrap`, which ends it; `program` is what must be on the board (None: rtprobe)."""

    name: str
    program: str | None
    summary: str

    def commands(self, spec: LoadSpec) -> list[list[str]]:
        """One argv per process to guard. Every command must also end by itself after `spec.duration_s`."""
        ...

    def result(self, output: bytes) -> LoadResult:
        """What one command says it did, from its captured stdout and stderr (rtprobe load: its stream)."""
        ...
