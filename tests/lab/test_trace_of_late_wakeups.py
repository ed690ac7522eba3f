"""`rtprobe cyclic --trace-above` on real kernels: pages around each hit, the account of the untraced part, and nothing is left behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
import pytest
from vboard import Board, Setup

from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Samples, TracePage, TraceText
from rtassay.model.manifest import Damage
from rtassay.wire.stream import StreamParser

STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
# Each wake-up is later than a microsecond, so each one of the traced part is a hit.
TRACE = "cyclic --interval 5ms --trace-above 1us --trace-stacks"
STACKS = ["timer/hrtimer_expire_entry", "sched/sched_switch"]
BASIC = {"sched/sched_switch", "sched/sched_waking", "irq/irq_handler_entry", "timer/hrtimer_expire_entry"}
INSTANCES = "/sys/kernel/tracing/instances"


def measured(board: Board, command: str, user: str = "root") -> tuple[list[Event], str]:
    """The events of a stream over SSH, and what was said on stderr."""
    done = board.run(command, user=user)
    words = done.stderr.decode()
    assert done.returncode == 0, words
    parser = StreamParser()
    events = [*parser.feed(done.stdout), *parser.finish()]
    assert parser.damage == Damage() and isinstance(events[0], Facts) and isinstance(events[-1], End)
    return events, words


def traced(board: Board, probe: str) -> list[Event]:
    """The events of a run long enough for this machine to switch all events on in it."""
    for seconds in (4, 20, 60):
        events, _ = measured(board, f"/probe/{probe} {TRACE} --duration {seconds}s")
        end = events[-1]
        assert isinstance(end, End)
        if end.data["trace"]["captured"]:
            break
    return events


def assert_parts_add_up(events: Iterable[Event], end: End) -> None:
    """The untraced part of each lane closes, and is what the HISTOGRAM frames of that part hold."""
    counts: dict[tuple[int, bool], int] = defaultdict(int)
    for event in events:
        if isinstance(event, HistogramPart):
            counts[event.lane, event.traced] += int(event.counts.sum())
    for lane in end.data["lanes"]:
        part = lane["untraced"]
        assert part["due"] == part["n"] + part["missed"] + part["dropped"] + part["truncated"]
        assert counts[lane["lane"], False] == part["n"] > 0
        assert counts[lane["lane"], False] + counts[lane["lane"], True] == lane["n"]
        assert part["min_ns"] >= lane["min_ns"] and part["max_ns"] <= lane["max_ns"]


def assert_the_worst_is_a_hit(events: Iterable[Event]) -> None:
    """More than 50 hits a second are too many to keep, but the worst wake-up of each lane is among those kept."""
    late: dict[int, list[tuple[int, int]]] = defaultdict(list)
    told: dict[int, set[int]] = defaultdict(set)
    for event in events:
        if isinstance(event, Samples):
            between = event.missed + event.dropped
            ks = event.first_k + np.arange(len(event.latency_ns)) + np.cumsum(between) - between
            late[event.lane] += zip((-event.latency_ns).tolist(), ks.tolist(), strict=True)
        if isinstance(event, Note) and event.name == "trace_hit":
            told[event.data["lane"]].add(event.data["k"])
    assert late.keys() == told.keys()
    for lane, found in late.items():  # of equal ones the first
        _, worst = min(one for one in found if one[1] >= min(told[lane]))
        assert worst in told[lane]


def assert_hits_are_in_pages(events: list[Event], cpus: list[int]) -> int:
    """Each captured hit has a page of its CPU that begins before it ended; returns how many hits were captured."""
    pages: dict[int, list[bytes]] = defaultdict(list)
    captured = 0
    for event in events:
        if isinstance(event, TracePage):
            assert len(event.page) == 4096 and event.cpu in cpus
            pages[event.cpu].append(event.page)
        if isinstance(event, Note) and event.name == "trace_hit":
            hit = event.data
            assert hit["woke_ns"] - hit["due_ns"] >= hit["above_ns"] == 1000
            captured += hit["captured"]
            if hit["captured"]:
                mine = pages[cpus[hit["lane"]]]
                assert any(int.from_bytes(page[:8], "little") <= hit["woke_ns"] for page in mine)
    for found in pages.values():
        assert len(set(found)) == len(found)  # each page once
    return captured


@pytest.mark.parametrize(
    ("setup", "probe"),
    [(RT, "rtprobe"), (STOCK, "rtprobe"), pytest.param(RT, "rtprobe32", marks=pytest.mark.full)],
    ids=lambda value: getattr(value, "name", value),
)
def test_hits_come_with_their_pages_and_what_they_are_decoded_with(board: Board, probe: str) -> None:
    events = traced(board, probe)
    end = events[-1]
    assert isinstance(end, End) and isinstance(events[0], Facts)
    trace = end.data["trace"]
    assert trace["error"] is None
    (begin,) = (event.data for event in events if isinstance(event, Note) and event.name == "trace_begin")
    assert set(begin["events"]) >= BASIC and begin["above_ns"] == 1000
    assert begin["mono_ns"] >= begin["untraced_until_ns"]
    assert begin["stacks"] == STACKS and begin["stacks_error"] is None
    texts = {event.name: event.content for event in events if isinstance(event, TraceText)}
    assert {"header_page", "format/ftrace/kernel_stack", *(f"format/{name}" for name in begin["events"])} <= set(texts)
    assert b"field: u64 timestamp" in texts["header_page"] and b"prev_prio" in texts["format/sched/sched_switch"]
    cpus = [lane["cpu"] for lane in events[0].data["lanes"]]
    assert assert_hits_are_in_pages(events, cpus) == trace["captured"] > 0
    assert trace["hits"] == trace["captured"] + trace["not_captured"] and trace["beyond_limit"] <= trace["captured"]
    assert_the_worst_is_a_hit(events)
    assert trace["pages"] == sum(isinstance(event, TracePage) for event in events)
    assert b"hrtimer_wakeup" in texts["kallsyms"]  # the function that woke the lanes
    assert_parts_add_up(events, end)
    assert board.text(f"ls {INSTANCES}") == ""


@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_a_user_without_rights_measures_untraced_and_is_told_why(board: Board) -> None:
    events, words = measured(board, f"/probe/rtprobe {TRACE} --duration 1s --policy other", user="user")
    end = events[-1]
    assert isinstance(end, End)
    assert end.data["trace"]["error"].startswith("tracefs cannot be written") and end.data["trace"]["hits"] == 0
    assert "the run goes on without it" in words
    assert_parts_add_up(events, end)
    for lane in end.data["lanes"]:
        assert lane["untraced"]["n"] == lane["n"]


# A run of 3 s is killed at a moment of it; the instance must be gone soon after. More in `make test-all`: a minute on an idle host.
KILLS_S = 600
KILL = f"""
i=0
while [ $i -lt {{times}} ]; do
	/probe/rtprobe {TRACE} --duration 3s > /dev/null &
	usleep $(( (i * 829 + 400) % 3300 * 1000 ))
	kill -9 $!
	waited=0
	while [ -n "$(ls {INSTANCES})" ] && [ $waited -lt 600 ]; do usleep 100000; waited=$((waited + 1)); done
	ls {INSTANCES}
	i=$((i + 1))
done
cat /sys/kernel/tracing/events/enable
"""


@pytest.mark.parametrize(
    ("setup", "times"),
    [(RT, 3), *(pytest.param(setup, 20, marks=pytest.mark.full) for setup in (RT, STOCK))],
    ids=lambda value: getattr(value, "name", value),
)
def test_killed_at_any_moment_it_leaves_no_instance(board: Board, times: int) -> None:
    assert board.text(KILL.format(times=times), timeout_s=KILLS_S) == "0"


@pytest.mark.parametrize("setup", [STOCK], ids=lambda setup: setup.name)
def test_what_a_kill_of_all_its_processes_leaves_goes_with_the_next_guard(board: Board) -> None:
    left = board.text(
        f'/probe/rtprobe {TRACE} --duration 600s > /dev/null & while [ -z "$(ls {INSTANCES})" ]; do usleep 100000; done; '
        f"kill -9 $(pidof rtprobe); usleep 300000; ls {INSTANCES}"
    )
    assert left.startswith("rtassay-")
    assert board.text(f"/probe/rtprobe guard -- true; ls {INSTANCES}") == ""
