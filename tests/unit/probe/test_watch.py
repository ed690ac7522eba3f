"""rtprobe watch: file contents with the board's time, nothing sent twice, nothing lost silently."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from .board import PATIENCE_S, RTPROBE, family, run
from .frames import FileFrame, Frame, decode, files, whole

Wait = Callable[[int], list[FileFrame]]


def watch_once(*paths: str, more: tuple[str, ...] = ()) -> tuple[dict[str, Any], list[FileFrame]]:
    done = run("watch", "--count", "1", *more, *paths)
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    frames = whole(done.stdout, "watch")
    assert frames[-1].json["reason"] == "count"
    return frames[0].json, files(frames)


def watch_programs(*argv: str) -> list[Frame]:
    """One round, and nothing of its programs is left; again where the machine did not give a program its 500 ms."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with family() as members:
            process = members.start("watch", "--count", "1", *argv)
            seen, errors = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0 and errors == b""
            members.wait_gone()
        frames = whole(seen, "watch")
        if all(f.error != errno.ETIMEDOUT for f in files(frames)):
            return frames
    raise AssertionError("a program timed out each time")


def watch_while(change: Callable[[Wait], object], *argv: str) -> tuple[dict[str, Any], list[FileFrame], dict[str, Any]]:
    """Runs a fast watch; `change` gets a function that waits for N readings from now on, and gives all; then the watch is told to end."""
    seen = bytearray()
    with family() as members:
        process = members.start("watch", "--every", "20ms", *argv)
        assert process.stdout is not None
        out = process.stdout.fileno()

        def wait_frames(count: int) -> list[FileFrame]:
            since = time.monotonic_ns()  # what is still in the pipe was read before
            until = time.monotonic() + PATIENCE_S
            while True:
                found = files(decode(bytes(seen), cut=True))
                if sum(f.mono_ns >= since for f in found) >= count:
                    return found
                assert time.monotonic() < until
                seen.extend(os.read(out, 65536))

        change(wait_frames)
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and errors == b""
    frames = whole(bytes(seen) + rest, "watch")
    return frames[0].json, files(frames), frames[-1].json


def test_contents_are_exact(tmp_path: Path) -> None:
    first, second, empty = tmp_path / "a", tmp_path / "b", tmp_path / "empty"
    first.write_bytes(b"one\n")
    second.write_bytes(bytes(range(256)) * 10)
    empty.write_bytes(b"")
    before = time.monotonic_ns()
    facts, found = watch_once(str(first), str(second), str(empty))
    assert facts["paths"] == [str(first), str(second), str(empty)] and facts["unmatched"] == []
    assert [f.content for f in found] == [first.read_bytes(), second.read_bytes(), b""]
    assert all(f.error == 0 and not f.same and not f.cut for f in found)
    stamps = [f.mono_ns for f in found]
    assert stamps == sorted(stamps) and before <= stamps[0] and stamps[-1] <= time.monotonic_ns()


def test_patterns(tmp_path: Path) -> None:
    for name in ("x1/v", "x2/v", "x10/v", "y/v", ".x/v"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name)
    facts, found = watch_once(f"{tmp_path}/x[0-9]*/v", f"{tmp_path}/nothing*", f"{tmp_path}/?/v", f"{tmp_path}/x1/v")
    assert facts["paths"] == [f"{tmp_path}/{d}/v" for d in ("x1", "x10", "x2", "y")]  # no path twice
    assert facts["unmatched"] == [f"{tmp_path}/nothing*"]
    assert [f.content for f in found] == [b"x1/v", b"x10/v", b"x2/v", b"y/v"]


def test_relative_patterns_and_names_with_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").write_text("blank")
    monkeypatch.chdir(tmp_path)
    facts, found = watch_once("*b", "a b")
    assert facts["paths"] == ["a b"] and found[0].content == b"blank"


def test_errors_are_sent_as_errno(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "fifo")  # must not hang
    names = [str(tmp_path / n) for n in ("absent", "dir", "fifo")]
    facts, found = watch_once(*names)
    assert facts["paths"] == names and facts["unmatched"] == []
    assert [f.error for f in found] == [errno.ENOENT, errno.EISDIR, errno.ESPIPE]
    assert all(f.content == b"" for f in found)


