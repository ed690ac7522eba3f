"""rtprobe on Debian's real kernels: what works, what is refused and in which words. Function only: a board emulated on a busy
machine measures no latency, so nothing here looks at one."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import plain_env
from second_reader import Stream, read_stream
from vboard import Board, Setup

STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
ONE_CPU = Setup("one-cpu", "stock", cpus=1)
NO_HIGH_RESOLUTION = Setup("no-high-resolution", "stock", append="highres=off nohz=off")
INTERVAL_NS = 5_000_000
PLANNED = 600
MEASURE = "cyclic --interval 5ms --duration 3s"
EXIT_VIOLATED, EXIT_BOARD, EXIT_NOT_DEMONSTRATED, EXIT_INVALID = 1, 3, 4, 5


def on(*setups: Setup) -> pytest.MarkDecorator:
    """The setups a test runs on, one after the other (conftest groups the tests by setup, so that each boots once). All but the two
    kernels as they are belong to `make test-all`."""
    marked = [pytest.param(one, marks=() if one in (RT, STOCK) else pytest.mark.full) for one in setups]
    return pytest.mark.parametrize("setup", marked, ids=lambda setup: setup.name)


def rtassay(home: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """The command line, with its recordings under `home`."""
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *argv],
        capture_output=True,
        text=True,
        timeout=120,
        env=plain_env(home),
        check=False,
    )


def rtassay_json(home: Path, *argv: str) -> dict[str, Any]:
    done = rtassay(home, *argv, "--json")
    assert done.returncode == 0, f"rtassay {' '.join(argv)}: exit {done.returncode}: {done.stderr}"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def measure(board: Board, file: Path, command: str, user: str = "root") -> str:
    """Stream a whole measurement over SSH into `file`; what it said on stderr."""
    with file.open("wb") as out:
        done = board.run(command, user=user, stdout=out)
    words = done.stderr.decode()
    assert done.returncode == 0, f"`{command}` on {board.setup}: exit {done.returncode}: {words}"
    return words


def assert_account_closes(stream: Stream, cpus: int) -> None:
    """One lane a CPU; what each lane says of itself agrees with the clock, with its samples and with its histogram."""
    assert stream.facts is not None and stream.end is not None
    assert sorted(lane["cpu"] for lane in stream.facts["lanes"]) == list(range(cpus))
    assert len(stream.end["lanes"]) == cpus
    for lane in stream.end["lanes"]:
        index = lane["lane"]
        grid = stream.lanes[index]
        by_clock = (lane["closed_ns"] - lane["first_due_ns"]) // INTERVAL_NS + 1
        assert lane["due"] == min(by_clock, PLANNED)
        assert lane["due"] in (PLANNED - 1, PLANNED)  # a lane's offset on the grid may cost it the last one
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        assert (len(grid.samples), grid.missed, grid.dropped) == (lane["n"], lane["missed"], lane["dropped"])
        assert stream.histogram_counts[index] == lane["n"] > 0
        assert lane["max_ns"] == max(grid.samples.values())


def assert_recording_agrees(stream: Stream, file: Path, home: Path) -> dict[str, Any]:
    """`rtassay import` and `show` tell the same counts as the stream; the recording as `show` gives it."""
    assert stream.end is not None
    (made,) = rtassay_json(home, "import", str(file), "--label", "board=lab")["recordings"]
    assert_never_holds(home, made["path"])
    shown = rtassay_json(home, "show", made["path"])
    assert shown["sealed"] is True
    assert shown["interval_ns"] == INTERVAL_NS
    assert len(shown["lanes"]) == len(stream.end["lanes"])
    for lane, own in zip(shown["lanes"], stream.end["lanes"], strict=True):
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        for key in ("due", "n", "missed", "dropped", "truncated", "min_ns", "max_ns"):
            assert lane[key] == own[key], key
    return shown


def assert_never_holds(home: Path, recording: str) -> None:
    """A requirement that any data would meet: what was measured on an emulated board cannot show that it holds."""
    judged = rtassay(home, "show", recording, "--deadline", "1h", "--p", "0.9", "--json")
    assert judged.returncode in (EXIT_NOT_DEMONSTRATED, EXIT_INVALID), judged.stderr
    shown = json.loads(judged.stdout)
    assert shown["verdict"]["state"] in ("NOT DEMONSTRATED", "INVALID MEASUREMENT")
    assert check_of(shown, "VM-STEAL")["severity"] == "invalid"


def check_of(shown: dict[str, Any], identifier: str) -> dict[str, Any]:
    found: dict[str, Any]
    (found,) = (check for check in shown["checks"] if check["id"] == identifier)
    return found


def until(condition: Any, within_s: float, what: str) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"not within {within_s} s: {what}"
        time.sleep(0.2)


@contextlib.contextmanager
def started(board: Board, command: str, **pipes: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A shell line running on the board; its ssh client is killed at the end."""
    with subprocess.Popen(board.ssh_argv(command), **pipes) as client:
        try:
            yield client
        finally:
            client.kill()


