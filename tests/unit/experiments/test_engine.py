"""The engine with a session that is scripted: failures, retries, kernels, cooling down, what is left by a crash."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rtassay import store
from rtassay.experiments import engine
from rtassay.experiments.directory import RECORDINGS, create
from rtassay.experiments.engine import Outcome, Step, Tools, carry_out
from rtassay.experiments.files import parse
from rtassay.experiments.journal import read_journal, states
from rtassay.experiments.matrix import ExperimentPlan, make_plan
from rtassay.experiments.status import status_of
from rtassay.model.errors import BoardError, RunLost, ToolMissing, UsageError
from rtassay.model.inventory import inventory_of
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.session.control import Interrupted, RunResult, StopRequest
from rtassay.store.manifests import save_manifest

TWO = '[[loads]]\nname = "idle"\n[[loads]]\nname = "cpu"\nrun = ["builtin:cpu"]\n'


class FakeSession:
    """Stands for session.run.run. `script`: what each call does, the last for all further ones."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.labels: list[dict[str, str]] = []
        self.tunes: list[Any] = []

    async def __call__(self, board: Any, plan: Plan, *, home: Path, labels: dict[str, str], **others: Any) -> RunResult:
        self.labels.append(labels)
        self.tunes.append(others["tune"])
        what = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(what, Exception):
            raise what
        return write(home, plan, labels, what)


def write(home: Path, plan: Plan, labels: dict[str, str], reason: str = "duration", **fields: Any) -> RunResult:
    lane = LaneEntry(index=0, name="0", cpu=0, interval_ns=1000, n=10)
    manifest = Manifest(
        id=store.new_id(),
        created="2026-11-21T00:00:00Z",
        source=Source("rtprobe", "1", "rtw/1", "counted"),
        plan=plan,
        lanes=(lane,),
        labels=labels,
        end_reason=reason,
        sealed=True,
        wall_end="2026-11-21T00:00:01Z",
    )
    path = home / f"{manifest.id}.rta"
    path.mkdir()
    save_manifest(path, replace(manifest, **fields))
    return RunResult(path, manifest.id, reason, reason == "signal")


class FakeBoard:
    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def probe(self) -> str:
        return "rtprobe"


@dataclass(frozen=True)
class Runs:
    """What a switch says that it booted."""

    release: str
    version: str = "#1 SMP PREEMPT_RT"


def files_of(release: str | None) -> Callable[..., Any]:
    """Stands for read_files; None: the board does not answer."""

    async def read_files(board: Any, rtprobe: str, paths: Any) -> dict[str, bytes]:
        if release is None:
            raise BoardError("no answer")
        known = {
            "/proc/sys/kernel/osrelease": f"{release}\n",
            "/proc/version": f"Linux version {release} #1 SMP PREEMPT_RT",
        }
        return {path: known[path].encode() for path in paths}

    return read_files


@pytest.fixture
def carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Outcome, Path, list[Step]]]:
    """`carried(session, text, ...)`: an experiment in tmp_path, carried out once (again: gone on with)."""
    monkeypatch.setattr(engine, "_RETRY_PAUSES_S", (0.0, 0.0, 0.0))

    def start(session: FakeSession, text: str = TWO, **tools: Any) -> tuple[Outcome, Path, list[Step]]:
        path, plan = tmp_path / "x", plan_of(text)
        if not path.exists():
            create(path, parse(head(text), Path("x.toml")).text, plan)
        monkeypatch.setattr(engine, "run_session", session)
        steps: list[Step] = []
        options = {key: tools.pop(key) for key in ("stop", "fail_fast") if key in tools}
        given = Tools(board=lambda name: FakeBoard(), finish=tools.pop("finish", no_finish), **tools)
        return asyncio.run(carry_out(path, plan, given, on_step=steps.append, **options)), path, steps

    return start


def head(text: str) -> bytes:
    return f'name = "x"\n{text}'.encode()


def plan_of(text: str) -> ExperimentPlan:
    return make_plan(parse(head(text), Path("x.toml")).file)


def no_finish(path: Path) -> Manifest:
    raise AssertionError(f"nothing to finish in {path}")


