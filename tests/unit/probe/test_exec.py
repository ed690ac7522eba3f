"""rtprobe exec: every job is accounted for, its CPU time is its own, what fails ends the run, and no job is left."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .board import NEEDS_PROBE, PATIENCE_S, RTPROBE, Family, family, run
from .cyclic_stream import Stream, account, read

pytestmark = NEEDS_PROBE
MS = 1_000_000
CPU = str(max(os.sched_getaffinity(0)))
EXEC = ("exec", "--cpus", CPU, "--policy", "other")
RESPONSE, EXECUTION = range(2)
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@pytest.fixture(name="probes")
def _probes() -> Iterator[Family]:
    with family() as members:
        yield members


def measured(*words: str) -> Stream:
    done = run(*EXEC, *words)
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    assert stream.end is not None
    return stream


def test_every_job_has_its_response_and_its_cpu_time() -> None:
    stream = measured("--interval", "50ms", "--count", "8", "--command", "sleep 0.01")
    account(stream)
    lanes = [(lane["cpu"], lane["name"], lane["measure"]) for lane in stream.facts["lanes"]]
    assert lanes == [(int(CPU), f"cpu{CPU} {kind}", f"job-{kind}") for kind in ("response", "execution")]
    assert stream.facts["settings"]["command"] == "sleep 0.01"
    assert stream.end is not None
    response, execution = stream.end["lanes"]
    assert response["n"] == execution["n"] == 8
    assert set(stream.grid[EXECUTION]) == set(stream.grid[RESPONSE])
    for k, response_ns in stream.grid[RESPONSE].items():
        assert response_ns >= 10 * MS, k
        assert stream.grid[EXECUTION][k] > 0, k


def counters(stream: Stream) -> dict[str, dict[str, Any]]:
    assert stream.end is not None
    response, execution = stream.end["lanes"]
    assert "counters" not in response
    return {counter["name"]: counter for counter in execution["counters"]}


def test_each_job_is_counted_or_why_not_is_said() -> None:
    """A shell that waits for two sleeps gives its CPU away four times, in each job: no job is counted as another's."""
    counted = counters(measured("--interval", "50ms", "--count", "4", "--command", "sh -c 'sleep 0.001; sleep 0.001'"))
    processor, kernel = (
        ("cycles", "instructions", "cache-misses"),
        ("page-faults", "context-switches", "cpu-migrations"),
    )
    assert tuple(counted) == (*processor, *kernel)
    for name, counter in counted.items():
        if counter["error"]:
            assert (counter["jobs"], counter["sum"], counter["min"], counter["max"]) == (0, None, None, None), name
            continue
        assert counter["jobs"] == 4 and 4 * counter["min"] <= counter["sum"] <= 4 * counter["max"], name
    if not counted["context-switches"]["error"]:
        assert counted["context-switches"]["min"] >= 4 and counted["cpu-migrations"]["max"] == 0
        assert counted["page-faults"]["min"] > 0 and not counted["page-faults"]["user_only"]
    if not counted["instructions"]["error"]:
        assert counted["instructions"]["min"] > 10_000


@pytest.mark.root
@pytest.mark.skipif(not PARANOID.exists() or int(PARANOID.read_text()) < 2, reason="this kernel lets everybody count")
def test_a_counter_that_is_refused_says_so_and_is_not_zero() -> None:
    without = ("setpriv", "--bounding-set", "-sys_admin,-perfmon", "--inh-caps", "-sys_admin,-perfmon", "--")
    words = ("--interval", "20ms", "--count", "2", "--command", "true")
    done = subprocess.run([*without, RTPROBE, *EXEC, *words], capture_output=True, timeout=PATIENCE_S, check=True)
    counted = counters(read(done.stdout))
    switches, faults = counted["context-switches"], counted["page-faults"]
    assert switches["error"].startswith("refused") and (switches["jobs"], switches["sum"]) == (0, None)
    if PARANOID.read_text().strip() == "2":
        assert faults["user_only"] and faults["jobs"] == 2 and faults["min"] > 0
    else:
        assert faults["error"].startswith("refused") and faults["sum"] is None


def test_a_job_longer_than_the_interval_makes_the_next_ones_missed() -> None:
    stream = measured("--interval", "20ms", "--duration", "400ms", "--command", "sleep 0.05")
    assert stream.end is not None
    response, execution = stream.end["lanes"]
    assert response["due"] == execution["due"] == 20
    for lane in (response, execution):
        assert lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"] == lane["due"]
    assert response["n"] == execution["n"] and response["missed"] >= 2 * (response["n"] - 1)
    assert set(stream.grid[EXECUTION]) == set(stream.grid[RESPONSE])


