"""Events of a run, one pass, constant memory: tables go out as they come, per lane only tallies and counts stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rtassay.model.events import End, Event, Facts, Gaps, HistogramPart, Note, Samples, Second, Spill
from rtassay.model.views import integer
from rtassay.store.counts import Counts
from rtassay.store.stitch import Stitcher

TRACE_BEGIN = "trace_begin"
LANE = "lane"
"""A lane that began after FACTS; its data are as a row there."""

EventTuple = tuple[str, int | None, int | None, int | None, int | None, int | None, str | None]


class LeftOut:
    """What a board dropped for lack of room while no host fetched it (`spool_dropped`): frames by kind, and their samples."""

    def __init__(self) -> None:
        self.frames: dict[str, int] = {}
        self.samples = 0
        self.missed = 0
        self.dropped = 0

    def add(self, data: dict[str, Any]) -> None:
        what = str(data.get("what"))
        self.frames[what] = self.frames.get(what, 0) + (integer(data.get("frames")) or 0)
        for name in ("samples", "missed", "dropped"):
            setattr(self, name, getattr(self, name) + (integer(data.get(name)) or 0))

    @property
    def activations(self) -> int:
        """Activations of the lane in the sample blocks that were left out."""
        return self.samples + self.missed + self.dropped


class LaneTally:
    """The events of one lane, each source on its own so that the sources can be compared."""

    def __init__(self) -> None:
        self.stitcher = Stitcher()
        self.from_samples = Counts()
        self.from_parts = Counts()
        self.from_untraced = Counts()
        self.from_traced = Counts()
        self.parts = 0
        self.over = 0
        self.limit_ns: int | None = None
        self.seconds = 0
        self.second_n = 0
        self.second_missed = 0
        self.second_dropped = 0
        self.second_sum_ns = 0
        self.min_ns: int | None = None
        self.max_ns: int | None = None
        self.last_second = -1
        self.spilled = 0
        self.suppressed = 0
        self.gaps_kept = 0
        self.gaps_left_out = 0
        self.sample_sum_ns = 0
        self.left_out = LeftOut()

    @property
    def has_samples(self) -> bool:
        return self.stitcher.n > 0

    @property
    def tells_gaps(self) -> bool:
        return self.gaps_kept > 0 or self.gaps_left_out > 0

    def counts(self) -> Counts:
        """The more complete histogram; that of the samples if both are equal, since it is never coarsened."""
        samples_miss_some = self.from_parts.total + self.over > self.from_samples.total
        return self.from_parts if samples_miss_some else self.from_samples

    def see(self, low_ns: int, high_ns: int) -> None:
        self.min_ns = low_ns if self.min_ns is None else min(self.min_ns, low_ns)
        self.max_ns = high_ns if self.max_ns is None else max(self.max_ns, high_ns)


class Collector:
    """Takes events in order; call `finish` once. The callbacks get seconds, event rows, stitched samples, spills and gaps."""

    def __init__(
        self,
        on_second: Callable[[Second], None],
        on_event: Callable[[EventTuple], None],
        on_samples: Callable[[int, Any, Any, Any], None] | None = None,
        on_spill: Callable[[Spill], None] | None = None,
        on_gaps: Callable[[Gaps], None] | None = None,
    ) -> None:
        self.facts: dict[str, Any] = {}
        self.end: dict[str, Any] | None = None
        self.trace_begin: dict[str, Any] | None = None
        self.lanes: dict[int, LaneTally] = {}
        self._on_second = on_second
        self._on_event = on_event
        self._on_samples = on_samples
        self._on_spill = on_spill
        self._on_gaps = on_gaps

    def add(self, event: Event) -> None:
        match event:
            case Samples():
                self._give_on(event.lane, self._lane(event.lane).stitcher.push(event))
            case Second():
                self._add_second(event)
            case Spill():
                self._add_spill(event)
            case Gaps():
                self._add_gaps(event)
            case HistogramPart():
                self._add_part(event)
            case Note():
                self._add_note(event)
            case Facts(data):
                self.facts = data
            case End(data):
                self.end = data
            case _:
                pass  # FileContent and Output belong to other streams; TraceText and TracePage are kept as they came

    def finish(self) -> None:
        for lane, tally in self.lanes.items():
            self._give_on(lane, tally.stitcher.finish())

    def _lane(self, lane: int) -> LaneTally:
        return self.lanes.setdefault(lane, LaneTally())

    def _give_on(self, lane: int, block: tuple[Any, Any, Any] | None) -> None:
        if block is None:
            return
        tally, latency_ns = self.lanes[lane], block[0]
        tally.from_samples.add_values(latency_ns)
        tally.sample_sum_ns += int(latency_ns.sum())
        tally.see(int(latency_ns.min()), int(latency_ns.max()))
        if self._on_samples is not None:
            self._on_samples(lane, *block)

    def _add_second(self, second: Second) -> None:
        tally = self._lane(second.lane)
        tally.seconds += 1
        tally.second_n += second.n
        tally.second_missed += second.missed
        tally.second_dropped += second.dropped
        tally.second_sum_ns += second.sum_ns
        tally.last_second = max(tally.last_second, second.second)
        if second.n:
            tally.see(second.min_ns, second.max_ns)
        self._on_second(second)

    def _add_spill(self, spill: Spill) -> None:
        tally = self._lane(spill.lane)
        tally.spilled += len(spill.k)
        tally.suppressed += spill.suppressed
        if self._on_spill is not None and len(spill.k):
            self._on_spill(spill)

    def _add_gaps(self, gaps: Gaps) -> None:
        tally = self._lane(gaps.lane)
        tally.gaps_kept += len(gaps.start_ns)
        tally.gaps_left_out += gaps.left_out
        if self._on_gaps is not None and len(gaps.start_ns):
            self._on_gaps(gaps)

    def _add_part(self, part: HistogramPart) -> None:
        tally = self._lane(part.lane)
        tally.parts += 1
        bins = (part.lower_ns, part.width_ns, part.counts)
        tally.from_parts.add_bins(*bins)
        (tally.from_traced if part.traced else tally.from_untraced).add_bins(*bins)
        tally.over += part.over
        if part.limit_ns is not None:
            tally.limit_ns = part.limit_ns

    def _add_note(self, note: Note) -> None:
        data = note.data
        lane = note.lane if note.lane is not None else integer(data.get("lane"))
        if lane is not None and not 0 <= lane < 2**15:
            lane = None
        if note.name == TRACE_BEGIN:
            self.trace_begin = data
        if note.name == LANE and isinstance(self.facts.get("lanes"), list):
            self.facts = {**self.facts, "lanes": [*self.facts["lanes"], data]}
        if note.name == "spool_dropped" and lane is not None:
            self._lane(lane).left_out.add(data)
        k, latency_ns, missed = (integer(data.get(key)) for key in ("k", "latency_ns", "missed"))
        self._on_event((note.name, lane, integer(data.get("mono_ns")), k, latency_ns, missed, json.dumps(data)))
