"""The two parts of a traced run: where the first ends, what belongs to which, and when they cannot be told apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rtassay.model.manifest import Clip, LaneEntry, Manifest, Source, TraceEntry, Untraced
from rtassay.model.recording import Histogram, Lane, Recording, Seconds, Spills
from rtassay.store.parts import separable, split, until

MS, S = 1_000_000, 1_000_000_000
FIRST = Untraced(due=10, n=8, missed=1, dropped=1, truncated=0, exceedances=2, min_ns=5, max_ns=50, sum_ns=100)
WHOLE = LaneEntry(
    index=0, name="0", cpu=3, interval_ns=MS, n=20, due=24, missed=3, dropped=1, truncated=0, exceedances=5, min_ns=4, max_ns=90,
    sum_ns=400, first_due_ns=1000, last_due_ns=1000 + 23 * MS, closed_ns=1000 + 24 * MS, clip=Clip(7, 0), untraced=FIRST,
)  # fmt: skip


def manifest(*lanes: LaneEntry, until_ns: int | None = 50 * MS, **changes: Any) -> Manifest:
    blank = Manifest("x", "", Source("rtprobe", None, "rtw"), lanes=lanes, trace=TraceEntry(untraced_until_ns=until_ns))
    return replace(blank, **changes)


def bins(*values: int) -> Histogram:
    return Histogram(np.array(values), np.ones(len(values), np.int64), np.ones(len(values), np.int64))


def seconds(*numbers: int) -> Seconds:
    column = np.array(numbers)
    return Seconds(column, *(column * 10 + i for i in range(8)))


def of(made: Manifest, **changes: Any) -> Recording:
    spills = Spills(np.array([3, 9, 10, 15]), np.array([50, 40, 90, 80]), np.array([0, 1, 0, 2]))
    lane = replace(Lane(made.lanes[0], bins(5, 50), seconds(0, 1, 2, 3), spills), **changes)
    return Recording(made, (lane, *(Lane(entry, bins(1), None, None) for entry in made.lanes[1:])))


def test_the_end_of_the_first_part_is_told_or_follows_from_its_accounts() -> None:
    assert until(manifest(WHOLE)) == 50 * MS
    assert until(manifest(WHOLE, until_ns=None)) == 1000 + 10 * MS
    other = replace(WHOLE, index=1, first_due_ns=500, untraced=replace(FIRST, due=9))
    assert until(manifest(WHOLE, other, until_ns=None)) == 500 + 9 * MS, "the lane that ended first"
    for unknown in ({"first_due_ns": None}, {"interval_ns": None}):
        assert until(manifest(WHOLE, replace(other, **unknown), until_ns=None)) is None  # type: ignore[arg-type]
    assert until(manifest(WHOLE, replace(other, untraced=None))) is None
    assert until(manifest(WHOLE, trace=None)) is None and until(manifest()) is None
    assert separable(manifest(WHOLE)) and not separable(manifest(WHOLE, trace=None))


def test_the_first_part_is_the_recording_and_the_rest_stands_beside_it() -> None:
    end = {
        "reason": "x",
        "lanes": [{"lane": 0, "n": 20, "closed_ns": 7, "cpu": 3}, {"lane": 9, "n": 1}, "odd", {"n": 2}],
    }
    made = of(manifest(WHOLE, facts={"origin_ns": 7 * S}, end=end, ended_ns=99 * S), seconds=seconds(0, 1, 2, 3))
    made = replace(made, manifest=replace(made.manifest, trace=TraceEntry(untraced_until_ns=8_500 * MS)))
    found = split(made, {0: bins(60, 90)})
    (first,), (rest,) = found.lanes, found.traced
    account = {name: getattr(first.entry, name) for name in Untraced.__dataclass_fields__}
    assert account == {name: getattr(FIRST, name) for name in Untraced.__dataclass_fields__}
    assert (first.entry.last_due_ns, first.entry.closed_ns, first.entry.clip) == (1000 + 9 * MS, 8_500 * MS, None)
    assert first.spills is not None and list(first.spills.rows()) == [(3, 50, 0), (9, 40, 1)]
    assert first.seconds is not None and first.seconds.second.tolist() == [0], "the second 1 holds the boundary"
    assert first.seconds.n.tolist() == [0] and first.histogram.lower_ns.tolist() == [5, 50]
    entry = rest.entry
    assert (entry.due, entry.n, entry.missed, entry.dropped, entry.truncated, entry.exceedances, entry.sum_ns) == (
        *(14, 12, 2, 0, 0, 3, 300),
    )
    assert (entry.min_ns, entry.max_ns, rest.histogram.lower_ns.tolist()) == (60, 90, [60, 90])
    assert rest.spills is not None and list(rest.spills.rows()) == [(10, 90, 0), (15, 80, 2)]
    assert rest.seconds is not None and rest.seconds.second.tolist() == [2, 3]
    assert found.manifest.ended_ns == 8_500 * MS and found.manifest.lanes == (first.entry,)
    row = {name: getattr(FIRST, name) for name in Untraced.__dataclass_fields__} | {"closed_ns": 8_500 * MS}
    assert found.manifest.end == {
        "reason": "x",
        "lanes": [{"lane": 0, "cpu": 3} | row, {"lane": 9, "n": 1}, "odd", {"n": 2}],
    }


def test_without_an_origin_no_second_belongs_to_one_part_more_than_to_the_other() -> None:
    found = split(of(manifest(WHOLE)), {0: bins(60)})
    for lane in (found.lanes[0], found.traced[0]):
        assert lane.seconds is not None and lane.seconds.second.tolist() == [0, 1, 2, 3]


def test_a_run_that_was_not_traced_stays_whole() -> None:
    made = of(manifest(WHOLE, trace=None))
    assert split(made, {0: bins(60)}) is made


def test_what_is_not_known_of_the_whole_or_of_a_part_is_not_known_of_the_rest() -> None:
    entry = replace(WHOLE, missed=None, untraced=replace(FIRST, dropped=None, due=0), last_due_ns=77)
    found = split(of(manifest(entry), spills=None, seconds=None), {0: bins()})
    (first,), (rest,) = found.lanes, found.traced
    assert (rest.entry.missed, rest.entry.dropped, rest.entry.n) == (None, None, 12)
    assert (rest.entry.min_ns, rest.entry.max_ns) == (None, None)
    assert first.spills is None is first.seconds and rest.spills is None is rest.seconds
    assert first.entry.last_due_ns == 77, "nothing was due in the first part"


def test_a_lane_is_closed_after_its_last_untraced_activation() -> None:
    late = replace(WHOLE, untraced=replace(FIRST, due=60))
    assert split(of(manifest(late)), {}).lanes[0].entry.closed_ns == 1000 + 59 * MS
    unknown = replace(WHOLE, first_due_ns=None, last_due_ns=None)
    found = split(of(manifest(unknown)), {})
    assert found.lanes[0].entry.closed_ns == 50 * MS and found.lanes[0].entry.last_due_ns is None and found.traced == ()
    no_interval = replace(WHOLE, interval_ns=None, last_due_ns=None)
    assert split(of(manifest(no_interval)), {}).lanes[0].entry.last_due_ns is None
