"""A traced run on disk: pages kept as they came, causes beside them, and the two parts told apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.model import causes as kinds
from rtassay.model import warnings
from rtassay.model.causes import Attribution, Cause, Hit, NotATrace, Part, Trace
from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Samples, TracePage, TraceText
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.store import tracing
from rtassay.wire.encode import StreamEncoder
from rtassay.wire.stream import StreamParser, read_events

MS, US = 1_000_000, 1_000
BEGIN = 1_000 * MS
UNTIL = BEGIN + 1_000 * MS
N = 2_000
HIT_K = 1_500
HIT_NS = 900 * US
PAGE = bytes(4096)
FORMAT = "name: sched_switch\nID: 314\n"
IRQ = Cause(kinds.IRQ, "eth0", 40)
SWITCH = Cause(kinds.THREAD, "kworker/0:1", None, 77, 120)


def samples() -> Any:
    """1000 samples of 20 us and, traced, 1000 of 50 us; one hit in each part."""
    latency = np.concatenate([np.full(N // 2, 20 * US), np.full(N // 2, 50 * US)])
    latency[100], latency[HIT_K] = 300 * US, HIT_NS
    return latency


def bins(latency: Any, *, traced: bool) -> HistogramPart:
    lower, counts = np.unique(latency, return_counts=True)
    return HistogramPart(0, lower, np.ones(len(lower), np.int64), counts, traced=traced)


def hit(k: int, *, captured: bool = True) -> Note:
    due = BEGIN + k * MS
    fields = {"k": k, "due_ns": due, "woke_ns": due + HIT_NS, "tid": 7, "above_ns": 500 * US, "captured": captured}
    return Note("trace_hit", 0, {"mono_ns": due + HIT_NS, **fields})


def traced_run(*, keep_samples: bool = True, cut: bool = False, hits: Sequence[Note] = (hit(HIT_K),)) -> list[Event]:
    latency = samples()
    first, second = latency[: N // 2], latency[N // 2 :]
    none = np.zeros(N, np.int64)
    account = {"missed": 0, "dropped": 0, "truncated": 0}
    end = {
        "mono_ns": BEGIN + N * MS,
        "reason": "duration",
        "lanes": [
            {
                **{"lane": 0, "due": N, "n": N, "exceedances": 1, "min_ns": 20 * US, "max_ns": HIT_NS},
                **{"sum_ns": int(latency.sum()), "closed_ns": BEGIN + N * MS, "first_due_ns": BEGIN, **account},
                **{"last_due_ns": BEGIN + (N - 1) * MS, "state": "ended"},
                "untraced": {
                    **{"due": N // 2, "n": N // 2, "exceedances": 0, "min_ns": 20 * US, "max_ns": 300 * US},
                    **{"sum_ns": int(first.sum()), **account},
                },
            }
        ],
        "trace": {
            **{"hits": len(hits), "captured": len(hits), "not_captured": 0, "pages": 2, "bytes": 8192},
            **{"lost_pages": 0, "cpu_ns": 5, "error": None},
        },
    }
    begin = {"above_ns": 500 * US, "events": ["sched/sched_switch"], "missing": ["ipi/ipi_raise"], "buffer_kb": 1024}
    return [
        Facts(
            {
                **{"stream": 1, "probe": "rtprobe", "version": "1", "command": "cyclic", "origin_ns": BEGIN},
                **{"interval_ns": MS, "mono_ns": BEGIN, "wall_ns": BEGIN, "requested": {"deadline_ns": 500 * US}},
                "lanes": [{"lane": 0, "cpu": 3, "measure": "wake-up", "tid": 7, "first_due_ns": BEGIN}],
            }
        ),
        *([Samples(0, 0, latency, none, none)] if keep_samples else []),
        bins(first, traced=False),
        TraceText("header_page", b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"),
        TraceText("format/sched/sched_switch", FORMAT.encode()),
        Note("trace_begin", None, {"mono_ns": UNTIL + MS, "untraced_until_ns": UNTIL, **begin}),
        TracePage(3, PAGE),
        TracePage(3, PAGE[::-1]),
        *hits,
        bins(second, traced=True),
        *([] if cut else [TraceText("kallsyms", b"ffffffff81000000 T _text\n"), End(end)]),
    ]


def known(trace: Trace, virtual: bool) -> list[Attribution]:
    """The hits with an interrupt and a thread as their owners."""
    found = []
    for one in trace.hits:
        parts = (Part("B", IRQ, one.due_ns, 600 * US), Part("C", SWITCH, one.due_ns + 600 * US, 300 * US))
        found.append(Attribution(one, parts, IRQ, (kinds.INSIDE, kinds.PRIORITY_BELOW), True, False, virtual))
    return found


@pytest.fixture(autouse=True)
def decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_attribute", known)


def record(home: Path, events: Sequence[Event], **manifest: Any) -> Path:
    plan = Plan(interval_ns=MS, duration_ns=N * MS, deadline_ns=500 * US, p_target=0.01)
    blank = Manifest(
        store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), plan, **manifest
    )
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(events))
    return writer.path


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
        == known(Trace("", {}, {}, (Hit(0, 3, 7, HIT_K, BEGIN + HIT_K * MS, BEGIN + HIT_K * MS + HIT_NS),)), False)[0]
    )


def test_the_decoder_gets_what_the_board_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Trace, bool]] = []
    monkeypatch.setattr(tracing, "_attribute", lambda trace, virtual: seen.append((trace, virtual)) or [])
    path = record(
        tmp_path, traced_run(hits=[hit(HIT_K), hit(HIT_K + 1, captured=False)]), inventory={"virtualisation": "kvm"}
    )
    store.seal(path)
    ((trace, virtual),) = seen
    assert virtual and trace.formats == {"sched/sched_switch": FORMAT} and trace.pages == {3: (PAGE, PAGE[::-1])}
    assert trace.header_page.startswith("\tfield: u64 timestamp") and trace.kallsyms.endswith("_text\n")
    assert [(one.cpu, one.tid, one.k, one.latency_ns) for one in trace.hits] == [(3, 7, HIT_K, HIT_NS)]
    assert store.open_recording(path).causes == ()


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
    def refuse(trace: Trace, virtual: bool) -> list[Attribution]:
        raise NotATrace("header_page tells no size")

    monkeypatch.setattr(tracing, "_attribute", refuse)
    path = record(tmp_path, traced_run())
    manifest = store.seal(path)
    assert "trace.rtw" in manifest.seals and "causes.parquet" not in manifest.seals
    assert manifest.trace is not None and manifest.trace.undecoded == "header_page tells no size"
    (warning,) = [one for one in manifest.warnings if one.code == warnings.TRACE_NOT_DECODED]
    assert "header_page tells no size" in warnings.words(warning)
    assert not (path / "causes.parquet").exists() and store.open_recording(path).causes == ()


def test_an_untraced_run_has_no_trace(tmp_path: Path) -> None:
    path = record(tmp_path, [e for e in traced_run() if not isinstance(e, TraceText | TracePage | Note)][:3])
    assert store.seal(path).trace is None and not (path / "trace.rtw").exists()
