"""D*, the headline: the smallest deadline that the data demonstrate at p and confidence (docs/method/demonstrated.md)."""

from __future__ import annotations

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import most_exceedances
from rtassay.analysis.lane.exceedance import cannot_exceed_from, exceedances
from rtassay.model.findings import Demonstrated


def demonstrated(accounts: list[Account], p: float, confidence: float) -> Demonstrated:
    """D* in ns over one lane or several pooled. None: too few activations, or too many with unknown latency.

    The number of possible exceedances never rises with the deadline, so a bisection over whole ns finds the exact edge.
    """
    due = sum(account.exposure for account in accounts)
    allowed = most_exceedances(due, p, confidence) if p > 0 else None
    if allowed is None:
        return Demonstrated(p, None)

    def enough(deadline_ns: int) -> bool:
        return sum(exceedances(account, deadline_ns).most for account in accounts) <= allowed

    low, high = 0, max((cannot_exceed_from(account) for account in accounts), default=1)
    if not enough(high):
        return Demonstrated(p, None)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Demonstrated(p, high)
