"""cyclictest's text against files it wrote, cut and damaged; counts come from awk-like reading, not from the parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model.events import End, Event, Facts, HistogramPart, Note
from rtassay.probes.cyclictest_text import CyclictestText

DATA = Path(__file__).parents[2] / "data" / "cyclictest"
FILES = sorted(DATA.glob("*.txt"))


def parse(data: bytes, step: int | None = None) -> tuple[CyclictestText, list[Event]]:
    parser = CyclictestText()
    events = [
        event
        for at in range(0, len(data), step or len(data) or 1)
        for event in parser.feed(data[at : at + (step or len(data))])
    ]
    return parser, events + parser.finish()


def of(events: list[Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


def column_sum(path: Path, lane: int) -> int:
    rows = [line.replace("\t", " ").split() for line in path.read_text().splitlines()]
    return sum(int(row[1 + lane]) for row in rows if len(row) > 1 and row[0].isdigit() and len(row[0]) == 6)


def trailer(path: Path, key: str) -> list[int]:
    line = next(line for line in path.read_text().splitlines() if line.startswith(f"# {key}:"))
    return [int(word) for word in line.partition(":")[2].split()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_recorded_file_is_accounted_for(path: Path) -> None:
    parser, events = parse(path.read_bytes())
    assert parser.malformed == []
    assert parser.complete
    lanes = of(events, End)[0].data["lanes"]
    assert len(lanes) == len(trailer(path, "Min Latencies"))
    for lane, part in zip(lanes, of(events, HistogramPart), strict=True):
        number = lane["lane"]
        over = trailer(path, "Histogram Overflows")[number]
        assert int(part.counts.sum()) == column_sum(path, number) == trailer(path, "Total")[number]
        assert (part.over, lane["over"]) == (over, over)
        assert lane["n"] == column_sum(path, number) + over
        assert lane["max_ns"] == trailer(path, "Max Latencies")[number] * 1000
        assert lane["min_ns"] == trailer(path, "Min Latencies")[number] * 1000
        assert lane["due"] is None and lane["missed"] is None


@pytest.mark.parametrize("step", [1, 2, 7, 4096])
def test_pieces_make_no_difference(step: int) -> None:
    data = (DATA / "q-H100-t2.txt").read_bytes()
    (whole, a), (pieces, b) = parse(data), parse(data, step)
    assert (whole.malformed_lines, of(a, End), of(a, Facts)) == (pieces.malformed_lines, of(b, End), of(b, Facts))
    assert [part.counts.tolist() for part in of(a, HistogramPart)] == [
        part.counts.tolist() for part in of(b, HistogramPart)
    ]


def test_bins_are_microseconds_and_the_limit_is_where_they_end() -> None:
    _, events = parse(b"# Histogram\n000000 000000\n000001 000003\n000002 000001\n")
    part = of(events, HistogramPart)[0]
    assert (part.lower_ns.tolist(), part.width_ns.tolist(), part.counts.tolist()) == (
        [1000, 2000],
        [1000, 1000],
        [3, 1],
    )
    assert part.limit_ns == 3000
    assert of(events, End) == []


def test_sum_column_of_big_h_is_no_lane() -> None:
    _, events = parse((DATA / "q-H100-t2.txt").read_bytes())
    assert len(of(events, HistogramPart)) == 2


def test_break_names_its_lane_and_value() -> None:
    _, events = parse((DATA / "q-h5-break.txt").read_bytes())
    note = of(events, Note)[0]
    assert (note.name, note.lane) == ("break", 0)
    assert note.data["latency_ns"] == of(events, End)[0].data["lanes"][0]["max_ns"]
    assert of(events, End)[0].data["reason"] == "break"


def test_what_never_ran_has_no_minimum() -> None:
    text = (
        b"# Histogram\n000000 000000\t000001\n# Total: 000000000 000000001\n# Min Latencies: 1000000 00000\n"
        b"# Avg Latencies: 00000 00000\n# Max Latencies: 00000 00000\n# Histogram Overflows: 00000 00000\n"
    )
    _, events = parse(text)
    first, second = of(events, End)[0].data["lanes"]
    assert (first["n"], first["min_ns"], first["max_ns"]) == (0, None, None)
    assert (second["n"], second["min_ns"], second["max_ns"]) == (1, 0, 0)


def test_malformed_lines_are_named_by_number() -> None:
    parser, _ = parse(
        b"# Histogram\n000000 000000\t000001\nSegmentation fault\n000002 000001\n000001 000000\t000000\n000001 000000\t000000\n"
    )
    assert [(bad.line, bad.why) for bad in parser.malformed] == [
        (3, "not a line of cyclictest"),
        (4, "1 columns where there were 2"),
        (6, "bin 1 after bin 1"),
    ]
    assert parser.malformed_lines == 3


def test_cut_before_the_trailer_is_not_an_end() -> None:
    data = (DATA / "q-h50-t2.txt").read_bytes()
    cut = data[: data.index(b"# Max Latencies")]
    parser, events = parse(cut)
    assert not parser.complete
    assert of(events, End) == []
    assert len(of(events, HistogramPart)) == 2


def test_dma_latency_is_a_fact() -> None:
    _, events = parse((DATA / "q-h50-t2.txt").read_bytes())
    assert of(events, Facts)[0].data["dma_latency_us"] == 0


@given(st.binary(max_size=2000), st.integers(1, 50))
def test_nothing_makes_it_raise(data: bytes, step: int) -> None:
    parser, events = parse(data, step)
    assert isinstance(events[0], Facts)
    assert parser.malformed_lines >= len(parser.malformed)


@given(st.data())
def test_a_damaged_byte_never_makes_more_than_there_was(data: st.DataObject) -> None:
    original = (DATA / "q-h5-break.txt").read_bytes()
    at = data.draw(st.integers(0, len(original) - 1))
    damaged = original[:at] + bytes([data.draw(st.integers(0, 255))]) + original[at + 1 :]
    _, events = parse(damaged)
    assert isinstance(events[0], Facts)
