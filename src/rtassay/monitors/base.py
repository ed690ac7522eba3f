"""A monitor: board files to read once a second, and a parser. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of one quantity, e.g. ("cpu0.busy", 0.97, "ratio")."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Message:
    """A line of text with its own moment on the board's CLOCK_MONOTONIC."""

    mono_ns: int
    text: str


class Monitor(Protocol):
    """`paths` may hold shell globs, expanded on the board when the watch starts, and `@sources` (STREAM.md, FILE): the kernel's
    log, real-time threads, a model-specific register, a program's output. All are read by one `rtprobe watch`."""

    name: str
    paths: tuple[str, ...]

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        """What one file says at one moment; may keep state (differences). Content it does not understand gives []."""
        ...
