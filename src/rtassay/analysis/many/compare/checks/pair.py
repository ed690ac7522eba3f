"""The input of the checks of a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from rtassay.analysis.many.compare.run import Run
from rtassay.model.comparison import Comparison, Group


@dataclass(frozen=True, slots=True)
class Pair:
    """The input of a check: the runs of both groups and their results."""

    a: tuple[Run, ...]
    b: tuple[Run, ...]
    result: Comparison

    @property
    def sides(self) -> tuple[tuple[str, tuple[Run, ...]], ...]:
        return ("A", self.a), ("B", self.b)

    @property
    def groups(self) -> tuple[Group, Group]:
        return self.result.a, self.result.b


def plural(number: int, word: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
