"""rtprobe cyclic, end to end: every due activation is accounted for, whatever happens to the probe."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .board import NEEDS_PROBE, PATIENCE_S, RTPROBE, Family, family, run
from .cyclic_stream import Stream, account, frames, read

pytestmark = NEEDS_PROBE
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")
CPUS = sorted(os.sched_getaffinity(0))
MS = 1_000_000
PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
HOG = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(95))
print("ready", flush=True)
sys.stdin.readline()
print("on", flush=True)
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    pass
"""


@pytest.fixture(name="probes")
def _probes() -> Iterator[Family]:
    with family() as members:
        yield members


@contextmanager
def real_time_throttling_off() -> Iterator[None]:
    """A hog that is throttled after 950 ms of a second would prove nothing; put back afterwards."""
    knob = Path("/proc/sys/kernel/sched_rt_runtime_us")
    # The shell puts it back when its input ends, also where this process is killed.
    put_back = ["sh", "-c", f"cat > /dev/null; echo {int(knob.read_text())} > {knob}"]
    with subprocess.Popen(put_back, stdin=subprocess.PIPE, start_new_session=True) as end:
        knob.write_text("-1")
        yield
    assert end.returncode == 0


@contextmanager
def sleeping_hog(cpu: int, seconds: float) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """A FIFO 95 thread on one CPU that burns from the call on, bounded by itself and by the SIGKILL at the end."""
    argv = [sys.executable, "-c", HOG, str(cpu), str(seconds)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None and process.stdout is not None

        def wake() -> subprocess.Popen[bytes]:
            process.stdin.write(b"\n")
            assert process.stdout.readline() == b"on\n"
            return process

        try:
            assert process.stdout.readline() == b"ready\n"
            yield wake
        finally:
            process.kill()


@contextmanager
def hog(cpu: int, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    with sleeping_hog(cpu, seconds) as wake:
        yield wake()


def cyclic(*argv: str) -> Stream:
    done = run("cyclic", "--fallback", *argv)
    assert done.returncode == 0, done.stderr
    return read(done.stdout)


def start(probes: Family, target: Path, *argv: str) -> subprocess.Popen[bytes]:
    """A probe that has set its grid: what happens from now on happens to the run."""
    probe = probes.start("cyclic", *argv, "-o", str(target))
    wait_for_facts(target)
    return probe


def wait_for_facts(target: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not (target.exists() and target.stat().st_size):
        assert time.monotonic() < until, "the probe did not start"
        time.sleep(0.02)


def finish(process: subprocess.Popen[bytes], target: Path, expected: int = 0) -> Stream:
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == expected, err
    return read(target.read_bytes())


def stop(process: subprocess.Popen[bytes]) -> int:
    """Every thread of it is stopped; a time after which none has run."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    return time.monotonic_ns()


def woken(stream: Stream, lane: int) -> dict[int, int]:
    """When each recorded activation of a lane came, by k."""
    first, interval = stream.facts["lanes"][lane]["first_due_ns"], stream.facts["interval_ns"]
    return {k: first + k * interval + latency for k, latency in stream.grid[lane].items()}


def all_came_to_their_end(stream: Stream) -> list[str]:
    """Every lane on its CPU, or moved away from it where the machine stood still just then. Names of the other events."""
    assert stream.end is not None
    moved = [lane["lane"] for lane in stream.end["lanes"] if lane["state"] == "moved"]
    for lane in stream.end["lanes"]:
        cpu = stream.facts["lanes"][lane["lane"]]["cpu"]
        assert lane["state"] in ("ended", "moved")
        assert lane["obtained"]["affinity"] == ([c for c in CPUS if c != cpu] if lane["lane"] in moved else [cpu])
    assert sorted(event["lane"] for event in stream.events if event["event"] == "lane_moved") == moved
    return [event["event"] for event in stream.events if event["event"] != "lane_moved"]


@pytest.mark.parametrize(
    "options",
    [
        ("--interval", "200us", "--duration", "1500ms"),
        ("--interval", "997us", "--duration", "1s", "--aligned"),
        ("--interval", "50us", "--duration", "700ms", "--deadline", "20us"),
        ("--interval", "10us", "--duration", "200ms", "--policy", "other"),
        ("--interval", "300ms", "--duration", "1s"),
        ("--interval", "1300ms", "--duration", "3s"),
        ("--interval", "1ms", "--count", "300", "--policy", "rr", "--priority", "20"),
        ("--duration", "500ms", "--no-mlock", "--dma-latency", "off", "--writer-priority", "0"),
    ],
)
def test_every_due_activation_is_accounted_for(options: tuple[str, ...]) -> None:
    stream = cyclic(*options)
    account(stream)
    assert [lane["cpu"] for lane in stream.facts["lanes"]] == CPUS
    assert {lane["measure"] for lane in stream.facts["lanes"]} == {"wake-up"}
    assert all_came_to_their_end(stream) == []


def test_a_run_that_cannot_be_traced_is_measured_and_says_why() -> None:
    """With tracefs here and the right to use it, the same run is traced: then there is no reason to tell."""
    stream = cyclic("--duration", "600ms", "--trace-above", "auto", "--no-samples")
    account(stream, all_samples=False)
    assert stream.end is not None and stream.facts["requested"]["trace_above_ns"] == "auto"
    begun = [event for event in stream.events if event["event"] == "trace_begin"]
    assert len(begun) + bool(stream.end["trace"]["error"]) == 1
    assert begun or stream.end["trace"]["hits"] == stream.parts[0, 1] == 0 or "ended" in stream.end["trace"]["error"]
    assert cyclic("--duration", "100ms").end["trace"] is None  # type: ignore[index]


def test_due_times_lie_on_the_grid() -> None:
    stream = cyclic("--interval", "1ms", "--duration", "300ms")
    first = [lane["first_due_ns"] for lane in stream.facts["lanes"]]
    assert first == [stream.facts["origin_ns"] + i * MS // len(first) for i in range(len(first))]
    assert stream.end is not None
    for lane in stream.end["lanes"]:
        assert lane["due"] == len(
            [k for k in range(1000) if lane["first_due_ns"] + k * MS <= stream.facts["planned_end_ns"]]
        )
    aligned = cyclic("--interval", "1ms", "--duration", "100ms", "--aligned")
    assert {lane["first_due_ns"] for lane in aligned.facts["lanes"]} == {aligned.facts["origin_ns"]}


def test_count_gives_that_many_samples_in_every_lane() -> None:
    """Its time is bounded: a lane that others keep from running for seconds ends without them, and it is measured again."""
    for _ in range(5):
        stream = cyclic("--count", "1000")
        account(stream)
        complete = stream.end is not None and all(lane["n"] == 1000 for lane in stream.end["lanes"])
        assert stream.end is not None and stream.end["reason"] == ("count" if complete else "duration")
        if complete:
            break
    assert complete


def test_without_samples_the_histogram_is_still_exact() -> None:
    stream = cyclic("--duration", "1s", "--interval", "200us", "--no-samples")
    account(stream, all_samples=False)
    assert "samples" not in stream.order


def test_the_histogram_is_sent_as_it_grows_when_samples_are_not() -> None:
    stream = cyclic("--duration", "11s", "--interval", "10ms", "--no-samples", "--cpus", str(CPUS[0]))
    account(stream, all_samples=False)
    places = [i for i, name in enumerate(stream.order) if name == "histogram"]
    assert places[0] < max(i for i, name in enumerate(stream.order) if name == "second")


def test_spill_keeps_late_samples_and_counts_the_others() -> None:
    stream = cyclic(
        "--duration", "1s", "--interval", "1ms", "--deadline", "1ns", "--spill", "10", "--cpus", str(CPUS[0])
    )
    account(stream)
    assert stream.end is not None
    lane = stream.end["lanes"][0]
    assert lane["exceedances"] == lane["n"]
    assert lane["spilled"] + lane["suppressed"] == lane["n"]
    assert lane["spilled"] <= 10 * len(stream.seconds[0])
    assert all(stream.grid[0][k] == latency for k, latency, _ in stream.spill[0])


def test_what_was_obtained_is_read_back() -> None:
    stream = cyclic("--duration", "200ms", "--cpus", str(CPUS[-1]), "--policy", "other")
    facts = stream.facts
    assert facts["timer_slack_ns"] == 1
    assert facts["requested"]["cpus"] == [CPUS[-1]]
    assert facts["lanes"][0]["obtained"] == {
        "policy": "other",
        "priority": 0,
        "affinity": [CPUS[-1]],
        "reset_on_fork": False,
    }
    assert facts["clock"]["step_ns"] > 0 and facts["clock"]["read_cost_ns"] > 0
    assert facts["boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    if len(CPUS) > 1:  # writer and main stay away from the lane
        assert CPUS[-1] not in facts["writer"]["affinity"] and CPUS[-1] not in facts["main"]["affinity"]
    assert facts["ring_samples"] * facts["interval_ns"] >= 10_000 * MS


@ROOT
def test_real_time_lanes_are_pinned_locked_and_at_their_priority() -> None:
    done = run("cyclic", "--duration", "300ms", "--priority", "42")
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    assert stream.facts["mlocked"] is True and stream.facts["fallback"] is None
    assert stream.end is not None
    for found in [*stream.facts["lanes"], *stream.end["lanes"]]:
        assert (found["obtained"]["policy"], found["obtained"]["priority"]) == ("fifo", 42)
    for lane in stream.end["lanes"]:
        assert lane["major_faults"] == 0 and lane["minor_faults"] == 0
        assert lane["migrations"] in (0, None)


@ROOT
def test_a_stopped_process_misses_what_was_due_meanwhile(probes: Family, tmp_path: Path) -> None:
    probe = start(probes, tmp_path / "s", "--duration", "1h", "--interval", "1ms")
    time.sleep(0.3)
    stopped = stop(probe)
    time.sleep(0.5)
    going = time.monotonic_ns()
    probe.send_signal(signal.SIGCONT)
    time.sleep(0.3)
    probe.terminate()
    stream = finish(probe, tmp_path / "s", 143)
    account(stream)
    assert all_came_to_their_end(stream) == ["signal"] and stream.end is not None
    for lane in stream.end["lanes"]:
        if lane["state"] == "moved":  # closed before it could come back
            continue
        grid = stream.grid[lane["lane"]]
        late = [k for k, at in woken(stream, lane["lane"]).items() if at - grid[k] <= stopped + MS and at >= going]
        (k,) = late  # the one that was due next when it was stopped
        assert lane["max_ns"] >= grid[k] >= going - stopped - MS
        after = min((other for other in grid if other > k), default=None)
        cut = lane["clip"] is not None and lane["clip"]["latency_ns"] == grid[k]
        assert cut or after == k + 1 + grid[k] // MS


@ROOT
def test_a_process_stopped_over_its_end_accounts_for_the_rest(probes: Family, tmp_path: Path) -> None:
    target = tmp_path / "s"
    probe = start(probes, target, "--duration", "3s", "--interval", "1ms")
    stop(probe)
    end_ns = read(target.read_bytes()).facts["planned_end_ns"]
    time.sleep((end_ns - time.monotonic_ns()) / 1e9 + 0.2)
    probe.send_signal(signal.SIGCONT)
    stream = finish(probe, target)
    account(stream)
    assert all_came_to_their_end(stream) == [] and stream.end is not None
    for lane in stream.end["lanes"]:
        if lane["state"] == "ended":  # a lane that was moved was closed before
            assert lane["truncated"] == 0
            assert lane["clip"] is not None and lane["clip"]["missed"] < lane["clip"]["latency_ns"] // MS


@ROOT
@pytest.mark.skipif(len(CPUS) < 2, reason="needs a second CPU")
def test_a_hog_above_one_lane_changes_that_lane_only(probes: Family, tmp_path: Path) -> None:
    with real_time_throttling_off():
        probe = start(probes, tmp_path / "s", "--duration", "60s", "--interval", "1ms")
        time.sleep(0.5)
        with hog(CPUS[-1], 10.0):
            on_ns = time.monotonic_ns()
            time.sleep(1)
            off_ns = time.monotonic_ns()
        time.sleep(0.3)
        probe.terminate()
        stream = finish(probe, tmp_path / "s", 143)
    account(stream)
    assert all_came_to_their_end(stream) == ["signal"] and stream.end is not None
    hogged = stream.end["lanes"][-1]
    assert hogged["missed"] + hogged["truncated"] >= 400 and hogged["dropped"] == 0
    assert hogged["max_ns"] >= 0.4e9 or hogged["state"] == "moved"  # closed before it could come back
    ran = [any(on_ns < at < off_ns for at in woken(stream, lane).values()) for lane in range(len(CPUS))]
    assert ran == [True] * (len(CPUS) - 1) + [False]


@ROOT
@pytest.mark.skipif(len(CPUS) < 2, reason="needs a second CPU")
@pytest.mark.parametrize("end", ["--duration 6s", pytest.param("--count 500", marks=pytest.mark.full)])
def test_a_hog_across_the_end_cannot_hold_the_run(end: str, probes: Family, tmp_path: Path) -> None:
    """A run by count gives up after twice its time and 5 s: then time was what ended it."""

    def beside_a_hog(target: Path) -> Stream:
        with real_time_throttling_off(), sleeping_hog(CPUS[-1], 40.0) as wake:
            probe = start(probes, target, *end.split(), "--interval", "1ms")
            busy = wake()
            stream = finish(probe, target)
            assert busy.poll() is None  # it was still there
        return stream

    for attempt in range(5):
        stream = beside_a_hog(tmp_path / f"s{attempt}")
        account(stream)
        assert stream.end is not None
        if stream.end["reason"] != "count":
            break  # else this machine stood still, and the run was over before the hog began
    assert stream.end["reason"] == "duration"
    hogged = stream.end["lanes"][-1]
    assert hogged["state"] == "moved" and hogged["truncated"] >= 500
    assert hogged["migrations"] in (0, None), "it was closed before it was moved"
    assert all_came_to_their_end(stream) == []
    assert all(lane["truncated"] == 0 for lane in stream.end["lanes"][:-1] if lane["state"] == "ended")


@ROOT
def test_a_lane_that_cannot_even_be_moved_is_abandoned(probes: Family, tmp_path: Path) -> None:
    """One thread held still by ptrace never runs again; the run ends all the same, and the account is whole."""
    target = tmp_path / "held.rtw"
    probe = probes.start("cyclic", "--duration", "1h", "--interval", "1ms", "-o", str(target))
    wait_for_facts(target)
    facts = read(target.read_bytes()).facts
    time.sleep(0.3)
    libc = ctypes.CDLL(None, use_errno=True)
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        assert libc.ptrace(request, facts["lanes"][0]["tid"], None, None) == 0, os.strerror(ctypes.get_errno())
    os.waitpid(facts["lanes"][0]["tid"], WALL)  # now it is held
    time.sleep(0.3)
    probe.terminate()
    until = time.monotonic() + PATIENCE_S
    while True:  # the thread's end has to be taken note of by its tracer, or the process cannot go
        pid, status = os.waitpid(facts["lanes"][0]["tid"], WALL | os.WNOHANG)
        if pid and not os.WIFSTOPPED(status):
            break
        assert time.monotonic() < until, "the run did not end"
        time.sleep(0.02)
    stream = finish(probe, target, 143)
    account(stream)
    assert stream.end is not None
    held = stream.end["lanes"][0]
    assert held["state"] == "abandoned" and held["truncated"] > 0
    assert "lane_abandoned" in [event["event"] for event in stream.events]
    assert all(lane["state"] != "abandoned" for lane in stream.end["lanes"][1:])


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_seals_the_stream(probes: Family, tmp_path: Path, number: signal.Signals, code: int) -> None:
    probe = start(probes, tmp_path / "s", "--fallback", "--duration", "1h")
    time.sleep(0.4)
    probe.send_signal(number)
    stream = finish(probe, tmp_path / "s", code)
    account(stream)
    assert stream.end is not None and (stream.end["reason"], stream.end["exit"]) == ("signal", code)
    assert [event["number"] for event in stream.events if event["event"] == "signal"] == [number]


def test_a_long_sleep_ends_at_once(probes: Family, tmp_path: Path) -> None:
    probe = start(probes, tmp_path / "s", "--fallback", "--duration", "10h", "--interval", "1h")
    probe.terminate()
    stream = finish(probe, tmp_path / "s", 143)
    account(stream)


def test_attached_ends_with_its_owner(probes: Family, tmp_path: Path) -> None:
    target = tmp_path / "s"
    probe = probes.start(
        "cyclic", "--fallback", "--duration", "1h", "--attached", "-o", str(target), stdin=subprocess.PIPE
    )
    wait_for_facts(target)
    assert probe.stdin is not None
    began = time.monotonic()
    probe.stdin.close()
    probe.stdin = None
    stream = finish(probe, tmp_path / "s", 3)
    assert time.monotonic() - began < PATIENCE_S
    account(stream)
    assert stream.end is not None and stream.end["reason"] == "owner"
    assert all_came_to_their_end(stream) == ["owner_gone"]


def test_attached_ends_when_its_parent_is_killed(probes: Family, tmp_path: Path) -> None:
    """Its stdin stays open here, so only the parent's death can tell."""
    target = tmp_path / "orphan.rtw"
    parent = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys, time; subprocess.Popen(sys.argv[1:]); time.sleep(60)",
         RTPROBE, "cyclic", "--fallback", "--duration", "1h", "--attached", "-o", str(target)],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=probes.environment,
    )  # fmt: skip
    wait_for_facts(target)
    parent.kill()
    parent.wait()
    probes.wait_gone()
    stream = read(target.read_bytes())
    account(stream)
    assert stream.end is not None and stream.end["reason"] == "owner"
    assert parent.stdin is not None
    parent.stdin.close()


def test_a_reader_that_goes_away_ends_the_run(probes: Family) -> None:
    probe = probes.start("cyclic", "--fallback", "--duration", "1h")
    assert probe.stdout is not None and probe.stdout.read(10)
    probe.stdout.close()
    assert probe.stderr is not None
    assert b"the reader of the stream went away" in probe.stderr.read()
    assert probe.wait(PATIENCE_S) == 3
    probe.stderr.close()


def test_a_full_disk_ends_the_run_cleanly(tmp_path: Path) -> None:
    target = tmp_path / "full.rtw"
    done = subprocess.run(
        [RTPROBE, "cyclic", "--fallback", "--duration", "1h", "--interval", "100us", "-o", str(target)],
        capture_output=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
        preexec_fn=_small_files,
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.count(b"\n") >= 1 and b"could not be written" in done.stderr
    found, rest = frames(target.read_bytes())
    assert rest == b"" and found[0][0] == 1
    if found[-1][0] == 9:
        end = json.loads(found[-1][3])
        assert end["reason"] == "error" and end["writer"]["write_errors"] == 1 and end["writer"]["write_error"]


def _small_files() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@ROOT
def test_break_above_stops_at_the_hit(tmp_path: Path) -> None:
    target = tmp_path / "break.rtw"
    done = run("cyclic", "--duration", "60s", "--break-above", "1ns", "-o", str(target))
    assert done.returncode == 1
    stream = read(target.read_bytes())
    account(stream)
    assert stream.end is not None and (stream.end["reason"], stream.end["exit"]) == ("break", 1)
    (event,) = (event for event in stream.events if event["event"] != "lane_moved")
    assert event["event"] == "break" and event["latency_ns"] >= event["threshold_ns"] == 1
    assert stream.grid[event["lane"]][event["k"]] == event["latency_ns"]
    assert event["trace"] is not None or event["trace_error"]
    if event["trace"]:
        assert Path(event["trace"]).stat().st_size > 0
    assert b"--break-above" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--interval", "5us"), "--interval 5us is out of range: 10us to 1h"),
        (("--interval", "2h"), "--interval 2h is out of range"),
        (("--interval", "200"), "has no unit"),
        (("--priority", "0"), "--priority 0 is out of range: 1 to 99"),
        (("--priority", "100"), "--priority 100 is out of range: 1 to 99"),
        (("--policy", "other", "--priority", "5"), "--policy other has none"),
        (("--policy", "batch"), "is not one of: fifo, rr, other, deadline"),
        (("--cpus", "4000"), "CPU 4000 is not there"),
        (("--cpus", "5000"), "--cpus: '5000'"),
        (("--cpus", "0-"), "is not a CPU list"),
        (("--duration", "1us"), "--duration 1us is out of range"),
        (("--duration", "2ms", "--interval", "5ms"), "no longer than one interval"),
        (("--duration", "1s", "--count", "5"), "give one of them"),
        (("--count", "0"), "--count 0 is out of range"),
        (("--count", "1000000000000", "--interval", "1s"), "more than ten years"),
        (("--deadline", "0us"), "--deadline 0us is out of range"),
        (("--break-above", "0s"), "--break-above 0s is out of range"),
        (("--trace-above", "5s"), "--trace-above 5s is out of range: 1ns to 4s"),
        (("--trace-above", "soon"), "--trace-above: 'soon'"),
        (("--dma-latency", "-1"), "--dma-latency -1 is out of range"),
        (("--spill", "-1"), "--spill -1 is out of range"),
        (("--writer-priority", "99"), "--writer-priority 99 is out of range"),
        (("--writer-priority", "90"), "must be below"),
        (("--output", "/nowhere/at/all"), "/nowhere/at/all: No such file or directory"),
        (("--intervall", "1ms"), "did you mean --interval?"),
        (("extra",), "one argument too many"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options: tuple[str, ...], words: str) -> None:
    done = run("cyclic", *options)
    assert done.returncode == 2
    assert done.stdout == b""
    assert words in done.stderr.decode() and done.stderr.count(b"\n") == 1


def _nobody() -> None:
    resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (8 << 20, 8 << 20))
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)


