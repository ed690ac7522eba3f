"""A bisection in words."""

from __future__ import annotations

from rtassay.model.bisection import BAD, GOOD, NOT_BOOTED, NOT_BUILT, Bisection
from rtassay.model.foreign import one_line

_OUTCOMES = {GOOD: "good", BAD: "LATER", NOT_BUILT: "cannot be built", NOT_BOOTED: "does not boot"}


def lines(found: Bisection) -> list[str]:
    """The answer first, then each commit that was looked at."""
    told = [headline(found), ""]
    for step in found.steps:
        why = "" if step.why is None else f": {one_line(step.why, 200)}"
        told.append(f"  {step.commit[:12]}  {_OUTCOMES[step.outcome]:16} {one_line(step.subject, 100)}{why}")
    return told


def headline(found: Bisection) -> str:
    """The commit, or those that are left."""
    if found.commit is None:
        left = ", ".join(commit[:12] for commit in found.candidates)
        return f"NOT FOUND: the commit is one of {left or 'those'}, which cannot be built or booted"
    return (
        f"FIRST LATER COMMIT: {found.commit[:12]} {one_line(found.subject or '', 200)} (under {', '.join(found.loads)})"
    )
