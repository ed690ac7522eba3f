"""Which events of a stream are kept as a trace, and which of its hits have all that the decoder needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from rtassay.model.causes import Moved
from rtassay.model.errors import CorruptRecording
from rtassay.model.events import Note, Samples, TracePage, TraceText
from rtassay.model.manifest import LaneEntry, Manifest, Source
from rtassay.model.measures import APPLICATION
from rtassay.store import samples, tracing
from rtassay.store.tracing import Counters, TraceFrames, kernel_trace, trace_in
from rtassay.wire.stream import StreamParser, read_events

HIT = {"captured": True, "tid": 7, "k": 4, "due_ns": 100, "woke_ns": 150}


def hits(data: dict[str, Any], lane: int | None = 0, name: str = "trace_hit") -> list[tuple[int, ...]]:
    trace = trace_in([Note(name, lane, data)], {0: 3, 1: None}, followed=False)
    return [(one.lane, one.cpu, one.tid, one.k, one.due_ns, one.woke_ns) for one in trace.hits]


def test_a_hit_is_of_the_cpu_it_names_or_of_its_lane() -> None:
    assert hits(HIT) == [(0, 3, 7, 4, 100, 150)] == hits({**HIT, "lane": 0}, None)
    assert hits({**HIT, "cpu": 5}) == [(0, 5, 7, 4, 100, 150)] and hits({**HIT, "lane": 1}) == hits(HIT)
    assert hits(HIT, 1) == [] == hits(HIT, 9), "a lane without a CPU"
    assert hits({**HIT, "cpu": 5}, 9) == [(9, 5, 7, 4, 100, 150)]
    assert hits(HIT, None) == [] == hits({**HIT, "cpu": 5}, None)


@pytest.mark.parametrize("lacks", ["tid", "k", "due_ns", "woke_ns", "captured"])
def test_a_hit_that_lacks_something_is_none(lacks: str) -> None:
    assert hits({name: value for name, value in HIT.items() if name != lacks}) == []


def test_a_hit_that_ended_before_it_was_due_is_none() -> None:
    assert hits({**HIT, "woke_ns": 99}) == [] and len(hits({**HIT, "woke_ns": 100})) == 1
    assert hits(HIT, name="other") == [] == hits({**HIT, "captured": 1}) == hits({**HIT, "captured": False})


def test_texts_and_pages_go_to_their_places() -> None:
    events = [
        TraceText("header_page", b"head"), TraceText("format/a/b", b"x\xff"), TraceText("kallsyms", b"k"), TraceText("odd", b"o"),
        TracePage(1, b"p"), TracePage(0, b"q"), TracePage(1, b"r"),
    ]  # fmt: skip
    trace = trace_in(events, {}, followed=True)
    assert (trace.header_page, trace.formats, trace.kallsyms) == ("head", {"a/b": "x\ufffd"}, "k")
    assert trace.pages == {1: (b"p", b"r"), 0: (b"q",)} and trace.followed and trace.hits == ()
    none = trace_in([], {}, followed=False)
    assert (none.header_page, none.kallsyms, none.formats, none.pages, none.followed) == ("", "", {}, {}, False)


def test_only_the_trace_is_kept(tmp_path: Path) -> None:
    frames = TraceFrames(tmp_path)
    one = np.ones(1, np.int64)
    for event in (Note("break", 0, {}), Samples(0, 0, one, one, one)):
        frames.add(event)
    assert frames.close() is False and list(tmp_path.iterdir()) == []
    wanted = [
        Note("trace_begin", None, {"a": 1}),
        TraceText("x", b"1"),
        TracePage(0, bytes(4096)),
        Note("trace_hit", 0, HIT),
    ]
    for event in (*wanted, Note("break", 0, {})):
        frames.add(event)
    assert frames.close() is True
    kept = list(read_events(tmp_path / "trace.rtw", StreamParser()))
    assert [type(event) for event in kept] == [type(event) for event in wanted]


def test_the_trace_of_a_recording_has_the_lanes_of_its_manifest(tmp_path: Path) -> None:
    frames = TraceFrames(tmp_path)
    frames.add(Note("trace_hit", 1, HIT))
    frames.close()
    lanes = (LaneEntry(0, "0", 2, None, 0), LaneEntry(1, "1", 6, None, 0))
    manifest = Manifest("x", "", Source("rtprobe", None, "rtw"), lanes=lanes)
    trace = kernel_trace(tmp_path, manifest)
    assert [(hit.lane, hit.cpu) for hit in trace.hits] == [(1, 6)] and not trace.followed
    thread = (lanes[0], LaneEntry(1, "1", 6, None, 0, APPLICATION))
    assert tracing.trace_of(tmp_path / "trace.rtw", iter(thread)).followed
    assert kernel_trace(tmp_path / "absent", manifest).hits == ()
    (tmp_path / "trace.rtw").unlink()
    (tmp_path / "trace.rtw").mkdir()
    with pytest.raises(CorruptRecording, match=r"trace\.rtw cannot be read"):
        kernel_trace(tmp_path, manifest)


def test_counters_are_told_by_what_they_rose_since_their_last_reading() -> None:
    counters = Counters()
    rows = [
        ("cpu", "cpu3.steal", 1000, 0.9, "ratio"), ("cpu", "cpu3.steal", 2000, 0.25, "ratio"), ("cpu", "cpu3.steal", 3000, 0.0, "ratio"),
        ("firmware", "cpu12.smi", 1000, 5.0, "1"), ("firmware", "cpu12.smi", 1500, 2.0, "1"), ("cpu", "cpu3.busy", 1, 1.0, "ratio"),
        ("cpu", "xcpu3.steal", 2000, 1.0, "ratio"), ("cpu", "cpu3.steal", 5000, 0.5, "ratio"),
    ]  # fmt: skip
    assert list(counters.watching(rows)) == rows
    assert counters.moved == [
        Moved("steal", 3, 1000, 2000, 250), Moved("smi", 12, 1000, 1500, 2), Moved("steal", 3, 3000, 5000, 1000),
    ]  # fmt: skip


def test_pages_of_the_tables_of_causes_have_checksums(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TraceFrames(tmp_path).close()
    frames = TraceFrames(tmp_path)
    frames.add(TraceText("x", b"1"))
    frames.close()
    assert tracing.write_causes(tmp_path, Manifest("x", "", Source("rtprobe", None, "rtw")), ()) is None
    asked: list[dict[str, Any]] = []
    opened = pq.ParquetFile

    def opening(file: Any, **options: Any) -> Any:
        asked.append(options)
        return opened(file, **options)

    monkeypatch.setattr(pq, "ParquetFile", opening)
    assert tracing.read_causes(tmp_path) == () and asked == [{"page_checksum_verification": True}]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (KeyError(), "KeyError"),
        (ValueError("a\nb"), "a"),
        (OSError("x"), "x"),
        (TypeError("t"), "t"),
        (IndexError("i"), "i"),
    ],
)
def test_an_error_about_a_file_is_damage_in_one_line(error: Exception, why: str) -> None:
    with pytest.raises(CorruptRecording) as caught, samples.damage_of(Path("/x/samples.parquet")):
        raise error
    assert (caught.value.what, caught.value.why) == ("/x/samples.parquet is damaged or missing", why)
