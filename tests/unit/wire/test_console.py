"""Lines of rtprobe-lite, whole, cut, damaged and among other text (wire/CONSOLE.md)."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.model.events import End, Event, Facts, HistogramPart, Spill
from rtassay.wire.console import ConsoleParser, Lines

DATA = Path(__file__).parents[2] / "data" / "importers" / "console"
CRITICAL = (DATA / "freertos-critical.ok.log").read_bytes()
TWO_LANES = (DATA / "linux-two-lanes.ok.log").read_bytes()


def parsed(data: bytes) -> tuple[ConsoleParser, list[Event]]:
    parser = ConsoleParser()
    events = parser.feed(data)
    return parser, events + parser.finish()


def counted(events: list[Event], lane: int = 0) -> int:
    return sum(int(sum(event.counts)) for event in events if isinstance(event, HistogramPart) and event.lane == lane)


def line(seq: int, text: str) -> bytes:
    body = f"@RTL1 {seq} {text}".encode()
    return body + f" *{zlib.crc32(body):08x}\r\n".encode()


def test_a_run_among_other_text() -> None:
    parser, events = parsed(CRITICAL)
    (facts,) = [event.data for event in events if isinstance(event, Facts)]
    (end,) = [event.data for event in events if isinstance(event, End)]
    (spill,) = [event for event in events if isinstance(event, Spill)]
    assert facts["kernel"] == {"release": "freertos/V11.3.0", "version": None, "machine": "mps2-an385"}
    assert facts["clock"]["step_ns"] == 40 and facts["clock"]["sleep"] == "timer"
    assert facts["import"] == {"kind": "histogram", "load": "critical:371us/3333us"}
    (lane,) = end["lanes"]
    assert end["reason"] == "count" and lane["due"] == lane["n"] == counted(events) == 3000
    assert lane["last_due_ns"] - lane["first_due_ns"] == 2999 * 1_000_000
    assert len(spill.k) == 64 and list(spill.k) == sorted(spill.k) and max(spill.latency_ns) == lane["max_ns"]
    # The section of 371 us, and what FreeRTOS needs without it: nothing else is there.
    assert 371_000 < lane["max_ns"] < 371_000 + 20_000
    assert parser.other_bytes > 100 and parser.damage == type(parser.damage)()


def test_lanes_keep_their_own_account() -> None:
    _, events = parsed(TWO_LANES)
    (end,) = [event.data for event in events if isinstance(event, End)]
    for lane in end["lanes"]:
        assert lane["due"] == 2000 == lane["n"] + lane["missed"] + lane["truncated"]
        assert lane["n"] == counted(events, lane["lane"])


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.full)])
def test_every_cut_is_known_as_one(step: int) -> None:
    """A console that ends before BYE has no END; what it told until then is kept, and never more than there was."""
    whole = CRITICAL.index(b" BYE ")
    for at in range(CRITICAL.index(b" THREAD "), whole, step):
        parser, events = parsed(CRITICAL[:at])
        assert not any(isinstance(event, End) for event in events)
        assert counted(events) <= 3000 and parser.damage.cut


@pytest.mark.parametrize("step", [61, pytest.param(1, marks=pytest.mark.full)])
def test_every_damaged_byte_is_counted_or_other_text(step: int) -> None:
    """A flipped bit never changes a number unseen: the line is torn or lost, or the byte stood in other text."""
    reference, _ = parsed(CRITICAL)
    for at in range(0, len(CRITICAL), step):
        broken = CRITICAL[:at] + bytes([CRITICAL[at] ^ 0x04]) + CRITICAL[at + 1 :]
        parser, events = parsed(broken)
        damaged = parser.damage.bad_frames + parser.damage.lost_frames > 0 or parser.damage.cut
        ends = [event for event in events if isinstance(event, End)]
        if not damaged and ends:
            assert counted(events) == 3000 and ends[0].data["lanes"][0]["n"] == 3000
        assert parser.other_bytes >= reference.other_bytes - 40 or damaged


@settings(max_examples=25)
@given(st.lists(st.integers(1, 40), max_size=30))
def test_pieces_do_not_matter(sizes: list[int]) -> None:
    parser, events = ConsoleParser(), []
    at = 0
    for size in [*sizes, len(TWO_LANES)]:
        events += parser.feed(TWO_LANES[at : at + size * 17])
        at += size * 17
    events += parser.feed(TWO_LANES[at:]) + parser.finish()
    assert [type(event) for event in events] == [type(event) for event in parsed(TWO_LANES)[1]]
    assert counted(events) == counted(parsed(TWO_LANES)[1])


@given(st.binary(max_size=400))
def test_anything_else_is_other_text(data: bytes) -> None:
    parser, events = parsed(data + b"\n" + b"x" * 5000)
    assert events == [] and not parser.measured


def test_a_torn_line_is_counted_and_the_next_one_is_taken() -> None:
    lines = Lines()
    torn = line(3, "BEAT lane=0 n=1 missed=0 max_us=1")[:20] + line(4, "READY")
    assert [one.seq for one in lines.feed(torn)] == [4]
    assert lines.torn == 1


def test_a_lost_line_is_counted() -> None:
    parser, _ = parsed(line(0, "READY") + line(3, "READY"))
    assert parser.damage.lost_frames == 2 and parser.ready == 2


def test_a_board_that_begins_anew_has_a_second_run() -> None:
    start = re.search(rb"@RTL1 \d+ FACTS", CRITICAL)
    assert start is not None
    parser, events = parsed(CRITICAL[: CRITICAL.index(b" W ")] + b"\r\n" + CRITICAL[start.start() :])
    assert parser.more_runs == 1 and not any(isinstance(event, End) for event in events)


def test_a_lane_that_gave_up_is_truncated() -> None:
    data = line(0, "FACTS os=x board=y policy=fixed-priority") + line(
        1, "PLAN count=100 interval_ns=1000 deadline_ns=0 bin_ns=1"
    )
    data += line(2, "THREAD lane=0 cpu=0 first_due_ns=0 asked=90 priority=9 fixed=1") + line(
        3, "H lane=0 width_ns=1 5:10"
    )
    data += line(4, "LANE lane=0 due=100 n=10 missed=2 exceedances=0 early=1000 errors=0")
    data += line(5, "RANGE lane=0 min_ns=5 max_ns=5 sum_ns=50") + line(6, "BYE lines=6 crcs=0")
    _, events = parsed(data)
    (end,) = [event.data for event in events if isinstance(event, End)]
    assert end["reason"] == "error" and end["exit"] == 3 and end["lanes"][0]["truncated"] == 88


@pytest.mark.parametrize("word", ["n=99999999999999999999999", "n=x", "n=-1"])
def test_a_number_that_is_none_is_no_account(word: str) -> None:
    lines = list(Lines().feed(line(0, f"LANE lane=0 {word}")))
    assert all(one.number("n") in (0, -1) for one in lines)
