"""rtprobe load: it works, says how much, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .board import PATIENCE_S, family, run
from .frames import EVENT, decode, events, whole

UNITS = {"cpu": "rounds", "memory": "bytes", "timer": "expiries", "fork": "forks"}
SMALL = ("--size", "4194304")


@pytest.mark.parametrize("kind", sorted(UNITS))
def test_work_grows_and_nothing_is_left(kind: str, tmp_path: Path) -> None:
    stream = tmp_path / "load.rtw"
    with family() as members:
        before = time.monotonic_ns()
        process = members.start("load", kind, "--duration", "3s", *SMALL, "-o", str(stream))
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and errors == b""
        members.wait_gone()
    frames = whole(stream.read_bytes(), "load")
    facts, end, work = frames[0].json, frames[-1].json, events(frames, "work")
    assert all(set(w) == {"event", "mono_ns", "kind", "operations", "unit"} for w in work)
    assert {w["kind"] for w in work} == {kind} and {w["unit"] for w in work} == {UNITS[kind]}
    done = [w["operations"] for w in work]
    assert len(work) >= 2 and done == sorted(done) and done[0] < done[-1]
    assert facts["load"] == kind and facts["workers"] == len(facts["cpus"]) == len(os.sched_getaffinity(0))
    assert end["reason"] == "duration" and end["exit"] == 0 and end["user_ns"] + end["system_ns"] > 0
    assert end["mono_ns"] - before >= 3_000_000_000


def test_all_is_one_of_each_on_every_cpu() -> None:
    with family() as members:
        process = members.start("load", "all", "--duration", "30s", "--cpus", "0", *SMALL)
        workers = set(members.wait_for(1 + len(UNITS))) - {process.pid}
        for pid in workers:
            # The short-lived children of the fork worker may be gone by now.
            try:
                assert os.sched_getscheduler(pid) == os.SCHED_OTHER
            except ProcessLookupError:
                continue
        process.terminate()
        seen, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and errors == b""
        members.wait_gone()
    frames = whole(seen, "load")
    assert frames[-1].json["reason"] == "signal" and frames[0].json["cpus"] == [0]
    assert {w["kind"]: w["unit"] for w in events(frames, "work")} == UNITS


@pytest.mark.parametrize("kind", ["cpu", "memory", "timer"])
def test_workers_stay_on_their_cpus(kind: str) -> None:
    with family() as members:
        process = members.start("load", kind, "--duration", "30s", "--cpus", "0", "--workers", "3", *SMALL)
        workers = set(members.wait_for(4)) - {process.pid}
        until = time.monotonic() + PATIENCE_S
        while any(os.sched_getaffinity(pid) != {0} for pid in workers):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
        assert len(workers) == 3 and members.alive() == []


@pytest.mark.parametrize("kind", [*sorted(UNITS), "all"])
def test_workers_die_with_their_parent(kind: str) -> None:
    with family() as members:
        process = members.start("load", kind, "--duration", "30s", *SMALL)
        members.wait_for(2)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        members.wait_gone()


def test_owner_gone() -> None:
    with family() as members:
        process = members.start("load", "cpu", "--attached", "--duration", "30s", stdin=subprocess.PIPE)
        members.wait_for(2)
        seen, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and members.alive() == []
    assert whole(seen, "load")[-1].json["reason"] == "owner"


def test_a_worker_that_dies_is_an_error() -> None:
    """Less load than was asked for must not pass for the load that was asked for."""
    with family() as members:
        process = members.start("load", "timer", "--duration", "30s")
        worker = next(pid for pid in members.wait_for(2) if pid != process.pid)
        os.kill(worker, signal.SIGKILL)
        seen, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 3 and b"worker on CPU" in errors and members.alive() == []
    end = whole(seen, "load")[-1].json
    assert end["reason"] == "error" and end["exit"] == 3


def test_nobody_reads() -> None:
    with family() as members:
        process = members.start("load", "timer", "--duration", "30s")
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE_S) == 3 and members.alive() == []
        process.communicate()


def test_real_time_is_left_behind() -> None:
    """Started from a real-time shell it is still an ordinary load."""
    if os.geteuid() != 0:
        pytest.skip("needs root: SCHED_FIFO")
    with family() as members:
        process = members.start("load", "timer", "--duration", "30s", preexec_fn=_become_fifo)
        for pid in members.wait_for(3):
            until = time.monotonic() + PATIENCE_S
            while os.sched_getscheduler(pid) != os.SCHED_OTHER:
                assert time.monotonic() < until
                time.sleep(0.01)
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


def test_default_size_is_bounded() -> None:
    done = run("load", "memory", "--duration", "100ms")
    facts = whole(done.stdout, "load")[0].json
    assert 4096 <= facts["size_bytes"] <= 64 << 20


def test_impossible_requests() -> None:
    for argv, word in (
        (("nonsense",), "nonsense"),
        ((), "load"),
        (("cpu", "--cpus", "4000"), "4000"),
        (("cpu", "--cpus", "x"), "cpus"),
        (("memory", "--size", str(1 << 40)), "available"),
        (("all", "--workers", "1000"), "workers"),
        (("cpu", "--duration", "10"), "duration"),
    ):
        done = run("load", *argv)
        assert done.returncode == 2 and word.encode() in done.stderr and done.stdout == b"", argv


def test_flushed_while_it_runs() -> None:
    with family() as members:
        process = members.start("load", "timer", "--duration", "30s")
        assert process.stdout is not None
        seen = b""
        until = time.monotonic() + PATIENCE_S
        while EVENT not in {f.type for f in decode(seen, cut=True)}:
            assert time.monotonic() < until
            seen += os.read(process.stdout.fileno(), 65536)
        process.terminate()
        rest, _ = process.communicate(timeout=PATIENCE_S)
    whole(seen + rest, "load")


def _become_fifo() -> None:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
