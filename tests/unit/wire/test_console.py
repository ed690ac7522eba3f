"""Lines of rtprobe-lite, whole, cut, damaged and among other text (wire/CONSOLE.md)."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import Any

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


def whole_run(**words: str) -> list[bytes]:
    """Two lanes, worked out by hand; `words` replace the text of a line by its kind."""
    texts = {
        "FACTS": "FACTS os=rtos/1 board=m4 policy=fixed-priority",
        "CLOCK": "CLOCK clock=dwt hz=3000000 step_ns=999 read_ns=70 sleep=tick tick_hz=1000",
        "PLAN": "PLAN count=10 interval_ns=1000 deadline_ns=50 bin_ns=4",
        "LOAD": "LOAD load=critical load_ns=371500 load_every_ns=3333000",
        "THREAD1": "THREAD lane=1 cpu=3 first_due_ns=500 asked=8 priority=7 fixed=0",
        "THREAD0": "THREAD lane=0 cpu=2 first_due_ns=100 asked=9 priority=9 fixed=1",
        "BEAT": "BEAT lane=1 n=4 missed=0 max_us=1",
        "H": "H lane=1 width_ns=4 8:3 16:1",
        "W2": "W lane=1 k=7 latency_ns=17 missed=2",
        "W1": "W lane=1 k=3 latency_ns=16 missed=0",
        "CLIP": "CLIP lane=1 latency_ns=5500 missed=3",
        "LANE0": "LANE lane=0 due=0 n=0 missed=0 exceedances=0",
        "RANGE0": "RANGE lane=0 min_ns=1 max_ns=2 sum_ns=0",
        "LANE1": "LANE lane=1 due=10 n=4 missed=6 exceedances=1",
        "RANGE1": "RANGE lane=1 min_ns=8 max_ns=17 sum_ns=60",
        "BYE": "BYE lines=16 crcs=0",
    } | words  # fmt: skip
    return [line(seq, text) for seq, text in enumerate(text for text in texts.values() if text)]


def kinds(events: list[Event], kind: type) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def test_every_word_of_a_run_comes_to_its_place() -> None:
    parser, events = parsed(b"".join(whole_run()))
    (facts,), (end,), (part,), (spill,) = (kinds(events, kind) for kind in (Facts, End, HistogramPart, Spill))
    of_lane_0 = {"policy": "fixed-priority", "priority": 9, "affinity": [2], "reset_on_fork": None}
    of_lane_1 = {"policy": "other", "priority": 7, "affinity": [3], "reset_on_fork": None}
    common = {"measure": "wake-up", "interval_ns": 1000}
    assert isinstance(facts, Facts) and facts.data == {
        "probe": "rtprobe-lite",
        "version": "1",
        "command": "cyclic",
        "kernel": {"release": "rtos/1", "version": None, "machine": "m4"},
        "requested": {"policy": "fixed-priority", "interval_ns": 1000, "count": 10, "deadline_ns": 50},
        "interval_ns": 1000,
        "bin_width_ns": 4,
        "clock": {"id": "dwt", "getres_ns": None, "step_ns": 334, "read_cost_ns": 70, "sleep": "tick", "tick_hz": 1000},
        "lanes": [
            {"lane": 0, "name": "0", "cpu": 2, "first_due_ns": 100, "obtained": of_lane_0} | common,
            {"lane": 1, "name": "1", "cpu": 3, "first_due_ns": 500, "obtained": of_lane_1} | common,
        ],
        "console": {"asked_priority": 8, "clock_hz": 3_000_000},
        "import": {"kind": "histogram", "load": "critical:371.5us/3333us"},
    }
    assert isinstance(end, End) and (end.data["reason"], end.data["exit"]) == ("count", 0)
    idle, busy = end.data["lanes"]
    assert busy == {
        "lane": 1, "due": 10, "first_due_ns": 500, "last_due_ns": 500 + 9 * 1000, "n": 4, "missed": 6, "dropped": 0, "truncated": 0,
        "exceedances": 1, "min_ns": 8, "max_ns": 17, "sum_ns": 60, "clip": {"latency_ns": 5500, "missed": 3}, "state": "ended",
        "obtained": of_lane_1,
    }  # fmt: skip
    assert (idle["due"], idle["last_due_ns"], idle["min_ns"], idle["max_ns"], idle["clip"]) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert isinstance(part, HistogramPart) and isinstance(spill, Spill) and part.lane == spill.lane == 1
    assert (list(part.lower_ns), list(part.width_ns), list(part.counts)) == ([8, 16], [4, 4], [3, 1])
    assert (list(spill.k), list(spill.latency_ns), list(spill.missed)) == ([3, 7], [16, 17], [0, 2])
    assert (parser.ended, parser.measured, parser.beats[1].number("n"), list(parser.beats)) == (True, True, 4, [1])
    assert (parser.more_runs, parser.ready, parser.errors, parser.other_bytes) == (0, 0, [], 0)
    assert [type(event) for event in events] == [Facts, HistogramPart, Spill, End], "facts come once"


def facts_of(**words: str) -> dict[str, Any]:
    (facts,) = kinds(parsed(b"".join(whole_run(**words)))[1], Facts)
    assert isinstance(facts, Facts)
    return facts.data


def test_what_a_console_does_not_tell_is_not_known() -> None:
    bare = facts_of(FACTS="", CLOCK="", PLAN="", LOAD="")
    assert bare["kernel"] == {"release": None, "version": None, "machine": None}
    assert bare["requested"] == {"policy": None, "interval_ns": None, "count": None, "deadline_ns": None}
    assert set(bare["clock"].values()) == {None} and bare["bin_width_ns"] is None is bare["interval_ns"]
    assert bare["console"] == {"asked_priority": 8} and bare["import"] == {"kind": "histogram"}
    assert bare["lanes"][0]["interval_ns"] is None and bare["lanes"][0]["obtained"]["policy"] is None
    assert facts_of(CLOCK="CLOCK step_ns=999")["clock"]["step_ns"] == 999, "no frequency"
    assert facts_of(CLOCK="CLOCK hz=1000000000")["clock"]["step_ns"] == 1
    assert facts_of(CLOCK="CLOCK read_ns=1")["clock"]["step_ns"] is None
    for load in ("below", "none"):
        assert facts_of(LOAD=f"LOAD load={load} load_ns=5 load_every_ns=9")["import"]["load"] == load


def ends(**words: str) -> tuple[ConsoleParser, list[Event]]:
    parser, events = parsed(b"".join(whole_run(**words)))
    return parser, kinds(events, End)


def test_how_a_run_ended() -> None:
    for words, reason, code in (
        ({"BEAT": "STOPPED"}, "signal", 0),
        ({"LANE1": "LANE lane=1 due=11 n=4 missed=6 exceedances=0"}, "error", 3),
        ({"LANE1": "LANE lane=1 due=11 n=4 missed=6 exceedances=0", "BEAT": "STOPPED"}, "signal", 3),
    ):
        (end,) = ends(**words)[1]
        assert isinstance(end, End) and (end.data["reason"], end.data["exit"]) == (reason, code)
    for lost in ("LANE0", "RANGE1"):
        parser, none = ends(**{lost: ""})
        assert none == [] and parser.ended, "a lane without its account"
    parser, none = ends(BYE="")
    assert none == [] and not parser.ended and parser.damage.cut
    cut = parsed(b"".join(whole_run(BYE="")))[1]
    assert [type(event) for event in cut] == [Facts, HistogramPart, Spill], "the worst ones of a cut run are kept"
    started = parsed(b"".join(whole_run(H="", BYE="")))[1]
    assert [type(event) for event in started] == [Facts, Spill]


def test_lines_of_no_lane_and_of_a_run_that_ended_are_left_out() -> None:
    run = b"".join(whole_run())
    parser, events = parsed(run + line(16, "H lane=1 width_ns=1 5:1") + line(17, "READY"))
    assert len(kinds(events, HistogramPart)) == 1 and parser.ready == 1
    for lane, known in ((1023, 1), (1024, 0), (-1, 0)):
        parser, _ = parsed(line(0, f"THREAD lane={lane} cpu=0"))
        assert len(parser._lanes) == known, lane
    parser, events = parsed(line(0, "H lane=0 width_ns=1 5:1") + line(1, "BYE lines=1 crcs=0"))
    assert events == [] and not parser.ended and not parser.measured
    twice = facts_of(
        THREAD0="THREAD lane=0 cpu=2 asked=9 priority=9 fixed=1", BEAT="THREAD lane=0 cpu=5 asked=1 priority=1 fixed=1"
    )
    assert twice["lanes"][0]["cpu"] == 2, "the first one counts"


def test_an_error_is_told_with_what_it_is_about() -> None:
    parser, _ = parsed(line(0, "ERROR what=unknown about=xyz") + line(1, "ERROR what=busy") + line(2, "ERROR"))
    assert parser.errors == [("unknown", "xyz"), ("busy", ""), ("", "")]


def test_facts_of_a_check_may_stand_before_a_run() -> None:
    parser, events = parsed(
        line(0, "FACTS os=a board=b") + line(1, "FACTS os=c board=d") + b"".join(whole_run())[: -1 - 40]
    )
    assert parser.more_runs == 0
    parser, events = parsed(b"".join(whole_run()) * 2)
    assert parser.more_runs == 1 and len(kinds(events, Facts)) == len(kinds(events, End)) == 1


def test_numbers_that_go_back_are_no_loss() -> None:
    parser, _ = parsed(line(5, "READY") + line(6, "READY") + line(2, "READY") + line(4, "READY"))
    assert (parser.damage.lost_frames, parser.ready) == (1, 4)


def test_other_text_is_counted_without_our_lines_and_the_space_around() -> None:
    lines = Lines()
    ours = line(0, "READY").strip()
    found = list(lines.feed(b"  log: " + ours + b" tail\r\n\n" + ours + b"\nabc"))
    assert len(found) == 2 and lines.other_bytes == len(b"log: ") + len(b" tail") and lines.torn == 0
    assert list(lines.finish()) == [] == list(lines.finish()) and lines.other_bytes == len(b"log:  tailabc")


def test_text_without_an_end_is_held_up_to_a_page() -> None:
    lines = Lines()
    assert list(lines.feed(b"x" * 4096)) == [] and lines.other_bytes == 0
    assert list(lines.feed(b"x")) == [] and lines.other_bytes == 4097


def test_words_of_a_board_are_shortened_and_made_harmless() -> None:
    (one,) = Lines().feed(line(0, "FACTS os=" + "a" * 60 + " board=b 12:7 5:0"))
    assert one.word("os") == "a" * 60 and one.word("none") is None and one.bins == ((12, 7), (5, 0))
    assert (one.seq, one.kind, one.fields["board"]) == (0, "FACTS", "b")
    assert one.crc == zlib.crc32(b"@RTL1 0 FACTS os=" + b"a" * 60 + b" board=b 12:7 5:0")


def test_a_bin_without_a_width_is_one_nanosecond_wide() -> None:
    for text, width in (("H lane=1 8:3", 1), ("H lane=1 width_ns=2 8:3", 2)):
        (part,) = kinds(parsed(b"".join(whole_run(H=text)))[1], HistogramPart)
        assert isinstance(part, HistogramPart) and list(part.width_ns) == [width]
    (empty,) = kinds(parsed(b"".join(whole_run(H="H lane=1 width_ns=4")))[1], HistogramPart)
    assert isinstance(empty, HistogramPart) and len(empty.lower_ns) == len(empty.counts) == 0


def test_a_line_that_comes_twice_is_taken_once() -> None:
    """A line that echoes, a terminal server that sends again: what is counted twice would spoil the account."""
    twice = b"".join(text + text for text in CRITICAL.splitlines(keepends=True))
    parser, events = parsed(twice)
    whole, expected = parsed(CRITICAL)
    (end,) = [event.data for event in events if isinstance(event, End)]
    assert [end] == [event.data for event in expected if isinstance(event, End)] and counted(events) == 3000
    assert parser.repeated > 64 and whole.repeated == 0 and parser.damage == whole.damage


def test_a_program_that_begins_anew_ends_the_run_before() -> None:
    begun = CRITICAL[: CRITICAL.index(b" H lane")]
    begun = begun[: begun.rindex(b"@RTL1")]
    for last, said in (
        (line(0, "READY"), "the board began anew"),
        (line(9999, "READY"), "the line that ends the run was lost"),
    ):
        parser, events = parsed(begun + b"U-Boot 2023.01\r\n" + last + CRITICAL)
        assert parser.left == said and not parser.ended and parser.damage.cut
        assert counted(events) == 0 and not any(isinstance(event, End) for event in events)
