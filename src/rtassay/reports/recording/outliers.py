"""The worst wake-ups and what coincided with them, as rows of text for every report."""

from __future__ import annotations

import re

from rtassay.model.findings import Coincidence, Findings, Outlier
from rtassay.model.foreign import one_line
from rtassay.model.units import format_time
from rtassay.reports import wording
from rtassay.reports.recording import recording_text

COLUMNS = ("At", "Lane", "Latency", "Missed", "Unusual at that moment")
CAVEAT = (
    "A reading stands here if at most one in twenty other readings of the run lies as far from the usual one. A coincidence is no proof of a "
    "cause: measure again without the suspect, or with --trace-above, then rtassay causes."
)
NOTHING = "no reading of the monitors stood out"
UNWATCHED = "nothing was watched"
_FOR_PEOPLE = {
    "ratio": ("%", 100.0),
    "Hz": (" MHz", 1e-6),
    "B": (" MB", 1e-6),
    "bytes": (" MB", 1e-6),
    "1/s": ("/s", 1.0),
}


def rows(findings: Findings, *, watched: bool) -> list[tuple[str, str, str, str, tuple[str, ...]]]:
    """One row an outlier: COLUMNS, the last of them as several texts. `watched`: there were monitors at all."""
    return [
        (
            f"{outlier.at_s:.3f} s",
            _lanes(findings, outlier),
            format_time(outlier.latency_ns),
            wording.count(outlier.missed),
            _why(outlier) or (NOTHING if watched else UNWATCHED,),
        )
        for outlier in findings.outliers
    ]


def in_words(findings: Findings) -> str | None:
    """The worst outlier in a sentence. If nothing coincided with it, also the next one that has a coincidence; None if no outlier has one."""
    for outlier in findings.outliers:
        near = [hit for hit in outlier.coincidences if not _elsewhere(hit, outlier.cpu)]
        if why := (*(_coincidence(hit) for hit in near), *_said(outlier)):
            told = f"{_where(findings, outlier)}, with {why[0]}"
            worst = findings.outliers[0]
            return told if outlier is worst else f"{_where(findings, worst)}, {NOTHING}; {told}"
    return None


def worst(findings: Findings) -> str | None:
    """The worst outlier in a sentence, with or without a coincidence; None if none is known."""
    return in_words(findings) or (f"{_where(findings, findings.outliers[0])}, {NOTHING}" if findings.outliers else None)


def monitors(findings: Findings) -> frozenset[str]:
    """The monitors with a reading that coincided with one of the worst wake-ups."""
    return frozenset(hit.monitor for outlier in findings.outliers for hit in outlier.coincidences)


def _where(findings: Findings, outlier: Outlier) -> str:
    return f"{format_time(outlier.latency_ns)} on {recording_text.label_of(findings, outlier.lane)} at {outlier.at_s:.1f} s"


def _elsewhere(hit: Coincidence, cpu: int | None) -> bool:
    """Whether it was seen on another CPU than the outlier."""
    match = re.match(r"cpu(\d+)\.", hit.name)
    return match is not None and cpu is not None and int(match[1]) != cpu


def _lanes(findings: Findings, outlier: Outlier) -> str:
    label = recording_text.label_of(findings, outlier.lane)
    others = ", ".join(recording_text.label_of(findings, name) for name in outlier.also)
    return f"{label}, with {others}" if others else label


def _why(outlier: Outlier) -> tuple[str, ...]:
    return (*(_coincidence(hit) for hit in outlier.coincidences), *_said(outlier))


def _said(outlier: Outlier) -> tuple[str, ...]:
    return tuple(f"kernel log: {one_line(text, 160)}" for text in outlier.messages)


def _coincidence(hit: Coincidence) -> str:
    if hit.monitor == "threads" and hit.name.endswith(".priority"):
        thread = one_line(hit.name.removesuffix(".priority"), 80)
        return f"a new real-time thread, {thread} of priority {hit.value:.0f}"
    unit, factor = _FOR_PEOPLE.get(hit.unit, ("" if hit.unit == "1" else f" {hit.unit}", 1.0))
    how = "high" if hit.value >= hit.usual else "low"
    often = f"as {how} in {hit.as_far} of {hit.of} other readings" if hit.as_far else f"never else as {how}"
    name = f"{hit.monitor} {one_line(hit.name, 80)}"
    return f"{name} {_number(hit.value * factor)}{unit}, usually {_number(hit.usual * factor)}{unit} ({often})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
