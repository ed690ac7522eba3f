"""Period jitter: a sentence, and a table of the lanes. Standard library only."""

from __future__ import annotations

from rtassay.model.findings import Findings, Jitter
from rtassay.reports import wording
from rtassay.reports.recording import recording_text

COLUMNS = ("Lane", "Pairs", "Mean us", "p50", "p99", "p99.9", "p99.99", "Max us")
CAVEAT = "How far the time between two consecutive runs of a lane was from its interval. Nearest rank; without intervals, since consecutive values depend on each other."
NOT_KNOWN = "Period jitter is not known: the samples were not kept in their order."
_STEPS = (0.5, 0.99, 0.999, 0.9999)


def in_words(findings: Findings) -> str | None:
    """The worst lane's highest quantile that its samples reach, and its maximum; None where no lane tells it."""
    known = [(label, jitter) for label, jitter in _lanes(findings) if jitter is not None]
    if not known:
        return None
    label, jitter = max(known, key=lambda one: one[1].max_ns)
    reached = [step for step in jitter.quantiles if step.bound == "exact"]
    said = f"{wording.quantile_name(reached[-1].q)} {wording.spaced(reached[-1].value_ns)}, " if reached else ""
    return f"period {said}worst {wording.spaced(jitter.max_ns)} ({label})"


def rows(findings: Findings) -> list[tuple[str, ...]]:
    """One row a lane that tells it."""
    places = recording_text.digits(findings)
    return [_row(label, jitter, places) for label, jitter in _lanes(findings) if jitter is not None]


def _row(label: str, jitter: Jitter, places: int) -> tuple[str, ...]:
    steps = {step.q: step for step in jitter.quantiles}
    cells = [
        ("≥" if steps[q].bound != "exact" else "") + wording.us(steps[q].value_ns, places) if q in steps else "-"
        for q in _STEPS
    ]
    return (
        label,
        wording.count(jitter.n),
        wording.us(jitter.mean_ns, places),
        *cells,
        wording.us(jitter.max_ns, places),
    )


def _lanes(findings: Findings) -> list[tuple[str, Jitter | None]]:
    labels = recording_text.lane_labels(findings)
    return [(label, lane.jitter) for label, lane in zip(labels, findings.lanes, strict=True)]
