"""A run over a console that a script plays: what is sent, what is heard, how it ends, what is kept."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rtassay import store
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Plan
from rtassay.session import console
from rtassay.session.console import ConsoleRun, check_speed, measure
from rtassay.session.control import Interrupted, LaneProgress, Progress, RunResult, StopRequest

RUN = ConsoleRun(10, 1_000_000, 50_000, 9, 2, "critical", 371_000, 3_333_000, send=r"rtlite\r", wait="# ")
COMMAND = b"run count=10 interval_ns=1000000 priority=9 lanes=2 deadline_ns=50000 load_ns=371000 load_every_ns=3333000 load=critical\n"
TEXTS = (
    "FACTS os=rtos/1 board=m4 policy=fixed-priority",
    "PLAN count=10 interval_ns=1000000 deadline_ns=50000 bin_ns=1",
    "THREAD lane=0 cpu=0 first_due_ns=0 asked=9 priority=9 fixed=1",
    "BEAT lane=0 n=4 missed=1 max_us=7",
    "H lane=0 width_ns=1 5:9 7000:1",
    "LANE lane=0 due=10 n=10 missed=0 exceedances=0",
    "RANGE lane=0 min_ns=5 max_ns=7000 sum_ns=7045",
    "BYE lines=8 crcs=0",
)


def line(seq: int, text: str) -> bytes:
    body = f"@RTL1 {seq} {text}".encode()
    return body + f" *{zlib.crc32(body):08x}\r\n".encode()


READY = line(0, "READY")


def lines(texts: Iterable[str]) -> list[bytes]:
    return [line(seq, text) for seq, text in enumerate(texts, 1)]


class Script:
    """A console: each piece is one reading; a function among them is called in its place. It is silent at the end, and a second passes
    with each reading."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *pieces: bytes | Callable[[], None]) -> None:
        self.pieces = [b"login\r\n# ", READY, *pieces]
        self.sent: list[bytes] = []
        self.closed = 0
        self.now = 100.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def read(self) -> bytes:
        self.now += 1
        piece = self.pieces.pop(0) if self.pieces else b""
        if callable(piece):
            piece()
            return b""
        return piece

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def close(self) -> None:
        self.closed += 1


def heard(
    script: Script, home: Path, run: ConsoleRun = RUN, stop: StopRequest | None = None
) -> tuple[RunResult, list[Progress]]:
    told: list[Progress] = []

    async def whole() -> RunResult:
        return await measure(
            script,
            run,
            board="bench/1",
            home=home,
            plan=Plan(interval_ns=1_000_000, duration_ns=10_000_000),
            labels={"a": "b"},
            note="n",
            name="x",
            inventory={"virtualisation": "tcg"},
            on_event=told.append,
            stop=stop or StopRequest(),
        )

    return asyncio.run(whole()), told


def test_a_whole_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script(monkeypatch, *lines(TEXTS))
    result, told = heard(script, tmp_path)
    assert script.sent == [b"\r\n", b"rtlite\r", b"\n", COMMAND] and script.closed == 1
    assert (result.end_reason, result.stopped, result.path.parent) == ("count", False, tmp_path)
    recording = store.open_recording(result.path, verify=True)
    manifest = recording.manifest
    assert (manifest.id, manifest.board, manifest.labels, manifest.note, manifest.name) == (
        *(result.id, "bench/1", {"a": "b"}, "n", "x"),
    )
    assert (manifest.source.tool, manifest.source.version, manifest.source.format, manifest.source.late_policy) == (
        *("rtprobe-lite", "1", "console", "counted"),
    )
    assert manifest.inventory == {
        "virtualisation": "tcg",
        "kernel": {"release": "rtos/1", "version": None, "machine": "m4"},
    }
    assert recording.lanes[0].entry.n == 10 and manifest.end_reason == "count" and not manifest.damage.cut
    (original,) = (result.path / "original").iterdir()
    assert original.read_bytes() == b"".join(lines(TEXTS)) and original.suffix == ".log" and "/" not in original.name
    assert told[-1] == Progress("seal")
    beat = LaneProgress(0, 0, 4, 1, 0, 7000, None, None, None, None)
    assert told[0] == Progress("measure", 10_000_000, 10_000_000, ()), "no longer than was planned"
    assert told[-2].lanes == (beat,)


