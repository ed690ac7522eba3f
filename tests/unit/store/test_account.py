"""The account of a run from what its stream said: END where it came, samples and seconds where it did not, and every disagreement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.model import warnings
from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Samples, Second, Spill
from rtassay.model.manifest import Clip, Counter, Damage, LaneEntry, Manifest, Obtained, Plan, RunWarning, Source
from rtassay.store.account import bin_width, summarise
from rtassay.store.collect import Collector, EventTuple

BLANK = Manifest("x", "2026-11-22T00:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
END_OF_LANE = {
    **{"lane": 0, "due": 20, "missed": 3, "dropped": 4, "truncated": 5, "exceedances": 6, "min_ns": 7, "max_ns": 8},
    **{"sum_ns": 9, "last_due_ns": 10, "closed_ns": 11, "migrations": 12, "minor_faults": 13, "major_faults": 14},
    **{"voluntary_switches": 15, "involuntary_switches": 16, "cpu_ns": 17, "spilled": 18, "suppressed": 19},
    **{"coarsened": 20, "under": 21, "state": "ended"},
}


def collect(*events: Event) -> Collector:
    rows: list[EventTuple] = []
    collected = Collector(lambda second: None, rows.append)
    for event in events:
        collected.add(event)
    collected.finish()
    return collected


def told(*events: Event, manifest: Manifest = BLANK) -> Manifest:
    return summarise(manifest, collect(*events), Damage())


def samples(latency_ns: list[int], first_k: int = 0, lane: int = 0, missed: int = 0, dropped: int = 0) -> Samples:
    """A block with its missed and dropped activations behind the first sample."""
    columns = [[count, *[0] * (len(latency_ns) - 1)] for count in (missed, dropped)]
    return Samples(lane, first_k, *(np.array(column, np.int64) for column in (latency_ns, *columns)))


def part(*bins: tuple[int, int, int], over: int = 0, limit_ns: int | None = None, lane: int = 0) -> HistogramPart:
    return HistogramPart(lane, *np.array(bins, np.int64).reshape(-1, 3).T, over, limit_ns)


def second(number: int, n: int, lane: int = 0, missed: int = 0, dropped: int = 0, **more: int) -> Second:
    spread = {"min_ns": 5, "max_ns": 50, "sum_ns": 10 * n, "exceedances": 0, **more}
    return Second(lane, number, n, missed, dropped, total_n=n, max_so_far_ns=50, **spread)


def found(manifest: Manifest, code: str) -> list[dict[str, Any]]:
    return [warning.facts for warning in manifest.warnings if warning.code == code]


def test_end_closes_the_account_with_every_field_it_has() -> None:
    obtained = {"policy": "fifo", "priority": 80, "affinity": [3], "reset_on_fork": True}
    facts = {"lane": 0, "name": "a", "cpu": 2, "interval_ns": 1000, "tid": 77, "first_due_ns": 5, "measure": "wake-up"}
    end = {**END_OF_LANE, "n": 8, "over": 2, "cpu": 3, "first_due_ns": 6, "clip": {"latency_ns": 30, "missed": 1}}
    m = told(Facts({"lanes": [{**facts, "obtained": obtained}]}), End({"lanes": [{**end, "obtained": obtained}]}))
    same = {name: value for name, value in END_OF_LANE.items() if name != "lane"}
    read_back = Obtained("fifo", 80, (3,), True)
    assert m.lanes == (
        LaneEntry(
            **{"index": 0, "name": "a", "cpu": 2, "interval_ns": 1000, "n": 8, "measure": "wake-up", "over": 2},  # type: ignore[arg-type]
            **{"first_due_ns": 6, "clip": Clip(30, 1), "tid": 77},  # type: ignore[arg-type]
            **{"obtained_start": read_back, "obtained_end": read_back, **same},  # type: ignore[arg-type]
        ),
    )


def test_what_end_leaves_out_is_taken_from_before() -> None:
    facts = {"lanes": [{"lane": 0, "first_due_ns": 5}]}
    m = told(Facts(facts), samples([1, 2]), part((1, 1, 1), (2, 1, 1), over=1), End({"lanes": [{"lane": 0, "cpu": 3}]}))
    lane = m.lanes[0]
    assert (lane.n, lane.over, lane.cpu, lane.first_due_ns, lane.name) == (3, 1, 3, 5, "0")
    assert (lane.clip, lane.obtained_end, lane.missed, lane.tid) == (None, None, None, None)


@pytest.mark.parametrize("clip", [{"latency_ns": 30}, {"missed": 1}, {}])
def test_half_a_clip_is_none(clip: dict[str, int]) -> None:
    assert told(End({"lanes": [{"lane": 0, "clip": clip}]})).lanes[0].clip is None


def test_a_lane_is_an_index_from_0_to_2_to_the_15_less_1() -> None:
    rows = [{"lane": lane, "n": 1} for lane in (-1, 0, 2**15 - 1, 2**15)]
    assert [lane.index for lane in told(Facts({"lanes": rows})).lanes] == [0, 2**15 - 1]
    assert [lane.index for lane in told(End({"lanes": rows})).lanes] == [0, 2**15 - 1]


def test_lanes_come_in_the_order_of_their_index() -> None:
    m = told(samples([1], lane=3), Facts({"lanes": [{"lane": 5}, {"lane": 1}]}), End({"lanes": [{"lane": 2, "n": 0}]}))
    assert [lane.index for lane in m.lanes] == [1, 2, 3, 5] and [lane.n for lane in m.lanes] == [0, 0, 1, 0]


def test_the_interval_is_that_of_the_lane_then_of_the_run_then_of_the_plan() -> None:
    rows = [{"lane": 0, "interval_ns": 7}, {"lane": 1}]
    planned = replace(BLANK, plan=Plan(interval_ns=9))
    assert [e.interval_ns for e in told(Facts({"interval_ns": 8, "lanes": rows}), manifest=planned).lanes] == [7, 8]
    assert [e.interval_ns for e in told(Facts({"lanes": rows}), manifest=planned).lanes] == [7, 9]


def test_a_source_with_a_limit_says_only_at_its_end_that_nothing_lay_beyond() -> None:
    assert told(part((1, 1, 2), limit_ns=400)).lanes[0].over is None
    assert told(part((1, 1, 2), limit_ns=400, over=3)).lanes[0].over == 3
    assert told(part((1, 1, 2))).lanes[0].over == 0


def test_without_end_samples_give_the_account() -> None:
    facts = Facts({"interval_ns": 100, "lanes": [{"lane": 0, "first_due_ns": 1000}]})
    spill = Spill(0, 2, *np.array([[0, 40, 3]], np.int64).T)
    lane = told(facts, samples([40, 9, -3], first_k=4, missed=3, dropped=2), spill).lanes[0]
    assert (lane.n, lane.due, lane.missed, lane.dropped, lane.truncated) == (3, 12, 3, 2 + 4, None), (
        "the first 4 came in no block"
    )
    assert (lane.min_ns, lane.max_ns, lane.sum_ns, lane.first_k) == (-3, 40, 46, 4)
    assert lane.last_due_ns == 1000 + 11 * 100
    assert (lane.spilled, lane.suppressed, lane.exceedances) == (1, 2, None)


@pytest.mark.parametrize("lacks", ["first_due_ns", "interval_ns"])
def test_without_end_the_last_due_time_needs_the_first_and_the_interval(lacks: str) -> None:
    row = {"lane": 0, "first_due_ns": 1000, "interval_ns": 100}
    del row[lacks]
    assert told(Facts({"lanes": [row]}), samples([40])).lanes[0].last_due_ns is None


def test_without_end_seconds_give_the_account() -> None:
    lane = told(second(0, 4, missed=1, dropped=2, min_ns=3), second(1, 6, missed=2, dropped=3, max_ns=70)).lanes[0]
    assert (lane.missed, lane.dropped, lane.sum_ns, lane.min_ns, lane.max_ns) == (3, 5, 100, 3, 70)
    assert (lane.due, lane.n, lane.last_due_ns) == (None, 0, None)


def test_without_end_the_later_of_samples_and_seconds_counts() -> None:
    few, many = samples([10] * 4, missed=1, dropped=7), second(0, 4, missed=5, dropped=2)
    lane = told(few, many).lanes[0]
    assert (lane.missed, lane.dropped, lane.sum_ns, lane.due) == (5, 7, 40, 4 + 5 + 7)


def test_without_end_a_gap_that_only_the_second_tells_of_was_due() -> None:
    """The block that begins with this gap was cut off; the second before it is there."""
    row = {"lane": 0, "first_due_ns": 1000, "interval_ns": 100}
    lane = told(Facts({"lanes": [row]}), samples([10] * 4, missed=1), second(0, 4, missed=2, dropped=1)).lanes[0]
    assert (lane.n, lane.missed, lane.dropped, lane.due) == (4, 2, 1, 7)
    assert lane.last_due_ns == 1000 + 6 * 100


def test_without_end_activations_of_lost_blocks_are_dropped() -> None:
    blocks = samples([1, 2]), samples([3], first_k=7, missed=1)
    lane = told(*blocks).lanes[0]
    assert (lane.n, lane.missed, lane.dropped, lane.due) == (3, 1, 5, 9)
    lane = told(*blocks, part((1, 1, 8))).lanes[0]
    assert (lane.n, lane.missed, lane.dropped, lane.due) == (8, 1, 0, 9), "the histogram has those of the lost block"


def test_without_end_bins_alone_tell_neither_missed_nor_sum() -> None:
    lane = told(part((1000, 1000, 7), (4000, 1000, 2)), Facts({"requested": {"deadline_ns": 2000}})).lanes[0]
    assert (lane.n, lane.missed, lane.dropped, lane.sum_ns, lane.due) == (9, None, None, None, None)
    assert (lane.min_ns, lane.max_ns, lane.exceedances) == (1000, 4000, 2)
    assert told(part((1000, 1000, 7), over=1)).lanes[0].max_ns is None, "the highest lies above the last bin"
    nothing = told(part()).lanes[0]
    assert (nothing.n, nothing.min_ns, nothing.max_ns) == (0, None, None)


def test_a_lane_of_which_nothing_came_keeps_its_account_open() -> None:
    lane = told(Facts({"lanes": [{"lane": 0}], "requested": {"deadline_ns": 5}})).lanes[0]
    assert (lane.missed, lane.exceedances, lane.spilled, lane.sum_ns) == (None, None, None, None)


@pytest.mark.parametrize(("deadline_ns", "over"), [(9, 2), (10, 2), (11, 1), (20, 1), (21, 0)])
def test_without_end_a_sample_at_the_deadline_exceeds_it(deadline_ns: int, over: int) -> None:
    asked = Facts({"requested": {"deadline_ns": deadline_ns}})
    assert told(asked, samples([10, 20, 1])).lanes[0].exceedances == over
    planned = replace(BLANK, plan=Plan(deadline_ns=deadline_ns))
    assert (
        told(Facts({"requested": {"deadline_ns": 1}}), samples([10, 20, 1]), manifest=planned).lanes[0].exceedances
        == over
    )


def test_width_of_the_bins() -> None:
    def width(*events: Event, before: int = 1) -> int:
        return bin_width(replace(BLANK, bin_width_ns=before), collect(*events))

    assert width(part((0, 1000, 1), (2000, 500, 1)), part((0, 700, 1), lane=1)) == 500
    assert width(samples([1]), part((0, 1000, 1)), before=3) == 3, "samples are as fine as the source"
    assert width(Facts({"bin_width_ns": 40}), samples([1]), before=3) == 40
    assert width(Facts({"bin_width_ns": 1}), samples([1]), before=3) == 1
    assert width(Facts({"bin_width_ns": 0}), samples([1]), before=3) == 3
    assert width(before=3) == 3 and width(part(), before=3) == 3


def test_a_coarse_source_has_coarse_values() -> None:
    m = told(Facts({"bin_width_ns": 1000, "requested": {"deadline_ns": 1500}}), samples([0, 1000, 2000]))
    assert m.bin_width_ns == 1000 and m.lanes[0].exceedances == 2


def test_a_run_begins_at_its_origin_and_ends_when_its_last_lane_is_closed() -> None:
    closed = [{"lane": 0, "closed_ns": 50}, {"lane": 1, "closed_ns": 70}, {"lane": 2}]
    m = told(Facts({"origin_ns": 10, "mono_ns": 4}), End({"mono_ns": 90, "lanes": closed}))
    assert (m.started_ns, m.ended_ns) == (10, 70)
    m = told(Facts({"mono_ns": 4}), End({"mono_ns": 90, "lanes": [{"lane": 0, "last_due_ns": 60}]}))
    assert (m.started_ns, m.ended_ns) == (4, 90)


def test_a_cut_run_ends_at_the_last_moment_it_tells_of() -> None:
    rows = [{"lane": lane, "first_due_ns": 1000 + lane, "interval_ns": 100} for lane in range(2)]
    facts = {"origin_ns": 500, "lanes": rows}
    both = [samples([1] * 3), samples([1] * 5, lane=1), second(8, 1)]
    assert told(Facts(facts), *both).ended_ns == 1001 + 4 * 100
    seconds = [second(3, 1), second(2, 1), second(4, 1, lane=1)]
    assert told(Facts({"origin_ns": 500}), *seconds).ended_ns == 500 + 5 * 10**9
    assert told(Facts({"mono_ns": 500}), *seconds).ended_ns is None, "seconds count from the origin"
    silent = told(Facts({"origin_ns": 500, "lanes": [{"lane": 0}]}), Note("x", None, {}))
    assert (silent.started_ns, silent.ended_ns) == (500, None)
    with_a_note = told(Facts({"origin_ns": 500}), second(3, 1), Spill(1, 1, *np.zeros((3, 0), np.int64)))
    assert with_a_note.ended_ns == 500 + 4 * 10**9


def test_times_of_the_manifest_stay_where_the_stream_has_none() -> None:
    before = replace(
        BLANK, started_ns=1, ended_ns=2, wall_start="a", wall_end="b", end_reason="c", facts={"d": 1}, end={"e": 2}
    )
    after = told(manifest=before)
    kept = (
        after.started_ns,
        after.ended_ns,
        after.wall_start,
        after.wall_end,
        after.end_reason,
        after.facts,
        after.end,
    )
    assert kept == (1, 2, "a", "b", "c", {"d": 1}, {"e": 2})


def test_facts_and_end_are_kept_as_they_came() -> None:
    facts, end = {"version": "3", "mine": [1]}, {"reason": "count", "mine": [2]}
    m = told(Facts(facts), End(end), manifest=replace(BLANK, end_reason="c"))
    assert (m.facts, m.end, m.source.version, m.end_reason, m.damage.cut) == (facts, end, "3", "count", False)
    known = replace(BLANK, source=Source("rtprobe", "2", "rtw"))
    assert told(Facts(facts), manifest=known).source.version == "2"
    cut = told(Facts(facts))
    assert cut.damage.cut and cut.end_reason == "cut" and told(End({})).end_reason is None


def test_wall_time_is_utc_with_milliseconds() -> None:
    """2001-09-09T01:46:40Z is 10^9 s. The clock was stepped by 2 s during the run: its end is told by END's own offset."""
    facts = {"origin_ns": 1_234_999_999, "mono_ns": 0, "wall_ns": 10**18}
    closed = {"mono_ns": 10**9, "wall_ns": 10**18 + 3 * 10**9, "lanes": [{"lane": 0, "closed_ns": 5 * 10**9}]}
    m = told(Facts(facts), End(closed))
    assert (m.wall_start, m.wall_end) == ("2001-09-09T01:46:41.234Z", "2001-09-09T01:46:47.000Z")
    without = told(Facts(facts), End({**closed, "wall_ns": None}))
    assert without.wall_end == "2001-09-09T01:46:45.000Z"
    assert told(Facts({**facts, "wall_ns": None}), End({})).wall_start is None
    assert told(Facts({**facts, "mono_ns": None}), End({})).wall_start is None