@ROOT
def test_a_user_without_the_right_is_told_the_way_out(tmp_path: Path) -> None:
    program = _everybodys_copy(tmp_path)
    plain = subprocess.run(
        [program, "cyclic", "--duration", "200ms"],
        capture_output=True,
        preexec_fn=_nobody,
        check=False,
        timeout=PATIENCE_S,
    )
    assert plain.returncode == 3 and plain.stdout == b""
    for word in (
        b"SCHED_FIFO 90 was refused",
        b"root",
        b"CAP_SYS_NICE",
        b"ulimit -r",
        b"limits.conf",
        b"--policy other",
    ):
        assert word in plain.stderr
    for more, expected in ((("--fallback",), "fifo 90 was refused"), (("--policy", "other"), None)):
        done = subprocess.run(
            [program, "cyclic", "--duration", "300ms", *more],
            capture_output=True,
            preexec_fn=_nobody,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        stream = read(done.stdout)
        account(stream)
        assert stream.facts["mlocked"] is False and "locked" in stream.facts["mlock_error"]
        assert stream.facts["dma_latency_us"] is None and "cpu_dma_latency" in stream.facts["dma_latency_error"]
        assert all(lane["obtained"]["policy"] == "other" for lane in stream.facts["lanes"])
        assert stream.facts["fallback"] is None if expected is None else expected in stream.facts["fallback"]


@ROOT
def test_fallback_takes_the_priority_that_is_allowed(tmp_path: Path) -> None:
    try:
        resource.prlimit(0, resource.RLIMIT_RTPRIO, (0, 30))
    except (ValueError, PermissionError):
        pytest.skip("needs CAP_SYS_RESOURCE to raise RLIMIT_RTPRIO")

    def some() -> None:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (30, 30))
        os.setgroups([])
        os.setresuid(65534, 65534, 65534)

    done = subprocess.run(
        [_everybodys_copy(tmp_path), "cyclic", "--duration", "200ms", "--fallback"],
        capture_output=True, preexec_fn=some, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    assert {(lane["obtained"]["policy"], lane["obtained"]["priority"]) for lane in stream.facts["lanes"]} == {
        ("fifo", 30)
    }
    assert "run as fifo 30" in stream.facts["fallback"]


def _everybodys_copy(tmp_path: Path) -> str:
    for folder in [tmp_path, *list(tmp_path.parents)[:3]]:
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    copy = tmp_path / "rtprobe"
    copy.write_bytes(Path(RTPROBE).read_bytes())
    copy.chmod(0o755)
    return str(copy)


def test_text_is_for_people(tmp_path: Path) -> None:
    target = tmp_path / "beside.rtw"
    done = run("cyclic", "--fallback", "--duration", "500ms", "--text", "-o", str(target))
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    stream = read(target.read_bytes())
    account(stream)
    assert "max us" in text and "p99.9" in text and "\x1b" not in text
    assert stream.end is not None
    for lane in stream.end["lanes"]:
        assert f"{lane['max_ns'] / 1000:.1f}" in text
    assert not run("cyclic", "--fallback", "--duration", "100ms", "--text").stdout.startswith(b"\xf7")
