"""A traced run on disk: pages kept as they came, causes beside them, and the two parts told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.model import warnings
from rtassay.model.causes import Attribution, Hit, Moved, NotATrace, Trace
from rtassay.model.events import Event, Note, TracePage, TraceText
from rtassay.model.manifest import LaneEntry, Manifest
from rtassay.store import tracing
from rtassay.wire.encode import StreamEncoder
from rtassay.wire.stream import StreamParser, read_events

from ...support.traced_run import (
    BEGIN,
    FORMAT,
    HIT_K,
    HIT_NS,
    IRQ,
    MANIFEST,
    MS,
    PAGE,
    SWITCH,
    UNTIL,
    US,
    N,
    hit,
    known,
    record,
    traced_run,
)


@pytest.fixture(autouse=True)
def decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_attribute", known)


def test_pages_and_causes_are_kept_and_sealed(tmp_path: Path) -> None:
    path = record(tmp_path, traced_run())
    manifest = store.seal(path)
    assert {"trace.rtw", "causes.parquet", "traced.parquet"} <= set(manifest.seals) and not (
        path / "stream.rtw"
    ).exists()
    kept = list(read_events(path / "trace.rtw", StreamParser()))
    wanted = [e for e in traced_run() if isinstance(e, TraceText | TracePage | Note)]
    assert [type(event) for event in kept] == [type(event) for event in wanted]
    assert [e for e in kept if isinstance(e, TraceText | TracePage)] == [e for e in wanted if not isinstance(e, Note)]
    trace = manifest.trace
    assert trace is not None and trace.undecoded is None
    assert (trace.above_ns, trace.untraced_until_ns, trace.from_ns) == (500 * US, UNTIL, UNTIL + MS)
    assert (trace.missing, trace.hits, trace.captured, trace.lost_pages) == (("ipi/ipi_raise",), 1, 1, 0)
    table = pq.read_table(path / "causes.parquet")
    assert table.num_rows == 2 and sum(table.column("ns").to_pylist()) == HIT_NS
    recording = store.open_recording(path, verify=True)
    (one,) = recording.causes
    assert (
        one
        == known(Trace("", {}, {}, (Hit(0, 3, 7, HIT_K, BEGIN + HIT_K * MS, BEGIN + HIT_K * MS + HIT_NS),)), MANIFEST)[
            0
        ]
    )


def test_the_decoder_gets_what_the_board_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    def attribute(trace: Trace, **more: Any) -> tuple[Attribution, ...]:
        seen.append({"trace": trace, **more})
        return ()

    monkeypatch.undo()
    monkeypatch.setattr("rtassay.causes.attribution.attribute", attribute)
    kernel = {"preempt_model": "PREEMPT_DYNAMIC", "preempt_dynamic": "voluntary"}
    path = record(
        tmp_path,
        traced_run(hits=[hit(HIT_K), hit(HIT_K + 1, captured=False)]),
        inventory={"virtualisation": "kvm", "kernel": kernel},
    )
    rows = [("cpu", "cpu3.steal", BEGIN, 0.5, "ratio"), ("cpu", "cpu3.steal", BEGIN + 1000, 0.25, "ratio")]
    rows += [("firmware", "cpu3.smi", BEGIN, 2.0, "1"), ("firmware", "cpu3.smi", BEGIN + 500, 3.0, "1")]
    store.seal(path, telemetry_rows=rows)
    (given,) = seen
    trace = given["trace"]
    assert (given["virtual"], given["realtime"], given["preemptible"]) == (True, False, False)
    assert list(given["moved"]) == [Moved("steal", 3, BEGIN, BEGIN + 1000, 250), Moved("smi", 3, BEGIN, BEGIN + 500, 3)]
    assert trace.formats == {"sched/sched_switch": FORMAT} and trace.pages == {3: (PAGE, PAGE[::-1])}
    assert trace.header_page.startswith("\tfield: u64 timestamp") and trace.kallsyms.endswith("_text\n")
    assert [(one.cpu, one.tid, one.k, one.latency_ns) for one in trace.hits] == [(3, 7, HIT_K, HIT_NS)]
    assert store.open_recording(path).causes == ()


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ({}, None),
        ({"preempt_model": "PREEMPT_RT"}, True),
        ({"preempt_model": "PREEMPT"}, True),
        ({"preempt_model": "PREEMPT_VOLUNTARY"}, False),
        ({"preempt_model": "PREEMPT_DYNAMIC"}, None),
        ({"preempt_model": "PREEMPT_DYNAMIC", "preempt_dynamic": "full"}, True),
        ({"preempt_model": "PREEMPT_DYNAMIC", "preempt_dynamic": "lazy"}, True),
        ({"preempt_model": "PREEMPT_DYNAMIC", "preempt_dynamic": "none"}, False),
    ],
)
def test_the_decoder_knows_whether_the_kernel_is_preemptible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: dict[str, str], expected: bool | None
) -> None:
    seen: list[Any] = []

    def attribute(trace: Trace, **more: Any) -> tuple[Attribution, ...]:
        seen.append(more["preemptible"])
        return ()

    monkeypatch.undo()
    monkeypatch.setattr("rtassay.causes.attribution.attribute", attribute)
    manifest = replace(MANIFEST, inventory={"kernel": kernel}, lanes=(LaneEntry(0, "0", 3, MS, N),))
    with (tmp_path / "trace.rtw").open("wb") as file:
        file.write(StreamEncoder().encode(hit(HIT_K)))
    assert tracing.write_causes(tmp_path, manifest, ()) is None
    assert seen == [expected]


@pytest.mark.parametrize("keep_samples", [True, False])
@pytest.mark.parametrize("sealed", [True, False])
def test_the_verdict_comes_from_the_untraced_part(tmp_path: Path, keep_samples: bool, sealed: bool) -> None:
    path = record(tmp_path, traced_run(keep_samples=keep_samples))
    if sealed:
        store.seal(path)
    recording = store.open_recording(path)
    (lane,), (traced,) = recording.lanes, recording.traced
    assert (lane.entry.due, lane.entry.n, lane.entry.max_ns) == (N // 2, N // 2, 300 * US)
    assert (traced.entry.due, traced.entry.n, traced.entry.max_ns) == (N // 2, N // 2, HIT_NS)
    assert lane.histogram.total == N // 2 == traced.histogram.total
    findings = judge(store.with_order(recording, 500 * US))
    assert findings.verdict is not None and findings.verdict.exceedances == 0
    assert findings.duration_s == 1.0 and findings.pooled.max_ns == 300 * US
    told = {check.id: check.severity for check in findings.checks}
    assert told["COUNT-MISMATCH"] == told["TRACED"] == told["ENDED-EARLY"] == "pass"
    if keep_samples and sealed:
        assert lane.spills is not None and int(lane.spills.k.max()) < N // 2
        lower = store.with_order(recording, 10 * US).lanes[0].spills
        assert lower is not None and len(lower) == N // 2


def test_a_lost_host_changes_nothing(tmp_path: Path) -> None:
    """A recording that another process seals later has the same files."""
    whole, later = record(tmp_path / "a", traced_run()), record(tmp_path / "b", traced_run())
    first, second = store.seal(whole), store.seal(later, telemetry_rows=None)
    assert first.seals["trace.rtw"] == second.seals["trace.rtw"]
    assert store.open_recording(whole).causes == store.open_recording(later).causes != ()


def test_parts_of_a_cut_stream_are_not_told_apart(tmp_path: Path) -> None:
    path = record(tmp_path, traced_run(cut=True))
    manifest = store.seal(path)
    assert "traced.parquet" not in manifest.seals and manifest.trace is not None and manifest.trace.hits is None
    recording = store.open_recording(path)
    assert recording.traced == () and recording.lanes[0].histogram.total == N and len(recording.causes) == 1
    told = {check.id: check.severity for check in judge(recording).checks}
    assert told["TRACED"] == "warning"


def test_pages_that_cannot_be_decoded_are_kept_with_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(trace: Trace, manifest: Manifest, moved: Sequence[Moved]) -> list[Attribution]:
        raise NotATrace("header_page tells no size")

    monkeypatch.setattr(tracing, "_attribute", refuse)
    path = record(tmp_path, traced_run())
    manifest = store.seal(path)
    assert "trace.rtw" in manifest.seals and "causes.parquet" not in manifest.seals
    assert manifest.trace is not None and manifest.trace.undecoded == "header_page tells no size"
    (warning,) = [one for one in manifest.warnings if one.code == warnings.TRACE_NOT_DECODED]
    assert "header_page tells no size" in warnings.words(warning)
    assert not (path / "causes.parquet").exists() and store.open_recording(path).causes == ()


def test_a_run_that_ended_before_its_events_were_on_is_judged_by_its_untraced_part(tmp_path: Path) -> None:
    """No `trace_begin`, no pages, but lanes that tell where their untraced part ended."""
    events = [event for event in traced_run() if not isinstance(event, Note | TracePage)]
    recording = store.open_recording(store_and_seal(tmp_path, events))
    (lane,) = recording.lanes
    assert (lane.entry.n, lane.histogram.total, recording.manifest.ended_ns) == (N // 2, N // 2, UNTIL)
    assert recording.manifest.trace is not None and recording.manifest.trace.undecoded is None
    told = {check.id: check.severity for check in judge(recording).checks}
    assert told["TRACED"] == told["COUNT-MISMATCH"] == told["ENDED-EARLY"] == "pass"


def test_an_unsealed_run_without_a_traced_part_has_no_traced_lane(tmp_path: Path) -> None:
    recording = store.open_recording(record(tmp_path, [e for e in traced_run() if not getattr(e, "traced", False)]))
    assert recording.traced == () and recording.lanes[0].histogram.total == N // 2
    assert len(store.open_recording(record(tmp_path, traced_run())).traced) == 1


def test_an_imported_stream_has_its_causes_too(tmp_path: Path) -> None:
    """No counters were watched while it was read."""
    file = tmp_path / "f.rtw"
    file.write_bytes(StreamEncoder().encode_all(traced_run()))
    path = store.import_events(tmp_path, file, MANIFEST.source, traced_run())
    recording = store.open_recording(path, verify=True)
    assert [one.hit.k for one in recording.causes] == [HIT_K] and "causes.parquet" in recording.manifest.seals


def store_and_seal(home: Path, events: Sequence[Event]) -> Path:
    path = record(home, events)
    store.seal(path)
    return path


def test_texts_that_are_no_formats_are_no_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real decoder, on pages of zeros and a format without fields."""
    monkeypatch.undo()
    manifest = store.seal(record(tmp_path, traced_run()))
    assert manifest.sealed and "trace.rtw" in manifest.seals
    assert manifest.trace is not None and manifest.trace.undecoded


