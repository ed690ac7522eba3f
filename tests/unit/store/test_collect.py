"""Events of a run taken one by one: what is passed on, what is added up, and what each lane is known by."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from rtassay.model.events import FileContent, HistogramPart, Note, Output, Samples, Second, Spill
from rtassay.store.collect import Collector, LaneTally


class Seen:
    """A Collector and what it passed on."""

    def __init__(self) -> None:
        self.seconds: list[Second] = []
        self.rows: list[Any] = []
        self.samples: list[tuple[int, list[list[int]]]] = []
        self.spills: list[Spill] = []
        self.collector = Collector(self.seconds.append, self.rows.append, self._take, self.spills.append)

    def _take(self, lane: int, *columns: Any) -> None:
        self.samples.append((lane, [column.tolist() for column in columns]))

    def __getitem__(self, lane: int) -> LaneTally:
        return self.collector.lanes[lane]


def spill(lane: int, suppressed: int, *rows: tuple[int, int, int]) -> Spill:
    return Spill(lane, suppressed, *np.array(rows, np.int64).reshape(-1, 3).T)


def second(lane: int, number: int, n: int, low_ns: int, high_ns: int) -> Second:
    return Second(lane, number, n, 1, 2, 0, low_ns, high_ns, 5 * n, n, high_ns)


def part(lane: int, *bins: tuple[int, int, int], over: int = 0, limit_ns: int | None = None) -> HistogramPart:
    return HistogramPart(lane, *np.array(bins, np.int64).reshape(-1, 3).T, over, limit_ns)


def block(lane: int, first_k: int, *latency_ns: int) -> Samples:
    none = np.zeros(len(latency_ns), np.int64)
    return Samples(lane, first_k, np.array(latency_ns, np.int64), none, none)


def test_samples_are_passed_on_joined_and_counted() -> None:
    seen = Seen()
    for event in (block(0, 0, 5, 9), block(1, 0, 4), block(0, 2, 7), block(2, 0)):
        seen.collector.add(event)
    assert seen.samples == []
    seen.collector.finish()
    assert seen.samples == [(0, [[5, 9, 7], [0] * 3, [0] * 3]), (1, [[4], [0], [0]])]
    assert (seen[0].min_ns, seen[0].max_ns, seen[0].sample_sum_ns, seen[0].from_samples.total) == (5, 9, 21, 3)
    assert seen[0].has_samples and not seen[2].has_samples and seen[2].min_ns is None


def test_samples_that_nobody_takes_are_still_counted() -> None:
    collector = Collector(lambda second: None, lambda row: None)
    for event in (block(0, 0, 5), spill(0, 0, (1, 2, 3))):
        collector.add(event)
    collector.finish()
    assert collector.lanes[0].from_samples.total == 1 and collector.lanes[0].spilled == 1


def test_seconds_add_up_and_an_empty_one_tells_no_extremes() -> None:
    seen = Seen()
    given = [second(0, 4, 10, 3, 50), second(0, 2, 0, 0, 0), second(0, 3, 7, 2, 60), second(1, 0, 0, 0, 0)]
    for event in given:
        seen.collector.add(event)
    t = seen[0]
    assert seen.seconds == given
    assert (t.seconds, t.second_n, t.second_missed, t.second_dropped, t.second_sum_ns) == (3, 17, 3, 6, 85)
    assert (t.min_ns, t.max_ns, t.last_second) == (2, 60, 4)
    assert (seen[1].min_ns, seen[1].max_ns, seen[1].last_second) == (None, None, 0)


def test_spills_are_counted_and_an_empty_frame_is_not_passed_on() -> None:
    seen = Seen()
    full = spill(0, 2, (1, 100, 0), (2, 200, 1))
    for event in (full, spill(0, 5)):
        seen.collector.add(event)
    assert seen.spills == [full] and (seen[0].spilled, seen[0].suppressed) == (2, 7)


def test_the_more_complete_histogram_counts_and_of_equal_ones_that_of_the_samples() -> None:
    seen = Seen()
    for event in (block(0, 0, 5, 9), part(0, (0, 10, 2))):
        seen.collector.add(event)
    seen.collector.finish()
    assert seen[0].counts() is seen[0].from_samples
    seen.collector.add(part(0, (20, 10, 1)))
    assert seen[0].counts() is seen[0].from_parts
    for over, which in ((0, "from_samples"), (1, "from_parts")):
        seen = Seen()
        for event in (block(0, 0, 5, 9), part(0, (0, 10, 2), over=over)):
            seen.collector.add(event)
        seen.collector.finish()
        assert seen[0].counts() is getattr(seen[0], which), "what lies over the last bin counts too"


def test_parts_add_up_and_a_limit_once_told_stays() -> None:
    seen = Seen()
    for event in (part(0, (5, 1, 3), over=1, limit_ns=900), part(0, (5, 1, 4), over=2)):
        seen.collector.add(event)
    t = seen[0]
    assert (t.parts, t.over, t.limit_ns, t.from_parts.total) == (2, 3, 900, 7)


@pytest.mark.parametrize(
    ("lane", "in_data", "kept"),
    [
        (3, 4, 3),
        (0, 4, 0),
        (None, 4, 4),
        (None, None, None),
        (-1, None, None),
        (2**15 - 1, None, 2**15 - 1),
        (2**15, None, None),
    ],
)
def test_a_row_of_an_event_has_the_lane_that_it_is_about(
    lane: int | None, in_data: int | None, kept: int | None
) -> None:
    seen = Seen()
    data = {"lane": in_data, "mono_ns": 7, "k": 8, "latency_ns": 9, "missed": 10}
    seen.collector.add(Note("break", lane, data))
    assert seen.rows == [("break", kept, 7, 8, 9, 10, json.dumps(data))]
    assert seen.collector.lanes == {}, "an event alone makes no lane"


def test_what_a_full_spool_dropped_adds_up_by_what_it_held() -> None:
    seen = Seen()
    told = [
        {"what": "samples", "frames": 2, "samples": 30, "missed": 4, "dropped": 5},
        {"what": "samples", "frames": 1, "samples": 10, "missed": None},
        {"what": "seconds", "frames": 3},
        {"what": "spills"},
    ]
    for data in told:
        seen.collector.add(Note("spool_dropped", 1, data))
    seen.collector.add(Note("other", 1, told[0]))
    seen.collector.add(Note("spool_dropped", None, told[0]))
    left_out = seen[1].left_out
    assert left_out.frames == {"samples": 3, "seconds": 3, "spills": 0}
    assert (left_out.samples, left_out.missed, left_out.dropped, left_out.activations) == (40, 4, 5, 49)
    assert list(seen.collector.lanes) == [1] and len(seen.rows) == 6


def test_events_of_other_streams_are_passed_over() -> None:
    seen = Seen()
    seen.collector.add(Output(1, 1, b"x"))
    seen.collector.add(FileContent(1, "/a", 0, b"x"))
    seen.collector.finish()
    assert seen.rows == [] and seen.collector.lanes == {} and seen.collector.end is None


def test_a_lane_that_began_later_is_a_row_of_facts_where_facts_have_rows() -> None:
    from rtassay.model.events import Facts

    seen = Seen()
    for facts, told in (({"lanes": [{"lane": 0}]}, [{"lane": 0}, {"lane": 1}]), ({}, None), ({"lanes": 3}, 3)):
        seen.collector.add(Facts(dict(facts)))
        seen.collector.add(Note("lane", 1, {"lane": 1}))
        seen.collector.add(Note("other", 1, {"lane": 2}))
        assert seen.collector.facts.get("lanes") == told


def test_what_a_board_left_out_is_added_up_by_its_kind() -> None:
    seen = Seen()
    for data in (
        {"what": "samples", "frames": 2, "samples": 30, "missed": 4, "dropped": 5},
        {"what": "samples", "frames": 1},
        {"what": "seconds"},
    ):
        seen.collector.add(Note("spool_dropped", 3, data))
    seen.collector.add(Note("spool_dropped", None, {"lane": 3, "what": "spills", "frames": "x", "samples": 1}))
    seen.collector.add(Note("spool_dropped", None, {"what": "samples", "samples": 9}))
    left = seen[3].left_out
    assert left.frames == {"samples": 3, "seconds": 0, "spills": 0}
    assert (left.samples, left.missed, left.dropped, left.activations) == (31, 4, 5, 40) and list(
        seen.collector.lanes
    ) == [3]


@pytest.mark.parametrize(("lane", "row"), [(0, 0), (2**15 - 1, 2**15 - 1), (2**15, None), (-1, None)])
def test_an_event_of_a_lane_that_cannot_be_is_of_none(lane: int, row: int | None) -> None:
    seen = Seen()
    seen.collector.add(Note("x", None, {"lane": lane, "mono_ns": 5, "k": 6, "latency_ns": 7, "missed": 8}))
    assert seen.rows[0][:6] == ("x", row, 5, 6, 7, 8)
