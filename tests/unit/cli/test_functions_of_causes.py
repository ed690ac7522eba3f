"""The functions of causes in every report of a run with stacks, and why there are none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rtassay import store
from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Moved, Part, Place, Trace
from rtassay.model.events import Note
from rtassay.model.manifest import Manifest
from rtassay.store import tracing

from ...support.command_line import in_process
from ...support.traced_run import US, hit, record, traced_run

FUNCTION = "flush_queue+0x44 [drv<b>]"
PLACE = Place(FUNCTION, kinds.AT_END, ("_raw_spin_unlock_irqrestore+0x19", FUNCTION, "worker+0x1", "kthread+0xda"))
OFF = Cause(kinds.INTERRUPTS_OFF, "kworker/0:1", None, 77, 120)
IDLE = Cause(kinds.THREAD, "other", None, 78, 9)


def found(trace: Trace, manifest: Manifest, moved: Sequence[Moved] = ()) -> list[Attribution]:
    off = [Part("A", OFF, one.due_ns, 600 * US, PLACE) for one in trace.hits]
    rest = [Part("C", IDLE, one.due_ns + 600 * US, 300 * US) for one in trace.hits]
    return [
        Attribution(one, (first, last), OFF, (kinds.NO_EVENT,), True, False, False)
        for one, first, last in zip(trace.hits, off, rest, strict=True)
    ]


def without_places(trace: Trace, manifest: Manifest, moved: Sequence[Moved] = ()) -> list[Attribution]:
    return [
        replace(one, parts=tuple(replace(part, place=None) for part in one.parts)) for one in found(trace, manifest)
    ]


def recorded(home: Path, **begin: object) -> Path:
    events = [
        Note(event.name, event.lane, event.data | begin)
        if isinstance(event, Note) and event.name == "trace_begin"
        else event
        for event in traced_run(hits=[hit(1_500), hit(1_700)])
    ]
    path = record(home / "recordings", events)
    store.seal(path)
    return path


def test_each_report_names_the_function_its_module_and_who_called_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "_attribute", found)
    path = recorded(tmp_path, stacks=["sched/sched_switch"], stacks_error=None)
    assert store.open_recording(path).causes[0].parts[0].place == PLACE, "it is kept in causes.parquet"
    shown = in_process("causes", path, home=tmp_path).stdout
    (row,) = [line for line in shown.splitlines() if FUNCTION in line and "<" in line]
    assert (
        row.startswith("interrupts off in kworker/0:1") and "at its end" in row and "worker+0x1 < kthread+0xda" in row
    )
    assert "the function named above" in shown
    (share, *_) = json.loads(in_process("causes", path, "--json", home=tmp_path).stdout)["causes"]
    (told,) = share["functions"]
    assert (told["function"], told["at"], told["hits"], told["share_of_cause"]) == (FUNCTION, "at-end", 2, 1.0)
    assert told["chain"] == list(PLACE.chain)
    for name, wanted in (("a.md", "flush\\_queue+0x44"), ("a.html", "flush_queue+0x44 [drv&lt;b&gt;]")):
        for verb in ("causes", "report"):
            page = tmp_path / f"{verb}-{name}"
            assert in_process(verb, path, "-o", page, home=tmp_path).returncode == 0
            assert wanted in page.read_text() and "[drv<b>]" not in page.read_text()
    assert "Stack of phase A, interrupts off in kworker/0:1" in (tmp_path / "report-a.html").read_text()
    out = tmp_path / "late.perfetto.json"
    assert in_process("export", path, "--to", "perfetto", "-o", out, home=tmp_path).returncode == 0
    pieces = [one["args"] for one in json.loads(out.read_text())["traceEvents"] if one["args"].get("function")]
    assert (
        pieces[0]["function"] == FUNCTION
        and pieces[0]["seen"] == "at-end"
        and pieces[0]["stack"].endswith("kthread+0xda")
    )


@pytest.mark.parametrize(
    ("begin", "words"),
    [
        ({"stacks": [], "stacks_error": "Invalid argument"}, "This kernel gives no stacks (Invalid argument)"),
        ({"stacks": ["sched/sched_switch"], "stacks_error": None}, "No stack lies in the time of these causes"),
        ({}, "rtassay zoom"),
    ],
    ids=["refused", "none in time", "not asked"],
)  # fmt: skip
def test_without_a_function_it_says_why_or_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: dict[str, object], words: str
) -> None:
    monkeypatch.setattr(tracing, "_attribute", without_places)
    shown = " ".join(in_process("causes", recorded(tmp_path, **begin), home=tmp_path).stdout.split())
    assert words in shown and "Called by" not in shown


def test_stacks_need_a_level(tmp_path: Path) -> None:
    done = in_process("run", "--trace-stacks", "--load", "none", home=tmp_path)
    assert done.returncode == 2 and "--trace-stacks needs --trace-above" in done.stderr
