"""The order of severities and their counts, as every report has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from rtassay.model.findings import SEVERITIES


class HasSeverity(Protocol):
    @property
    def severity(self) -> str: ...


# Nouns among the severities.
_COUNTED = ("warning", "note")

C = TypeVar("C", bound=HasSeverity)


def by_severity(checks: Iterable[C]) -> list[C]:
    """Worst first, in their own order within one severity."""
    return sorted(checks, key=lambda check: SEVERITIES.index(check.severity))


def counts(checks: Sequence[HasSeverity]) -> str:
    """`1 invalid, 2 warnings, 18 pass`; empty without checks."""
    numbers = [(name, sum(check.severity == name for check in checks)) for name in SEVERITIES]
    return ", ".join(f"{number} {name}{'s' * (name in _COUNTED and number > 1)}" for name, number in numbers if number)
