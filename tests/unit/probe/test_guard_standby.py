"""A guard that is killed or hangs leaves nothing behind; and what its helper says about the use of CPU time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from .board import PATIENCE_S, family, run
from .frames import decode, events, whole
from .test_guard import CHAIN, DEAF, HARD, PYTHON, SLEEP, finish, wait_ready


def relatives(pid: int) -> dict[int, tuple[int, str]]:
    """Children of a process: pid to (session, name)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                before, _, after = (entry / "stat").read_text(errors="replace").rpartition(")")
            except OSError:
                continue
            if after.split()[0] not in "ZXx" and int(after.split()[1]) == pid:
                found[int(entry.name)] = (int(after.split()[3]), before.partition("(")[2])
    return found


def both(outer: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The two processes of a guard.

    The inner one is known by its own session, not by its children: a command that forks and ends is seldom seen in /proc.
    """
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        for pid, (session, _) in relatives(outer.pid).items():
            if pid == session:
                return outer.pid, pid
        time.sleep(0.02)
    raise AssertionError("the guard has no inner process")


@pytest.mark.parametrize("which", ["outer", "inner"])
@pytest.mark.parametrize("name", [*sorted(HARD), "chain"])
def test_a_killed_guard_leaves_nothing(which: str, name: str, tmp_path: Path) -> None:
    """Whichever of its two processes is killed, the other ends everything and puts back what the journal lists."""
    target, journal = tmp_path / "target", tmp_path / "journal"
    target.write_text("tuned")
    journal.write_text(f"value\t{target}\toriginal\n")
    with family() as members:
        process = members.start("guard", "--restore", str(journal), "--", *PYTHON, {**HARD, "chain": CHAIN}[name])
        wait_ready(process)
        outer, inner = both(process)
        os.kill(inner if which == "inner" else outer, signal.SIGKILL)
        members.wait_gone(25)  # the chain would end by itself after 30 s
        _, errors = finish(process)
        if which == "inner":
            assert process.returncode == 3 and b"guard was killed by signal 9" in errors
    assert target.read_text().rstrip("\n") == "original"


@pytest.mark.parametrize("last_words", ["read", "unread"])
def test_a_guard_killed_after_its_owner_puts_back_the_journal(last_words: str, tmp_path: Path) -> None:
    """Nobody reads what the outer one has to say: that must not end it before its work is done."""
    target, journal = tmp_path / "target", tmp_path / "journal"
    target.write_text("tuned")
    journal.write_text(f"value\t{target}\toriginal\n")
    with family() as members:
        process = members.start("guard", "--restore", str(journal), "--", *PYTHON, SLEEP)
        wait_ready(process)
        _, inner = both(process)
        if last_words == "unread":
            assert process.stderr is not None
            process.stderr.close()
            process.stderr = None
        os.kill(inner, signal.SIGKILL)
        assert process.wait(PATIENCE_S) == 3
        members.wait_gone()
    assert target.read_text().rstrip("\n") == "original"


ORPHANS = "import os, sys, time\nfor _ in range(20):\n    if os.fork() == 0:\n        os.fork()\n        os._exit(0)\n    os.wait()\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="without rights a guard has no real-time thread")
def test_a_guard_reaps_without_delay_and_never_at_a_real_time_priority() -> None:
    """docs/decisions/2026-11-22-who-reaps.md: whoever reaps may spin in the kernel."""
    with family() as members:
        process = members.start("guard", "--", *PYTHON, ORPHANS + SLEEP)
        wait_ready(process)
        for pid in both(process):
            main, *others = sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
            assert (main, os.sched_getscheduler(main) & 7) == (pid, os.SCHED_FIFO)
            assert [os.sched_getscheduler(tid) & 7 for tid in others] == [os.SCHED_OTHER]
        until = time.monotonic() + PATIENCE_S
        while (zombies := zombies_of(both(process)[1])) and time.monotonic() < until:
            time.sleep(0.02)
        assert not zombies
        process.terminate()
        finish(process)


def zombies_of(parent: int) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, ppid = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if state == "Z" and int(ppid) == parent:
                found.append(entry.name)
    return found


def running(program: Path) -> list[int]:
    """Processes of an executable: stress-ng writes over the environment by which a family is known."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and (entry / "exe").readlink() == program:
                found.append(int(entry.name))
    return found


def wait_none_running(program: Path) -> None:
    until = time.monotonic() + 40  # the storm would end by itself after 60 s
    while left := running(program):
        if time.monotonic() > until:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"still there: {left}")


