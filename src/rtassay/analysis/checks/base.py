"""What a check is: its row and its function, for any subject (a recording, a comparison). docs/extend/checks.md is the how-to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from rtassay.model.findings import CheckResult

PASS = "pass"
UNKNOWN = "unknown"
NOTE = "note"
WARNING = "warning"
INVALID = "invalid"

INTEGRITY = "integrity"
OPTIMISM = "optimism"
ASSUMPTION = "assumption"
"""A check of what the bound takes for granted: it never caps, and only --strict makes NOT DEMONSTRATED of it."""

FIRED: Final = (NOTE, WARNING, INVALID)

LIVE = "live"
RECORDED = "recorded"
SYNTHETIC = "synthetic"
PROOFS: Final = (LIVE, RECORDED, SYNTHETIC)
"""How the firing of a check was proven, best first: a test provoked the condition on a running system; a recording or file of a
real system shows it; a recording was made up for it. tests/house holds every row to the tests."""

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one check. `kind` is set only where it differs from the row's. The message is one line of plain English."""

    severity: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Check(Generic[C]):
    """A row and its function.

    `C` is the type the function reads: `checks.context.Context` of a recording, `many.compare.checks.pair.Pair` of a comparison.

    `severity`: the check fires with it by default. `required`: unknown caps a verdict at NOT DEMONSTRATED. `proof`: see PROOFS.
    `unwaivable`: why `--waive` is refused for this check; empty where it may be waived. `kept`: it takes long and reads no requirement,
    so that the result of sealing serves every later judgement.
    """

    id: str
    condition: str
    kind: str
    severity: str
    explanation: str
    remedy: str
    proof: str
    required: bool
    unwaivable: str
    kept: bool
    function: Callable[[C], Outcome]

    def run(self, context: C) -> CheckResult:
        """Look at the context. There is always a result; where the check could not look, it is unknown, never a pass."""
        found = self.function(context)
        message = " ".join(found.message.split())
        remedy = "" if found.severity == PASS else self.remedy
        return CheckResult(self.id, found.severity, found.kind or self.kind, message, found.facts, remedy=remedy)


def check(
    *,
    id: str,
    condition: str,
    kind: str,
    severity: str,
    explanation: str,
    remedy: str,
    proof: str,
    required: bool = False,
    unwaivable: str = "",
    kept: bool = False,
) -> Callable[[Callable[[C], Outcome]], Check[C]]:
    """Decorator that makes a Check of a function, so that the row stands directly above it. The fields are those of Check."""

    def of(function: Callable[[C], Outcome]) -> Check[C]:
        return Check(id, condition, kind, severity, explanation, remedy, proof, required, unwaivable, kept, function)

    return of


def run_checks(
    checks: Iterable[Check[C]], context: C, known: Mapping[str, CheckResult] | None = None
) -> tuple[CheckResult, ...]:
    """The result of every check, in the order of the table. `known`: results by id, which are not computed again."""
    known = known or {}
    return tuple(known[check.id] if check.id in known else check.run(context) for check in checks)


def passed(message: str, **facts: Any) -> Outcome:
    """The check looked and found nothing wrong."""
    return Outcome(PASS, message, facts)


def unknown(message: str, **facts: Any) -> Outcome:
    """The check could not look."""
    return Outcome(UNKNOWN, message, facts)


def reference_page(head: str, checks: Sequence[Check[C]], columns: Sequence[str]) -> str:
    """A page of docs/reference: `head`, a table of all checks with these `columns` (names of fields), and a section for each."""
    titles = ("check", *columns, "fires when")
    rows = [f"| {' | '.join(titles)} |", f"|{' --- |' * len(titles)}"]
    for row in checks:
        cells = (f"[{row.id}](#{row.id.lower()})", *(_cell(getattr(row, name)) for name in columns), row.condition)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, "\n".join(rows) + "\n", *(_section(row) for row in checks)])


def _cell(value: str | bool) -> str:
    return value if isinstance(value, str) else "yes" if value else "no"


def _section(row: Check[C]) -> str:
    never = f"\n\nIt cannot be waived: {row.unwaivable}." if row.unwaivable else ""
    return f"## {row.id}\n\n{row.explanation}\n\nFires when {row.condition}.\n\nWhat to do: {row.remedy}{never}\n"
