"""The one table of validity checks, in the order of METHOD.md 3.2. docs/reference/checks.md is made from it."""

from __future__ import annotations

from typing import Final

from rtassay.analysis.checks.base import Check
from rtassay.analysis.checks.table import environment, integrity, load, placement, platform, statistics

CHECKS: Final[tuple[Check, ...]] = (
    *integrity.ROWS,
    *placement.ROWS,
    *platform.ROWS,
    *load.ROWS,
    *environment.ROWS,
    *statistics.ROWS,
)
