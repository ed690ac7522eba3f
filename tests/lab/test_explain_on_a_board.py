"""`rtassay explain` of an unmodified program on real kernels over SSH: its late wake-ups, their causes, and nothing is left behind."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import followed_faults
import known_causes
import pytest
import rtfault
from command_line import in_process
from vboard import Board, Setup

from rtassay.boards.binaries import probe_path
from rtassay.model.events import End
from rtassay.wire.stream import StreamParser

pytestmark = pytest.mark.full
STOCK = Setup("stock", "stock")
RT = Setup("rt", "rt")
INSTANCES = "/sys/kernel/tracing/instances"
SPIN_NS = 4_000_000


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return followed_faults.application(tmp_path_factory.mktemp("program"))


@pytest.fixture
def delayed(board: Board, program: bytes) -> Iterator[str]:
    """The pid of a program whose real-time thread shares CPU 1 with a busier one of higher priority."""
    put = board.ssh_argv("cat > /tmp/app && chmod 755 /tmp/app && cp /tmp/app /tmp/hog")
    subprocess.run(put, input=program, check=True, timeout=120)
    board.text(
        f"taskset 2 /tmp/hog hog 95 40000000 {SPIN_NS} 600 /tmp/first.hog > /dev/null 2>&1 & echo $! > /tmp/hog.pid\n"
        "taskset 2 /tmp/app control 80 5000000 0 600 /tmp/first.app > /dev/null 2>&1 & echo $! > /tmp/app.pid"
    )
    yield board.text("cat /tmp/app.pid")
    board.run("kill $(cat /tmp/app.pid) $(cat /tmp/hog.pid)")


@pytest.mark.parametrize("setup", [RT, STOCK], ids=lambda setup: setup.name)
def test_the_thread_that_delays_a_program_is_named(board: Board, delayed: str, tmp_path: Path) -> None:
    done = in_process(
        *("explain", board.name, "--pid", delayed, "--above", "1ms", "--duration", "4s", "--json"), home=tmp_path
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["target"] == f"pid {delayed}" and told["above_ns"] == 1_000_000 and told["losses"] == 0
    threads = {thread["name"].rpartition("-")[0]: thread for thread in told["threads"]}
    assert set(threads) == {"app", "logger", "control"}
    assert threads["control"]["wake_ups"] > 0 and threads["control"]["priority"] == 80
    assert threads["control"]["turns"] > 0 and threads["control"]["max_ns"] >= 1_000_000
    for one in told["late"]:
        assert sum(part["ns"] for part in one["parts"]) == one["delay_ns"] >= 1_000_000
    causes = {(one["top"]["kind"], one["top"]["name"]) for one in told["late"] if one["thread"].startswith("control")}
    assert ("thread", "hog") in causes
    assert board.text(f"ls {INSTANCES}") == ""
    again = in_process("causes", told["id"], "--json", home=tmp_path)
    assert again.returncode == 0 and json.loads(again.stdout)["attributed"] == len(told["late"])


@pytest.mark.parametrize("setup", [RT], ids=lambda setup: setup.name)
def test_without_root_the_sums_of_proc_are_told_and_why(board: Board, delayed: str) -> None:
    done = board.run(f"/probe/rtprobe follow --pid {delayed} --duration 2s", user="user")
    assert done.returncode == 0 and b"no trace: tracefs cannot be written" in done.stderr
    parser = StreamParser()
    end = [*parser.feed(done.stdout), *parser.finish()][-1]
    assert isinstance(end, End) and end.data["trace"]["error"].startswith("tracefs cannot be written")
    assert any(lane["turns"] > 0 and lane["waited_ns"] > 0 for lane in end.data["lanes"])


@pytest.mark.parametrize("kernel", ["rt", "stock"])
def test_known_faults_get_their_cause(kernel: str, program: bytes, tmp_path: Path) -> None:
    """Those that keep a woken thread from running: a thread above it, preemption off, bottom halves off, kernel code."""
    module = rtfault.build(kernel, tmp_path)
    faults = [fault for fault in known_causes.FAULTS if fault.letter in "pbsf"]
    # The thread of a plan of threads also begins and ends, which the module does not log.
    faults = [replace(fault, around_ns=250_000 if fault.letter == "f" else 0) for fault in faults]
    answer = followed_faults.run(kernel, module, probe_path("x86_64"), program, faults)
    assert answer.invented == ()
    for cell in answer.cells:
        what = f"{cell.fault.name}, {cell.length_us} us on {kernel}"
        assert cell.injected == known_causes.HITS and cell.wrong == (), what
        if kernel == "rt" and not cell.fault.delays_rt:
            assert cell.hits == 0, what
        elif cell.length_us >= 1000:
            assert cell.hits == known_causes.HITS, what


# A run is killed at a moment of it; both instances must be gone soon after. A minute on an idle host.
KILLS_S = 600
KILL = f"""
i=0
while [ $i -lt 20 ]; do
	/probe/rtprobe follow --comm app --duration 3s > /dev/null &
	usleep $(( (i * 829 + 400) % 3300 * 1000 ))
	kill -9 $!
	waited=0
	while [ -n "$(ls {INSTANCES})" ] && [ $waited -lt 600 ]; do usleep 100000; waited=$((waited + 1)); done
	ls {INSTANCES}
	i=$((i + 1))
done
cat /sys/kernel/tracing/events/enable
"""


@pytest.mark.parametrize("setup", [RT, STOCK], ids=lambda setup: setup.name)
def test_killed_at_any_moment_it_leaves_no_instance(board: Board, delayed: str) -> None:
    assert delayed and board.text(KILL, timeout_s=KILLS_S) == "0"
