"""rtassay zoom: the same run once more with stacks, both side by side, and each reason why it cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtassay import runs, store, zooms
from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Moved, Part, Place, Trace
from rtassay.model.errors import BoardError
from rtassay.model.events import Note
from rtassay.model.inventory import inventory_of
from rtassay.model.manifest import Manifest, Plan
from rtassay.session.control import RunResult
from rtassay.store import tracing
from rtassay.wire.encode import StreamEncoder

from ...support.command_line import in_process
from ...support.traced_run import MS, US, N, hit, record, traced_run

KERNEL = {"release": "6.1.0-9-rt", "version": "#1 SMP PREEMPT_RT"}
BOARD: dict[str, Any] = {
    "kernel": KERNEL,
    "rights": {"uid": 0, "lockdown": "none", "container": False},
    "tracing": {"current_tracer": "nop", "tracing_on": True, "events_enabled": 0},
}
FUNCTION = "flush_queue+0x44 [drv]"
OFF = Cause(kinds.INTERRUPTS_OFF, "kworker/0:1", None, 77, 120)
Changed = Callable[[str, Manifest], Manifest]


def with_places(trace: Trace, manifest: Manifest, moved: Sequence[Moved] = ()) -> list[Attribution]:
    """Interrupts off, in a function where the run had stacks."""
    place = Place(FUNCTION, kinds.AT_END, (FUNCTION, "worker+0x1")) if manifest.plan.trace_stacks else None
    return [
        Attribution(
            one, (Part("A", OFF, one.due_ns, one.latency_ns, place),), OFF, (kinds.NO_EVENT,), True, False, False
        )
        for one in trace.hits
    ]


@pytest.fixture(autouse=True)
def decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_attribute", with_places)


def recorded(home: Path, **more: Any) -> Path:
    path = record(home / "recordings", traced_run(hits=[hit(1_500)]), **{"inventory": BOARD, "board": "local"} | more)
    store.seal(path)
    return path


class FakeBoards:
    """Boards on which each run is a known one; `asked` are the runs, `inventory` what the board tells before it."""

    def __init__(self) -> None:
        self.asked: list[runs.RunRequest] = []
        self.inventory: Mapping[str, Any] = BOARD
        self.stacks: list[str] = ["sched/sched_switch"]

    async def measure(self, request: runs.RunRequest, on_event: object, stop: object) -> RunResult:
        request.accept(inventory_of(self.inventory))
        self.asked.append(request)
        events = [
            Note(
                e.name,
                e.lane,
                e.data | {"stacks": self.stacks, "stacks_error": None if self.stacks else "Invalid argument"},
            )
            if isinstance(e, Note) and e.name == "trace_begin"
            else e
            for e in traced_run(hits=[hit(1_500)])
        ]
        blank = replace(
            store.open_recording(next(request.home.glob("*.rta"))).manifest,
            id=store.new_id(), plan=request.plan, labels=dict(request.labels), sealed=False, seals={}, inventory=dict(self.inventory), trace=None, lanes=(), has_samples=False, facts={}, end={},
        )  # fmt: skip
        with store.RecordingWriter.create(request.home, blank, "stream.rtw") as writer:
            writer.append(StreamEncoder().encode_all(events))
        store.seal(writer.path)
        return RunResult(writer.path, writer.path.stem, "duration", False)


@pytest.fixture
def boards(monkeypatch: pytest.MonkeyPatch) -> FakeBoards:
    made = FakeBoards()
    monkeypatch.setattr(runs, "measure", made.measure)
    return made


def test_the_conditions_are_repeated_with_stacks_and_functions_are_named(tmp_path: Path, boards: FakeBoards) -> None:
    path = recorded(tmp_path)
    done = in_process("zoom", path, home=tmp_path)
    assert done.returncode == 0, done.stderr
    (asked,) = boards.asked
    plan = store.open_recording(path).manifest.plan
    same = ("probe", "interval_ns", "duration_ns", "policy", "cpus", "load_cpus", "loads", "deadline_ns", "p_target")
    assert all(getattr(asked.plan, name) == getattr(plan, name) for name in same)
    assert (asked.plan.trace_above_ns, asked.plan.trace_stacks, asked.plan.looks) == (500 * US, True, 1)
    assert asked.labels == {"zoom": path.stem} and asked.board.name == "local"
    shown = " ".join(done.stdout.split())
    assert FUNCTION in shown and "worker+0x1" in shown
    assert "as many wake-ups were late without a trace, within chance" in shown
    for row in ("recorded 20.0 20.0 300.0 0 1,000", "zoom, with stacks 50.0 50.0 900.0 1 1,000"):
        assert row in shown


def test_json_is_one_object_with_both_runs(tmp_path: Path, boards: FakeBoards) -> None:
    path = recorded(tmp_path)
    boards.inventory = BOARD | {"clocksource": "hpet"}
    done = in_process("zoom", path, "--above", "300us", "--duration", "3s", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert (data["schema"], data["of"], data["named"], data["above_ns"]) == (
        "rtassay/zoom/1",
        path.stem,
        True,
        300 * US,
    )
    assert [part["name"] for part in data["parts"]] == [
        "recorded",
        "recorded, traced",
        "zoom, untraced",
        "zoom, with stacks",
    ]
    assert data["differs"] == {"clock source": ["not known", "hpet"]} and data["alike"] is True
    assert data["causes"]["causes"][0]["functions"][0]["function"] == FUNCTION
    assert Path(data["path"]).is_dir() and boards.asked[0].plan.duration_ns == 3_000 * MS


def test_without_stacks_it_says_so_and_exits_with_4(
    tmp_path: Path, boards: FakeBoards, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(trace: Trace, manifest: Manifest, moved: Sequence[Moved] = ()) -> list[Attribution]:
        return [
            replace(one, parts=tuple(replace(part, place=None) for part in one.parts))
            for one in with_places(trace, manifest)
        ]

    monkeypatch.setattr(tracing, "_attribute", nowhere)
    boards.stacks = []
    done = in_process("zoom", recorded(tmp_path), home=tmp_path)
    assert done.returncode == 4 and "This kernel gives no stacks (Invalid argument)" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("inventory", "words"),
    [
        ({"kernel": KERNEL | {"release": "6.12.1"}}, "another kernel"),
        ({"kernel": KERNEL | {"version": "#2 SMP"}}, "another kernel"),
        ({"rights": {"uid": 1000}}, "need root"),
        ({"rights": {"uid": 0, "lockdown": "confidentiality"}}, "locked down"),
        ({"tracing": None}, "no tracefs, so"),
        ({"tracing": None, "rights": {"uid": 0, "container": True}}, "no tracefs of a container"),
    ],
)
def test_a_board_that_cannot_is_refused_before_anything_runs(
    tmp_path: Path, boards: FakeBoards, inventory: dict[str, Any], words: str
) -> None:
    boards.inventory = BOARD | inventory
    done = in_process("zoom", recorded(tmp_path), home=tmp_path)
    assert done.returncode == 3 and words in done.stderr and boards.asked == []


def test_the_board_of_the_recording_is_accepted() -> None:
    with pytest.raises(BoardError):
        zooms.accept(Manifest("a", "", store_source()))(inventory_of(BOARD))
    zooms.accept(Manifest("a", "", store_source(), inventory=BOARD))(inventory_of(BOARD))


def store_source() -> Any:
    from rtassay.model.manifest import Source

    return Source("rtprobe", None, "rtw", "counted")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: replace(m, source=replace(m.source, file="a.rtw")), "was imported"),
        (lambda m: replace(m, plan=replace(m.plan, probe="cyclictest")), "measured by cyclictest"),
        (lambda m: replace(m, plan=replace(m.plan, probe="follow")), "followed a running program"),
        (lambda m: replace(m, inventory={"virtual_time": {"seed": 1}}), "script board"),
        (lambda m: replace(m, sealed=False), "is not sealed"),
    ],
    ids=["imported", "cyclictest", "follow", "script board", "unsealed"],
)
def test_a_recording_that_cannot_be_repeated_is_refused(
    tmp_path: Path, change: Callable[[Manifest], Manifest], words: str
) -> None:
    recording = store.open_recording(recorded(tmp_path))
    with pytest.raises(zooms.UsageError, match=words):
        zooms.request(replace(recording, manifest=change(recording.manifest)))


def test_the_level_is_that_of_the_recording_but_above_what_stacks_cost(tmp_path: Path) -> None:
    recording = store.open_recording(recorded(tmp_path))
    assert zooms.level_ns(recording) == 500 * US, "as traced"

    def with_plan(trace_above: int | None, deadline: int | None) -> int:
        trace = recording.manifest.trace
        assert trace is not None
        plan = replace(recording.manifest.plan, deadline_ns=deadline)
        manifest = replace(recording.manifest, plan=plan, trace=replace(trace, above_ns=trace_above))
        return zooms.level_ns(replace(recording, manifest=manifest))

    assert with_plan(10 * US, None) == 4 * 50 * US, "four times the median of a traced wake-up"
    assert with_plan(None, 700 * US) == 700 * US
    assert with_plan(None, None) == 4 * 50 * US
    with pytest.raises(zooms.UsageError, match="late enough"):
        with_plan(901 * US, None)


def test_a_run_is_as_long_as_it_was_but_not_longer_than_ten_minutes(tmp_path: Path) -> None:
    recording = store.open_recording(recorded(tmp_path))

    def length(plan: Plan, asked: int | None = None) -> int | None:
        manifest = replace(recording.manifest, plan=plan)
        return zooms.request(replace(recording, manifest=manifest), duration_ns=asked).plan.duration_ns

    plan = recording.manifest.plan
    assert length(plan) == N * MS and length(plan, 5 * MS) == 5 * MS
    assert length(replace(plan, duration_ns=10**13)) == zooms.LONGEST_NS
    assert length(replace(plan, duration_ns=10**13), 10**13) == 10**13
    by_count = zooms.request(
        replace(recording, manifest=replace(recording.manifest, plan=replace(plan, duration_ns=None, count=7)))
    )
    assert by_count.plan.count is None and by_count.plan.duration_ns is not None
