"""rtprobe guard: whatever it started is gone in bounded time, and what it changed is put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .board import PATIENCE_S, RTPROBE, Family, family, run
from .frames import END, decode, events, output, whole

PYTHON = [sys.executable, "-S", "-c"]

# Each prints "ready" when it is what its name says, and would run for 40 s (bounded, should the guard fail).
SLEEP = "import time; print('ready', flush=True); time.sleep(40)"
DOUBLE_FORK = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print('ready', flush=True)
    time.sleep(40)
    os._exit(0)
time.sleep(40)
"""
DEAF = """
import signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
print('ready', flush=True)
until = time.monotonic() + 40
while time.monotonic() < until:
    time.sleep(1)
"""
STOPPED = """
import os, signal
print('ready', flush=True)
for _ in range(100):
    os.kill(os.getpid(), signal.SIGSTOP)
"""
# A process that forks and ends, and so on; each generation in its own session, deaf, for at most 30 s.
CHAIN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('ready', flush=True)
until = time.monotonic() + 30
while time.monotonic() < until:
    if os.fork():
        os._exit(0)
    os.setsid()
"""
# Keeps ten deaf children alive by forking a new one for each that goes; at most 2000.
HYDRA = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
until = time.monotonic() + 30
alive = 0
for number in range(2000):
    if time.monotonic() > until:
        break
    if os.fork() == 0:
        time.sleep(40)
        os._exit(0)
    alive += 1
    if alive == 10:
        print('ready', flush=True)
    if alive >= 10:
        os.wait()
        alive -= 1
"""
HEEDING = {"sleep": SLEEP, "double fork": DOUBLE_FORK, "stopped": STOPPED}
HARD = {**HEEDING, "deaf": DEAF, "hydra": HYDRA}  # the last two take the guard's whole grace