def test_all_cells_once_with_labels_that_tell_them_apart(carried: Any) -> None:
    session = FakeSession("duration")
    settled: list[Path] = []
    outcome, path, _ = carried(session, "repeats = 2\n" + TWO, settled=settled.append)
    assert outcome.complete and not outcome.failed and not outcome.stopped
    assert [(row["load"], row["repeat"], row["order"]) for row in session.labels] == [
        ("idle", "1", "1"), ("cpu", "1", "2"), ("cpu", "2", "3"), ("idle", "2", "4"),
    ]  # fmt: skip
    assert len({row["cell"] for row in session.labels}) == 4
    assert len(settled) == 4
    assert status_of(path).state == "complete"
    again, _, _ = carried(session, "repeats = 2\n" + TWO)
    assert again.complete and len(session.labels) == 4


def test_settings_of_a_scenario_are_those_of_its_runs_alone(carried: Any) -> None:
    session = FakeSession("duration")
    carried(
        session,
        '[[loads]]\nname = "idle"\n[[scenarios]]\nname = "as-is"\n[[scenarios]]\nname = "quiet"\ntune.settings = ["printk"]\n',
    )
    assert [row["scenario"] for row in session.labels] == ["as-is", "quiet"]
    assert session.tunes[0] is None and session.tunes[1].ids == ("printk",)


def test_a_lost_board_is_tried_again_and_a_wrong_plan_is_not(carried: Any) -> None:
    session = FakeSession(BoardError("gone"), "duration", UsageError("no such CPU"))
    outcome, path, _ = carried(session)
    assert [row["attempt"] for row in session.labels] == ["1", "2", "1"]
    assert outcome.sealed == 1 and not outcome.complete
    ((cell, why),) = outcome.failed
    assert (cell.load, why) == ("cpu", "no such CPU")
    assert status_of(path).state == "incomplete"
    outcome, _, _ = carried(FakeSession("duration"))
    assert outcome.complete


def test_a_program_that_the_board_lacks_is_not_looked_for_again(carried: Any) -> None:
    session = FakeSession(ToolMissing("board 'far' has no iperf3"), "duration")
    outcome, _, _ = carried(session)
    assert [row["attempt"] for row in session.labels] == ["1", "1"] and outcome.sealed == 1
    assert outcome.failed[0][1] == "board 'far' has no iperf3"


def test_a_bug_in_one_cell_costs_no_other_unless_fail_fast(carried: Any) -> None:
    outcome, path, _ = carried(FakeSession(ZeroDivisionError("x"), "duration"))
    assert outcome.sealed == 1
    assert "ZeroDivisionError" in outcome.failed[0][1]
    outcome, path, _ = carried(FakeSession(BoardError("gone")), fail_fast=True)
    assert outcome.sealed == 1 and len(outcome.failed) == 1
    known = states(read_journal(path), [cell.id for cell in plan_of(TWO).cells])
    assert sorted(state.state for state in known.values()) == ["failed", "sealed"]


def test_a_full_disk_is_no_bug_and_its_cell_is_tried_again(carried: Any) -> None:
    full = OSError(28, "No space left on device", "/x/stream.rtw")
    outcome, path, _ = carried(FakeSession(full, "duration"))
    assert outcome.sealed == 2 and not outcome.failed
    (why,) = [entry.facts["why"] for entry in read_journal(path) if entry.event == "failed"]
    assert why == "cannot use /x/stream.rtw: No space left on device"


def test_a_run_that_was_stopped_is_superseded_and_measured_again(carried: Any) -> None:
    stop = StopRequest()

    class Stopped(FakeSession):
        async def __call__(self, *args: Any, **others: Any) -> RunResult:
            stop.request()
            return await super().__call__(*args, **others)

    outcome, path, _ = carried(Stopped("signal"), stop=stop)
    assert outcome.stopped and outcome.sealed == 0 and not outcome.failed
    status = status_of(path)
    assert (status.state, len(status.superseded)) == ("interrupted", 1)
    outcome, path, _ = carried(FakeSession("duration"))
    assert outcome.complete and len(status_of(path).superseded) == 1


