"""What a run asks of the board, in which order and at which time, and what the manifest then holds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from scripted_board import (
    RTPROBE,
    WATCH,
    Part,
    S,
    ScriptedBoard,
    Step,
    end,
    facts,
    golden,
    load_part,
    measured,
    pieces,
    run_skipping,
    skip_time,
    watched,
)

from rtassay import __version__, store
from rtassay.boards.base import AtClose, LinkLost
from rtassay.model import warnings
from rtassay.model.errors import BoardError, RunLost
from rtassay.model.events import Facts, Note, Output, Second
from rtassay.model.inventory import Inventory
from rtassay.model.manifest import Manifest, Plan
from rtassay.session import attach, host_clock, measure
from rtassay.session import run as run_module
from rtassay.session.control import Interrupted, Progress, RunResult, StopRequest
from rtassay.session.run import run

PLAN = Plan(duration_ns=2 * S, interval_ns=S // 1000, load="none", dma_latency_us=0, warm_up_ns=0)
GUARD_MAX_NS = (2 + 45) * S
LONGEST_NS = (300 + 2 + 1 + 90 + 5) * S


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_time(monkeypatch, run_module, measure, host_clock)


class Heard(list[Progress]):
    """Progress of one run; the first that `when` is true for asks `times` to stop."""

    def __init__(self, when: Callable[[Progress], bool] = lambda told: False, times: int = 1) -> None:
        super().__init__()
        self.stop: StopRequest | None = None
        self._when, self._times = when, times

    def __call__(self, told: Progress) -> None:
        self.append(told)
        if self._when(told) and self._times:
            for _ in range(self._times):
                assert self.stop is not None
                self.stop.request()
            self._times = 0


def measure_on(
    board: ScriptedBoard, home: Path, plan: Plan = PLAN, heard: Heard | None = None, **options: Any
) -> RunResult:
    async def main() -> RunResult:
        hears = Heard() if heard is None else heard
        hears.stop = StopRequest()
        given = {"labels": {"ambient": "21C"}, "note": "a note", **options}
        return await run(board, plan, home=home, on_event=hears, stop=hears.stop, **given)

    return run_skipping(main())


def board(probe: Part | None = None, telemetry: Part | None = None, **loads: Part) -> ScriptedBoard:
    parts = {
        "probe": probe or Part([2.0, measured()]),
        "telemetry": telemetry or Part([WATCH, Step.TOLD]),
        **{name.replace("_", "-"): part for name, part in loads.items()},
    }
    return ScriptedBoard(parts)


def only(home: Path) -> Path:
    (path,) = home.glob("*.rta")
    return path


def manifest_of(home: Path) -> Manifest:
    return store.load_manifest(only(home))


def test_a_run_without_load(tmp_path: Path) -> None:
    made, heard = board(), Heard()
    result = measure_on(made, tmp_path, heard=heard)
    assert made.words == [
        "open", "watch", "watch",  # the inventory, and the kernel's configuration
        "launch telemetry", "launch probe", "close telemetry", "watch", "end",
    ]  # fmt: skip
    assert made.at_s("launch probe") == 0
    assert made.argv["probe"][:6] == [RTPROBE, "guard", "--attached", "--max", f"{GUARD_MAX_NS}ns", "--"]
    assert made.argv["probe"][6:10] == [RTPROBE, "cyclic", "--cpus", "0-3"]
    assert made.argv["telemetry"][:10] == [
        RTPROBE, "guard", "--attached", "--max", f"{LONGEST_NS}ns", "--", RTPROBE, "watch", "--every", "1s",
    ]  # fmt: skip
    assert made.ends == {"telemetry": [], "probe": []}
    assert made.closed_with == [AtClose.END]
    assert (result.path, result.stopped, result.end_reason) == (only(tmp_path), False, "duration")
    assert list(dict.fromkeys(told.phase for told in heard)) == ["inventory", "measure", "collect", "seal"]
    assert (heard[0].path, heard[-1].path) == (None, result.path)
    assert all(told.connected for told in heard)


def test_the_manifest_of_a_run(tmp_path: Path) -> None:
    result = measure_on(board(), tmp_path)
    manifest = store.load_manifest(result.path)
    assert manifest.sealed and manifest.id == result.id
    assert (manifest.labels, manifest.note, manifest.board) == ({"ambient": "21C"}, "a note", "scripted")
    assert manifest.plan.cpus == (0, 1, 2, 3) and manifest.plan.policy == "fifo"
    assert manifest.tool_versions == {"rtassay": __version__, "rtprobe": "0.1.0"}
    assert (manifest.source.tool, manifest.source.version) == ("rtprobe", "0.1.0")
    assert manifest.inventory["cpus"]["isolated"] == [2, 3]
    assert "host_clock" not in manifest.inventory and "host_clock" not in manifest.inventory_end
    assert manifest.inventory_end["cpus"] == {"online": [0, 1, 2, 3]}
    assert manifest.created.endswith("Z") and "." in manifest.created
    assert manifest.warnings == () and manifest.loads == ()
    assert sum(entry.readings for entry in manifest.monitors.values()) > 0
    assert not (result.path / "logs" / "probe.txt").exists()


def test_progress_comes_every_second_and_says_how_far_it_is(tmp_path: Path) -> None:
    stream = golden()
    heard = Heard()
    first = max(i for i, event in enumerate(stream) if isinstance(event, Second)) + 1
    made = pieces(*stream)
    measure_on(board(Part([*made[:first], 3.5, *made[first:]])), tmp_path, heard=heard)
    measuring = [told for told in heard if told.phase == "measure"]
    assert [round(told.elapsed_ns / S) for told in measuring] == [0, 1, 2, 2, 2]
    assert {told.planned_ns for told in measuring} == {2 * S}
    assert [lane.cpu for lane in measuring[1].lanes] == [0, 1]
    lane = measuring[1].lanes[1]
    assert (lane.lane, lane.n, lane.missed, lane.dropped, lane.worst_ns) == (1, 120, 5021, 3, 5 * S)
    assert (lane.p50_ns, lane.p99_ns, lane.p99_9_ns, lane.p99_99_ns) == (8000, 20000, 30000, 40000)
    assert (measuring[1].worst_ns, measuring[1].missed, measuring[1].dropped) == (5 * S, 10042, 6)
    assert (measuring[0].lanes, measuring[0].worst_ns, measuring[0].missed) == ((), None, 0)


def test_progress_never_goes_backwards_or_past_the_end_of_a_late_stream(tmp_path: Path) -> None:
    """Over a slow link the facts come after seconds, and the last of the stream long after the planned time."""
    stream, heard = golden(), Heard()
    after_facts = next(i for i, event in enumerate(stream) if isinstance(event, Facts)) + 1
    made = pieces(*stream)
    late = Part([11.0, *made[:after_facts], 3.5, *made[after_facts:-1], 20.0, *made[-1:]])
    measure_on(board(late), tmp_path, replace(PLAN, duration_ns=20 * S), heard)
    measuring = [told.elapsed_ns for told in heard if told.phase == "measure"]
    assert len(measuring) > 30 and measuring == sorted(measuring)
    assert measuring[0] == 0 and measuring[-1] == 20 * S


def test_warm_up_takes_its_time_after_everything_else_runs(tmp_path: Path) -> None:
    made, heard = board(load_0=load_part(), load_1=load_part()), Heard()
    measure_on(made, tmp_path, replace(PLAN, warm_up_ns=5 * S // 2, load="builtin:cpu,timer"), heard)
    assert made.at_s("launch load-1") == 0
    assert made.at_s("launch probe") == 3.5  # a second to get under way, then the warm-up
    warming = [told for told in heard if told.phase == "warm-up"]
    assert [(round(told.elapsed_ns / S), told.planned_ns) for told in warming] == [
        (0, 5 * S // 2),
        (1, 5 * S // 2),
        (2, 5 * S // 2),
    ]
    (load,) = [told for told in heard if told.phase == "load"]
    assert load.planned_ns == S


def test_a_run_under_load(tmp_path: Path) -> None:
    work = Output(5, 2, b"a line\n")
    made = board(load_0=load_part(work), load_1=load_part(started_ns=2, code=3))
    measure_on(made, tmp_path, replace(PLAN, load="builtin:cpu,timer"))
    order = [word for word in made.words if word.split()[0] in ("launch", "close", "end")]
    assert order == [
        "launch telemetry", "launch load-0", "launch load-1", "launch probe",
        "close load-0", "close load-1",  # by the board, as soon as the probe has ended
        "close load-0", "close load-1", "close telemetry", "end",
    ]  # fmt: skip
    assert made.ends["probe"] == ["load-0", "load-1"]
    assert made.argv["load-0"][:8] == [
        RTPROBE, "guard", "--attached", "--wrap", "--cgroup", "--usage", "--max", f"{LONGEST_NS}ns",
    ]  # fmt: skip
    assert made.argv["load-0"][8:] == ["--", RTPROBE, "load", "cpu", "--cpus", "0-3", "--duration", "393s"]
    manifest = manifest_of(tmp_path)
    first, second = manifest.loads
    assert (first.name, first.started_ns, first.ended_ns, first.stop_asked_ns, first.exit_code) == (
        "builtin",
        1,
        9 * S,
        8 * S,
        0,
    )
    assert (second.started_ns, second.exit_code, second.cpus) == (2, 3, (0, 1, 2, 3))
    assert (first.user_ns, first.system_ns) == (2 * S, S)
    assert [entry.log for entry in manifest.loads] == ["logs/load-0.txt", "logs/load-1.txt"]
    assert (only(tmp_path) / "logs" / "load-0.txt").read_bytes() == b"a line\n"
    assert (only(tmp_path) / "logs" / "load-1.txt").read_bytes() == b"None None\n"
    assert manifest.plan.load == "builtin:cpu,timer" and manifest.warnings == ()


def test_a_recording_whose_host_dies_while_it_measures_names_its_loads(tmp_path: Path) -> None:
    seen: list[Manifest] = []
    measure_on(
        board(load_0=load_part()),
        tmp_path,
        replace(PLAN, load="builtin:cpu"),
        Heard(lambda told: told.phase == "measure" and bool(seen.append(manifest_of(tmp_path)))),
    )
    (entry,) = seen[0].loads
    assert (entry.name, entry.started_ns, entry.ended_ns) == ("builtin", 1, None)


def test_a_load_that_is_gone_before_the_measurement_begins_ends_the_run(tmp_path: Path) -> None:
    gone = Part([*pieces(Facts({"stream": 1}), note_started(), Output(3, 2, b"stress: no\n"), note_exited())])
    made = board(load_0=gone)
    with pytest.raises(BoardError, match=r"ended at once.*stress: no") as caught:
        measure_on(made, tmp_path, replace(PLAN, load="builtin:cpu"))
    assert caught.value.hint == "try its command by hand, or --load builtin"
    assert "launch probe" not in made.words and made.words[-1] == "end"
    assert list(tmp_path.glob("*.rta")) == []


def note_started() -> Note:
    return Note("child_started", None, {"event": "child_started", "mono_ns": 1, "pid": 9})


def note_exited() -> Note:
    return Note("child_exited", None, {"event": "child_exited", "mono_ns": 2, "pid": 9, "exit_code": 1, "signal": None})


def test_a_load_that_does_not_end_costs_a_warning(tmp_path: Path) -> None:
    deaf = Part([*pieces(Facts({"stream": 1}), note_started()), Step.NEVER])
    made = board(load_0=deaf)
    measure_on(made, tmp_path, replace(PLAN, load="builtin:cpu"))
    (warning,) = manifest_of(tmp_path).warnings
    assert (warning.code, dict(warning.facts)) == (warnings.LOAD_STILL_RUNNING, {"after_s": 30})
    assert made.words.count("close load-0") == 2  # by the board and by us, once
    assert made.at_s("close telemetry") == 33.0


def test_a_request_that_may_be_lost_with_the_connection_is_made_again(tmp_path: Path) -> None:
    class Slow(ScriptedBoard):
        def tell(self, word: str) -> None:
            super().tell(word)
            if word == "close load-0" and self.words.count(word) == 2:
                self.offline_s += 5.0  # lost for a while as the load was asked to end

    deaf = Part([*pieces(Facts({"stream": 1}), note_started()), Step.NEVER])
    made = Slow(board(load_0=deaf).parts)
    measure_on(made, tmp_path, replace(PLAN, load="builtin:cpu"))
    assert made.words.count("close load-0") == 3


def test_a_probe_that_does_not_end_is_ended_by_its_guard_and_then_given_up(tmp_path: Path) -> None:
    made = board(Part([measured()[:-20], Step.NEVER]))
    with pytest.raises(BoardError, match="did not end"):
        measure_on(made, tmp_path)
    # Plan, grace of the guard, and the time it needs to end the probe; then that time once more.
    assert made.at_s("close probe") == 2 + 45 + 25
    assert made.at_s("end") == 2 + 45 + 25 + 25 + 25
    assert not manifest_of(tmp_path).sealed


def test_time_without_a_connection_is_no_time_of_the_probe(tmp_path: Path) -> None:
    made = board(Part([measured()[:-20], Step.NEVER]))
    made.offline_s = 10.0
    with pytest.raises(BoardError):
        measure_on(made, tmp_path)
    assert made.at_s("close probe") == 10 + 2 + 45 + 25


def test_what_a_slow_line_still_brings_is_waited_for(tmp_path: Path) -> None:
    """A console of 115200 baud may be minutes behind its board."""
    whole = measured()
    steps = [70.0, whole[:500], 50.0, whole[500:1000], 50.0, whole[1000:]]
    made = board(Part(steps))
    made.slow = True
    measure_on(made, tmp_path)
    assert "close probe" not in made.words and manifest_of(tmp_path).sealed and not manifest_of(tmp_path).damage.cut


def test_a_slow_line_that_falls_silent_is_given_up(tmp_path: Path) -> None:
    made = board(Part([70.0, measured()[:-20], Step.NEVER]))
    made.slow = True
    with pytest.raises(BoardError, match="did not end"):
        measure_on(made, tmp_path)
    assert made.at_s("close probe") == 70 + 60


def test_what_comes_after_the_guard_ended_the_probe_is_kept(tmp_path: Path) -> None:
    whole = measured(reason="signal", exit=143)
    made = board(Part([whole[:1000], Step.TOLD, whole[1000:]], 143))
    measure_on(made, tmp_path)
    assert made.words.count("close probe") == 1 and manifest_of(tmp_path).sealed
    assert manifest_of(tmp_path).end_reason == "signal"


def test_asked_to_stop_the_probe_gets_a_signal_once_and_the_time_of_its_grace(tmp_path: Path) -> None:
    made = board(Part([measured()[:-20], Step.NEVER]))
    with pytest.raises(BoardError):
        measure_on(
            made,
            tmp_path,
            replace(PLAN, duration_ns=1000 * S),
            Heard(lambda told: told.phase == "measure" and told.elapsed_ns > 4 * S),
        )
    assert made.words.count("signal 2 probe") == 1
    assert made.at_s("close probe") - made.at_s("signal 2 probe") == 45


def test_a_run_that_was_stopped_says_so(tmp_path: Path) -> None:
    whole = measured(reason="signal", exit=130)
    made = board(Part([whole[:1000], Step.TOLD, whole[1000:]], 130))
    result = measure_on(made, tmp_path, heard=Heard(lambda told: told.phase == "measure"))
    assert result.stopped and result.end_reason == "signal"
    assert made.at_s("signal 2 probe") == 0 and "close probe" not in made.words


@pytest.mark.parametrize("phase", ["inventory", "load", "warm-up"])
def test_a_request_to_stop_before_the_measurement_leaves_nothing(tmp_path: Path, phase: str) -> None:
    made = board(load_0=load_part())
    plan = replace(PLAN, warm_up_ns=60 * S, load="builtin:cpu")
    with pytest.raises(Interrupted, match="stopped before anything was measured"):
        measure_on(made, tmp_path, plan, Heard(lambda told: told.phase == phase))
    assert list(tmp_path.glob("*.rta")) == []
    assert "launch probe" not in made.words and made.words[-1] == "end"
    assert made.told[-1][0] < 2


@pytest.mark.parametrize("part", ["telemetry", "load-0"])
def test_a_lost_reader_ends_the_run_whatever_it_waits_for(tmp_path: Path, part: str) -> None:
    lost = Part([*pieces(Facts({"stream": 1}), note_started()), 1.5, LinkLost("the cable is out")])
    made = board(load_0=load_part())
    made.parts[part] = lost
    with pytest.raises(LinkLost, match="cable"):
        measure_on(made, tmp_path, replace(PLAN, warm_up_ns=60 * S, load="builtin:cpu"))
    assert made.told[-1][0] == 1.5
    assert list(tmp_path.glob("*.rta")) == []


def test_a_lost_reader_ends_the_run_while_it_measures(tmp_path: Path) -> None:
    whole = measured()
    made = board(Part([whole[:1000], Step.NEVER]), Part([WATCH, 1.5, LinkLost("the cable is out")]))
    with pytest.raises(LinkLost, match="cable") as caught:
        measure_on(made, tmp_path)
    path = only(tmp_path)
    assert made.told[-1][0] == 1.5
    assert caught.value.hint == f"what was measured until then is in {path}, unsealed; `rtassay seal` finishes it"
    assert (path / "stream.rtw").read_bytes() == whole[:1000]


def test_an_error_keeps_its_own_hint(tmp_path: Path) -> None:
    made = board(Part([measured()[:1000], BoardError("full", hint="make room")]))
    with pytest.raises(BoardError) as caught:
        measure_on(made, tmp_path)
    assert caught.value.hint == "make room"


def test_a_run_lost_for_good_names_its_recording_beside_its_own_hint(tmp_path: Path) -> None:
    made = board(Part([measured()[:1000], RunLost("the board was booted", hint="begin anew")]))
    with pytest.raises(RunLost) as caught:
        measure_on(made, tmp_path)
    assert (caught.value.hint or "").startswith("begin anew; what was measured until then")
    assert "rtassay seal" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("hint", "starts"), [(None, "what was"), ("use --attach", "what was"), ("make room", "make room; what was")]
)
def test_a_board_that_goes_on_is_named_where_the_rest_can_be_fetched(
    tmp_path: Path, hint: str | None, starts: str
) -> None:
    made = board(Part([measured()[:1000], BoardError("gone", hint=hint)]))
    made.resume_data = {"run": 7}
    with pytest.raises(BoardError) as caught:
        measure_on(made, tmp_path)
    assert (caught.value.hint or "").startswith(
        starts
    ) and "`rtassay run --attach` fetches the rest" in caught.value.hint
    assert made.closed_with[0] is AtClose.FETCH_REST
    assert attach.attachable(tmp_path) == [only(tmp_path)]


def test_before_the_measurement_nothing_is_fetched_from_the_board(tmp_path: Path) -> None:
    made = board(telemetry=Part([LinkLost("out")]))
    made.resume_data = {"run": 7}
    with pytest.raises(LinkLost) as caught:
        measure_on(made, tmp_path, replace(PLAN, warm_up_ns=60 * S))
    assert made.closed_with[0] is AtClose.END
    assert "--attach" not in (caught.value.hint or "")


def test_a_sealed_run_is_forgotten(tmp_path: Path) -> None:
    made = board()
    made.resume_data = {"run": 7}
    measure_on(made, tmp_path)
    assert attach.attachable(tmp_path) == []


def test_clocks_are_compared_where_the_board_goes_on_without_us(tmp_path: Path) -> None:
    made = board()
    made.detaches = True
    measure_on(made, tmp_path)
    assert made.words.count("clock") == 2
    manifest = manifest_of(tmp_path)
    assert manifest.inventory["host_clock"] == {
        "offset_ns": -893 * S,  # 1 000 107 s there, 1 001 000 s here
        "round_trip_ns": 0,
        "board_mono_ns": 7 * S,
        "host_mono_ns": 1000 * S,
    }
    # Two seconds passed here, none on a board that always tells the same.
    assert manifest.inventory_end["host_clock"]["drift_ppm"] == -1e6


def test_the_inventory_is_shown_before_anything_is_started(tmp_path: Path) -> None:
    made = board()

    def refuse(inventory: Inventory) -> None:
        assert inventory.cpus.online == (0, 1, 2, 3)
        raise BoardError("not this one")

    with pytest.raises(BoardError, match="not this one"):
        measure_on(made, tmp_path, accept=refuse)
    assert made.words == ["open", "watch", "watch", "end"]
    assert list(tmp_path.glob("*.rta")) == []


def test_the_watch_keeps_off_the_measured_cpus(tmp_path: Path) -> None:
    made = board()
    measure_on(made, tmp_path, isolated=True, lanes=1)
    assert manifest_of(tmp_path).plan.cpus == (2,)
    cpus = made.argv["telemetry"].index("--cpus")
    assert made.argv["telemetry"][cpus + 1] == "0-1"


def test_where_all_cpus_are_measured_the_watch_runs_anywhere(tmp_path: Path) -> None:
    made = board()
    measure_on(made, tmp_path)
    assert "--cpus" not in made.argv["telemetry"]


def test_the_trace_of_a_hit_moves_into_the_recording(tmp_path: Path) -> None:
    stream = golden()
    hit = Note("break", 0, {"event": "break", "mono_ns": 3, "trace": "/tmp/hit.trace"})
    made = board(Part([b"".join(pieces(*stream[:-1], hit, stream[-1]))], errors=b"a word\n"))
    made.files["/tmp/hit.trace"] = b"trace " * 5000
    measure_on(made, tmp_path)
    assert (only(tmp_path) / "logs" / "trace.txt").read_bytes() == b"trace " * 5000
    assert "rm -f /tmp/hit.trace" in made.words and manifest_of(tmp_path).warnings == ()
    assert (only(tmp_path) / "logs" / "probe.txt").read_bytes() == b"a word\n"


def test_a_trace_that_cannot_be_read_costs_a_warning(tmp_path: Path) -> None:
    stream = golden()
    hit = Note("break", 0, {"event": "break", "mono_ns": 3, "trace": "/tmp/hit.trace"})
    made = board(Part([b"".join(pieces(*stream[:-1], hit, stream[-1]))]))
    measure_on(made, tmp_path)
    (warning,) = manifest_of(tmp_path).warnings
    assert warning.code == warnings.TRACE_NOT_KEPT and "/tmp/hit.trace" in str(warning.facts["error"])


def test_monitors_that_ended_early_cost_a_warning(tmp_path: Path) -> None:
    measure_on(board(telemetry=Part([WATCH])), tmp_path)
    manifest = manifest_of(tmp_path)
    assert [warning.code for warning in manifest.warnings] == [warnings.MONITORS_ENDED_EARLY]
    assert any(entry.why == "the watch ended before the run did" for entry in manifest.monitors.values())


def test_monitors_that_said_nothing_cost_a_warning_and_no_measurement(tmp_path: Path) -> None:
    measure_on(board(telemetry=Part([Step.TOLD], errors=b"rtprobe: no memory\n")), tmp_path)
    manifest = manifest_of(tmp_path)
    (warning,) = manifest.warnings
    assert (warning.code, warning.facts["error"]) == (warnings.END_NOT_READ, "the monitors saw nothing: no memory")
    assert manifest.sealed and manifest.inventory_end == {} and manifest.monitors == {}


def test_monitors_that_do_not_end_are_given_up_after_half_a_minute(tmp_path: Path) -> None:
    made = board(telemetry=Part([WATCH, Step.NEVER]))
    measure_on(made, tmp_path)
    assert made.told[-1][0] == 32.0
    manifest = manifest_of(tmp_path)
    assert sum(entry.readings for entry in manifest.monitors.values()) > 0 and manifest.warnings == ()


def test_a_board_that_cannot_be_read_at_the_end_costs_a_warning(tmp_path: Path) -> None:
    class Gone(ScriptedBoard):
        def _short(self, argv: list[str]) -> tuple[str, Part]:
            name, part = super()._short(argv)
            return name, Part([BoardError("it is gone")]) if "launch probe" in self.words else part

    measure_on(Gone(board().parts), tmp_path)
    (warning,) = manifest_of(tmp_path).warnings
    assert (warning.code, warning.facts["error"]) == (warnings.END_NOT_READ, "it is gone")


def test_output_is_safe_on_disk_before_the_board_may_forget_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    whole = store.RecordingWriter.sync

    def sync(writer: store.RecordingWriter) -> None:
        synced.append(writer.path.name)
        whole(writer)

    monkeypatch.setattr(store.RecordingWriter, "sync", sync)

    class Syncing(ScriptedBoard):
        async def probe(self) -> str:
            await self.synced()  # nothing to sync yet
            return await super().probe()

        async def launch(self, *args: Any, **options: Any) -> Any:
            await self.synced()
            return await super().launch(*args, **options)

    measure_on(Syncing(board().parts), tmp_path)
    assert synced == [only(tmp_path).name] * 2


@pytest.mark.parametrize(
    ("code", "errors", "said"),
    [
        (139, b"", "ended by signal 11$"),
        (137, b"", "ended by signal 9, as the kernel ends programs when memory runs out"),
        (137, b"rtprobe: a warning", "a warning; ended by signal 9, as the kernel ends programs when memory runs out"),
        (128, b"", "exit code 128$"),
        (3, b"", "exit code 3$"),
        (1, b"rtprobe: odd\n", "did not come to its end: odd$"),
    ],
)
def test_how_a_probe_ended_without_its_end_is_said(tmp_path: Path, code: int, errors: bytes, said: str) -> None:
    with pytest.raises(BoardError, match=said) as caught:
        measure_on(board(Part([measured()[:1000]], code, errors)), tmp_path)
    assert caught.value.exit_code == 3


def test_a_probe_that_its_guard_ended_did_not_run_out_of_memory(tmp_path: Path) -> None:
    late = board(Part([measured()[:1000], 60.0], 137))
    with pytest.raises(
        BoardError,
        match=r"ended by signal 9, by its guard, since it was not done 45 s after its time: its CPUs were too busy$",
    ):
        measure_on(late, tmp_path)


def unsealed(board: ScriptedBoard, home: Path) -> Manifest:
    """The manifest as it is before it is sealed, which takes some of it from the stream."""
    seen: list[Manifest] = []
    measure_on(board, home, heard=Heard(lambda told: told.phase == "seal" and bool(seen.append(manifest_of(home)))))
    return seen[0]


def test_a_run_is_dated_by_the_calendar_of_its_board(tmp_path: Path) -> None:
    manifest = unsealed(board(), tmp_path)
    assert manifest.wall_start == "2001-09-09T02:03:19.990Z"
    assert manifest.wall_end is not None and manifest.wall_end > "2026"


def test_a_probe_that_tells_no_calendar_is_dated_by_ours(tmp_path: Path) -> None:
    stream = golden()
    first = stream[0]
    assert isinstance(first, Facts)
    stream[0] = replace(first, data={key: value for key, value in first.data.items() if key != "wall_ns"})
    made = pieces(*stream)
    manifest = unsealed(board(Part([made[0], 40.0, *made[1:]])), tmp_path)
    assert manifest.wall_start is not None and manifest.wall_end is not None
    begun, ended = (datetime.fromisoformat(text) for text in (manifest.wall_start, manifest.wall_end))
    assert timedelta(seconds=40) <= ended - begun < timedelta(minutes=10)


def test_helpers_of_this_test_speak_the_stream() -> None:
    """What the scripted board says is what its readers expect; the tests above stand on it."""
    assert facts(version="1")[:4] == end()[:4] == watched({}, [])[:4] == measured()[:4]
