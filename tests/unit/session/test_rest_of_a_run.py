"""A run whose host died, fetched from a board: what is asked of the board, when, and what the recording then holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from scripted_board import (
    WATCH,
    Part,
    S,
    ScriptedBoard,
    Step,
    load_part,
    measured,
    run_skipping,
    skip_time,
)

from rtassay import store
from rtassay.api import parser_for
from rtassay.boards.base import AtClose, LinkLost
from rtassay.model import warnings
from rtassay.model.errors import BoardError, CorruptRecording, RunLost, UsageError
from rtassay.model.manifest import LoadEntry, Manifest, Plan, Source
from rtassay.session import attach, host_clock
from rtassay.session.control import Interrupted, Progress, RunResult, StopRequest

CYCLIC = measured()
BUILTIN = LoadEntry("builtin", ("/board/rtprobe", "load", "cpu"), cpus=(0, 1), spec="builtin:cpu")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_time(monkeypatch, attach, host_clock)


def left(home: Path, made: ScriptedBoard, loads: tuple[LoadEntry, ...] = (), **streams: bytes) -> Path:
    """An unsealed recording whose host died, with what had arrived of each stream."""
    manifest = Manifest(
        store.new_id(),
        "2026-11-22T12:00:00Z",
        Source("rtprobe", None, "rtw/1", "counted"),
        Plan(),
        board="scripted",
        loads=loads,
    )
    made.resume_data = {"run": 7}
    with store.RecordingWriter.create(home, manifest, "stream.rtw") as writer:
        for name, data in streams.items():
            if name == "probe":
                writer.append(data)
            else:
                writer.append_to(f"{name.replace('_', '-')}.rtw", data)
        attach.remember(writer.path, made)
    return writer.path


def fetch(
    made: ScriptedBoard, path: Path, during: Callable[[Progress, StopRequest], None] = lambda told, stop: None
) -> RunResult:
    async def main() -> RunResult:
        stop = StopRequest()
        return await attach.attach(
            made, path, parser_for=parser_for, on_event=lambda told: during(told, stop), stop=stop
        )

    return run_skipping(main())


def board(probe: Part | None = None, **others: Part) -> ScriptedBoard:
    parts = {"probe": probe or Part([CYCLIC[:900], 3.0, CYCLIC[900:]]), "telemetry": Part([WATCH, Step.TOLD])}
    return ScriptedBoard({**parts, **{name.replace("_", "-"): part for name, part in others.items()}})


def test_the_rest_of_a_run_under_load(tmp_path: Path) -> None:
    made = board(load_0=load_part())
    path = left(tmp_path, made, (BUILTIN,), probe=CYCLIC[:700], telemetry=WATCH[:40], load_0=b"")
    told: list[Progress] = []
    result = fetch(made, path, lambda progress, stop: told.append(progress))
    assert made.words == [
        "open", "reattach probe", "reattach load-0", "reattach telemetry", "close load-0", "close telemetry", "watch", "clock",
        "close clock", "end",
    ]  # fmt: skip
    assert made.offsets == {"probe": 700, "load-0": 0, "telemetry": 40}
    assert made.at_s("close load-0") == 3  # the load ends after the probe
    assert made.closed_with == [AtClose.END]
    assert (result.path, result.stopped, result.end_reason) == (path, False, "duration")
    manifest = store.load_manifest(path)
    assert manifest.sealed and manifest.id == result.id and manifest.warnings == ()
    (entry,) = manifest.loads
    assert (entry.started_ns, entry.stop_asked_ns, entry.ended_ns, entry.log) == (1, 8 * S, 9 * S, "logs/load-0.txt")
    assert manifest.inventory_end["cpus"] == {"online": [0, 1, 2, 3]}
    assert manifest.inventory_end["host_clock"]["board_mono_ns"] == 7 * S
    assert sum(monitor.readings for monitor in manifest.monitors.values()) > 0
    assert attach.attachable(tmp_path) == []
    assert list(dict.fromkeys(progress.phase for progress in told)) == ["inventory", "measure", "collect", "seal"]
    assert {progress.path for progress in told} == {path} and all(progress.connected for progress in told)
    seconds = [round(progress.elapsed_ns / S) for progress in told if progress.phase == "measure"]
    assert sorted(set(seconds)) == [1, 2, 3]
    assert [lane.cpu for lane in told[-1].lanes] == [0, 1] and told[-1].missed == 10042
    assert (path / "stream.rtw").exists() is False or (path / "stream.rtw").read_bytes() == CYCLIC


def test_progress_goes_on_where_it_stood(tmp_path: Path) -> None:
    made = board(Part([CYCLIC]))
    path = left(tmp_path, made, probe=CYCLIC, telemetry=b"")
    told: list[Progress] = []
    fetch(made, path, lambda progress, stop: told.append(progress))
    assert told[0].lanes == ()
    assert [lane.n for lane in told[1].lanes] == [120, 120] and told[1].missed == 10042


def test_a_recording_without_telemetry_is_sealed_without(tmp_path: Path) -> None:
    made = board()
    path = left(tmp_path, made, probe=CYCLIC[:700])
    fetch(made, path)
    assert "reattach telemetry" not in made.words and "close telemetry" not in made.words
    manifest = store.load_manifest(path)
    assert manifest.sealed and manifest.monitors == {} and "telemetry.parquet" not in manifest.seals


def test_what_the_probe_said_is_kept(tmp_path: Path) -> None:
    made = board(Part([CYCLIC], errors=b"rtprobe: a word\n"))
    path = left(tmp_path, made, probe=b"")
    fetch(made, path)
    assert (path / "logs" / "probe.txt").read_bytes() == b"rtprobe: a word\n"


def test_a_request_to_stop_reaches_the_probe_once(tmp_path: Path) -> None:
    made = board(Part([CYCLIC[:900], Step.TOLD, 2.5, CYCLIC[900:]]))
    path = left(tmp_path, made, probe=CYCLIC[:700], telemetry=b"")

    def once(told: Progress, stop: StopRequest) -> None:
        if told.phase == "measure" and not stop.asked.is_set():
            stop.request()

    assert fetch(made, path, once).stopped
    assert made.at_s("signal 2 probe") == 1  # at once, not a second later
    assert made.words.count("signal 2 probe") == 1 and store.load_manifest(path).sealed


def test_a_second_request_leaves_the_run_on_the_board(tmp_path: Path) -> None:
    made = board(Part([CYCLIC[:900], Step.NEVER]))
    path = left(tmp_path, made, probe=CYCLIC[:700], telemetry=b"")

    def twice(told: Progress, stop: StopRequest) -> None:
        if told.phase == "measure":
            stop.request()
            stop.request()

    with pytest.raises(Interrupted, match="aborted"):
        fetch(made, path, twice)
    assert made.closed_with == [AtClose.LEAVE_RUNNING] and attach.attachable(tmp_path) == [path]
    assert "signal 2 probe" not in made.words


def test_what_does_not_end_beside_the_probe_is_left_after_half_a_minute(tmp_path: Path) -> None:
    made = board(load_0=Part([Step.NEVER]))
    path = left(tmp_path, made, (BUILTIN,), probe=CYCLIC[:700], load_0=b"", telemetry=b"")
    with pytest.raises(BoardError, match="does not end") as caught:
        fetch(made, path)
    assert made.told[-1] == (33.0, "end") and made.closed_with == [AtClose.LEAVE_RUNNING]
    assert caught.value.hint == "rtassay board clean ends it"
    assert not store.load_manifest(path).sealed


def test_time_without_a_connection_is_added(tmp_path: Path) -> None:
    made = board(load_0=Part([Step.NEVER]))
    made.offline_s = 100.0
    path = left(tmp_path, made, (BUILTIN,), probe=CYCLIC[:700], load_0=b"")
    with pytest.raises(BoardError, match="does not end"):
        fetch(made, path)
    assert made.told[-1] == (133.0, "end")


@pytest.mark.parametrize("when_s", [1.5, 4.0])
def test_a_lost_connection_of_any_part_leaves_the_run_on_the_board(tmp_path: Path, when_s: float) -> None:
    made = board(telemetry=Part([WATCH, when_s, LinkLost("the cable is out")]))
    path = left(tmp_path, made, probe=CYCLIC[:700], telemetry=b"")
    with pytest.raises(LinkLost, match="cable"):
        fetch(made, path)
    assert made.told[-1] == (when_s, "end") and made.closed_with == [AtClose.LEAVE_RUNNING]
    assert attach.attachable(tmp_path) == [path]


def test_a_board_that_cannot_be_read_at_the_end_costs_a_warning(tmp_path: Path) -> None:
    made = board()
    made.answers["clock"] = Part([BoardError("it is gone")])
    path = left(tmp_path, made, probe=CYCLIC[:700])
    fetch(made, path)
    manifest = store.load_manifest(path)
    (warning,) = manifest.warnings
    assert (warning.code, warning.facts) == (warnings.END_NOT_READ, {"error": "it is gone"})
    assert manifest.wall_end is not None


def test_a_board_that_forgot_a_run_which_is_all_here(tmp_path: Path) -> None:
    made = ScriptedBoard()
    path = left(tmp_path, made, probe=CYCLIC, telemetry=WATCH)
    fetch(made, path)
    manifest = store.load_manifest(path)
    assert manifest.sealed and manifest.end_reason == "duration"
    assert made.words[:3] == ["open", "reattach probe", "reattach telemetry"]


def test_a_board_that_forgot_a_run_which_is_not_all_here(tmp_path: Path) -> None:
    made = ScriptedBoard()
    path = left(tmp_path, made, probe=CYCLIC[:-30])
    with pytest.raises(RunLost, match="nothing of probe"):
        fetch(made, path)
    assert not store.load_manifest(path).sealed


def test_a_board_where_nothing_was_started(tmp_path: Path) -> None:
    made = ScriptedBoard()
    path = left(tmp_path, made)
    with pytest.raises(RunLost, match="nothing was measured") as caught:
        fetch(made, path)
    assert caught.value.hint == "begin anew; this recording is empty"


def test_output_is_safe_on_disk_before_the_board_may_forget_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(store.RecordingWriter, "sync", lambda writer: synced.append(writer.path))

    class Syncing(ScriptedBoard):
        async def probe(self) -> str:
            await self.synced()
            return await super().probe()

    made = Syncing(board().parts)
    path = left(tmp_path, made, probe=CYCLIC[:700])
    synced.clear()
    fetch(made, path)
    assert synced == [path]


def test_how_to_find_a_run_again(tmp_path: Path) -> None:
    made = board()
    path = left(tmp_path, made)
    assert json.loads((path / attach.FILE).read_text()) == {
        "schema": "rtassay/attach/1", "board": "scripted", "resume": {"run": 7},
    }  # fmt: skip
    assert attach.board_of(path) == "scripted" and not (path / f".{attach.FILE}").exists()
    attach.forget(path)
    attach.forget(path)
    assert attach.attachable(tmp_path) == []
    with pytest.raises(UsageError):
        attach.board_of(path)


def test_nothing_is_remembered_of_a_board_that_ends_with_its_host(tmp_path: Path) -> None:
    attach.remember(tmp_path, board())  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_no_more_is_an_error_of_the_board(tmp_path: Path) -> None:
    made = board()
    made.resume_data = {}
    with pytest.raises(BoardError, match=r"cannot write .*attach\.json"):
        attach.remember(tmp_path / "no" / "such", made)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", "{}", '{"schema": "rtassay/attach/2", "board": "x", "resume": {}}', "\xff"]
)
def test_a_memory_that_is_none(tmp_path: Path, text: str) -> None:
    path = left(tmp_path, board())
    (path / attach.FILE).write_text(text, "latin-1")
    with pytest.raises(CorruptRecording):
        attach.board_of(path)


def test_a_sealed_recording_has_no_rest(tmp_path: Path) -> None:
    made = board()
    path = left(tmp_path, made, probe=CYCLIC[:700])
    fetch(made, path)
    words: list[Any] = list(made.words)
    with pytest.raises(UsageError):
        fetch(made, path)
    assert made.words == words  # the board was not even asked
