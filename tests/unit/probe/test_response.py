"""rtprobe response, end to end: each lane of a chain accounts for every due activation, whatever carries the request."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .board import NEEDS_PROBE, PATIENCE_S, RTPROBE, Family, family, run
from .cyclic_stream import Stream, account, read

pytestmark = NEEDS_PROBE
MS = 1_000_000
CPUS = sorted(os.sched_getaffinity(0))
RECEIVER = str(CPUS[-1])
(BY,) = (
    setting["words"]
    for method in json.loads(run("describe").stdout)["methods"]
    if method["name"] == "response"
    for setting in method["settings"]
    if setting["name"] == "by"
)
MUTEXES = ("mutex", "pi-mutex")


@pytest.fixture(name="probes")
def _probes() -> Iterator[Family]:
    with family() as members:
        yield members


def response(*argv: str) -> Stream:
    """A finished run on one CPU, whose account adds up."""
    done = run("response", "--fallback", "--cpus", RECEIVER, *argv)
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    return stream


def sets_of_the_probe() -> list[tuple[int, int]]:
    """(pid, id) of each semaphore set that an rtprobe has made."""
    rows = [line.split() for line in Path("/proc/sysvipc/sem").read_text().splitlines()[1:]]
    keys = [(int(row[0]) & 0xFFFFFFFF, int(row[1])) for row in rows]
    return [(key & 0x3FFFFF, number) for key, number in keys if key >> 22 == 0x16D]


def start(probes: Family, target: Path, *argv: str) -> subprocess.Popen[bytes]:
    """A probe that has set its grid."""
    probe = probes.start("response", "--fallback", "--cpus", RECEIVER, *argv, "-o", str(target))
    until = time.monotonic() + PATIENCE_S
    while not (target.exists() and target.stat().st_size):
        assert time.monotonic() < until and probe.poll() is None, "the probe did not start"
        time.sleep(0.02)
    return probe


def finish(probe: subprocess.Popen[bytes], target: Path, expected: int) -> Stream:
    _, err = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == expected, err
    stream = read(target.read_bytes())
    account(stream)
    return stream


@pytest.mark.parametrize("by", [name for name in BY if name not in MUTEXES])
def test_each_carrier_takes_the_request_and_the_answer(by: str) -> None:
    stream = response("--by", by, "--interval", "1ms", "--duration", "100ms")
    names = [(lane["name"], lane["measure"]) for lane in stream.facts["lanes"]]
    chain = f"{RECEIVER}>{RECEIVER}"
    assert names == [
        (f"{chain} sent", "wake-up"),
        (f"{chain} received", f"response:{by}"),
        (f"{chain} answered", f"response:{by}-answer"),
    ]
    assert stream.facts["settings"] == {
        "by": by,
        "sender": "next",
        "far": None,
        "hold": 0,
        "section": None,
        "hog": None,
    }
    sent, received, answered = (stream.grid[lane] for lane in range(3))
    assert sent and received and answered
    assert all(sent[k] <= late for k, late in received.items() if k in sent)
    assert all(received[k] <= late for k, late in answered.items() if k in received)
    assert not [number for pid, number in sets_of_the_probe() if pid == stream.facts["pid"]]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for SCHED_FIFO")
@pytest.mark.parametrize("by", MUTEXES)
def test_the_receiver_waits_for_the_holder_of_the_mutex(by: str) -> None:
    """The holder needs the mutex for 2 ms more. In an activation that found the mutex taken, the receiver cannot be faster."""
    stream = response("--by", by, "--interval", "20ms", "--section", "2ms", "--hog", "4ms", "--duration", "400ms")
    assert stream.facts["settings"]["section"] == 2 * MS and stream.facts["settings"]["hog"] == 4 * MS
    assert max(stream.grid[1].values()) >= 2 * MS


@pytest.mark.parametrize("sender", ["next", "same"])
def test_every_cpu_has_a_chain_whose_sender_is_where_it_was_asked_for(sender: str) -> None:
    done = run(
        "response", "--fallback", "--sender", sender, "--interval", "2ms", "--duration", "20ms", "--policy", "other"
    )
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    lanes = stream.facts["lanes"]
    assert [lane["cpu"] for lane in lanes[1::3]] == CPUS
    expected = CPUS if sender == "same" else [*CPUS[1:], CPUS[0]]
    assert [lane["cpu"] for lane in lanes[0::3]] == [lane["cpu"] for lane in lanes[2::3]] == expected
    for at in range(0, len(lanes), 3):
        assert len({lane["first_due_ns"] for lane in lanes[at : at + 3]}) == 1
    assert all(lane["obtained"]["affinity"] == [lane["cpu"]] for lane in lanes)


def test_each_lane_of_a_run_by_count_gets_its_samples(probes: Family, tmp_path: Path) -> None:
    """A stop makes the lanes miss unlike numbers: those that are behind are still served."""
    target = tmp_path / "f.rtw"
    probe = start(probes, target, "--by", "pipe", "--interval", "1ms", "--count", "400")
    stopped(probe, 30 * MS)
    stream = finish(probe, target, 0)
    assert stream.end is not None and stream.end["reason"] == "count"
    assert [lane["n"] for lane in stream.end["lanes"]] == [400] * 3


def stopped(probe: subprocess.Popen[bytes], ns: int) -> tuple[int, int]:
    """Stops every thread of it for at least `ns`; returns between which two moments none has run."""
    probe.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, probe.pid, os.WSTOPPED)
    begun = time.monotonic_ns()
    while time.monotonic_ns() - begun < ns:
        time.sleep(0.002)
    ended = time.monotonic_ns()
    probe.send_signal(signal.SIGCONT)
    return begun, ended


@pytest.mark.parametrize("by", ["futex", "mqueue", "udp"])
def test_a_stall_is_missed_by_every_lane(by: str, probes: Family, tmp_path: Path) -> None:
    """Carriers that join requests, hold back ten of them, and hold back all of them."""
    target = tmp_path / "f.rtw"
    probe = start(probes, target, "--by", by, "--interval", "1ms", "--duration", "1h")
    begun_ns, ended_ns = stopped(probe, 80 * MS)
    probe.send_signal(signal.SIGTERM)
    stream = finish(probe, target, 128 + signal.SIGTERM)
    assert stream.end is not None
    for lane in stream.end["lanes"]:
        first_ns = lane["first_due_ns"]
        due = sum(begun_ns <= first_ns + k * MS <= ended_ns for k in range((ended_ns - first_ns) // MS + 1))
        # One of them ran late, and the others were missed meanwhile. The first is due 20 ms after the start at the latest.
        assert due >= 50 and lane["missed"] + lane["truncated"] >= due - 1, lane


def test_the_receiver_holds_the_answer_back() -> None:
    stream = response("--hold", "3ms", "--interval", "10ms", "--count", "20")
    received, answered = stream.grid[1], stream.grid[2]
    both = [k for k in answered if k in received]
    assert both and all(answered[k] - received[k] >= 3 * MS for k in both)


def test_a_killed_run_leaves_a_set_that_the_next_one_removes(probes: Family, tmp_path: Path) -> None:
    probe = start(probes, tmp_path / "f.rtw", "--by", "sysv-semaphore", "--duration", "1h")
    assert probe.pid in [pid for pid, _ in sets_of_the_probe()]
    probe.kill()
    probe.communicate()
    assert probe.pid in [pid for pid, _ in sets_of_the_probe()]
    response("--by", "sysv-semaphore", "--count", "5")
    assert probe.pid not in [pid for pid, _ in sets_of_the_probe()]


def test_a_carrier_that_fails_ends_the_run(probes: Family, tmp_path: Path) -> None:
    probe = start(probes, tmp_path / "f.rtw", "--by", "sysv-semaphore", "--duration", "1h")
    (number,) = [number for pid, number in sets_of_the_probe() if pid == probe.pid]
    subprocess.run(["ipcrm", "-s", str(number)], check=True)
    _, err = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 3
    assert b"the lanes could not go on waiting (response:sysv-semaphore: " in err
    stream = read((tmp_path / "f.rtw").read_bytes())
    account(stream)
    assert stream.end is not None and stream.end["reason"] == "error"


def test_a_full_disk_ends_the_run_and_leaves_no_set() -> None:
    done = run(
        "response", "--fallback", "--by", "sysv-semaphore", "--cpus", RECEIVER, "--duration", "1h", "-o", "/dev/full"
    )
    assert done.returncode == 3 and b"No space left on device" in done.stderr
    assert not [pid for pid, _ in sets_of_the_probe() if not Path(f"/proc/{pid}").exists()]


def test_a_carrier_that_cannot_be_made_is_named() -> None:
    done = subprocess.run(
        [RTPROBE, "response", "--by", "eventfd", "--fallback", "--count", "5"],
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (7, 7)),
    )
    assert (done.returncode, done.stdout) == (3, b"")
    assert b"--by eventfd: Too many open files" in done.stderr


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--by", "telepathy"], "--by telepathy is not one of: futex, "),
        (
            ["--by", "pipe", "--hog", "1ms"],
            "--section and --hog are for --by mutex and pi-mutex; --by pipe has no mutex",
        ),
        (["--by", "mutex", "--policy", "other"], "--by mutex needs a real-time policy"),
        (["--by", "pi-mutex", "--priority", "2", "--writer-priority", "0"], "--by pi-mutex needs --priority 3 or more"),
        (["--by", "mutex", "--hog", "1ms"], "--section and --hog together take more than half of the interval"),
        (["--trace-above", "auto"], "response keeps no trace"),
        (["--hold", "2s"], "--hold 2s is out of range"),
    ],
)
def test_what_cannot_be_is_refused(argv: list[str], words: str) -> None:
    done = run("response", "--count", "5", *argv)
    assert (done.returncode, done.stdout) == (2, b"") and words in done.stderr.decode()


def test_signals_between_lanes_wake_no_other_thread(probes: Family, tmp_path: Path) -> None:
    """The supervisor also waits for signals, of other numbers."""
    probe = start(
        probes, tmp_path / "f.rtw", "--by", "signal", "--interval", "250us", "--duration", "1h", "--policy", "other"
    )
    lane = read((tmp_path / "f.rtw").read_bytes()).facts["lanes"][1]["tid"]

    def sleeps(tid: int) -> int:
        status = Path(f"/proc/{probe.pid}/task/{tid}/status").read_text()
        return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])

    before, until = sleeps(probe.pid), time.monotonic() + PATIENCE_S
    while sleeps(lane) < 2000:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert sleeps(probe.pid) - before < 1000
    probe.send_signal(signal.SIGINT)
    finish(probe, tmp_path / "f.rtw", 128 + signal.SIGINT)


def echo(probes: Family, port: int, seconds: int = 30) -> subprocess.Popen[bytes]:
    """The far end, on this machine. It has said that it listens."""
    far = probes.start("echo", "--port", str(port), "--duration", f"{seconds}s", "--fallback")
    assert far.stdout is not None and far.stdout.readline() == f"listening on UDP port {port}\n".encode()
    return far


def free_udp_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.mark.parametrize("far", ["127.0.0.1:{}", "[::1]:{}"])
def test_another_board_sends_each_request_back(far: str, probes: Family) -> None:
    port = free_udp_port()
    echo(probes, port)
    stream = response("--by", "udp", "--far", far.format(port), "--interval", "2ms", "--count", "50")
    lanes = [(lane["name"], lane["measure"]) for lane in stream.facts["lanes"]]
    assert lanes == [(f"{RECEIVER} sent", "wake-up"), (f"{RECEIVER} answered", "response:udp-echo")]
    assert stream.end is not None and [lane["n"] for lane in stream.end["lanes"]] == [50, 50]
    assert all(stream.grid[1][k] > stream.grid[0][k] for k in stream.grid[0].keys() & stream.grid[1].keys())


def test_requests_that_never_come_back_are_missed_and_late_ones_are_not(probes: Family) -> None:
    """An echo of our own answers 2 of 4 requests, one of them three intervals late, and one twice."""
    held: list[tuple[bytes, object]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        far.bind(("127.0.0.1", 0))
        far.settimeout(PATIENCE_S)
        target = (
            "response",
            "--fallback",
            "--cpus",
            RECEIVER,
            "--by",
            "udp",
            "--far",
            f"127.0.0.1:{far.getsockname()[1]}",
        )
        probe = probes.start(*target, "--interval", "20ms", "--duration", "800ms")
        while True:
            datagram, sender = far.recvfrom(64)
            k = int.from_bytes(datagram[16:], "big")
            if k % 4 == 0:
                far.sendto(datagram, sender)
                far.sendto(datagram, sender)
            elif k % 4 == 1:
                held.append((datagram, sender))
            elif k == 2**64 - 1:
                far.sendto(datagram, sender)
            if k % 4 == 3:
                for late in held:
                    far.sendto(*late)
                held.clear()
            if k == 39:
                break
        out, errors = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 0, errors
    stream = read(out)
    assert stream.end is not None
    _, answered = stream.end["lanes"]
    assert answered["due"] == 40 == answered["n"] + answered["missed"] + answered["truncated"]
    assert set(stream.grid[1]) <= {k for k in range(40) if k % 4 < 2} and len(stream.grid[1]) >= 15
    assert all(stream.grid[1][k] >= 35 * MS for k in stream.grid[1] if k % 4 == 1)


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [(("--by", "udp", "--far", "board"), 2, "no ADDRESS or ADDRESS:PORT"), (("--by", "udp", "--far", "10.0.0.2:0"), 2, "no ADDRESS"),
     (("--by", "pipe", "--far", "10.0.0.2"), 2, "goes with --by udp"), (("--by", "udp", "--far", "10.0.0.2", "--hold", "1ms"), 2, "for a receiver on this board"),
     (("--by", "udp", "--far", "127.0.0.1:{}"), 3, "sends nothing back")],
)  # fmt: skip
def test_another_board_that_cannot_be_asked_is_named(words: tuple[str, ...], code: int, why: str) -> None:
    done = run("response", *(word.format(free_udp_port()) for word in words))
    assert done.returncode == code and why in done.stderr.decode()


def test_an_echo_answers_nothing_else_and_ends_in_time(probes: Family) -> None:
    port = free_udp_port()
    far = echo(probes, port, seconds=2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.settimeout(0.3)
        for datagram in (b"", b"x", b"rtecho1\0" + bytes(15), b"rtecho1\0" + bytes(17), bytes(24)):
            stranger.sendto(datagram, ("127.0.0.1", port))
        with pytest.raises(TimeoutError):
            stranger.recv(64)
        whole = b"rtecho1\0" + bytes(range(16))
        stranger.sendto(whole, ("127.0.0.1", port))
        stranger.settimeout(PATIENCE_S)
        assert stranger.recv(64) == whole
    assert far.wait(PATIENCE_S) == 0