def test_a_directory_whose_creation_failed_is_taken_again_and_one_with_recordings_is_not(tmp_path: Path) -> None:
    """A full disk leaves the text without its plan, and an empty folder of recordings."""
    place = tmp_path / "x"
    (place / RECORDINGS).mkdir(parents=True)
    (place / "experiment.toml").write_text("half")
    assert create(place, b"whole", plan_of("")) == place and (place / "experiment.toml").read_bytes() == b"whole"
    (tmp_path / "y" / RECORDINGS / "20261101T000001-aaaaaa.rta").mkdir(parents=True)
    with pytest.raises(UsageError, match="is not an experiment"):
        create(tmp_path / "y", b"whole", plan_of(""))


def test_stopped_before_anything_was_measured(carried: Any) -> None:
    stop = StopRequest()

    class Stopped(FakeSession):
        async def __call__(self, *args: Any, **others: Any) -> RunResult:
            stop.request()
            raise Interrupted("stopped before anything was measured")

    outcome, path, _ = carried(Stopped(), stop=stop)
    assert outcome.stopped and not outcome.failed
    assert status_of(path).counts == {"sealed": 0, "running": 0, "failed": 0, "planned": 2, "skipped": 0}


def test_what_a_crash_left_is_adopted_finished_or_superseded(carried: Any) -> None:
    outcome, path, _ = carried(FakeSession(BoardError("gone")), "retries = 0\n" + TWO)
    assert outcome.sealed == 0
    plan = plan_of("retries = 0\n" + TWO)
    idle, cpu = plan.cells
    labels = {"cell": idle.id, "plan": plan.hash, "attempt": "1"}
    home = path / RECORDINGS
    whole = write(home, idle.plan, labels).id
    cut_off = write(home, cpu.plan, labels | {"cell": cpu.id}, sealed=False, wall_end=None).id
    unsealed = write(home, cpu.plan, labels | {"cell": cpu.id}, sealed=False)
    other = write(home, cpu.plan, {"cell": cpu.id, "plan": "of another experiment"}).id
    (home / "20261121T000000-000000.rta").mkdir()

    def finish(recording: Path) -> Manifest:
        assert recording == unsealed.path
        manifest = replace(store.load_manifest(recording), sealed=True)
        save_manifest(recording, manifest)
        return manifest

    session = FakeSession("duration")
    outcome, _, _ = carried(session, "retries = 0\n" + TWO, finish=finish)
    assert outcome.complete and not session.labels
    assert set(outcome.found.adopted) == {whole, unsealed.id}
    assert outcome.found.superseded == (cut_off,)
    assert (home / f"{other}.rta").exists()
    assert not (home / "20261121T000000-000000.rta").exists()


def test_a_second_whole_recording_of_a_cell_does_not_count(carried: Any) -> None:
    outcome, path, _ = carried(FakeSession("duration"))
    cell = outcome and plan_of(TWO).cells[0]
    extra = write(path / RECORDINGS, cell.plan, {"cell": cell.id, "plan": plan_of(TWO).hash}).id
    outcome, _, _ = carried(FakeSession("duration"))
    assert outcome.found.superseded == (extra,)
    assert status_of(path).superseded == (extra,)


def test_kernels_are_booted_when_they_change_and_afresh_if_asked(carried: Any, tmp_path: Path) -> None:
    booted: list[str] = []

    async def switch(board: Any, kernel: str) -> Runs:
        booted.append(kernel)
        return Runs(kernel)

    text = 'repeats = 2\nboards = ["far"]\nkernels = ["a", "b"]\nreboot = "each-block"\n' + TWO
    outcome, _, _ = carried(FakeSession("duration"), text, switch=switch)
    assert outcome.complete
    assert booted == ["a", "b", "b", "a"]