def test_a_file_s_own_times_stand_where_there_is_no_clock() -> None:
    imported = {"import": {"started": "2020-01-01T00:00:00Z", "ended": "2020-01-01T00:01:00Z"}}
    m = told(Facts(imported), manifest=replace(BLANK, wall_start="a", wall_end="b"))
    assert (m.wall_start, m.wall_end) == ("2020-01-01T00:00:00Z", "2020-01-01T00:01:00Z")
    m = told(Facts({"import": {}}), manifest=replace(BLANK, wall_start="a", wall_end="b"))
    assert (m.wall_start, m.wall_end) == ("a", "b")


def test_samples_are_known_of_if_one_lane_has_some() -> None:
    assert told(samples([1]), part((1, 1, 1), lane=1)).has_samples
    assert not told(part((1, 1, 1))).has_samples


WHOLE: list[Event] = [
    samples([10, 20, 20], missed=2, dropped=1),
    second(0, 3, missed=2, dropped=1),
    part((10, 1, 1), (20, 1, 2)),
    End({"lanes": [{"lane": 0, "n": 3, "missed": 2, "dropped": 1}]}),
]


def test_sources_that_agree_give_no_warning() -> None:
    assert told(*WHOLE).warnings == ()


@pytest.mark.parametrize(
    ("at", "other", "of", "counts"),
    [
        (0, samples([10, 20], missed=2, dropped=1), "samples", {"samples": 2, "HISTOGRAM": 3, "SECOND": 3, "END": 3}),
        (1, second(0, 4, missed=2, dropped=1), "samples", {"samples": 3, "HISTOGRAM": 3, "SECOND": 4, "END": 3}),
        (1, second(0, 3, missed=3, dropped=1), "missed", {"samples": 2, "SECOND": 3, "END": 2}),
        (1, second(0, 3, missed=2, dropped=0), "dropped", {"samples": 1, "SECOND": 0, "END": 1}),
        (2, part((10, 1, 1), (20, 1, 3)), "samples", {"samples": 3, "HISTOGRAM": 4, "SECOND": 3, "END": 3}),
        (2, part((10, 1, 1), (20, 1, 2), over=1), "samples", {"samples": 3, "HISTOGRAM": 4, "SECOND": 3, "END": 3}),
    ],
)
def test_a_count_that_differs_is_told_with_all_sources(at: int, other: Event, of: str, counts: dict[str, int]) -> None:
    events = [*WHOLE[:at], other, *WHOLE[at + 1 :]]
    assert told(*events).warnings == (RunWarning(warnings.COUNTS_DIFFER, 0, {"of": of, "counts": counts}),)


