"""rtprobe noise: gaps of a busy thread agree with the windows, nothing due is lost, and no right is needed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .board import NEEDS_PROBE, PATIENCE_S, Family, family, run
from .cyclic_stream import Stream, account, read

pytestmark = NEEDS_PROBE
MS = 1_000_000
US = 1_000
NOBODY = 65534
CPU = str(max(os.sched_getaffinity(0)))
EVERY_GAP = ("--spill", "1000000")
NOISE = ("noise", "--cpus", CPU)
TOTAL, LONGEST = range(2)


@pytest.fixture(name="probes")
def _probes() -> Iterator[Family]:
    with family() as members:
        yield members


def windows_agree_with_gaps(stream: Stream) -> None:
    """Each window is charged with its part of every gap; the longest that reaches into it counts in full."""
    first_ns = {lane["lane"]: lane["first_due_ns"] for lane in stream.facts["lanes"]}
    interval_ns = stream.facts["interval_ns"]
    for k, total_ns in stream.grid[TOTAL].items():
        begin_ns = first_ns[TOTAL] + k * interval_ns
        end_ns = begin_ns + interval_ns
        inside = [(a, n) for a, n in stream.gaps[TOTAL] if a < end_ns and a + n > begin_ns]
        assert total_ns == sum(min(a + n, end_ns) - max(a, begin_ns) for a, n in inside), k
        assert stream.grid[LONGEST][k] == max((n for _, n in inside), default=0), k


def test_windows_and_gaps_agree_and_every_window_is_there() -> None:
    done = run(*NOISE, "--interval", "2ms", "--count", "40", *EVERY_GAP)
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    assert stream.end is not None
    lanes = [(lane["cpu"], lane["name"], lane["measure"]) for lane in stream.facts["lanes"]]
    assert lanes == [(int(CPU), f"cpu{CPU} {kind}", f"noise-{kind}") for kind in ("total", "longest")]
    total, longest = stream.end["lanes"]
    assert total["n"] == longest["n"] == 40 and total["missed"] == longest["missed"] == 0
    assert total["max_ns"] <= 2 * MS and all(n >= 5 * US for _, n in stream.gaps[TOTAL])
    assert (total["gaps"], total["gaps_kept"]) == (len(stream.gaps[TOTAL]),) * 2 and "gaps" not in longest
    windows_agree_with_gaps(stream)


def test_gaps_above_the_limit_are_counted() -> None:
    done = run(*NOISE, "--interval", "2ms", "--count", "40", "--threshold", "1us", "--spill", "0")
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    assert stream.end is not None
    total = stream.end["lanes"][TOTAL]
    assert total["gaps_kept"] == 0 == len(stream.gaps[TOTAL]) and stream.left_out[TOTAL] == total["gaps"]


def test_a_process_that_was_stopped_finds_that_gap(probes: Family, tmp_path: Path) -> None:
    target = tmp_path / "f.rtw"
    probe = probes.start(*NOISE, "--interval", "10ms", "--duration", "1h", *EVERY_GAP, "-o", str(target))
    until = time.monotonic() + PATIENCE_S
    while not (target.exists() and target.stat().st_size):
        assert time.monotonic() < until and probe.poll() is None, "the probe did not start"
        time.sleep(0.005)
    time.sleep(0.03)  # the first window begins 20 ms after the start
    probe.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, probe.pid, os.WSTOPPED)
    begun_ns = time.monotonic_ns()
    time.sleep(0.05)
    ended_ns = time.monotonic_ns()
    probe.send_signal(signal.SIGCONT)
    probe.send_signal(signal.SIGTERM)
    _, told = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 128 + signal.SIGTERM, told
    stream = read(target.read_bytes())
    account(stream)
    windows_agree_with_gaps(stream)
    assert stream.end is not None
    longest = stream.end["lanes"][LONGEST]
    assert longest["truncated"] == 0 == longest["missed"]
    first_ns = longest["first_due_ns"]
    if begun_ns >= first_ns:  # else this machine was too slow to start it in time
        assert any(a <= begun_ns and a + n >= ended_ns for a, n in stream.gaps[TOTAL]), (begun_ns, ended_ns)


def test_it_needs_no_right_and_says_how_it_ran() -> None:
    """An ordinary thread without --fallback, as nobody too."""
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    done = run(*NOISE, "--interval", "1ms", "--count", "3", **who)
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    assert stream.facts["requested"]["policy"] == "other" and stream.facts["fallback"] is None
    assert [lane["obtained"]["policy"] for lane in stream.facts["lanes"]] == ["other"] * 2
    assert len({lane["tid"] for lane in stream.facts["lanes"]}) == 1, "both lanes are taken by one thread"
    assert stream.facts["settings"] == {"threshold": 5 * US}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--interval", "50us"), "from 100us to 10s"),
        (("--interval", "11s", "--duration", "1h"), "from 100us to 10s"),
        (("--interval", "1ms", "--threshold", "1ms"), "--threshold must be below the --interval"),
        (("--interval", "1ms", "--trace-above", "1ms"), "--trace-above goes with cyclic"),
        (("--interval", "1ms", "--threshold", "99ns"), "--threshold"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], told: str) -> None:
    refused = run(*NOISE, *words)
    assert refused.returncode == 2 and refused.stdout == b"" and told in refused.stderr.decode()


def test_a_busy_real_time_thread_on_every_cpu_is_refused() -> None:
    every = ",".join(str(cpu) for cpu in os.sched_getaffinity(0))
    refused = run("noise", "--cpus", every, "--interval", "1ms", "--policy", "fifo", "--duration", "1s")
    assert refused.returncode == 2 and refused.stdout == b""
    assert "leave one CPU out of --cpus" in refused.stderr.decode()