def test_unchanged_content_is_flagged_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("1")

    def change(wait: Wait) -> None:
        wait(3)
        path.write_text("2")
        wait(3)

    _, found, end = watch_while(change, str(path))
    assert end["reason"] == "signal"
    assert not found[0].same and found[0].content == b"1"
    assert all(f.same == (f.content == b"") or f.content == b"" for f in found)
    contents = [f.content for f in found if not f.same]
    assert contents in ([b"1", b"2"], [b"1", b"", b"2"])  # a read may fall between truncate and write
    assert sum(f.same for f in found) >= 3
    steps = [b.mono_ns - a.mono_ns for a, b in pairwise(found)]
    assert all(step > 0 for step in steps)


def test_proc_files_change_through_the_open_descriptor() -> None:
    _, found, _ = watch_while(lambda wait: wait(8), "/proc/uptime", "/proc/self/stat")
    uptimes = [f.content for f in found if f.path == 0 and not f.same]
    assert len(set(uptimes)) >= 2 and all(len(u.split()) == 2 for u in uptimes)


def test_a_file_that_goes_and_comes_back(tmp_path: Path) -> None:
    path, beat = tmp_path / "value", "/proc/uptime"
    path.write_text("first")

    def change(wait: Wait) -> None:
        wait(4)
        path.unlink()
        wait(6)
        path.write_text("second")
        wait(6)
        other = tmp_path / "other"
        other.write_text("third")
        other.rename(path)
        wait(6)

    _, found, _ = watch_while(change, str(path), beat)
    told = [(f.error, f.content) for f in found if f.path == 0 and not f.same and (f.error or f.content)]
    assert told == [(0, b"first"), (errno.ENOENT, b""), (0, b"second"), (0, b"third")]  # the error once


def test_error_that_changes_is_sent_again(tmp_path: Path) -> None:
    path = tmp_path / "value"

    def change(wait: Wait) -> None:
        wait(4)
        path.mkdir()
        wait(6)

    _, found, _ = watch_while(change, str(path), "/proc/uptime")
    assert [f.error for f in found if f.path == 0] == [errno.ENOENT, errno.EISDIR]


def test_process_that_ends(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])

    def change(wait: Wait) -> None:
        wait(4)
        sleeper.kill()
        sleeper.wait()
        wait(6)

    _, found, _ = watch_while(change, f"/proc/{sleeper.pid}/stat", "/proc/uptime")
    assert [f.error for f in found if f.path == 0 and (f.error or not f.same)][-1] == errno.ENOENT


@pytest.mark.parametrize("size", [99, 100, 101, 300_000])
def test_big_files_are_cut_and_say_so(tmp_path: Path, size: int) -> None:
    path = tmp_path / "big"
    path.write_bytes(os.urandom(size))
    _, (found,) = watch_once(str(path), more=("--max-bytes", "100"))
    assert found.content == path.read_bytes()[:100] and found.cut == (size > 100)