def test_a_warning_is_told_once_and_those_of_the_session_stay() -> None:
    events = [*WHOLE[:1], second(0, 9, missed=2, dropped=1), *WHOLE[2:]]
    session = RunWarning("other", None, {})
    once = told(*events, manifest=replace(BLANK, warnings=(session,)))
    assert [w.code for w in once.warnings] == ["other", warnings.COUNTS_DIFFER]
    assert told(*events, manifest=once).warnings == once.warnings


def test_seconds_and_bins_of_a_cut_stream_may_lag_behind() -> None:
    assert told(samples([10, 20]), second(0, 1), part((10, 1, 1))).warnings == ()


@pytest.mark.parametrize(
    ("bins", "differs"),
    [
        ([(10, 1, 1), (20, 1, 2)], False),
        ([(10, 1, 1), (21, 1, 2)], True),
        ([(10, 1, 2), (20, 1, 1)], True),
        ([(10, 1, 1), (20, 1, 1), (21, 1, 1)], True),
        ([(10, 1, 3)], True),
        ([(0, 30, 3)], False),
    ],
)
def test_exact_bins_are_those_of_the_samples(bins: list[tuple[int, int, int]], differs: bool) -> None:
    m = told(*WHOLE[:2], part(*bins), WHOLE[3])
    assert m.warnings == ((RunWarning(warnings.HISTOGRAM_DIFFERS, 0),) if differs else ())


