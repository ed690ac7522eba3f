"""`rtassay.run`: the defaults and the errors of the command, and what ends a run early. The board is made up."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from fake_board import FakeBoard, Script

import rtassay
from rtassay import runs, store
from rtassay.cli import run as cli
from rtassay.cli.run_options import values_of
from rtassay.model.errors import EXIT_INTERRUPTED, EXIT_USAGE, BoardError, UsageError
from rtassay.session.control import Interrupted, Progress

GOLDEN = Path(__file__).parents[2] / "wire" / "golden" / "v1"
CYCLIC, WATCH = (GOLDEN / "cyclic.rtw").read_bytes(), (GOLDEN / "watch.rtw").read_bytes()
TUNE = str(Path(__file__).parents[1] / "data" / "tune" / "quiet.toml")


class Asked(Exception):
    """Carries a request out of `rtassay.run` before anything starts."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`asked(**values)`: the request that `rtassay.run` makes."""

    def refuse(request: runs.RunRequest, *rest: Any) -> Any:
        raise Asked(request)

    monkeypatch.setattr(runs, "measure_blocking", refuse)

    def ask(*board: Any, **values: Any) -> runs.RunRequest:
        with pytest.raises(Asked) as caught:
            rtassay.run(*board, **values)
        request: runs.RunRequest = caught.value.args[0]
        return request

    return ask


def commanded(*words: str) -> runs.RunRequest:
    """The request that the command makes."""
    options = cli.command.make_context("run", list(words)).params
    return runs.make_request(options["board"], values_of(options))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, []),
        ({"deadline": "100us", "p": 1e-3}, ["--deadline", "100us", "--p", "1e-3"]),
        ({"deadline": 100_000}, ["--deadline", "100us"]),
        ({"duration": "10s", "warm_up": 2 * 10**9}, ["--duration", "10s", "--warm-up", "2s"]),
        ({"count": 1000, "interval": "1ms"}, ["--count", "1000", "--interval", "1ms"]),
        ({"cpus": [0, 1], "load_cpus": "0-1"}, ["--cpus", "0,1", "--load-cpus", "0-1"]),
        ({"cpus": "isolated", "lanes": 1}, ["--cpus", "isolated", "--lanes", "1"]),
        ({"load": ["builtin", "hackbench@0"]}, ["--load", "builtin", "--load", "hackbench@0"]),
        ({"dma_latency": "off", "mlock": False}, ["--dma-latency", "off", "--no-mlock"]),
        ({"aligned": True, "samples": False}, ["--aligned", "--no-samples"]),
        ({"tune": TUNE}, ["--tune", TUNE]),
        ({"policy": "rr", "priority": 50}, ["--policy", "rr", "--priority", "50"]),
        ({"break_above": "1ms", "confidence": 0.99}, ["--break-above", "1ms", "--confidence", "0.99"]),
        (
            {"strict": True, "waive": {"VM-STEAL": "deployed here"}, "labels": {"a": "b"}, "note": "n"},
            ["--strict", "--waive", "VM-STEAL", "--because", "deployed here", "--label", "a=b", "--note", "n"],
        ),
        (
            {"probe": "cyclictest", "cyclictest_line": "cyclictest -l1000 -q -p80 -t1"},
            ["--probe", "cyclictest", "--cyclictest-line", "cyclictest -l1000 -q -p80 -t1"],
        ),
    ],
)
def test_the_same_values_ask_for_the_same_run(asked: Any, values: dict[str, Any], words: list[str]) -> None:
    request, command = asked(**values), commanded(*words)
    assert request.plan == replace(command.plan, argv=())
    for field in ("home", "labels", "note", "isolated", "lanes", "tune"):
        assert getattr(request, field) == getattr(command, field), field
    assert request.board.name == command.board.name == "local"


def test_every_option_of_the_command_that_shapes_a_run_has_its_value(asked: Any) -> None:
    import inspect

    of_the_terminal = {
        "board",
        "attach",
        "report_file",
        "junit",
        "ktap",
        "summary",
        "quiet",
        "as_json",
        "because",
        "distance",
        "histogram",
        "histfile",
        "send",
        "wait",
        "reset",
    }
    renamed = {"deadline_ns": "deadline", "p_target": "p", "dma_latency_us": "dma_latency", "keep_samples": "samples"}
    renamed["per_hour"] = "at_most"
    options = {param.name or "" for param in cli.command.params} - of_the_terminal
    names = {renamed.get(name, name.removesuffix("_ns")) for name in options}
    assert names == set(inspect.signature(rtassay.run).parameters) - {"board", "progress", "notice"}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"deadline": "soon"}, "--deadline"),
        ({"deadline": 0}, "--deadline"),
        ({"deadline": 0.1}, "--deadline: 0.1 is no duration in ns"),
        ({"deadline": True}, "--deadline"),
        ({"priority": 100}, "--priority"),
        ({"priority": "high"}, "--priority"),
        ({"policy": "best"}, "--policy"),
        ({"policy": 7}, "--policy"),
        ({"policy": "other", "priority": 5}, "--priority has no meaning"),
        ({"sleep": "nap"}, "--sleep"),
        ({"clock": "utc"}, "--clock"),
        ({"p": 1.5}, "--p"),
        ({"p": float("nan")}, "--p"),
        ({"p": [1]}, "--p"),
        ({"aligned": "perhaps"}, "--aligned"),
        ({"mlock": 1}, "--no-mlock"),
        ({"cpus": [-1]}, "-1"),
        ({"cpus": ["0"]}, "--cpus"),
        ({"cpus": []}, ""),
        ({"duration": "1ms", "interval": "10ms"}, "shorter than one"),
        ({"load": "no-such-load"}, "no-such-load"),
        ({"load": []}, "no load"),
        ({"probe": "no-such-probe"}, "no-such-probe"),
        ({"settings": {"no-such": "1"}}, "no-such"),
        ({"labels": {"": "x"}}, "key=value"),
        ({"labels": {"x": 7}}, "key=value"),
        ({"waive": {"NO-SUCH": "why"}}, "no check"),
        ({"waive": {"VM-STEAL": " "}}, "no reason"),
        ({"cyclictest_line": "cyclictest"}, "--probe cyclictest"),
        ({"board": "no-such-board"}, "no-such-board"),
    ],
)
def test_a_wrong_value_is_a_usage_error_and_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], said: str
) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        rtassay.run(**values)
    assert said in str(caught.value)
    assert caught.value.exit_code == EXIT_USAGE
    assert list(tmp_path.rglob("*")) == []