def test_a_kernel_that_does_not_boot_fails_its_cells_only(carried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def switch(board: Any, kernel: str) -> Runs:
        if kernel == "b":
            raise BoardError("b does not boot")
        return Runs(kernel)

    text = 'retries = 0\nboards = ["far"]\nkernels = ["a", "b"]\n' + TWO
    monkeypatch.setattr("rtassay.experiments.kernels.read_files", files_of("a"))
    outcome, _, _ = carried(FakeSession("duration"), text, switch=switch)
    assert outcome.sealed == 2
    assert {cell.kernel for cell, _ in outcome.failed} == {"b"}


def test_a_board_that_does_not_come_back_ends_its_cells_until_resume(
    carried: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are left as they were: `resume` measures them when the board is back."""
    booted: list[str] = []

    async def switch(board: Any, kernel: str) -> Runs:
        booted.append(kernel)
        if kernel == "b":
            raise BoardError("not back after 600 s", "gone", "switch it off and on")
        return Runs(kernel)

    text = 'order = "as-written"\nrepeats = 2\nboards = ["far"]\nkernels = ["a", "b"]\nretries = 0\n[[loads]]\nname = "idle"\n'
    monkeypatch.setattr("rtassay.experiments.kernels.read_files", files_of(None))
    outcome, path, steps = carried(FakeSession("duration"), text, switch=switch)
    assert booted == ["a", "b"] and outcome.sealed == 2
    ((_, why),) = outcome.failed
    assert why == "not back after 600 s: gone; switch it off and on"
    assert any("did not come back" in step.text for step in steps)
    assert status_of(path).counts == {"sealed": 2, "running": 0, "failed": 1, "planned": 1, "skipped": 0}

    async def works(board: Any, kernel: str) -> Runs:
        return Runs(kernel)

    outcome, _, _ = carried(FakeSession("duration"), text, switch=works)
    assert outcome.complete


def test_the_kernel_is_checked_before_every_run_and_booted_again_if_it_is_another(
    carried: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    booted: list[str] = []
    inventories = [Runs("a"), Runs("other"), Runs("a"), Runs("a", "#1 SMP PREEMPT_DYNAMIC"), Runs("a"), Runs("a")]

    class Looks(FakeSession):
        async def __call__(self, *args: Any, accept: Any, **others: Any) -> RunResult:
            runs = inventories.pop(0)
            version = f"Linux version {runs.release} {runs.version}"
            accept(inventory_of({"kernel": {"release": runs.release, "version": version}}))
            return await super().__call__(*args, **others)

    async def switch(board: Any, kernel: str) -> Runs:
        booted.append(kernel)
        return Runs(kernel)

    text = 'repeats = 4\nboards = ["far"]\nkernels = ["a"]\n[[loads]]\nname = "idle"\n'
    outcome, _, steps = carried(Looks("duration"), text, switch=switch)
    assert outcome.complete and inventories == []
    assert booted == ["a", "a", "a"]
    whys = [step.text for step in steps if step.phase == "failed"]
    assert len(whys) == 2 and all("not a (a)" in why for why in whys)


def test_after_a_failure_the_board_is_asked_what_it_runs(carried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    booted: list[str] = []

    async def switch(board: Any, kernel: str) -> Runs:
        booted.append(kernel)
        return Runs(kernel)

    text = 'repeats = 2\nboards = ["far"]\nkernels = ["a"]\n[[loads]]\nname = "idle"\n'
    for now, boots in (("a", ["a"]), ("fell-back", ["a", "a"])):
        booted.clear()
        monkeypatch.setattr("rtassay.experiments.kernels.read_files", files_of(now))
        outcome, path, _ = carried(
            FakeSession("duration", BoardError("was restarted"), "duration"), text, switch=switch
        )
        assert outcome.complete and booted == boots
        shutil.rmtree(path)


def test_a_name_of_no_kernel_is_refused_before_anything_is_measured(carried: Any) -> None:
    asked: list[Any] = []

    async def names(board: Any, wanted: Any) -> None:
        asked.append(list(wanted))
        raise UsageError("there is no kernel 'b' on this board")

    async def switch(board: Any, kernel: str) -> Runs:
        raise AssertionError("booted")

    session = FakeSession("duration")
    with pytest.raises(UsageError, match="no kernel 'b'"):
        carried(session, 'boards = ["far"]\nkernels = ["a", "b"]\n' + TWO, switch=switch, kernel_names=names)
    assert asked == [["a", "b"]] and not session.labels


def test_what_a_board_measured_alone_is_fetched_before_it_is_judged(carried: Any) -> None:
    """A host that died left an unsealed recording; its board came to the end by itself."""
    text = 'retries = 0\nboards = ["far"]\n' + TWO
    outcome, path, _ = carried(FakeSession(BoardError("gone")), text)
    idle, cpu = plan_of(text).cells
    labels = {"cell": idle.id, "plan": plan_of(text).hash}
    left = write(path / RECORDINGS, idle.plan, labels, sealed=False, wall_end=None).path
    (left / "attach.json").write_text("{}")
    tried: list[str] = []

    async def unreachable(recording: Path, on_event: Any, stop: Any) -> None:
        raise BoardError("cannot log in to far")

    with pytest.raises(BoardError, match="cannot log in to far") as caught:
        carried(FakeSession("duration"), text, attach=unreachable)
    assert caught.value.hint and "resume" in caught.value.hint
    assert status_of(path).superseded == ()

    async def fetched(recording: Path, on_event: Any, stop: Any) -> None:
        tried.append(recording.name)
        manifest = store.load_manifest(recording)
        (recording / "attach.json").unlink()
        save_manifest(recording, replace(manifest, sealed=True, wall_end="2026-11-21T00:00:01Z"))

    session = FakeSession("duration")
    outcome, _, steps = carried(session, text, attach=fetched)
    assert outcome.complete and tried == [left.name]
    assert [row["cell"] for row in session.labels] == [cpu.id]
    assert {step.phase for step in steps} >= {"fetching", "adopted"}


def test_what_a_board_has_lost_is_superseded(carried: Any) -> None:
    text = 'retries = 0\nboards = ["far"]\n' + TWO
    outcome, path, _ = carried(FakeSession(BoardError("gone")), text)
    idle, _ = plan_of(text).cells
    labels = {"cell": idle.id, "plan": plan_of(text).hash}
    left = write(path / RECORDINGS, idle.plan, labels, sealed=False, wall_end=None)
    (left.path / "attach.json").write_text("{}")

    async def lost(recording: Path, on_event: Any, stop: Any) -> None:
        raise RunLost("board 'far' was restarted")

    outcome, _, steps = carried(FakeSession("duration"), text, attach=lost)
    assert outcome.complete and status_of(path).superseded == (left.id,)
    assert any("was restarted" in step.text for step in steps)
    assert not (left.path / "attach.json").exists()


def test_cells_but_the_first_wait_for_the_board_to_cool(carried: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = iter([61.0, 55.0, 49.5])

    async def hottest_c(board: Any) -> float | None:
        return next(shown)

    monkeypatch.setattr("rtassay.experiments.cooling.hottest_c", hottest_c)
    monkeypatch.setattr("rtassay.experiments.cooling._EVERY_S", 0.01)
    text = TWO + '[cool_down]\nto_c = 50\nat_most = "1min"\n'
    outcome, path, steps = carried(FakeSession("duration"), text)
    assert outcome.complete
    assert next(step.text for step in steps if step.phase == "cooling").startswith("61.0 degC, to 50 degC")
    started = [entry for entry in read_journal(path) if entry.event == "started"]
    assert [entry.facts.get("cooled_to_c") for entry in started] == [None, 49.5]


def test_a_board_without_a_thermometer_is_waited_for_as_long_as_allowed(
    carried: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def hottest_c(board: Any) -> float | None:
        return None

    monkeypatch.setattr("rtassay.experiments.cooling.hottest_c", hottest_c)
    monkeypatch.setattr("rtassay.experiments.cooling._EVERY_S", 0.01)
    outcome, path, _ = carried(FakeSession("duration"), TWO + '[cool_down]\nto_c = 50\nat_most = "100ms"\n')
    assert outcome.complete
    started = [entry for entry in read_journal(path) if entry.event == "started"]
    assert started[1].facts["cooled_to_c"] is None and started[1].facts["waited_s"] >= 0.1
