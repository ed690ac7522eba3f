"""What a run makes of a probe that failed, of a second request to stop, and of a board that keeps the rest of a recording."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from fake_board import FakeBoard, Script

from rtassay import store
from rtassay.api import parser_for
from rtassay.boards.base import AtClose
from rtassay.model.errors import BoardError, RunLost, UsageError
from rtassay.model.events import End, Event
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.session import attach, prepare
from rtassay.session.control import Interrupted, Progress, StopRequest
from rtassay.session.run import run
from rtassay.wire.encode import StreamEncoder
from rtassay.wire.stream import StreamParser

GOLDEN = Path(__file__).parents[3] / "wire" / "golden" / "v1"
CYCLIC, WATCH = (GOLDEN / "cyclic.rtw").read_bytes(), (GOLDEN / "watch.rtw").read_bytes()
# Far more than it takes: a fault that makes a run wait for ever fails then.
HANGS_S = 120
PLAN = Plan(duration_ns=10**9, load="none", dma_latency_us=0)


def ended(**end: object) -> bytes:
    """The golden stream with other words in its END."""
    parser = StreamParser()
    events: list[Event] = [*parser.feed(CYCLIC), *parser.finish()]
    return StreamEncoder().encode_all(
        [replace(event, data={**event.data, **end}) if isinstance(event, End) else event for event in events]
    )


def measure(
    board: FakeBoard, home: Path, during: Callable[[Progress, StopRequest], None] = lambda progress, stop: None
) -> Path:
    """One run; `during` hears its progress and may ask to stop."""

    async def main() -> Path:
        stop = StopRequest()
        async with asyncio.timeout(HANGS_S):
            result = await run(board, PLAN, home=home, labels={}, on_event=lambda told: during(told, stop), stop=stop)
        return result.path

    return asyncio.run(main())


def board(probe: Script, telemetry: Script | None = None, *, outlives_us: bool = False) -> FakeBoard:
    scripts = {"probe": probe, "telemetry": telemetry or Script(WATCH, waits=True)}
    return FakeBoard(scripts, outlives_us=outlives_us)


def test_a_probe_that_ends_in_order_leaves_a_sealed_recording(tmp_path: Path) -> None:
    """The others prove something only because this one does not raise."""
    made = board(Script(ended(reason="duration", exit=0)))
    path = measure(made, tmp_path)
    assert store.load_manifest(path).sealed
    assert made.closed_with[0] is AtClose.END


@pytest.mark.parametrize(
    ("code", "errors", "kind", "said"),
    [
        (0, b"", BoardError, "exit code 0"),
        (3, b"rtprobe: no memory left\n", BoardError, "no memory left"),
        (2, b"rtprobe: --interval 0 is out of range\n", UsageError, "out of range"),
        (137, b"", BoardError, "memory runs out"),
    ],
)
def test_an_end_with_an_error_is_no_success(
    tmp_path: Path, code: int, errors: bytes, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        measure(board(Script(ended(reason="error", exit=code), code, errors)), tmp_path)
    (path,) = tmp_path.glob("*.rta")
    assert not store.load_manifest(path).sealed


def test_a_stream_without_an_end_is_no_success(tmp_path: Path) -> None:
    parser = StreamParser()
    events = [event for event in [*parser.feed(CYCLIC), *parser.finish()] if not isinstance(event, End)]
    with pytest.raises(BoardError, match="did not come to its end"):
        measure(board(Script(StreamEncoder().encode_all(events))), tmp_path)


def test_the_first_request_ends_the_measurement_in_order(tmp_path: Path) -> None:
    probe = Script(ended(reason="signal", exit=130), 130, waits=True)

    def once(told: Progress, stop: StopRequest) -> None:
        if told.phase == "measure" and told.lanes and not stop.asked.is_set():
            stop.request()

    path = measure(board(probe), tmp_path, once)
    assert probe.signals == [2]
    assert store.load_manifest(path).sealed


@pytest.mark.parametrize("phase", ["measure", "collect"])
def test_the_second_request_aborts(tmp_path: Path, phase: str) -> None:
    """The probe, or the watch, does not end by itself: only the abort ends the run."""
    probe = Script(CYCLIC, deaf=True) if phase == "measure" else Script(ended(reason="duration", exit=0))
    made = board(probe, Script(WATCH, deaf=True))

    def twice(told: Progress, stop: StopRequest) -> None:
        if told.phase == phase and (told.lanes or phase == "collect"):
            stop.request()
            stop.request()

    with pytest.raises(Interrupted, match="aborted"):
        measure(made, tmp_path, twice)
    (path,) = tmp_path.glob("*.rta")
    assert not store.load_manifest(path).sealed
    assert made.closed_with


def test_what_a_board_keeps_is_not_discarded_though_nothing_of_it_came(tmp_path: Path) -> None:
    made = board(Script(fails=BoardError("the link did not come back")), outlives_us=True)
    with pytest.raises(BoardError) as caught:
        measure(made, tmp_path)
    (path,) = tmp_path.glob("*.rta")
    assert "--attach" in (caught.value.hint or "") and str(path) in (caught.value.hint or "")
    assert made.closed_with[0] is AtClose.FETCH_REST
    assert attach.attachable(tmp_path) == [path]
    assert attach.board_of(path) == "fake"


def test_a_recording_that_nobody_has_anything_of_is_removed(tmp_path: Path) -> None:
    with pytest.raises(BoardError):
        measure(board(Script(fails=BoardError("the board is gone"))), tmp_path)
    assert list(tmp_path.glob("*.rta")) == []


def left_behind(home: Path, made: FakeBoard, stream: int, telemetry: int) -> Path:
    """An unsealed recording whose host died: so many bytes of each stream had arrived."""
    manifest = Manifest(
        store.new_id(), "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw", "counted"), Plan(), board="fake"
    )
    with store.RecordingWriter.create(home, manifest, "stream.rtw") as writer:
        writer.append(made.scripts["probe"].data[:stream])
        if telemetry:
            writer.append_to("telemetry.rtw", made.scripts["telemetry"].data[:telemetry])
        attach.remember(writer.path, made)
    return writer.path


def fetch(
    made: FakeBoard, path: Path, during: Callable[[Progress, StopRequest], None] = lambda progress, stop: None
) -> None:
    async def main() -> None:
        stop = StopRequest()
        async with asyncio.timeout(HANGS_S):
            await attach.attach(made, path, parser_for=parser_for, on_event=lambda told: during(told, stop), stop=stop)

    asyncio.run(main())


@pytest.mark.parametrize(("stream", "telemetry"), [(1000, 77), (0, 1), (len(CYCLIC), len(WATCH))])
def test_every_stream_goes_on_at_the_byte_where_it_stood(tmp_path: Path, stream: int, telemetry: int) -> None:
    made = board(Script(CYCLIC), Script(WATCH, waits=True), outlives_us=True)
    path = left_behind(tmp_path, made, stream, telemetry)
    fetch(made, path)
    assert made.reattached == {"probe": stream, "telemetry": telemetry}
    manifest = store.load_manifest(path)
    assert manifest.sealed and manifest.warnings == ()
    assert manifest.damage.lost_frames == 0 and manifest.damage.skipped_bytes == 0
    assert not (path / attach.FILE).exists()
    whole = tmp_path / "whole"
    with store.RecordingWriter.create(whole, replace(manifest, sealed=False), "stream.rtw") as writer:
        writer.append(CYCLIC)
    # The golden files tell what must have arrived: every sample, and every reading of the watch.
    assert [e.n for e in manifest.lanes] == [lane.entry.n for lane in store.open_recording(writer.path).lanes]
    assert sum(entry.readings for entry in manifest.monitors.values()) > 0


def test_a_second_request_leaves_the_run_on_the_board(tmp_path: Path) -> None:
    made = board(Script(CYCLIC, deaf=True), Script(WATCH, deaf=True), outlives_us=True)
    path = left_behind(tmp_path, made, 1000, 10)

    def twice(told: Progress, stop: StopRequest) -> None:
        if told.phase == "measure":
            stop.request()
            stop.request()

    with pytest.raises(Interrupted, match="aborted"):
        fetch(made, path, twice)
    assert made.closed_with == [AtClose.LEAVE_RUNNING]
    assert attach.attachable(tmp_path) == [path]
    assert not store.load_manifest(path).sealed


def test_a_part_that_is_lost_for_good_is_kept_as_far_as_it_came(tmp_path: Path) -> None:
    made = board(Script(CYCLIC[:3000], fails=RunLost("the board had no room")), outlives_us=True)
    path = left_behind(tmp_path, made, 1000, 10)
    with pytest.raises(RunLost):
        fetch(made, path)
    assert made.closed_with == [AtClose.FETCH_REST]
    assert (path / "stream.rtw").read_bytes() == CYCLIC[:3000]
    assert not store.load_manifest(path).sealed


@pytest.mark.parametrize("of", ["monitors", "probe"])
def test_a_board_that_sends_without_end_fills_no_disk(of: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stream has its limit: the plan says how much a run can be."""
    most = len(WATCH) + 10_000
    for name, value in (("_STREAM_BASE", most), ("_STREAM_PER_S", 0), ("_PER_ACTIVATION", 0)):
        monkeypatch.setattr(prepare, name, value)
    flood = Script(bytes(most + 1), waits=True)
    made = board(flood) if of == "probe" else board(Script(waits=True), flood)
    with pytest.raises(BoardError, match=f"floods the connection.*from the {of}"):
        measure(made, tmp_path)