def test_lost_activations_and_overlapping_blocks_are_told() -> None:
    m = told(samples([1, 2]), samples([3], first_k=7))
    assert found(m, warnings.ACTIVATIONS_LOST) == [{"activations": 5}]
    m = told(samples([1, 2, 3]), samples([4, 5], first_k=1))
    assert m.warnings == (RunWarning(warnings.BLOCKS_OVERLAP, 0, {"blocks": 1}),)


def away(what: str, **counts: int) -> Note:
    return Note("spool_dropped", 0, {"what": what, **counts})


def test_what_a_full_spool_dropped_is_no_loss_and_no_disagreement() -> None:
    """Blocks with 4 samples, 2 missed, 1 dropped were left out on the board; END and the histogram know of them."""
    end = End({"lanes": [{"lane": 0, "n": 6, "missed": 2, "dropped": 1}]})
    left_out = [away("samples", frames=1, samples=3, missed=2), away("samples", frames=2, samples=1, dropped=1)]
    m = told(samples([1]), *left_out, samples([2], first_k=8), part((1, 1, 6)), end)
    assert m.warnings == (RunWarning(warnings.SPOOL_FULL, 0, {"frames": {"samples": 3}, "samples": 4}),)
    m = told(samples([1]), *left_out, samples([2], first_k=10), part((1, 1, 6)), end)
    assert found(m, warnings.ACTIVATIONS_LOST) == [{"activations": 2}]