@pytest.mark.parametrize("which", ["outer", "inner", "group of outer"])
@pytest.mark.skipif(shutil.which("stress-ng") is None, reason="stress-ng is not installed")
def test_a_guard_killed_under_a_storm_of_forks(which: str, tmp_path: Path) -> None:
    stream, program = tmp_path / "guard.rtw", tmp_path / "storm"
    shutil.copy(shutil.which("stress-ng") or "", program)
    storm = ["--fork", "2", "--vfork", "1", "--daemon", "1", "--vm", "1", "--vm-bytes", "8m", "--timeout", "60", "-q"]
    argv = ["guard", "--usage", "-o", str(stream), "--", str(program), *storm]
    with family() as members:
        process = members.start(*argv, start_new_session=True, cwd=tmp_path)
        _, inner = both(process)
        until = time.monotonic() + PATIENCE_S
        while len(running(program)) < 6:
            assert time.monotonic() < until
        if which == "group of outer":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            os.kill(inner if which == "inner" else process.pid, signal.SIGKILL)
        finish(process)
        wait_none_running(program)
    frames = decode(stream.read_bytes(), cut=True)
    if which == "inner":
        assert not events(frames, "child_killed")  # cut, as STREAM.md says, and what was written is whole
    else:
        assert events(whole(stream.read_bytes(), "guard"), "child_killed")[0]["why"] == "signal"


def test_both_guards_killed_in_one_moment_leave_the_command_to_the_kernel() -> None:
    with family() as members:
        process = members.start("guard", "--", *PYTHON, SLEEP)
        wait_ready(process)
        outer, inner = both(process)
        os.kill(outer, signal.SIGSTOP)  # so that neither can act for the other
        os.kill(inner, signal.SIGKILL)
        os.kill(outer, signal.SIGKILL)
        members.wait_gone()
        finish(process)


@pytest.mark.full
def test_a_guard_that_hangs_is_ended_by_its_standby() -> None:
    """A stopped guard keeps no --max: its standby does, 35 s later."""
    with family() as members:
        process = members.start("guard", "--max", "3s", "--", *PYTHON, DEAF)
        wait_ready(process)
        _, inner = both(process)
        os.kill(inner, signal.SIGSTOP)
        _, errors = finish(process)
        assert process.returncode == 3 and b"killed by signal 9" in errors
        assert members.alive() == []


BURN = "until = __import__('time').process_time() + {}\nwhile __import__('time').process_time() < until: pass\n"
# The first process stays when all those that burn have ended, until there is a file of this name.
BUSY_TREE = f"""
import os, sys, time
for own in (0.3, 0.2):
    if os.fork() == 0:
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
            {BURN.format("own").replace(chr(10), chr(10) + " " * 12).rstrip()}
        os._exit(0)
for _ in range(2):
    os.wait()
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
"""

# 2 x (0.3 + 0.2) s, by the clocks of those that burn; each process may lose three ticks.
BURNT_NS = 900_000_000


def usage_of(stream: Path) -> list[dict[str, Any]]:
    """What has been told so far."""
    return events(decode(stream.read_bytes(), cut=True), "usage")


