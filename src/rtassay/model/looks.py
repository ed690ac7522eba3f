"""Looks that were planned beforehand, and what each may spend of the chance of a wrong answer (docs/method/planning.md)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """Look `number` of `planned`; `confidence`: of its bounds, so that all looks together have the confidence of the requirement."""

    number: int
    planned: int
    confidence: float


def spending(confidence: float, planned: int) -> tuple[float, ...]:
    """What each of `planned` equally spaced looks may spend of alpha = 1 - confidence; the sum is alpha.

    Lan and DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70, 1983: alpha ln(1 + (e - 1) t) is spent at the
    share t of the measurement, near to Pocock's boundary. A look that spends a_j is judged at the confidence 1 - a_j: by Bonferroni's
    inequality the chance of a wrong answer at any of them is at most the sum, whatever the bound is and however late activations depend.
    """
    alpha = 1 - confidence
    spent = [alpha * math.log1p((math.e - 1) * look / planned) for look in range(planned + 1)]
    return tuple(after - before for before, after in itertools.pairwise(spent))


def planned_look(confidence: float, planned: int, number: int) -> Look:
    """Look `number`, from 1, of `planned`, for a requirement at `confidence`."""
    return Look(number, planned, 1 - spending(confidence, planned)[number - 1])
