"""The codes of a recording's warnings (wire/RECORDING.md, "Warnings"), and the one place that puts them into words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from rtassay.model.findings import lane_words
from rtassay.model.manifest import LaneEntry, RunWarning

COUNTS_DIFFER: Final = "counts-differ"
HISTOGRAM_DIFFERS: Final = "histogram-differs"
ACTIVATIONS_LOST: Final = "activations-lost"
BLOCKS_OVERLAP: Final = "blocks-overlap"
SPOOL_FULL: Final = "spool-full"
GAPS_CUT: Final = "gaps-cut"
TELEMETRY_NOT_DECODED: Final = "telemetry-not-decoded"
MONITORS_ENDED_EARLY: Final = "monitors-ended-early"
LOAD_STILL_RUNNING: Final = "load-still-running"
END_NOT_READ: Final = "end-not-read"
TRACE_NOT_KEPT: Final = "trace-not-kept"
TRACE_NOT_DECODED: Final = "trace-not-decoded"

# Two sources of one count do not agree: COUNT-MISMATCH asks for these.
DOUBTS_OF_COUNTS: Final = frozenset({COUNTS_DIFFER, HISTOGRAM_DIFFERS, ACTIVATIONS_LOST, BLOCKS_OVERLAP})


def words(warning: RunWarning, lanes: Iterable[LaneEntry] = ()) -> str:
    """One warning as a sentence; `lanes` give the name of its lane.

    Text from outside (a lane's name, a board's message) comes through as it is: filter the result before it is shown.
    A code that is not in the table comes out as the code itself.
    """
    say = _WORDS.get(warning.code)
    text = warning.code if say is None else say(warning.facts)
    if warning.lane is None:
        return text
    name = next((lane_words(e.name, e.cpu) for e in lanes if e.index == warning.lane), f"lane {warning.lane}")
    return f"{name}: {text}"


def _counts_differ(facts: Mapping[str, Any]) -> str:
    counts = facts.get("counts")
    told = ", ".join(f"{source} {count}" for source, count in counts.items()) if isinstance(counts, dict) else "?"
    return f"counts of {facts.get('of')} disagree: {told}"


def _spool_full(facts: Mapping[str, Any]) -> str:
    frames = facts.get("frames")
    kinds = sorted(frames.items()) if isinstance(frames, dict) else []
    what = ", ".join(f"{facts.get('samples')} samples" if k == "samples" else f"{n} frames of {k}" for k, n in kinds)
    return (
        f"the board had no room for {what} while nobody fetched them; histogram and counts include them, "
        "their order in time is not known"
    )


_WORDS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    COUNTS_DIFFER: _counts_differ,
    HISTOGRAM_DIFFERS: lambda facts: "the histogram of the samples differs from the HISTOGRAM frames",
    ACTIVATIONS_LOST: lambda facts: (
        f"{facts.get('activations')} activations in lost or damaged frames; samples.parquet has them as dropped"
    ),
    BLOCKS_OVERLAP: lambda facts: f"{facts.get('blocks')} blocks of samples overlap the one before them",
    SPOOL_FULL: _spool_full,
    GAPS_CUT: lambda facts: (
        f"{facts.get('gaps')} gaps of more than {facts.get('most')} activations are cut to that in samples.parquet"
    ),
    TELEMETRY_NOT_DECODED: lambda facts: f"{facts.get('file')} was not decoded and is kept as it came",
    MONITORS_ENDED_EARLY: lambda facts: "the monitors ended before the run did",
    LOAD_STILL_RUNNING: lambda facts: f"the load was still running {facts.get('after_s')} s after it was asked to end",
    END_NOT_READ: lambda facts: f"the state of the board at the end is not known: {facts.get('error')}",
    TRACE_NOT_DECODED: lambda facts: f"the pages of trace.rtw have no attributions: {facts.get('error')}",
    TRACE_NOT_KEPT: lambda facts: f"the kernel's trace was not kept: {facts.get('error')}",
}