def test_what_is_sent_is_as_much_as_was_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain = ConsoleRun(5, 10, None, 3, 1, "none", None, None)
    assert plain.command == b"run count=5 interval_ns=10 priority=3 lanes=1 load=none\n" and plain.planned_ns == 50
    script = Script(monkeypatch, *lines(TEXTS))
    heard(script, tmp_path, plain)
    assert script.sent == [b"\n", plain.command]


def test_a_plan_that_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script(monkeypatch, line(1, "ERROR what=too-many about=lanes"), line(2, "READY"))
    with pytest.raises(BoardError) as caught:
        heard(script, tmp_path)
    assert (caught.value.what, caught.value.why) == ("rtprobe-lite on bench/1 refused the plan", "too-many: lanes")
    assert script.closed == 1 and len(script.pieces) == 1 and list(tmp_path.iterdir()) == []
    kept = Script(
        monkeypatch, *lines(TEXTS[:4]), line(5, "ERROR what=late about=x"), *lines(TEXTS)[5:4:-1], *lines(TEXTS)[4:]
    )
    assert heard(kept, tmp_path)[0].end_reason == "count", "an error of a run that measures ends nothing"


def test_a_console_that_falls_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script(monkeypatch, *lines(TEXTS[:4]))
    with pytest.raises(BoardError) as caught:
        heard(script, tmp_path)
    assert caught.value.what == "bench/1 fell silent" and caught.value.why == "nothing came for 61 s"
    assert caught.value.hint == "its run left nothing to keep; reset it and try again" and script.closed == 1
    cut = Script(monkeypatch, *lines(TEXTS[:5]))
    result, _ = heard(cut, tmp_path)
    assert (result.end_reason, result.stopped) == ("signal", False)
    assert store.load_manifest(result.path).damage.cut and store.load_manifest(result.path).end_reason == "cut"
    # long behind its planned end five seconds of silence are enough; a BEAT that still comes is waited for
    beats = [b"x\r\n"] * 80
    late = Script(monkeypatch, *lines(TEXTS[:5]), *beats)
    begun = late.now
    heard(late, tmp_path)
    assert late.now - begun == 2 + 5 + len(beats) + 6


def test_a_run_that_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stop = StopRequest()
    script = Script(monkeypatch, *lines(TEXTS[:4]), stop.request, *lines([*TEXTS[:4], "STOPPED", *TEXTS[4:]])[4:])
    result, _ = heard(script, tmp_path, stop=stop)
    assert script.sent[4:] == [b"\x03"] and (result.end_reason, result.stopped) == ("count", True)
    assert store.load_manifest(result.path).end_reason == "signal"
    nothing = StopRequest()
    empty = Script(monkeypatch, *lines(TEXTS[:4]), nothing.request)
    with pytest.raises(Interrupted, match="nothing to keep"):
        heard(empty, tmp_path, stop=nothing)
    # 30 s from the request on: one reading before the request is seen
    assert empty.now == 100 + 2 + 5 + 31 and empty.sent[4:] == [b"\x03"]
    aborted = StopRequest()

    def twice() -> None:
        aborted.request()
        aborted.request()

    last = Script(monkeypatch, *lines(TEXTS[:5]), twice, *lines(TEXTS)[5:])
    result, _ = heard(last, tmp_path, stop=aborted)
    assert len(last.pieces) == 3 and (result.end_reason, result.stopped) == ("signal", True)


def test_a_program_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script(monkeypatch)
    script.pieces = [b"login\r\n# "]
    with pytest.raises(BoardError, match="did not say ' READY "):
        heard(script, tmp_path)
    assert script.closed == 1 and script.sent == [b"\r\n", b"rtlite\r", b"\n"] and script.now == 100 + 1 + 30