def test_seconds_that_a_full_spool_dropped_are_not_compared() -> None:
    m = told(WHOLE[0], away("seconds", frames=1), second(0, 1), *WHOLE[2:])
    assert [w.code for w in m.warnings] == [warnings.SPOOL_FULL]
    m = told(WHOLE[0], away("spills", frames=1), second(0, 1), *WHOLE[2:])
    assert warnings.COUNTS_DIFFER in [w.code for w in m.warnings]


def test_counters_of_started_programs_stand_with_all_their_counts_or_with_none() -> None:
    """What is not counted is None, and so is half of a count."""
    whole = {
        "name": "page-faults",
        "error": None,
        "user_only": True,
        "jobs": 3,
        "estimated": 1,
        "sum": 30,
        "min": 5,
        "max": 20,
        "free_ns": 60_000,
    }
    refused = {**whole, "name": "cycles", "error": "refused", "user_only": False}
    end = End({"lanes": [{"lane": 0, "n": 1, "counters": [whole, refused, {**whole, "max": None}, {"sum": 1}, 7]}]})
    counted, not_counted, half = told(samples([1]), end).lanes[0].counters
    assert counted == Counter("page-faults", None, True, 3, 1, 30, 5, 20, 60_000) and counted.mean == 10
    assert not_counted == Counter("cycles", "refused", free_ns=60_000) and not_counted.mean is None
    assert half == Counter("page-faults", user_only=True, free_ns=60_000) and half.mean is None


def test_without_end_gaps_that_nobody_told_of_are_not_known() -> None:
    for events in ([samples([40])], [second(0, 4)], [part((1000, 1000, 7))]):
        lane = told(*events).lanes[0]
        assert (lane.gaps, lane.gaps_kept) == (None, None)