def test_an_untraced_run_has_no_trace(tmp_path: Path) -> None:
    path = record(tmp_path, [e for e in traced_run() if not isinstance(e, TraceText | TracePage | Note)][:3])
    assert store.seal(path).trace is None and not (path / "trace.rtw").exists()


@pytest.mark.parametrize("times_ns", [(0, 5), (5, 0), (3, 2), (5,), (0,), ()])
def test_attributions_come_back_as_they_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times_ns: tuple[int, ...]
) -> None:
    """A part of 0 ns stays beside others; the only one stands for a hit without any time, and goes."""
    (pattern,) = known(Trace("", {}, {}, (Hit(0, 3, 7, 1, 0, 5),)), MANIFEST)
    first = pattern.parts[0]
    parts = tuple(replace(first, cause=(IRQ, SWITCH)[i], start_ns=i, ns=ns) for i, ns in enumerate(times_ns))
    one = replace(pattern, parts=parts, top=SWITCH if len(parts) > 1 else IRQ)
    monkeypatch.setattr(
        tracing, "_attribute", lambda trace, manifest, moved: (one, replace(one, hit=replace(one.hit, k=2)))
    )
    manifest = replace(MANIFEST, lanes=(LaneEntry(0, "0", 3, MS, N),))
    with (tmp_path / "trace.rtw").open("wb") as file:
        file.write(StreamEncoder().encode(hit(HIT_K)))
    assert tracing.write_causes(tmp_path, manifest, ()) is None
    kept = one if sum(times_ns) else replace(one, parts=())
    assert tracing.read_causes(tmp_path) == (kept, replace(kept, hit=replace(kept.hit, k=2)))