@on(RT, STOCK)
def test_a_whole_measurement_streams_over_ssh(board: Board, tmp_path: Path) -> None:
    setup = board.setup
    assert ("PREEMPT_RT" in board.text("uname -v")) == (setup.kernel == "rt")
    file = tmp_path / "f.rtw"
    measure(board, file, f"/probe/rtprobe {MEASURE}")
    stream = read_stream(file)
    assert_account_closes(stream, setup.cpus)
    assert stream.facts is not None and stream.end is not None
    assert stream.end["reason"] == "duration"
    assert stream.facts["boot_id"] == board.text("cat /proc/sys/kernel/random/boot_id")
    assert stream.facts["clock"]["getres_ns"] == 1
    assert stream.facts["mlocked"] is True
    for lanes in (stream.facts["lanes"], stream.end["lanes"]):  # as obtained at the start, and as still held at the end
        for lane in lanes:
            assert (lane["obtained"]["policy"], lane["obtained"]["priority"]) == ("fifo", 90)
    for lane in stream.facts["lanes"]:
        assert lane["obtained"]["affinity"] == [lane["cpu"]]
    shown = assert_recording_agrees(stream, file, tmp_path)
    assert [lane["cpu"] for lane in shown["lanes"]] == list(range(setup.cpus))
    assert shown["kernel"] == board.text("uname -r")
    assert check_of(shown, "KERNEL-NOT-RT")["severity"] == "pass"
    assert check_of(shown, "NOT-RT-POLICY")["severity"] == "pass"
    assert check_of(shown, "NOT-PINNED")["severity"] == "pass"


@on(RT, STOCK, ONE_CPU)
def test_selftest_says_that_root_can_measure(board: Board) -> None:
    done = board.run("/probe/rtprobe selftest")
    points = selftest_points(done.stdout)
    assert done.returncode == 0, done.stderr.decode()
    assert not [line for line in points.values() if line.startswith("not ok")]
    assert "SCHED_FIFO 90 obtained" in points["fifo"]
    assert "high-resolution timers" in points["timers"]
    assert ("not PREEMPT_RT" in points["kernel"]) == (board.setup.kernel != "rt")
    release = board.text("uname -r")
    assert release in points["kernel"]


@on(STOCK)
def test_selftest_says_what_a_user_without_rights_cannot_do(board: Board) -> None:
    done = board.run("/probe/rtprobe selftest", user="user")
    points = selftest_points(done.stdout)
    assert done.returncode == EXIT_BOARD
    assert points["fifo"].startswith("not ok") and "not permitted" in points["fifo"]
    assert points["affinity"].startswith("ok")
    assert "CAP_SYS_NICE" in done.stdout.decode() and "cannot measure" in done.stderr.decode()


def selftest_points(output: bytes) -> dict[str, str]:
    """The KTAP lines of `rtprobe selftest` by the name of what each of them looked at."""
    points = {}
    for line in output.decode().splitlines():
        if line.startswith(("ok ", "not ok ")):
            points[line.partition(" - ")[2].partition(":")[0]] = line
    return points