def wait_ready(process: subprocess.Popen[bytes]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"


def finish(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    return process.communicate(timeout=PATIENCE_S)


@pytest.mark.parametrize("code", [0, 1, 7, 70, 255])
def test_exit_codes_pass_through(code: int) -> None:
    done = run("guard", "--", "sh", "-c", f"echo out; echo err >&2; exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, b"out\n", b"err\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1])
def test_a_command_ended_by_a_signal(number: signal.Signals) -> None:
    assert run("guard", "--", "sh", "-c", f"kill -{int(number)} $$").returncode == 128 + number


def test_command_that_cannot_start(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program\n")
    for path, reason in (
        (tmp_path / "absent", b"No such file"),
        (plain, b"Permission denied"),
        (tmp_path, b"Permission denied"),
    ):
        done = run("guard", "--", str(path))
        assert done.returncode == 3 and done.stdout == b""
        assert str(path).encode() in done.stderr and reason in done.stderr
    wrapped = run("guard", "--wrap", "--", str(tmp_path / "absent"))
    frames = whole(wrapped.stdout, "guard")
    assert wrapped.returncode == 3 and frames[-1].json["reason"] == "error" and frames[-1].json["exit"] == 3
    assert frames[0].json["child_pid"] is None and not events(frames, "child_started")


# An orphan has the guard as its parent, and ends once it has sent it all that it may (some of stress-ng's send SIGALRM).
ORPHAN = """
import os, signal, sys, time
parent = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
for number in (*map(int, sys.argv[1:]), *range(signal.SIGRTMIN, signal.SIGRTMAX + 1)):
    os.kill(os.getppid(), number)
print("sent", flush=True)
"""
SENT = ("ALRM", "VTALRM", "PROF", "USR1", "USR2", "IO", "PWR", "XCPU", "XFSZ")


def test_signals_of_an_orphan_do_not_end_its_guard(tmp_path: Path) -> None:
    script = tmp_path / "orphan.py"
    script.write_text(ORPHAN)
    sent = " ".join(str(int(signal.Signals[f"SIG{name}"])) for name in SENT)
    words = f"{sys.executable} {script} {sent} | grep sent; exit 7"
    done = run("guard", "--", "sh", "-c", words)
    assert (done.returncode, done.stdout, done.stderr) == (7, b"sent\n", b"")


def test_no_command_is_a_usage_error() -> None:
    for argv in (["guard"], ["guard", "--"], ["guard", "--wrap"], ["guard", "--nonsense", "--", "true"]):
        done = run(*argv)
        assert done.returncode == 2 and done.stdout == b"" and done.stderr


def test_the_command_starts_in_a_clean_state() -> None:
    code = (
        "import os, sys, signal\n"
        "assert os.getsid(0) == os.getpid() == os.getpgrp()\n"
        "assert os.sched_getscheduler(0) == os.SCHED_OTHER\n"
        "assert not signal.pthread_sigmask(signal.SIG_BLOCK, [])\n"
        "assert signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL\n"
        "assert sys.stdin.read() == ''\n"
        "print(sorted(int(f) for f in os.listdir('/proc/self/fd')))\n"
    )
    for wrap in ([], ["--wrap"]):
        done = run("guard", *wrap, "--", *PYTHON, code)
        assert done.returncode == 0, done.stderr
        text = output(whole(done.stdout, "guard"), 1) if wrap else done.stdout
        assert text == b"[0, 1, 2, 3]\n"  # 3 is the listing itself


def test_the_command_inherits_what_the_guard_was_given() -> None:
    """Signals, niceness and the OOM score are the caller's, not the guard's own."""
    look = ["sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status; cat /proc/self/oom_score_adj; nice; ulimit -a"]
    look[-1] += "; chrt -p $$ | sed s/.*pid.*s//"
    real_time = [["chrt", "-f", "2"]] if os.geteuid() == 0 else []
    for prefix in ([], ["nohup"], ["nice", "-n", "5"], ["chrt", "-b", "0"], ["chrt", "-i", "0"], *real_time):
        direct = subprocess.run([*prefix, *look], stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
        guarded = subprocess.run(
            [*prefix, RTPROBE, "guard", "--", *look], stdin=subprocess.DEVNULL, capture_output=True, check=True
        )
        assert guarded.stdout == direct and b"SigIgn" in direct


def test_the_guard_itself_is_real_time_where_it_may_be() -> None:
    facts = whole(run("guard", "--wrap", "--", "true").stdout, "guard")[0].json
    assert (facts["policy"], facts["priority"]) in (("fifo", 99), ("other", 0))
    if os.geteuid() == 0:
        assert facts["policy"] == "fifo"


@pytest.mark.parametrize("name", sorted(HEEDING))
def test_sigterm_ends_all(name: str) -> None:
    with family() as members:
        process = members.start("guard", "--", *PYTHON, HARD[name])
        wait_ready(process)
        process.send_signal(signal.SIGTERM)
        finish(process)
        assert members.alive() == []
        assert process.returncode in (128 + signal.SIGTERM, 128 + signal.SIGKILL)


@pytest.mark.parametrize("name", sorted(HARD.keys() - {"deaf"}))  # the grace is waited for once, with "hydra"
def test_max_ends_all_and_says_so(name: str, tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    with family() as members:
        before = time.monotonic_ns()
        process = members.start("guard", "--max", "2s", "-o", str(stream), "--", *PYTHON, HARD[name])
        said, _ = finish(process)
        assert members.alive() == []
    frames = whole(stream.read_bytes(), "guard")
    facts, end = frames[0].json, frames[-1].json
    assert facts["max_ns"] == 2_000_000_000 and facts["attached"] is False
    (killed,) = events(frames, "child_killed")
    assert killed["why"] == "max" and end["reason"] == "duration"
    assert killed["mono_ns"] >= before + 2_000_000_000
    if b"ready" in said:  # it became what its name says within the 2 s
        assert (killed["left"] > 0) == (name == "hydra")
    (exited,) = events(frames, "child_exited")
    assert exited["pid"] == facts["child_pid"] and exited["signal"] in (signal.SIGTERM, signal.SIGKILL)
    assert exited["exit_code"] is None


@pytest.mark.parametrize("name", sorted(HEEDING))
def test_owner_gone(name: str) -> None:
    """The owner holds the guard's stdin; it is killed with SIGKILL, and everything ends."""
    holder = (
        "import subprocess, sys, time\nguard = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\ntime.sleep(60)\n"
    )
    with family() as members:
        owner = subprocess.Popen(
            [*PYTHON, holder, RTPROBE, "guard", "--attached", "--", *PYTHON, HARD[name]],
            env=members.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        wait_ready(owner)
        owner.kill()
        owner.wait()
        assert owner.stdout is not None
        members.wait_gone()
        owner.stdout.close()


SLOW_END = """
import os, signal, time
def end(*_):
    print('asked', flush=True)
    %s
    print('done', flush=True)
    os.kill(worker, signal.SIGKILL)
    os._exit(7)
worker = os.fork()
if worker == 0:
    signal.signal(signal.SIGTERM, lambda *_: print('worker asked', flush=True))
    while True:
        time.sleep(1)
signal.signal(signal.SIGTERM, end)
print('ready', flush=True)
while True:
    time.sleep(1)
"""


def test_a_command_has_three_seconds_to_end_its_workers_itself(tmp_path: Path) -> None:
    """As stress-ng does under load: it needed 2.4 s, and calls it an error when others end its workers."""
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = members.start("guard", "-o", str(stream), "--", *PYTHON, SLOW_END % "time.sleep(3)")
        wait_ready(process)
        process.send_signal(signal.SIGTERM)
        said, _ = finish(process)
        assert (process.returncode, said) == (7, b"asked\ndone\n")
    (killed,) = events(whole(stream.read_bytes(), "guard"), "child_killed")
    assert killed["left"] == 0


def test_a_machine_that_stands_still_takes_nothing_of_the_grace(tmp_path: Path) -> None:
    """Guard and command are stopped for longer than the grace; both go on, and the command has its time."""
    stream = tmp_path / "guard.rtw"
    busy = "until = time.process_time() + 0.3\n    while time.process_time() < until: pass"
    with family() as members:
        process = members.start("guard", "-o", str(stream), "--", *PYTHON, SLOW_END % busy)
        wait_ready(process)
        (inner,) = children_of(process.pid)
        (command,) = children_of(inner)
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None and process.stdout.readline() == b"asked\n"
        os.kill(inner, signal.SIGSTOP)
        os.kill(command, signal.SIGSTOP)
        time.sleep(11)
        os.kill(inner, signal.SIGCONT)  # which continues the command
        said, _ = finish(process)
        # A slow machine may need so long that the worker is asked, too: that is not the end of the grace.
        assert process.returncode == 7 and said.splitlines()[-1] == b"done"
    (killed,) = events(whole(stream.read_bytes(), "guard"), "child_killed")
    assert killed["left"] == 0


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_owner_gone_and_a_deaf_command_is_killed_after_the_grace(tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = members.start("guard", "--attached", "-o", str(stream), "--", *PYTHON, DEAF, stdin=subprocess.PIPE)
        wait_ready(process)
        assert process.stdin is not None
        gone_ns = time.monotonic_ns()
        process.stdin.close()
        process.stdin = None
        finish(process)
        assert members.alive() == []
    frames = whole(stream.read_bytes(), "guard")
    (gone,) = events(frames, "owner_gone")
    (killed,) = events(frames, "child_killed")
    assert frames[0].json["attached"] is True and frames[-1].json["reason"] == "owner"
    assert killed["why"] == "owner" and killed["left"] == 1
    assert gone["mono_ns"] >= gone_ns
    # The grace is part of the contract, not a measurement.
    assert killed["mono_ns"] - gone["mono_ns"] >= 10_000_000_000


def test_attached_data_on_stdin_is_not_the_end() -> None:
    with family() as members:
        process = members.start(
            "guard", "--attached", "--", "sh", "-c", "echo ready; sleep 0.5; exit 4", stdin=subprocess.PIPE
        )
        assert process.stdin is not None
        process.stdin.write(b"x" * 10000)
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 4
        finish(process)


def test_detached_ignores_stdin() -> None:
    assert run("guard", "--", "sh", "-c", "sleep 0.3; exit 5").returncode == 5


def test_left_over_children_are_ended(tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    script = "setsid sleep 40 & (setsid setsid sleep 41 &) ; exit 9"
    with family() as members:
        process = members.start("guard", "-o", str(stream), "--", "sh", "-c", script)
        finish(process)
        assert process.returncode == 9 and members.alive() == []
    frames = whole(stream.read_bytes(), "guard")
    assert frames[-1].json["reason"] == "child" and frames[-1].json["exit"] == 9
    assert events(frames, "child_killed")[0]["why"] == "child"


def test_chain_of_forks_cannot_outrun_the_guard(tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = members.start("guard", "--max", "1s", "-o", str(stream), "--", *PYTHON, CHAIN)
        finish(process)
        assert members.alive() == []
    assert events(whole(stream.read_bytes(), "guard"), "child_killed")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: SCHED_FIFO")
def test_real_time_hogs_on_every_cpu_cannot_keep_the_guard_from_its_work(tmp_path: Path) -> None:
    """FIFO 98 loops on all CPUs for 3 s, until the guard's SIGTERM; they also end by themselves after 9 s of CPU time."""
    stream = tmp_path / "guard.rtw"
    cpus = sorted(os.sched_getaffinity(0))
    hogs = (
        "ulimit -t 9\n"
        f"for cpu in {' '.join(map(str, cpus))}; do\n"
        "taskset -c $cpu chrt -f 98 sh -c 'trap \"echo asked; exit\" TERM; while :; do :; done' &\n"
        "done; wait"
    )
    with family() as members:
        process = members.start("guard", "--max", "3s", "-o", str(stream), "--", "sh", "-c", hogs)
        said, _ = finish(process)
        assert members.alive() == []
    (killed,) = events(whole(stream.read_bytes(), "guard"), "child_killed")
    assert killed["why"] == "max" and said == b"asked\n" * len(cpus)


def test_second_signal_skips_the_grace(tmp_path: Path) -> None:
    stream = tmp_path / "guard.rtw"
    with family() as members:
        process = members.start("guard", "-o", str(stream), "--", *PYTHON, DEAF)
        wait_ready(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        finish(process)
        assert process.returncode == 128 + signal.SIGKILL and members.alive() == []
    frames = whole(stream.read_bytes(), "guard")
    assert frames[-1].json["reason"] == "signal" and events(frames, "child_killed")[0]["why"] == "signal"


def test_wrap_keeps_every_byte() -> None:
    code = (
        "import os\n"
        "for block in range(400):\n"
        "    os.write(1, bytes([block % 251]) * 5003)\n"
        "    os.write(2, b'%d,' % block)\n"
    )
    done = run("guard", "--wrap", "--", *PYTHON, code)
    frames = whole(done.stdout, "guard")
    assert output(frames, 1) == b"".join(bytes([block % 251]) * 5003 for block in range(400))
    assert output(frames, 2) == b"".join(b"%d," % block for block in range(400))
    facts, end = frames[0].json, frames[-1].json
    assert facts["command_argv"][:1] == [sys.executable] and facts["max_ns"] is None
    (started,), (exited,) = events(frames, "child_started"), events(frames, "child_exited")
    assert started["pid"] == exited["pid"] == facts["child_pid"]
    assert exited["exit_code"] == 0 and exited["signal"] is None
    assert exited["user_ns"] + exited["system_ns"] > 0  # a tick may have seen it in one of both only
    assert end["reason"] == "child" and end["exit"] == 0
    assert done.stderr == b"" and done.returncode == 0


def test_wrap_counts_the_time_of_waited_for_grandchildren() -> None:
    busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    frames = whole(run("guard", "--wrap", "--", "sh", "-c", f"(sh -c '{busy}'); true").stdout, "guard")
    (exited,) = events(frames, "child_exited")
    assert exited["user_ns"] + exited["system_ns"] > 10_000_000  # 200,000 turns of a shell loop


def test_wrap_is_flushed_while_the_command_runs() -> None:
    with family() as members:
        process = members.start("guard", "--wrap", "--", *PYTHON, SLEEP)
        assert process.stdout is not None
        seen = b""
        until = time.monotonic() + PATIENCE_S
        while output(decode(seen, cut=True), 1) != b"ready\n":
            assert time.monotonic() < until
            seen += os.read(process.stdout.fileno(), 65536)
        process.terminate()
        rest, _ = finish(process)
        whole(seen + rest, "guard")


@pytest.mark.parametrize("argv", [["yes"], ["sh", "-c", "yes; sleep 40"]], ids=["yes", "sh"])
def test_wrap_with_a_full_pipe_still_ends(argv: list[str]) -> None:
    """Nobody reads the stream: --max holds all the same, and what was written is whole frames."""
    with family() as members:
        process = members.start("guard", "--wrap", "--max", "1s", "--", *argv)
        assert process.wait(PATIENCE_S) != 0
        assert members.alive() == []
        seen, errors = finish(process)
        frames = decode(seen, cut=True)
        assert set(b"".join(output(frames, 1).split(b"\n"))) <= {ord("y")}
        assert (b"stream" in errors) == (END not in {frame.type for frame in frames})


def test_wrap_when_the_reader_goes() -> None:
    with family() as members:
        process = members.start(
            "guard",
            "--wrap",
            "--attached",
            "--",
            "sh",
            "-c",
            "while :; do echo x; sleep 0.05; done",
            stdin=subprocess.PIPE,
        )
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE_S) != 0
        assert members.alive() == []
        finish(process)


def test_wrap_when_the_reader_goes_but_the_run_is_detached(tmp_path: Path) -> None:
    """The command goes on to its end; the lost stream is an error all the same."""
    mark = tmp_path / "finished"
    script = f"i=0; while [ $i -lt 20 ]; do echo x; sleep 0.02; i=$((i+1)); done; touch {mark}"
    with family() as members:
        process = members.start("guard", "--wrap", "--", "sh", "-c", script)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE_S) == 3 and mark.exists()
        _, errors = finish(process)
        assert b"stream is not whole: Broken pipe" in errors


def test_restore_on_every_way_out(tmp_path: Path) -> None:
    for name, limit, argv, code in (
        ("ended", "60s", ["true"], 0),
        ("not started", "60s", [str(tmp_path / "absent")], 3),
        ("max", "1s", [*PYTHON, SLEEP], 128 + signal.SIGTERM),
    ):
        first, second = tmp_path / f"{name} 1", tmp_path / f"{name} 2"
        first.write_text("changed, and longer than before\n")
        second.write_text("changed\n")
        journal = tmp_path / f"{name}.journal"
        journal.write_text(f"value\t{first}\tbefore with spaces\nvalue\t{second}\t2\nvalue\t{second}\tlater\n")
        done = run("guard", "--max", limit, "--restore", str(journal), "--", *argv)
        assert done.returncode == code, name
        assert first.read_text().rstrip("\n") == "before with spaces", name
        assert second.read_text().rstrip("\n") == "2", name  # the first value journaled is the original one


def test_restore_failures_are_said(tmp_path: Path) -> None:
    good, journal = tmp_path / "good", tmp_path / "journal"
    good.write_text("x")
    journal.write_text(f"value\t{tmp_path}/absent/file\t1\nno tab here\nvalue\t{good}\tback\n")
    done = run("guard", "--wrap", "--restore", str(journal), "--", "true")
    frames = whole(done.stdout, "guard")
    failed = events(frames, "restore_failed")
    assert done.returncode == 0 and good.read_text().rstrip("\n") == "back"
    assert {f["path"] for f in failed} == {f"{tmp_path}/absent/file", "no tab here"}
    assert b"absent/file" in done.stderr and b"no tab here" in done.stderr
    assert not (tmp_path / "absent").exists()


def test_restore_journal_that_is_not_there(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    done = run("guard", "--restore", str(tmp_path / "absent"), "--", "touch", str(marker))
    assert done.returncode == 2 and b"absent" in done.stderr and not marker.exists()


def test_restore_when_the_owner_goes(tmp_path: Path) -> None:
    target, journal = tmp_path / "target", tmp_path / "journal"
    target.write_text("tuned")
    journal.write_text(f"value\t{target}\toriginal\n")
    with family() as members:
        process = members.start(
            "guard", "--attached", "--restore", str(journal), "--", *PYTHON, SLEEP, stdin=subprocess.PIPE
        )
        wait_ready(process)
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        finish(process)
    assert target.read_text().rstrip("\n") == "original"


def test_guards_nest() -> None:
    """A guard under a guard: the outer one ends the inner one and what it guards."""
    with family() as members:
        process = members.start("guard", "--max", "1s", "--", RTPROBE, "guard", "--", *PYTHON, DEAF)
        finish(process)
        assert members.alive() == []


def test_family_finds_what_runs() -> None:
    """The helper of these tests must see a process, or nothing above means anything."""
    with family() as members:
        assert isinstance(members, Family)
        process = members.start("guard", "--", "sleep", "40")
        assert process.pid in members.wait_for(2)
        process.terminate()
        finish(process)
        assert members.alive() == []