def test_largest_content(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(os.urandom(1 << 20))
    _, (found,) = watch_once(str(path), more=("--max-bytes", "1048552"))
    assert found.content == path.read_bytes()[:1048552] and found.cut
    assert run("watch", "--count", "1", "--max-bytes", "1048553", str(path)).returncode == 2


def test_three_thousand_paths_with_few_descriptors(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number:04}").write_text(str(number))
    for more in (("--count", "1"), ("--count", "2", "--every", "10ms")):
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", RTPROBE, "watch", *more, f"{tmp_path}/*"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
        )
        frames = whole(done.stdout, "watch")
        found = files(frames)
        assert len(frames[0].json["paths"]) == 3000 and len(found) == 3000 * int(more[1])
        assert [f.content for f in found[:3000]] == [str(n).encode() for n in range(3000)]
        assert all(f.same and not f.content for f in found[3000:])


def test_slow_reader_gets_everything(tmp_path: Path) -> None:
    """20 MB through a pipe nobody reads at first: watch waits, and nothing is left out."""
    for number in range(400):
        (tmp_path / f"{number:03}").write_bytes(bytes([number % 256]) * 50_000)
    with family() as members:
        process = members.start("watch", "--count", "1", f"{tmp_path}/*")
        time.sleep(0.5)
        assert process.poll() is None
        seen, _ = process.communicate(timeout=PATIENCE_S)
    found = files(whole(seen, "watch"))
    assert [f.content for f in found] == [bytes([n % 256]) * 50_000 for n in range(400)]


def wait_full(process: subprocess.Popen[bytes]) -> None:
    """Until a lot is in its pipe, and no more comes."""
    assert process.stdout is not None
    until = time.monotonic() + PATIENCE_S
    sizes = [0]
    while sizes[-1] < 60_000 or sizes[-3:] != [sizes[-1]] * 3:
        assert time.monotonic() < until, sizes
        time.sleep(0.05)
        sizes += struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)))


def test_full_pipe_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number:03}").write_bytes(os.urandom(50_000))
    with family() as members:
        process = members.start("watch", "--every", "10ms", f"{tmp_path}/*")
        wait_full(process)
        process.terminate()
        assert process.wait(PATIENCE_S) == 3  # and it says that the stream is not whole
        seen, errors = process.communicate()
        assert b"stream is not whole" in errors
        decode(seen, cut=True)


def test_ends_with_its_owner() -> None:
    with family() as members:
        process = members.start("watch", "--attached", "--every", "10s", "/proc/uptime", stdin=subprocess.PIPE)
        members.wait_for(1)
        seen, errors = process.communicate(timeout=PATIENCE_S)  # closes stdin
        assert process.returncode == 0 and errors == b""
    assert whole(seen, "watch")[-1].json["reason"] == "owner"


def test_ends_when_nobody_reads() -> None:
    with family() as members:
        process = members.start("watch", "--every", "10ms", "/proc/uptime")
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE_S) == 3
        assert process.stderr is not None and b"Broken pipe" in process.stderr.read()
        process.stderr.close()


def test_output_file_and_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "w.rtw"
    assert run("watch", "--count", "1", "-o", str(path), "/proc/uptime").returncode == 0
    whole(path.read_bytes(), "watch")
    full = run("watch", "--count", "1", "-o", "/dev/full", "/proc/uptime")
    assert full.returncode == 3 and b"No space left" in full.stderr
    nowhere = run("watch", "--count", "1", "-o", str(tmp_path / "no/such"), "/proc/uptime")
    assert nowhere.returncode == 2 and b"no/such" in nowhere.stderr


def test_nothing_to_watch(tmp_path: Path) -> None:
    done = run("watch", "--count", "1", f"{tmp_path}/*")
    assert done.returncode == 0 and b"no path matches" in done.stderr
    assert whole(done.stdout, "watch")[0].json["unmatched"] == [f"{tmp_path}/*"]
    assert run("watch").returncode == 2


def test_inventory_of_all_processes() -> None:
    facts, found = watch_once("/proc/[0-9]*/stat", "/proc/cmdline", "/sys/devices/system/cpu/online")
    assert f"/proc/{os.getpid()}/stat" in facts["paths"]
    mine = found[facts["paths"].index(f"/proc/{os.getpid()}/stat")]
    assert mine.content.startswith(f"{os.getpid()} (".encode())


def test_a_period_reads_a_path_less_often(tmp_path: Path) -> None:
    dear, both = tmp_path / "dear", tmp_path / "both"
    for path in (dear, both):
        path.write_text("x")
    facts, found, end = watch_while(
        lambda wait: wait(40),
        "/proc/uptime",
        f"100ms:{tmp_path}/dear",
        f"1h:{tmp_path}/b*",
        str(both),
        f"1h:{tmp_path}/no*",
    )
    assert facts["paths"] == ["/proc/uptime", str(dear), str(both)]  # plain names
    assert facts["unmatched"] == [f"{tmp_path}/no*"] and facts["slower_ns"] == {str(dear): 100_000_000}
    readings = [[f.mono_ns for f in found if f.path == i] for i in range(3)]
    assert len(readings[0]) - 1 <= len(readings[2]) <= len(readings[0])  # asked for twice: the shorter period
    # Rounds that come late are skipped, so only time says how often it may have been read.
    elapsed_ns = end["mono_ns"] - facts["mono_ns"]
    assert 2 <= len(readings[1]) <= min(len(readings[0]), elapsed_ns // 100_000_000 + 1)
    assert end["rounds"] >= len(readings[0]) - 1


def test_names_that_look_like_a_period_or_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("5s:x", "@clock", "a:b"):
        (tmp_path / name).write_text(name)
    facts, found = watch_once("./5s:x", "./@clock", "a:b", "1h:./5s:x")
    assert facts["paths"] == ["./5s:x", "./@clock", "a:b"] and facts["slower_ns"] == {}
    assert [f.content for f in found] == [b"5s:x", b"@clock", b"a:b"]


@pytest.mark.parametrize("name", ["@", "@nothing", "@clock:", "@clock:x", "@run", "@run:", "@msr", "@kms", "5s:@none"])
def test_a_source_that_is_none_is_a_usage_error(name: str) -> None:
    done = run("watch", "--count", "1", name)
    assert done.returncode == 2 and done.stdout == b"" and b"no source" in done.stderr


def offset_ns(clock: int) -> int:
    """From the monotonic clock to another; the best of a few looks, as the machine may stand still in the middle of one."""
    looks = []
    for _ in range(5):
        begun = time.monotonic_ns()
        other = time.clock_gettime_ns(clock)
        looks.append((time.monotonic_ns() - begun, other - begun))
    return min(looks)[1]


def test_clock_offsets_and_steering() -> None:
    before = offset_ns(time.CLOCK_REALTIME)
    _, (found,) = watch_once("@clock")
    after = offset_ns(time.CLOCK_REALTIME)
    real, boot, status, freq = found.content.decode().split()
    assert min(before, after) - 10**9 < int(real) < max(before, after) + 10**9
    assert abs(int(boot) - offset_ns(time.CLOCK_BOOTTIME)) < 10**9
    assert status.isdigit() and freq.lstrip("-").isdigit()


def kernel_says(text: str) -> None:
    Path("/dev/kmsg").write_text(f"<6>{text}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: writes to the kernel's log")
def test_kernel_messages_come_once_with_their_time() -> None:
    first, second = f"rtassay test {os.urandom(8).hex()}", f"rtassay test {os.urandom(8).hex()}"
    kernel_says(first)
    told_ns: list[int] = []

    def change(wait: Wait) -> None:
        wait(3)
        told_ns.append(time.monotonic_ns())
        kernel_says(second)
        told_ns.append(time.monotonic_ns())
        wait(5)

    _, found, _ = watch_while(change, "@kmsg")
    log = b"".join(f.content for f in found).decode(errors="replace").splitlines()
    numbers = [int(line.split(",")[1]) for line in log]
    assert numbers == sorted(set(numbers))  # none twice
    assert [sum(text in line for line in log) for text in (first, second)] == [1, 1]
    (line,) = (line for line in log if second in line)
    prefix, _, text = line.partition(";")
    priority, _, usec = prefix.split(",")[:3]
    assert text == second and int(priority) & 7 == 6
    assert told_ns[0] - 10**9 < int(usec) * 1000 < told_ns[1] + 10**9  # the log's clock may differ a little from ours
    assert all(not line.startswith(" ") and ";" in line for line in log)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: reads the kernel's log")
def test_a_long_log_comes_in_frames_of_whole_lines() -> None:
    _, all_at_once = watch_once("@kmsg", more=("--max-bytes", "1000000"))
    _, found = watch_once("@kmsg", more=("--max-bytes", "700"))
    assert len(found) > 10
    assert b"".join(f.content for f in found).startswith(all_at_once[0].content[:700])
    assert all(f.content.endswith(b"\n") for f in found if f.content and not f.cut)
    assert all(f.content.count(b"\n") == 0 and len(f.content) == 700 for f in found if f.cut)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: SCHED_FIFO")
def test_real_time_threads_are_named_with_their_cpu_time(tmp_path: Path) -> None:
    """A thread that becomes real-time while the watch runs is found, its CPU time grows, and it is gone when it is plain again."""
    hog = (
        "import os, sys, threading, time\n"
        "def work():\n"
        "    tid = threading.get_native_id()\n"
        "    open(f'/proc/self/task/{tid}/comm', 'w').write('a) b 9\\n c')\n"
        "    time.sleep(0.1)\n"
        "    os.sched_setscheduler(tid, os.SCHED_RR, os.sched_param(7))\n"
        "    until = time.monotonic() + 90\n"
        "    while time.monotonic() < until and not os.path.exists(sys.argv[1]):\n"
        "        burnt = time.thread_time() + 0.003\n"
        "        while time.thread_time() < burnt: pass\n"
        "        time.sleep(0.01)\n"
        "    os.sched_setscheduler(tid, os.SCHED_OTHER, os.sched_param(0))\n"
        "    open(sys.argv[2], 'w').close()\n"
        "    sys.stdin.read()\n"
        "threading.Thread(target=work).start()\n"
    )

    def change(wait: Wait) -> None:
        wait(3)
        process = subprocess.Popen(["python3", "-S", "-c", hog, str(go), str(plain_again)], stdin=subprocess.PIPE)
        pids.append(process.pid)
        until = time.monotonic() + PATIENCE_S
        while sum(f" {process.pid} rr ".encode() in f.content for f in wait(1)) < 3:
            assert time.monotonic() < until
        go.touch()
        while not plain_again.exists():
            wait(1)
        wait(2)
        process.communicate()

    pids: list[int] = []
    go, plain_again = tmp_path / "go", tmp_path / "plain"
    facts, found, end = watch_while(change, "@rt-threads")
    rows = [line.split(" ", 8) for f in found for line in f.content.decode().splitlines()]
    assert all(len(row) == 9 and row[2] in ("fifo", "rr", "deadline") for row in rows)
    assert all(int(row[3]) in range(100) and all(int(n) >= 0 for n in row[4:8]) for row in rows)
    mine = [row for row in rows if int(row[1]) == pids[0]]
    assert {(row[2], row[3], row[8]) for row in mine} == {("rr", "7", "a) b 9? c")}
    (tid,) = {int(row[0]) for row in mine}
    assert tid != pids[0]
    run_ns = [int(row[5]) for row in mine]
    assert len(run_ns) >= 3 and run_ns == sorted(run_ns) and run_ns[0] < run_ns[-1]
    assert run_ns[-1] <= end["mono_ns"] - facts["mono_ns"]
    last = next(f.content for f in reversed(found) if not f.same)
    assert f" {pids[0]} rr ".encode() not in last
    for f in found:
        tids = [int(line.split()[0]) for line in f.content.splitlines()]
        assert tids == sorted(set(tids))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: SCHED_FIFO")
def test_a_real_time_thread_is_found_among_a_storm_of_new_ones() -> None:
    hog = "import os, sys; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print(1, flush=True); sys.stdin.read()"
    with family() as members:
        watch = members.start("watch", "--every", "1s", "--count", "4", "@rt-threads")
        assert watch.stdout is not None
        begin = os.read(watch.stdout.fileno(), 65536)
        while not files(decode(begin, cut=True)):
            begin += os.read(watch.stdout.fileno(), 65536)
        with subprocess.Popen(["python3", "-S", "-c", hog], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stdout.readline() == b"1\n"
            for _ in range(1500):  # before the next reading, or the storm is none
                thread = threading.Thread(target=int)
                thread.start()
                thread.join()
            rest, _ = watch.communicate(timeout=PATIENCE_S)
            process.kill()
    found = files(whole(begin + rest, "watch"))
    assert len(found) == 4
    assert any(f" {process.pid} fifo 1 ".encode() in frame.content for frame in found[1:])


def test_registers_of_every_cpu() -> None:
    _, (wrong, known) = watch_once("@msr:zz", "@msr:0x34")
    assert wrong.error == errno.EINVAL
    driver = sorted(Path("/dev/cpu").glob("[0-9]*/msr"))
    if not driver:
        assert known.error == errno.ENOENT
    elif known.error:
        assert known.error in (errno.EIO, errno.EACCES, errno.EPERM)
    else:
        rows = [line.split() for line in known.content.decode().splitlines()]
        assert rows and all(len(row) == 2 and row[0].isdigit() and row[1].isdigit() for row in rows)


def test_programs_are_run_beside_the_files(tmp_path: Path) -> None:
    look = tmp_path / "look"
    look.write_text(
        '#!/bin/sh\nread line\necho "$1|$2|$3|$line"\necho unseen >&2\n'
        "ps -o cls=,ni= -p $$ | tr -s ' '; taskset -p $$ | sed 's/.*: //'\n"
    )
    look.chmod(0o755)
    cpu = max(os.sched_getaffinity(0))
    source = f"@run:{look} one  two  *"
    begun = time.monotonic_ns()
    frames = watch_programs("--cpus", str(cpu), source, "/proc/uptime")
    facts, found = frames[0].json, files(frames)
    assert facts["paths"] == [source, "/proc/uptime"]
    assert facts["obtained"]["affinity"] == [cpu]
    assert [f.path for f in found] == [1, 0]  # the file did not wait
    assert found[1].content.decode().split("\n")[:2] == ["one|two|*|", " TS 0"]
    assert found[1].content.decode().split("\n")[2] == f"{1 << cpu:x}"
    assert begun <= found[0].mono_ns <= found[1].mono_ns


def test_programs_that_fail(tmp_path: Path) -> None:
    plain, trace = tmp_path / "plain", tmp_path / "trace"
    plain.write_text("no program")
    names = [
        "@run:no-such-program-here",
        f"@run:{plain}",
        "@run:false",
        "@run:sh -c kill${IFS}-9${IFS}$$",
        "@run:ls /nowhere/at/all",
    ]
    count = f"@run:tee -a {trace}"
    facts, found, _ = watch_while(lambda wait: wait(60), "/proc/uptime", *names, count)
    assert facts["paths"][1:] == [*names, count]
    for path, wanted in enumerate([errno.ENOENT, errno.EACCES, errno.EIO, errno.EIO, errno.EIO], 1):
        errors = [f.error for f in found if f.path == path]
        assert set(errors) - {errno.ETIMEDOUT} == {wanted}  # one may not get its 500 ms on a busy machine
        assert all(a != b for a, b in pairwise(errors))  # each is told once
    assert sum(f.path == 6 for f in found) >= 2  # while others ran again and again


def test_a_program_that_hangs_is_killed_with_its_children() -> None:
    hang = "@run:sh -c sleep${IFS}30&sleep${IFS}30"
    with family() as members:
        process = members.start("watch", "--every", "20ms", "--count", "30", "/proc/uptime", hang)
        seen, errors = process.communicate(timeout=PATIENCE_S)
        assert errors == b""
        members.wait_gone()
    frames = whole(seen, "watch")
    found = files(frames)
    assert [f.error for f in found if f.path == 1] == [errno.ETIMEDOUT]
    begun = frames[0].json["mono_ns"]
    assert next(f.mono_ns for f in found if f.path == 1) - begun >= 500_000_000
    # The rounds went on: had each waited for the program, they would have taken 15 s.
    assert sum(f.path == 0 for f in found) == 30 and frames[-1].json["mono_ns"] - begun < 10 * 10**9


def test_a_program_is_not_left_behind() -> None:
    """Neither by a watch that is told to end nor by one that is killed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with family() as members:
            process = members.start("watch", "--every", "10s", "@run:sleep 50")
            members.wait_for(2)
            process.send_signal(number)
            process.communicate(timeout=PATIENCE_S)
            members.wait_gone()


def test_a_program_that_floods_is_cut_and_ended() -> None:
    frames = watch_programs("--max-bytes", "1000", "@run:yes", "@run:head -c 1000 /dev/zero")
    found = {f.path: f for f in files(frames)}
    assert found[0].cut and found[0].content == b"y\n" * 500
    assert not found[1].cut and found[1].content == bytes(1000)


def test_many_programs_at_once() -> None:
    """Each says what it has to say, or did not get its 500 ms beside so many others; then it does another time."""
    names = [f"@run:echo {n}" for n in range(60)]
    missing = set(range(60))
    until = time.monotonic() + PATIENCE_S
    while missing:
        assert time.monotonic() < until, missing
        _, found = watch_once(*names)
        assert sorted(f.path for f in found) == list(range(60))
        heard = [f for f in found if f.error != errno.ETIMEDOUT]
        assert all((f.error, f.content) == (0, f"{f.path}\n".encode()) for f in heard)
        missing -= {f.path for f in heard}


def test_the_cost_of_the_watch_is_told_with_its_programs() -> None:
    burn = "@run:timeout 0.1 sh -c while${IFS}:;do${IFS}:;done;echo${IFS}x"
    cheap, dear = (watch_programs("/proc/uptime", *more)[-1].json["cpu_ns"] for more in ([], [burn]))
    assert 0 < cheap < dear


def test_cpus_that_are_not_there() -> None:
    done = run("watch", "--count", "1", "--cpus", "4000", "/proc/uptime")
    assert done.returncode == 3 and b"--cpus" in done.stderr and done.stdout == b""