@on(RT)
def test_the_32_bit_probe_on_the_64_bit_kernel(board: Board, tmp_path: Path) -> None:
    file = tmp_path / "f.rtw"
    assert board.text("dd if=/probe/rtprobe32 bs=1 skip=4 count=1 2>/dev/null | od -An -tu1") == "1"  # ELFCLASS32
    measure(board, file, f"/probe/rtprobe32 {MEASURE}")
    stream = read_stream(file)
    assert_account_closes(stream, RT.cpus)
    assert_recording_agrees(stream, file, tmp_path)


@on(STOCK)
def test_without_the_right_to_be_real_time_it_refuses_and_says_what_helps(board: Board) -> None:
    done = board.run(f"/probe/rtprobe {MEASURE}", user="user")
    words = done.stderr.decode()
    assert done.returncode == EXIT_BOARD, words
    assert "FIFO" in words.upper() and "90" in words
    assert "CAP_SYS_NICE" in words or "RLIMIT_RTPRIO" in words
    assert "--fallback" in words or "--policy other" in words
    assert done.stdout == b"", "nothing was measured, so nothing is streamed"


@on(STOCK)
@pytest.mark.proves("NOT-RT-POLICY", "live")
@pytest.mark.proves("VM-STEAL", "live")
def test_the_fallback_measures_and_says_so(board: Board, tmp_path: Path) -> None:
    file = tmp_path / "f.rtw"
    words = measure(board, file, f"/probe/rtprobe {MEASURE} --fallback", user="user")
    stream = read_stream(file)
    assert_account_closes(stream, STOCK.cpus)
    assert stream.facts is not None
    assert stream.facts["requested"]["policy"] == "fifo"
    assert {lane["obtained"]["policy"] for lane in stream.facts["lanes"]} == {"other"}
    assert stream.facts["fallback"]
    assert words
    shown = assert_recording_agrees(stream, file, tmp_path)
    assert check_of(shown, "NOT-RT-POLICY")["severity"] == "invalid"


@on(ONE_CPU)
def test_one_cpu(board: Board, tmp_path: Path) -> None:
    file = tmp_path / "f.rtw"
    measure(board, file, f"/probe/rtprobe {MEASURE}")
    stream = read_stream(file)
    assert_account_closes(stream, 1)
    assert_recording_agrees(stream, file, tmp_path)


@on(NO_HIGH_RESOLUTION)
@pytest.mark.proves("CLOCK-RES", "live")
def test_without_high_resolution_timers_it_measures_and_says_so(board: Board, tmp_path: Path) -> None:
    file = tmp_path / "f.rtw"
    words = measure(board, file, f"/probe/rtprobe {MEASURE}")
    stream = read_stream(file)
    assert_account_closes(stream, NO_HIGH_RESOLUTION.cpus)
    assert stream.facts is not None
    assert stream.facts["clock"]["getres_ns"] == 4_000_000  # the tick of Debian's HZ=250
    shown = assert_recording_agrees(stream, file, tmp_path)
    assert check_of(shown, "CLOCK-RES")["severity"] in ("invalid", "warning")
    assert "resolution" in words
    timers = selftest_points(board.run("/probe/rtprobe selftest").stdout)["timers"]
    assert "no high-resolution timers" in timers