def board(probe: Script) -> FakeBoard:
    return FakeBoard({"probe": probe, "telemetry": Script(WATCH, waits=True)})


def measure(made: FakeBoard, home: Path, **values: Any) -> Any:
    return rtassay.run(made, duration="1s", load="none", output=home, **values)


def test_a_run_gives_a_judged_recording(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    heard: list[tuple[str, str]] = []
    told = lambda progress: heard.append((progress.phase, threading.current_thread().name))  # noqa: E731
    recording = measure(board(Script(CYCLIC)), tmp_path, deadline="10ms", progress=told, labels={"a": "b"}, note="n")
    assert recording.manifest.sealed and recording.path.parent == tmp_path
    assert recording.verdict is not None and recording.verdict.deadline_ns == 10_000_000
    assert recording.manifest.labels == {"a": "b"} and recording.manifest.note == "n"
    assert store.load_findings(recording.path) is not None
    assert heard[0][0] == "inventory" and "measure" in {phase for phase, _ in heard}
    assert {name for _, name in heard} == {threading.current_thread().name}
    assert capfd.readouterr() == ("", "")


def test_it_runs_inside_a_running_event_loop(tmp_path: Path) -> None:
    async def notebook() -> Any:
        return measure(board(Script(CYCLIC)), tmp_path)

    assert asyncio.run(notebook()).manifest.sealed


def test_ctrl_c_gives_a_sealed_recording_and_a_second_one_aborts(tmp_path: Path) -> None:
    def once(told: Progress) -> None:
        if told.phase == "measure" and told.lanes and not probe.signals:
            signal.raise_signal(signal.SIGINT)

    probe = Script(CYCLIC, waits=True)
    recording = measure(board(probe), tmp_path, progress=once)
    assert probe.signals == [2] and recording.manifest.sealed and recording.stopped

    def often(told: Progress) -> None:
        if told.phase == "measure" and told.lanes:
            signal.raise_signal(signal.SIGINT)

    before = set(tmp_path.glob("*.rta"))
    with pytest.raises(Interrupted) as caught:
        measure(board(Script(CYCLIC, deaf=True)), tmp_path, progress=often)
    assert caught.value.exit_code == EXIT_INTERRUPTED
    (path,) = set(tmp_path.glob("*.rta")) - before
    assert not store.load_manifest(path).sealed
    assert "rtassay-run" not in {thread.name for thread in threading.enumerate()}


def test_an_error_of_the_callback_ends_the_run_in_order_and_comes_out(tmp_path: Path) -> None:
    def broken(told: Progress) -> None:
        if told.phase == "measure" and told.lanes:
            raise ZeroDivisionError("mine")

    made = board(Script(CYCLIC, waits=True))
    with pytest.raises(ZeroDivisionError, match="mine"):
        measure(made, tmp_path, progress=broken)
    (path,) = tmp_path.glob("*.rta")
    assert store.load_manifest(path).sealed


def test_what_the_board_says_comes_out_as_it_does_from_the_command(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="no memory"):
        measure(board(Script(CYCLIC[:200], 3, b"rtprobe: no memory\n")), tmp_path)


def test_notices_of_the_board_reach_the_caller(tmp_path: Path) -> None:
    class Telling(FakeBoard):
        async def open(self) -> None:
            self.notice("the link is back")
            await super().open()

    heard: list[str] = []
    made = Telling({"probe": Script(CYCLIC), "telemetry": Script(WATCH, waits=True)})
    measure(made, tmp_path, notice=heard.append)
    assert heard == ["the link is back"]


@pytest.mark.parametrize(("decided", "look"), [({1}, 1), ({2}, 2), (set(), None)])
def test_a_run_ends_at_the_first_planned_look_that_decides(
    monkeypatch: pytest.MonkeyPatch, decided: set[int], look: int | None
) -> None:
    """Looks are due at a third and two thirds of the run; its end is the last one and needs no stop."""
    from rtassay import runs
    from rtassay.model.manifest import Plan
    from rtassay.session.control import Progress, StopRequest

    seen: list[int] = []
    monkeypatch.setattr(runs, "_decides", lambda path, number: seen.append(number) or number in decided)

    async def through() -> StopRequest:
        stop = StopRequest()
        looks = runs.Looks(Plan(looks=3), stop)
        for second in range(31):
            looks.hear(Progress("measure", second * 10**9, 30 * 10**9, path=Path("somewhere")))
            await asyncio.sleep(0.01)
            if stop.asked.is_set():
                break
        return stop

    stop = asyncio.run(through())
    assert (stop.look, stop.asked.is_set()) == (look, look is not None)
    assert seen == ([1] if look == 1 else [1, 2])