@pytest.mark.parametrize(
    ("line", "words"),
    [("printf '%s\\n' a", ["printf", "%s\\n", "a"]), ("x 'two words' \"it's\"", ["x", "two words", "it's"]),
     ("'tr'ue a\\ b ''", ["true", "a b", ""]), ("  x\ty ", ["x", "y"]), ('x "%s\\n" "\\$a\\\\"', ["x", "%s\\n", "$a\\"]), ('x \'"\' "a\\"b"', ["x", '"', 'a"b'])],
)  # fmt: skip
def test_words_are_those_of_a_shell(line: str, words: list[str], tmp_path: Path) -> None:
    told = tmp_path / "told"
    program = tmp_path / words[0]
    program.write_text(f'#!/bin/sh\nfor word in "${{0##*/}}" "$@"; do printf "%s\\0" "$word"; done > {told}\n')
    program.chmod(0o755)
    path = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = run(*EXEC, "--interval", "10ms", "--count", "1", "--command", line, env=path)
    assert done.returncode == 0, done.stderr
    assert told.read_text().split("\0")[:-1] == words


@pytest.mark.parametrize(
    ("command", "code", "why"),
    [("/nonexist/job", 3, "cannot start '/nonexist/job': No such file"), ("sh -c 'exit 7'", 3, "exit code 7"),
     ("sh -c 'kill -9 $$'", 3, "signal 9"), ("sh -c 'kill -XCPU $$'", 3, "RLIMIT_RTTIME"), ("''", 2, "names no program"), ("a 'b", 2, "quote is not closed"),
     (" ".join("x" * 256), 2, "256 words or more")],
)  # fmt: skip
def test_a_job_that_cannot_be_measured_is_named(command: str, code: int, why: str) -> None:
    done = run(*EXEC, "--interval", "10ms", "--count", "5", "--command", command)
    assert done.returncode == code and why in done.stderr.decode()


def test_a_job_has_a_quiet_stdin_and_stdout_and_no_other_descriptor(tmp_path: Path) -> None:
    told = tmp_path / "told"
    line = f"sh -c 'ls -l /proc/self/fd > {told}; cat; echo noise'"
    stream = measured("--interval", "100ms", "--count", "1", "--command", line)
    assert stream.rest == b""
    names = {words.split()[-3]: words.split()[-1] for words in told.read_text().splitlines() if " -> " in words}
    assert set(names) <= {"0", "1", "2", "3"} and names["0"] == "/dev/null" and "fd" in names.get("3", "fd")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_no_job_outlives_the_probe(end: signal.Signals, probes: Family) -> None:
    probe = probes.start(*EXEC, "--interval", "100ms", "--duration", "60s", "--command", "sleep 100")
    probes.wait_for(2)
    probe.send_signal(end)
    probe.communicate(timeout=PATIENCE_S)
    probes.wait_gone()


def test_a_job_that_never_ends_is_killed_at_the_end_of_the_run(probes: Family) -> None:
    probe = probes.start(*EXEC, "--interval", "100ms", "--duration", "300ms", "--command", "sleep 1000")
    out, errors = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 0, errors
    end = read(out).end
    assert end is not None and end["reason"] == "duration"
    for lane in end["lanes"]:
        assert (lane["due"], lane["n"]) == (3, 0)
    probes.wait_gone()


@pytest.mark.root
@pytest.mark.full
def test_a_real_time_job_that_hogs_the_only_cpu_is_ended_by_the_kernel_and_named(probes: Family) -> None:
    """Nothing of lower priority runs beside it, the supervisor neither: the limit on its CPU time without a sleep ends it after 2 s."""
    words = (
        "exec",
        "--cpus",
        CPU,
        "--interval",
        "100ms",
        "--duration",
        "60s",
        "--command",
        "sh -c 'while :; do :; done'",
    )
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {int(CPU)})
    try:
        probe = probes.start(*words)
    finally:
        os.sched_setaffinity(0, allowed)
    out, errors = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 3 and b"'sh' was ended by SIGXCPU: it was busy for 2 s at real-time priority" in errors
    end = read(out).end
    assert end is not None and end["reason"] == "error" and end["lanes"][0]["n"] == 0
    probes.wait_gone()
