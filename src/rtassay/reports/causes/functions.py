"""The functions in which causes kept the CPU, as a table in words; every report takes them from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rtassay.model import causes as kinds
from rtassay.model.causes import Part
from rtassay.model.foreign import one_line
from rtassay.model.ranking import Ranking
from rtassay.reports import wording
from rtassay.reports.causes import causes_text as text

COLUMNS = ("Cause", "Function", "CPU there", "Share of the cause", "Late wake-ups", "Called by")
_MOST_FUNCTIONS = 4
_CALLERS = 2
_AT: Final[Mapping[str, str]] = {kinds.AT_END: "at its end", kinds.INSIDE: "within it"}


def function_of(found: str) -> str:
    """A function as a reader sees it."""
    return one_line(found, 120) or "user space"


def rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """The functions in which causes kept the CPU, at most four a cause: COLUMNS. No rows without stacks."""
    return [
        (
            text.name(share.cause),
            function_of(one.function),
            _AT.get(one.at, one_line(one.at, 20)),
            text.share_of(one.share_of_cause),
            wording.count(one.hits),
            called_by(one.function, one.chain) or "-",
        )
        for share in ranking.causes[: text.MOST_CAUSES]
        for one in share.functions[:_MOST_FUNCTIONS]
    ]


def called_by(function: str, chain: Sequence[str]) -> str:
    """`write_pages < sync_inodes`: the callers of a function, the nearest first."""
    at = chain.index(function) + 1 if function in chain else len(chain)
    return " < ".join(one_line(one, 120) for one in chain[at : at + _CALLERS])


def note(ranking: Ranking) -> str | None:
    """How to read the table of functions, or why there is none although stacks were asked for."""
    if rows(ranking):
        return (
            "By stacks of the kernel. At its end: interrupts or preemption came back on there. Within it: the CPU was there when an interrupt came. "
            "Interrupts cannot be off in user space: there a stall of the machine is what was seen."
        )
    refused = next((run for run in ranking.runs if run.stacks is not None), None)
    if refused is None:
        return None
    if refused.stacks_error is not None:
        return f"This kernel gives no stacks ({one_line(refused.stacks_error, 200)}), so no function is known."
    return "No stack lies in the time of these causes, so no function is known."


def stack(part: Part) -> str | None:
    """The stack of one part, the innermost function first."""
    if part.place is None or not part.place.chain:
        return None
    chain = " < ".join(one_line(name, 120) for name in part.place.chain)
    return f"Stack of phase {one_line(part.phase, 8)}, {text.name(part.cause)}: {chain}."
