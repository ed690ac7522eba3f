"""Period jitter from the samples of a recording: by hand, against the moments of the runs, and where it is not known."""

from __future__ import annotations

import runpy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.model.events import End, Event, Facts, Samples
from rtassay.model.findings import Findings, Jitter, JitterStep
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source, Untraced
from rtassay.model.measures import JOB_EXECUTION, NOISE_TOTAL, WAKE_UP
from rtassay.reports.recording import jitter as words
from rtassay.store import tables
from rtassay.store.jitter import JitterCounts, jitter_counts
from rtassay.wire.encode import StreamEncoder

MAKE = runpy.run_path(str(Path(__file__).parents[3] / "wire" / "golden" / "make.py"))
INTERVAL_NS = 1000


def column(*values: int) -> Any:
    return np.array(values, np.int64)


def values_of(counted: JitterCounts) -> list[int]:
    lower, width, counts = counted.counts.table()
    assert (width == 1).all()
    return sorted(np.repeat(lower, counts).tolist())


def recorded(home: Path, *blocks: Samples, policy: str = "counted", sealed: bool = True, **facts: object) -> Path:
    blank = Manifest(store.new_id(), "2026-11-23T12:00:00Z", Source("rtprobe", None, "rtw", policy), Plan())
    lane = {"lane": 0, "cpu": 0, "measure": WAKE_UP, "first_due_ns": 0} | facts
    events: list[Event] = [Facts({"interval_ns": INTERVAL_NS, "lanes": [lane]}), *blocks, End({"reason": "duration"})]
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(events))
    if sealed:
        store.seal(writer.path)
    return writer.path


BY_HAND = Samples(0, 0, column(10, 30, 2300, 50), column(0, 0, 2, 0), column(0, 0, 0, 0))


def test_the_known_answer_of_the_method_page(tmp_path: Path) -> None:
    recording = store.open_recording(recorded(tmp_path, BY_HAND))
    (lane,) = recording.lanes
    assert lane.jitter is not None
    assert list(zip(lane.jitter.lower_ns.tolist(), lane.jitter.counts.tolist(), strict=True)) == [
        (20, 1),
        (250, 1),
        (2270, 1),
    ]
    findings = judge(recording)
    (found,) = findings.lanes
    assert found.jitter is not None and findings.pooled.jitter == found.jitter
    assert (found.jitter.n, found.jitter.mean_ns, found.jitter.max_ns) == (3, 2540 / 3, 2270)
    assert found.jitter.quantiles[0] == JitterStep(0.5, 250, "exact")
    assert tables.JITTER in recording.manifest.seals


def test_blocks_are_joined_and_pairs_with_a_dropped_sample_are_left_out() -> None:
    counted = JitterCounts(INTERVAL_NS)
    counted.take(column(10, 40), column(0, 0), column(0, 0))
    counted.take(column(), column(), column())
    counted.take(column(100, 7, 9), column(0, 0, 0), column(0, 1, 0))
    assert values_of(counted) == [30, 60, 93], "40 -> 100 crosses a block; after 7 a sample was dropped"


def test_of_a_traced_run_only_the_untraced_part_counts() -> None:
    part = Untraced(due=3, n=3, missed=0, dropped=0, truncated=0, exceedances=0, min_ns=0, max_ns=9, sum_ns=9)
    entry = LaneEntry(0, "0", 0, INTERVAL_NS, 5, WAKE_UP, untraced=part)
    counted = jitter_counts(entry, "counted")
    assert counted is not None
    counted.take(column(1, 2), column(0, 0), column(0, 0))
    counted.take(column(4, 900, 5), column(0, 0, 0), column(0, 0, 0))
    counted.take(column(77), column(0), column(0))
    assert values_of(counted) == [1, 2]


@pytest.mark.parametrize(
    ("policy", "measure", "interval_ns"),
    [
        ("skip", WAKE_UP, 5),
        ("catch_up", WAKE_UP, 5),
        ("counted", NOISE_TOTAL, 5),
        ("counted", JOB_EXECUTION, 5),
        ("counted", WAKE_UP, None),
    ],
)
def test_where_it_has_no_meaning_it_is_not_told(policy: str, measure: str, interval_ns: int | None) -> None:
    assert jitter_counts(LaneEntry(0, "0", 0, interval_ns, 5, measure), policy) is None


def test_it_is_not_known_before_sealing_nor_of_another_policy(tmp_path: Path) -> None:
    for path in (recorded(tmp_path, BY_HAND, sealed=False), recorded(tmp_path, BY_HAND, policy="skip")):
        recording = store.open_recording(path)
        assert recording.lanes[0].jitter is None
        findings = judge(recording)
        assert findings.lanes[0].jitter is None and findings.pooled.jitter is None
        assert words.in_words(findings) is None and words.rows(findings) == []


def test_a_pool_with_a_lane_that_does_not_tell_has_none(tmp_path: Path) -> None:
    blank = Manifest(store.new_id(), "2026-11-23T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan())
    with store.RecordingWriter.create(tmp_path, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(MAKE["cyclic"]()))
    store.seal(writer.path)
    recording = store.open_recording(writer.path)
    assert judge(recording).pooled.jitter is not None
    first, second = recording.lanes
    silent = replace(recording, lanes=(first, replace(second, jitter=None)))
    findings = judge(silent)
    assert findings.lanes[0].jitter is not None and findings.pooled.jitter is None


def test_words_name_the_worst_lane(tmp_path: Path) -> None:
    findings = judge(store.open_recording(recorded(tmp_path, BY_HAND)))
    assert words.in_words(findings) == "period p50 250 ns, worst 2.27 us (CPU0)"
    assert words.rows(findings) == [("CPU0", "3", "0.85", "0.25", "≥2.27", "≥2.27", "≥2.27", "2.27")]
    assert told(findings, Jitter(1, 5.0, 5, ())) == "period worst 5 ns (CPU0)"


def told(findings: Findings, jitter: Jitter) -> str | None:
    return words.in_words(replace(findings, lanes=(replace(findings.lanes[0], jitter=jitter),)))


@given(
    st.lists(
        st.tuples(st.integers(-50, 5000), st.integers(0, 3), st.sampled_from([0, 0, 0, 1, 2])), min_size=1, max_size=40
    ),
    st.integers(1, 7),
)
@settings(max_examples=60)
def test_it_is_that_of_the_moments_at_which_the_lane_ran(rows: list[tuple[int, int, int]], size: int) -> None:
    counted = JitterCounts(INTERVAL_NS)
    for at in range(0, len(rows), size):
        counted.take(*(column(*values) for values in zip(*rows[at : at + size], strict=True)))
    k, ran = 0, []
    for latency, missed, dropped in rows:
        ran.append((k * INTERVAL_NS + latency, dropped))
        k += 1 + missed + dropped
    naive = [abs(then - now - INTERVAL_NS) for (now, lost), (then, _) in pairwise(ran) if not lost]
    assert values_of(counted) == sorted(naive)
