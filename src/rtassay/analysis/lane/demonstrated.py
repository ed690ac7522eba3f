"""D*, the headline: the smallest deadline at which the data HOLD (docs/method/demonstrated.md)."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.claim import Evidence, Requirement, evidence
from rtassay.analysis.lane.exceedance import cannot_exceed_from
from rtassay.model.findings import Demonstrated


def demonstrated(
    accounts: Sequence[Account], p: float, confidence: float, *, per_hour: float | None = None, lanes: int = 1
) -> Demonstrated:
    """D* in ns over one lane or several pooled. None: too few activations, or too many with unknown latency.

    Bisected by the verdict's own rule, so that the lane HOLDS at D* and does not 1 ns below.
    """
    if not accounts:
        return Demonstrated(p, None, per_hour)
    return Demonstrated(p, star(evidence(accounts, confidence, lanes), p, per_hour), per_hour)


def star(found: Evidence, p: float, per_hour: float | None = None) -> int | None:
    """See `demonstrated`."""

    def enough(deadline_ns: int) -> bool:
        return found.holds(Requirement(deadline_ns, p, found.confidence, per_hour))

    low, high = 0, max(cannot_exceed_from(account) for account in found.accounts)
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