def test_usage_counts_everything_that_ever_ran(tmp_path: Path) -> None:
    """Also what ended, orphaned or waited for: never back, and never more than was used."""
    stream = tmp_path / "guard.rtw"
    before = time.monotonic_ns()
    seen = tmp_path / "seen"
    with family() as members:
        process = members.start("guard", "--usage", "-o", str(stream), "--", *PYTHON, BUSY_TREE, str(seen))
        until = time.monotonic() + PATIENCE_S
        while not (stream.exists() and any(t["cpu_ns"] >= BURNT_NS and t["processes"] == 1 for t in usage_of(stream))):
            assert time.monotonic() < until, "usage never told of what ran"
            time.sleep(0.1)
        seen.touch()
        finish(process)
        assert process.returncode == 0
    frames = whole(stream.read_bytes(), "guard")
    told = events(frames, "usage")
    assert all(set(t) == {"event", "mono_ns", "processes", "threads", "real_time", "cpu_ns"} for t in told)
    cpu = [t["cpu_ns"] for t in told]
    end = frames[-1].json
    assert cpu == sorted(cpu) and cpu[-1] <= end["user_ns"] + end["system_ns"]
    assert 1 <= len(told) <= (end["mono_ns"] - before) // 10**9  # once a second, and no burst where one came late
    late = [t for t in told if t["cpu_ns"] >= BURNT_NS]  # one process is left, and sleeps
    assert (1, 1, 0) in [(t["processes"], t["threads"], t["real_time"]) for t in late]
    steps = [b["mono_ns"] - a["mono_ns"] for a, b in pairwise(told)]
    assert all(step > 0 for step in steps)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: SCHED_FIFO")
def test_usage_counts_processes_threads_and_real_time_ones(tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    threads = (
        "import os, threading, time\n"
        "for _ in range(3): threading.Thread(target=time.sleep, args=(5,)).start()\n"
        "os.sched_setscheduler(threading.enumerate()[-1].native_id, os.SCHED_FIFO, os.sched_param(1))\n"
    )
    script = f"chrt -r 3 sleep 5 & chrt -b 0 sleep 5 & {sys.executable} -S -c '{threads}' & wait"
    run("guard", "--usage", "-o", str(stream), "--", "sh", "-c", script)
    told = events(whole(stream.read_bytes(), "guard"), "usage")
    assert (4, 7, 2) in [(t["processes"], t["threads"], t["real_time"]) for t in told]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: sees the guard's policy")
def test_usage_is_looked_at_on_the_commands_cpus_by_a_plain_process(tmp_path: Path) -> None:
    cpu = max(os.sched_getaffinity(0))
    with family() as members:
        process = members.start(
            "guard", "--usage", "-o", str(tmp_path / "g"), "--", "taskset", "-c", str(cpu), "sleep", "40"
        )
        outer, inner = both(process)
        until = time.monotonic() + PATIENCE_S
        while not (helpers := set(relatives(outer)) - {inner}):
            assert time.monotonic() < until
            time.sleep(0.05)
        (helper,) = helpers
        while os.sched_getaffinity(helper) != {cpu}:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert os.sched_getscheduler(helper) == os.SCHED_OTHER
        assert {os.sched_getscheduler(p) & 0xFF for p in (outer, inner)} == {os.SCHED_FIFO}
        os.kill(helper, signal.SIGKILL)  # and the guard does not mind
        time.sleep(0.2)
        process.terminate()
        finish(process)
        assert process.returncode == 128 + signal.SIGTERM and members.alive() == []
    assert events(whole((tmp_path / "g").read_bytes(), "guard"), "child_killed")[0]["why"] == "signal"


def test_usage_needs_a_stream(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    done = run("guard", "--usage", "--", "touch", str(marker))
    assert done.returncode == 2 and b"--wrap" in done.stderr and not marker.exists()


def test_gpu_is_a_part_of_usage(tmp_path: Path) -> None:
    """A command without a GPU has no engine time, which is unknown and not 0."""
    refused = run("guard", "--gpu", "--", "true")
    assert refused.returncode == 2 and b"--gpu is a part of --usage" in refused.stderr
    stream = tmp_path / "g"
    with family() as members:
        process = members.start("guard", "--usage", "--gpu", "-o", str(stream), "--", "sleep", "300")
        until = time.monotonic() + PATIENCE_S
        while not (stream.exists() and usage_of(stream)):
            assert time.monotonic() < until
            time.sleep(0.05)
        process.terminate()
        process.wait(PATIENCE_S)
    told = usage_of(stream)[0]
    assert told["gpu_ns"] is None and "gpu_interrupts" in told
