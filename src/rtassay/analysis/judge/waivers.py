"""`--waive ID --because "..."`: a person keeps a check from deciding, for a stated reason. The check is still listed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rtassay.analysis.checks import CHECKS
from rtassay.analysis.checks.base import INVALID, OPTIMISM
from rtassay.model.errors import UsageError
from rtassay.model.findings import CheckResult

# An emulated or lab board can never show that a deadline holds (docs/architecture.md, Rulings): no reason excuses that.
_NEVER_WHEN_INVALID = {"VM-STEAL": "an emulated or lab board can never show that a deadline holds"}


def check_waivers(waivers: Mapping[str, str]) -> dict[str, str]:
    """The waivers by the checks' own ids. Raises UsageError for an unknown id, a missing reason, a check that cannot be waived."""
    known = {check.id: check for check in CHECKS}
    found: dict[str, str] = {}
    for name, because in waivers.items():
        check = known.get(name.upper())
        if check is None:
            close = difflib.get_close_matches(name.upper(), known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]}? " if close else ""
            raise UsageError(f"there is no check '{name}' to waive", hint=f"{hint}rtassay checks lists them")
        if check.unwaivable:
            raise UsageError(
                f"{check.id} cannot be waived", check.unwaivable, f"rtassay checks {check.id} says what to do"
            )
        reason = " ".join(because.split())
        if not reason:
            raise UsageError(
                f"--waive {check.id} has no reason", hint=f'add --because "why {check.id} does not matter here"'
            )
        found[check.id] = reason
    return found


def waive(results: Sequence[CheckResult], waivers: Mapping[str, str]) -> tuple[CheckResult, ...]:
    """The results with `waived` set; if a waiver has no effect, the message says so."""
    return tuple(_waived(result, waivers[result.id]) if result.id in waivers else result for result in results)


def _waived(result: CheckResult, because: str) -> CheckResult:
    why_not = _NEVER_WHEN_INVALID.get(result.id)
    if why_not is not None and result.severity == INVALID and result.kind == OPTIMISM:
        return replace(result, message=f"{result.message} (not waived: {why_not})")
    return replace(result, waived=because)
