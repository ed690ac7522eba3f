"""A validity check: a row of the table and a small pure function. To add one: a function, and a row in `table/`.

The table can be read (`rtassay checks`, docs/reference) without numpy: functions are imported when they first run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, cast

from rtassay.analysis.lane.measures import imported
from rtassay.model.findings import CheckResult, LaneFindings, lane_words
from rtassay.model.manifest import Manifest
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S

if TYPE_CHECKING:
    from rtassay.analysis.lane.account import Account

PASS = "pass"
UNKNOWN = "unknown"
NOTE = "note"
WARNING = "warning"
INVALID = "invalid"

INTEGRITY = "integrity"
OPTIMISM = "optimism"

FIRED: Final = (NOTE, WARNING, INVALID)

LIVE = "live"
RECORDED = "recorded"
SYNTHETIC = "synthetic"
PROOFS: Final = (LIVE, RECORDED, SYNTHETIC)
"""How the firing of a check was proven, best first: a test provoked the condition on a running system; a recording or file of a
real system shows it; a recording was made up for it. tests/house holds the table to the tests."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a check may look at: the recording, its lanes and what was computed of them, and the requirement (or None)."""

    recording: Recording
    accounts: tuple[Account, ...]
    lanes: tuple[LaneFindings, ...]
    deadline_ns: int | None
    p_target: float
    confidence: float

    @property
    def manifest(self) -> Manifest:
        return self.recording.manifest

    @property
    def window_ns(self) -> tuple[int, int] | None:
        """Begin and end of the measurement on the probe's clock: the run's, else from first due time to last closing."""
        manifest = self.manifest
        if manifest.started_ns is not None and manifest.ended_ns is not None:
            return manifest.started_ns, manifest.ended_ns
        starts = [lane.entry.first_due_ns for lane in self.accounts if lane.entry.first_due_ns is not None]
        ends = [lane.entry.closed_ns for lane in self.accounts if lane.entry.closed_ns is not None]
        return (min(starts), max(ends)) if starts and ends else None

    @property
    def duration_s(self) -> float | None:
        """Length of the measurement; None where the source cannot tell."""
        window = self.window_ns
        return (window[1] - window[0]) / NS_PER_S if window is not None and window[1] >= window[0] else None

    @property
    def measured_cpus(self) -> tuple[int, ...]:
        """CPUs with a lane, sorted."""
        return tuple(sorted({lane.entry.cpu for lane in self.accounts if lane.entry.cpu is not None}))

    @property
    def own_run(self) -> bool:
        """Run by rtassay itself, which knows what load it started; not an imported file."""
        manifest = self.manifest
        known = manifest.plan.argv or manifest.inventory or self.recording.telemetry
        about = imported(manifest)
        return bool(known) and (not about or bool(about.get("live")))  # a foreign file may name its kernel, too


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found. `kind` only where it differs from the table's. The message is one line of plain English."""

    severity: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One row of the table. `severity` is the one it fires with by default; `required`: unknown caps at NOT DEMONSTRATED.

    `proof`: see PROOFS. `unwaivable`: why `--waive` is refused for this check; empty where it may be waived.
    """

    id: str
    condition: str
    kind: str
    severity: str
    required: bool
    explanation: str
    remedy: str
    function: Callable[[Context], Outcome]
    proof: str
    unwaivable: str = ""

    def run(self, context: Context) -> CheckResult:
        """The result, always: what could not be looked at is unknown, never a pass."""
        found = self.function(context)
        message = " ".join(found.message.split())
        return CheckResult(self.id, found.severity, found.kind or self.kind, message, found.facts)


def lazy(where: str) -> Callable[[Context], Outcome]:
    """The function `module:name` of this package, imported when it is first called."""
    module, _, name = where.partition(":")

    def run(context: Context) -> Outcome:
        function = getattr(import_module(f"rtassay.analysis.checks.{module}"), name)
        return cast("Outcome", function(context))

    run.__name__ = where
    return run


def passed(message: str, **facts: Any) -> Outcome:
    """Looked at, and fine."""
    return Outcome(PASS, message, facts)


def unknown(message: str, **facts: Any) -> Outcome:
    """Could not be looked at."""
    return Outcome(UNKNOWN, message, facts)


def named(lanes: list[Account]) -> str:
    """`CPU0, CPU3` for a message; at most four names."""
    names = [lane_words(lane.entry.name, lane.entry.cpu) for lane in lanes]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
