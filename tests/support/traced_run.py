"""A traced run as the board sends it, with known hits, and what a decoder may say of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cause_traces import real_pages, texts

from rtassay import store
from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Moved, Part, Trace
from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Samples, TracePage, TraceText
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.wire.encode import StreamEncoder

MS, US = 1_000_000, 1_000
BEGIN = 1_000 * MS
UNTIL = BEGIN + 1_000 * MS
N = 2_000
HIT_K = 1_500
HIT_NS = 900 * US
PAGE = bytes(4096)
FORMAT = "name: sched_switch\nID: 314\n"
IRQ = Cause(kinds.IRQ, "eth0", 40)
MANIFEST = Manifest("a", "", Source("rtprobe", None, "rtw"))
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
            **{
                "hits": len(hits),
                "captured": len(hits),
                "not_captured": 0,
                "beyond_limit": 0,
                "pages": 2,
                "bytes": 8192,
            },
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


def hwlat_run(windows: int = 10) -> list[Event]:
    """A run of the kernel's tracer hwlat, one window a second, which found nothing."""
    width_ns, none = 1_000 * MS, np.zeros(windows, np.int64)
    account = {"missed": 0, "dropped": 0, "truncated": 0, "exceedances": 0, "min_ns": 0, "max_ns": 0, "sum_ns": 0}
    end_ns = BEGIN + windows * width_ns
    lane = {"lane": 0, "due": windows, "n": windows, "closed_ns": end_ns, "first_due_ns": BEGIN, "state": "ended"}
    return [
        Facts(
            {
                **{"stream": 1, "probe": "rtprobe", "version": "1", "command": "hwlat", "origin_ns": BEGIN},
                **{"interval_ns": width_ns, "mono_ns": BEGIN, "wall_ns": BEGIN, "requested": {}},
                **{"settings": {"threshold": 10 * US}},
                "lanes": [{"lane": 0, "cpu": 3, "measure": "hardware-gap", "tid": 7, "first_due_ns": BEGIN}],
            }
        ),
        Samples(0, 0, none, none, none),
        bins(none, traced=False),
        End({"mono_ns": end_ns, "reason": "duration", "lanes": [lane | account | {"last_due_ns": end_ns - width_ns}]}),
    ]


def with_pages(events: Sequence[Event], kernel: str, cpu: int = 3) -> list[Event]:
    """The same run with the real texts and pages of a kernel (tests/data/causes) in place of its own."""
    header, formats = texts(kernel)
    found: list[Event] = []
    for event in events:
        if isinstance(event, TraceText) and event.name == "header_page":
            found.append(TraceText("header_page", header.encode()))
            found += [TraceText(f"format/{name}", text.encode()) for name, text in formats.items()]
        elif isinstance(event, Note) and event.name == "trace_begin":
            found += [event, *(TracePage(cpu, page) for page in real_pages(kernel))]
        elif not isinstance(event, TraceText | TracePage):
            found.append(event)
    return found


def known(trace: Trace, manifest: Manifest, moved: Sequence[Moved] = ()) -> list[Attribution]:
    """The hits with an interrupt and a thread as their owners."""
    found = []
    for one in trace.hits:
        parts = (Part("B", IRQ, one.due_ns, 600 * US), Part("C", SWITCH, one.due_ns + 600 * US, 300 * US))
        found.append(Attribution(one, parts, IRQ, (kinds.INSIDE, kinds.PRIORITY_BELOW), True, False, False))
    return found


def record(home: Path, events: Sequence[Event], **manifest: Any) -> Path:
    plan = Plan(interval_ns=MS, duration_ns=N * MS, deadline_ns=500 * US, p_target=0.01)
    blank = Manifest(
        store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), plan, **manifest
    )
    with store.RecordingWriter.create(home, blank, "stream.rtw") as writer:
        writer.append(StreamEncoder().encode_all(events))
    return writer.path