@pytest.mark.parametrize(
    ("said", "started"),
    [
        ([READY, READY], False),
        ([b"@RTL1 0 REA", READY[11:], READY], False),
        ([READY + b"# ", READY], True),
        ([b"# " + READY, READY], False),
    ],
)
def test_a_program_that_runs_already_is_not_started_again(
    said: list[bytes], started: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After a first run rtprobe-lite waits for a command, and the shell's prompt never comes. What was said last is what stands there."""
    script = Script(monkeypatch)
    script.pieces = [*said, *lines(TEXTS)]
    assert heard(script, tmp_path)[0].end_reason == "count"
    assert script.sent == [b"\r\n", *([b"rtlite\r"] if started else []), b"\n", COMMAND]


def asked(lanes: int) -> ConsoleRun:
    return ConsoleRun(1, 1, None, 1, lanes, "none", None, None)


def test_a_line_that_is_too_slow() -> None:
    check_speed(asked(1), 1600)
    check_speed(asked(3), 4800)
    check_speed(asked(3), None)
    for lanes, baud, words in (
        (1, 1599, "1599 baud is too slow for 1 lane"),
        (3, 4799, "4799 baud is too slow for 3 lanes"),
    ):
        with pytest.raises(UsageError) as caught:
            check_speed(asked(lanes), baud)
        needed = 1600 * lanes
        assert caught.value.what == words and caught.value.hint == "a faster line, or fewer --lanes"
        assert caught.value.why == (
            f"rtprobe-lite tells how far it is every second, which takes {needed // 2} baud; at least {needed} are needed"
        )


def test_a_console_without_facts_names_no_kernel() -> None:
    none: Any = console._kernel([])
    assert none == {}


def test_a_board_that_resets_in_the_middle_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script(monkeypatch, *lines(TEXTS[:4]), b"U-Boot 2023.01\r\n", READY)
    with pytest.raises(BoardError) as caught:
        heard(script, tmp_path)
    assert (caught.value.what, caught.value.why) == ("the run on bench/1 was broken off", "the board began anew")
    assert script.now < 100 + 2 + 10 and script.closed == 1 and list(tmp_path.iterdir()) == []


def test_a_run_whose_last_line_is_lost_is_kept_as_cut(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = lines(TEXTS)
    result, _ = heard(Script(monkeypatch, *whole[:-1], line(len(whole) + 1, "READY")), tmp_path)
    manifest = store.load_manifest(result.path)
    assert manifest.damage.cut and manifest.damage.lost_frames == 1 and result.end_reason == "signal"


def test_a_board_is_reset_before_its_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its console is open by then: nothing of the boot is missed, and a boot takes longer than an answer."""
    run = replace(RUN, reset=f"echo reset >{tmp_path / 'done'}")
    script = Script(monkeypatch)
    script.pieces = [*[b"U-Boot ...\r\n"] * 100, b"# ", READY, *lines(TEXTS)]
    assert heard(script, tmp_path / "home", run)[0].end_reason == "count"
    assert (tmp_path / "done").read_text() == "reset\n" and script.sent == [b"rtlite\r", b"\n", COMMAND]
    alone = replace(RUN, reset="true", wait=None, send=None)
    script = Script(monkeypatch)
    script.pieces = [*[b"booting\r\n"] * 100, READY, READY, *lines(TEXTS)]
    assert heard(script, tmp_path / "alone", alone)[0].end_reason == "count" and script.sent == [b"\n", COMMAND]


def test_a_reset_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = Script(monkeypatch)
    with pytest.raises(BoardError) as caught:
        heard(script, tmp_path, replace(RUN, reset="echo no relay >&2; exit 3"))
    assert caught.value.what == "the board was not reset" and "ended with 3: no relay" in (caught.value.why or "")
    assert script.sent == [] and script.closed == 1
    monkeypatch.setattr(console, "_RESET_S", 0.1)
    with pytest.raises(BoardError, match="was not reset"):
        heard(Script(monkeypatch), tmp_path, replace(RUN, reset="sleep 5"))
