"""trace.dat as the real trace-cmd reads it: the same events at the same nanoseconds as our own decoder finds."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import kernelshark
import pytest
from cause_traces import SEEN, decoder_of, real_pages, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.causes.pages import LOST, PAGE, Event, decode
from rtassay.causes.trace_dat import BEFORE_NS, trace_dat
from rtassay.model.causes import Hit, NotATrace, Trace

_LINE = re.compile(r"^ *(?P<name>.+)-(?P<pid>\d+) +\[(?P<cpu>\d+)\] +(?P<s>\d+)\.(?P<ns>\d{9}): (?P<event>\w+): ")
Seen = tuple[int, int, int, str]


def trace(kernel: str, *pages: bytes, hits: tuple[Hit, ...] = ()) -> Trace:
    """Pages of CPU 0, or all that we have of that kernel."""
    header, formats = texts(kernel)
    return Trace(header, formats, {0: pages or tuple(real_pages(kernel))}, hits)


def report(data: bytes, folder: Path) -> tuple[list[Seen], str]:
    """(ns, CPU, pid, event) in the order of trace-cmd, and all that it printed."""
    if shutil.which("trace-cmd") is None:
        pytest.fail(
            "trace-cmd is missing: the file has to be read by it; run: apt-get install -y trace-cmd", pytrace=False
        )
    file = folder / "trace.dat"
    file.write_bytes(data)
    argv = ["trace-cmd", "report", "-t", "-i", str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300)
    found = [match for line in done.stdout.splitlines() if (match := _LINE.match(line))]
    return [
        (int(m["s"]) * 1_000_000_000 + int(m["ns"]), int(m["cpu"]), int(m["pid"]), m["event"]) for m in found
    ], done.stdout


def ours(events: list[Event], cpu: int = 0) -> list[Seen]:
    return [(one.ns, cpu, one.pid, one.name.split("/")[1]) for one in events if one.name not in (PAGE, LOST)]


@pytest.mark.parametrize("kernel", SEEN)
def test_trace_cmd_finds_the_events_of_our_decoder(kernel: str, tmp_path: Path) -> None:
    """64-bit and 32-bit, stock and PREEMPT_RT; the pages once more as those of CPU 2, and none of CPU 1."""
    pages = tuple(real_pages(kernel))
    made = trace_dat(replace(trace(kernel), pages={0: pages, 2: pages[:1]}))
    wanted = ours(decode(pages, decoder_of(kernel)).events) + ours(decode(pages[:1], decoder_of(kernel)).events, 2)
    found, printed = report(made.data, tmp_path)
    assert sorted(found) == sorted(wanted) and len(found) == made.events > 200
    assert (made.pages, made.damaged) == (len(pages) + 1, 0)
    assert printed.startswith("cpus=3") and "<...>" not in printed, "each thread has its name"


@pytest.mark.full
@pytest.mark.parametrize("kernel", SEEN)
def test_kernelshark_finds_the_events_of_our_decoder(kernel: str, tmp_path: Path) -> None:
    file, pages = tmp_path / "trace.dat", tuple(real_pages(kernel))
    made = trace_dat(replace(trace(kernel), pages={0: pages, 2: pages[:1]}))
    file.write_bytes(made.data)
    wanted = ours(decode(pages, decoder_of(kernel)).events) + ours(decode(pages[:1], decoder_of(kernel)).events, 2)
    found = kernelshark.read(file)
    assert sorted(found) == sorted(wanted) and len(found) == made.events


def test_pages_that_came_twice_or_in_another_order_stand_once(tmp_path: Path) -> None:
    first, second = real_pages("debian-6.1-amd64")[:2]
    assert trace_dat(trace("debian-6.1-amd64", second, first, first)) == trace_dat(
        trace("debian-6.1-amd64", first, second)
    )


def test_damaged_pages_are_left_out_and_lost_events_are_told(tmp_path: Path) -> None:
    first, second = real_pages("debian-6.1-amd64")[:2]
    (commit,) = struct.unpack_from("<Q", second, 8)
    lossy = second[:8] + struct.pack("<Q", commit | 1 << 31) + second[16:]
    torn = second[:8] + struct.pack("<Q", 4088) + second[16:]
    made = trace_dat(trace("debian-6.1-amd64", first, lossy, torn, second[:9]))
    found, printed = report(made.data, tmp_path)
    assert (made.pages, made.damaged, len(found)) == (2, 2, made.events)
    assert "EVENTS DROPPED" in printed


def test_only_pages_around_chosen_wake_ups_are_taken(tmp_path: Path) -> None:
    kernel = "debian-6.1-arm64"
    pages, by = real_pages(kernel), decoder_of(kernel)
    spans = [(events[0].ns, events[-1].ns) for page in pages for events in [decode([page], by).events]]
    inside = Hit(0, 0, 1, 1, spans[-1][0] + BEFORE_NS + 1, spans[-1][0] + BEFORE_NS + 2)
    wanted = [page for page, (_, end) in zip(pages, spans, strict=True) if end >= inside.due_ns - BEFORE_NS]
    assert 0 < len(wanted) < len(pages)
    made = trace_dat(trace(kernel), [inside])
    assert made.data == trace_dat(trace(kernel, *wanted)).data
    assert report(made.data, tmp_path)[0] == ours(decode(wanted, by).events)
    before = Hit(0, 0, 1, 1, 1, spans[0][0] - 1)
    assert (
        trace_dat(trace(kernel), [before]).pages == 0 and report(trace_dat(trace(kernel), []).data, tmp_path)[0] == []
    )


def test_a_trace_without_formats_is_refused() -> None:
    with pytest.raises(NotATrace):
        trace_dat(replace(trace("debian-6.1-amd64"), formats={}))


@given(pages=st.lists(st.binary(max_size=64) | st.sampled_from(real_pages("debian-6.1-amd64")), max_size=5))
@settings(max_examples=50, deadline=None)
def test_any_pages_make_a_file_of_whole_pages(pages: list[bytes]) -> None:
    header, formats = texts("debian-6.1-amd64")
    made = trace_dat(Trace(header, formats, {0: tuple(pages)}, ()))
    assert made.pages + made.damaged == len(set(pages)) and len(made.data) % 4096 == 0