@on(STOCK)
def test_the_guard_ends_everything_when_the_connection_goes(board: Board) -> None:
    inner = "sleep 3331 & sleep 3332 & setsid sleep 3333 & wait"
    command = f"/probe/rtprobe guard --attached --max 100s -- sh -c '{inner}'"
    with started(board, command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as client:
        until(lambda: sleepers(board) == 3, 60, "the guarded command and its children run")
        client.kill()
        client.wait(timeout=300)
        until(lambda: sleepers(board) == 0, 60, "the children are gone after the connection")
    until(lambda: not board.run("pidof rtprobe").stdout.strip(), 60, "the guard itself has ended")


def sleepers(board: Board) -> int:
    """How many of the guarded sleeps run on the board."""
    return int(board.text("ps -o args | grep -c '^sleep 333' || true"))


@on(STOCK)
def test_power_loss_in_mid_run_keeps_what_had_arrived(board: Board, tmp_path: Path) -> None:
    file = tmp_path / "f.rtw"
    command = "/probe/rtprobe cyclic --interval 5ms --duration 60s"
    with file.open("wb") as out, started(board, command, stdin=subprocess.DEVNULL, stdout=out) as client:
        until(lambda: samples_in(file) >= 100, 60, "100 samples have arrived on the host")
        before = read_stream(file)
        board.power_off()
        assert client.wait(timeout=300) != 0, "ssh must not call a lost board a success"
    cut = read_stream(file)
    assert cut.facts is not None and cut.end is None
    (made,) = rtassay_json(tmp_path, "import", str(file))["recordings"]
    manifest = json.loads((Path(made["path"]) / "manifest.json").read_text())
    assert manifest["damage"]["cut"] is True
    kept = recorded_samples(Path(made["path"]))
    for lane, grid in cut.lanes.items():
        assert grid.samples.items() >= before.lanes[lane].samples.items()
        assert kept[lane] == list(grid.samples.values())
    shown = rtassay_json(tmp_path, "show", made["path"])
    assert [lane["n"] for lane in shown["lanes"]] == [len(cut.lanes[i].samples) for i in range(STOCK.cpus)]


def samples_in(file: Path) -> int:
    return sum(len(grid.samples) for grid in read_stream(file).lanes.values())


def recorded_samples(recording: Path) -> dict[int, list[int]]:
    """Latencies by lane out of samples.parquet, in the order of the file."""
    import pyarrow.parquet as pq

    table = pq.read_table(recording / "samples.parquet", columns=["lane", "latency_ns"])
    by_lane: dict[int, list[int]] = {}
    for lane, latency in zip(table["lane"].to_pylist(), table["latency_ns"].to_pylist(), strict=True):
        by_lane.setdefault(lane, []).append(latency)
    return by_lane


@on(RT, STOCK)
def test_break_above_keeps_the_kernels_trace_of_the_hit(board: Board, tmp_path: Path) -> None:
    """A threshold that any wake-up reaches: the run ends at once, the trace holds our mark, tracing is on again."""
    file = tmp_path / "f.rtw"
    was_on = board.text("cat /sys/kernel/tracing/tracing_on")
    with file.open("wb") as out:
        done = board.run("/probe/rtprobe cyclic --interval 5ms --duration 30s --break-above 1us", stdout=out)
    assert done.returncode == EXIT_VIOLATED, done.stderr.decode()
    stream = read_stream(file)
    assert stream.end is not None and stream.end["reason"] == "break"
    (hit,) = (event for event in stream.events if event["event"] == "break")
    assert hit["latency_ns"] >= hit["threshold_ns"] == 1000
    assert hit["trace"], hit["trace_error"]
    assert f"late {hit['latency_ns']} ns" in board.text(f"cat {hit['trace']}")
    assert board.text("cat /sys/kernel/tracing/tracing_on") == was_on
    board.run(f"rm {hit['trace']}")


@on(STOCK)
@pytest.mark.proves("CLOCK-RES", "live")
def test_a_step_of_the_wall_clock_changes_no_measurement_and_is_said(board: Board, tmp_path: Path) -> None:
    """A board without a clock of its own gets the time from NTP in mid-run: a year at once."""
    file = tmp_path / "f.rtw"
    step = "date -s @$(($(date +%s) + 31536000)) >/dev/null"
    words = measure(
        board,
        file,
        f"rm -f /tmp/f; /probe/rtprobe {MEASURE} -o /tmp/f & until [ -s /tmp/f ]; do sleep 0.1; done; {step}; wait $! && cat /tmp/f",
    )
    stream = read_stream(file)
    assert_account_closes(stream, STOCK.cpus)
    assert not words
    shown = assert_recording_agrees(stream, file, tmp_path)
    check = check_of(shown, "CLOCK-RES")
    assert check["severity"] in ("note", "warning") and "stepped" in check["message"]
    assert abs(check["facts"]["wall_step_ns"] - 31_536_000 * 10**9) < 10**10
