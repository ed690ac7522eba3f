"""The commit that made a kernel later: what `gate bisect` finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rtassay.model.gate import HONEST, Gate

GOOD: Final = "good"
BAD: Final = "bad"
NOT_BUILT: Final = "not-built"
NOT_BOOTED: Final = "not-booted"


@dataclass(frozen=True, slots=True)
class Step:
    """One commit that was looked at. `outcome`: GOOD, BAD, NOT_BUILT or NOT_BOOTED; git passes over the last two."""

    commit: str
    subject: str
    outcome: str
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Bisection:
    """What was found.

    `commit`: the first bad one; None: `candidates` are left, none of which could be built and booted. `gate`: it against its parent, or against
    GOOD where the parent did not boot, with who holds the time; None without a commit.
    """

    tree: str
    good: str
    bad: str
    loads: tuple[str, ...]
    commit: str | None
    subject: str | None
    candidates: tuple[str, ...]
    steps: tuple[Step, ...]
    gate: Gate | None
    honest: str = HONEST
    schema: str = field(default="rtassay/gate-bisect/1")


def bisection_dict(found: Bisection) -> dict[str, Any]:
    """The JSON object, the schema first."""
    data = asdict(found)
    return {"schema": data.pop("schema"), **data}
