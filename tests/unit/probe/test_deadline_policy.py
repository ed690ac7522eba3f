"""rtprobe cyclic --policy deadline: runtime and period as the kernel has them, no CPU of its own, overruns counted, and what is refused."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .board import NEEDS_PROBE, PATIENCE_S, Family, family, run
from .cyclic_stream import account, read

pytestmark = NEEDS_PROBE
MS = 1_000_000
NOBODY = 65534
DEADLINE = ("cyclic", "--policy", "deadline", "--interval", "5ms")


@pytest.fixture(name="probes")
def _probes() -> Iterator[Family]:
    with family() as members:
        yield members


@pytest.mark.root
@pytest.mark.parametrize(("words", "runtime_ns"), [((), MS // 2), (("--runtime", "200us"), 200_000)])
def test_runtime_and_period_are_those_of_the_kernel(words: tuple[str, ...], runtime_ns: int) -> None:
    done = run(*DEADLINE, *words, "--count", "20")
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    assert stream.end is not None and stream.end["overruns"] >= 0
    every = sorted(os.sched_getaffinity(0))
    for i, (begun, ended) in enumerate(zip(stream.facts["lanes"], stream.end["lanes"], strict=True)):
        assert (begun["name"], begun["cpu"], begun["measure"]) == (f"deadline {i}", None, "wake-up")
        for got in (begun["obtained"], ended["obtained"]):
            assert (got["policy"], got["runtime_ns"], got["period_ns"]) == ("deadline", runtime_ns, 5 * MS)
            assert got["affinity"] == every
        assert ended["n"] == 20
    assert stream.facts["requested"]["policy"] == "deadline" and stream.facts["requested"]["priority"] == 0


@pytest.mark.root
def test_an_overrun_is_counted_and_does_not_end_the_run(probes: Family, tmp_path: Path) -> None:
    target = tmp_path / "f.rtw"
    probe = probes.start(*DEADLINE, "--duration", "1h", "-o", str(target))
    until = time.monotonic() + PATIENCE_S
    while not (target.exists() and target.stat().st_size):
        assert time.monotonic() < until and probe.poll() is None, "the probe did not start"
        time.sleep(0.005)
    probe.send_signal(signal.SIGXCPU)
    time.sleep(0.05)
    probe.send_signal(signal.SIGTERM)
    _, told = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 128 + signal.SIGTERM, told
    stream = read(target.read_bytes())
    account(stream)
    assert stream.end is not None and stream.end["overruns"] >= 1


def test_another_policy_has_no_overruns_and_no_runtime() -> None:
    done = run("cyclic", "--policy", "other", "--interval", "1ms", "--count", "3")
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    assert stream.end is not None and stream.end["overruns"] is None
    assert all("runtime_ns" not in lane["obtained"] for lane in stream.facts["lanes"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((*DEADLINE, "--priority", "5"), "--policy deadline has none"),
        ((*DEADLINE, "--runtime", "6ms"), "--runtime is longer than the --interval"),
        ((*DEADLINE, "--trace-above", "1ms"), "no CPU of their own to trace"),
        (("cyclic", "--policy", "fifo", "--runtime", "1ms"), "--runtime is for --policy deadline"),
        (("noise", "--policy", "deadline", "--interval", "5ms"), "--policy deadline is for cyclic"),
        (("response", "--policy", "deadline"), "--policy deadline is for cyclic"),
    ],
)
def test_what_is_refused(words: tuple[str, ...], told: str) -> None:
    refused = run(*words)
    assert refused.returncode == 2 and refused.stdout == b"" and told in refused.stderr.decode()


@pytest.mark.root
@pytest.mark.skipif(
    Path("/proc/sys/kernel/sched_rt_runtime_us").read_text().strip() == "-1", reason="this kernel admits any runtime"
)
def test_more_than_the_kernel_admits_is_refused_with_what_to_do() -> None:
    refused = run(*DEADLINE, "--runtime", "5ms", "--duration", "1s")
    assert refused.returncode == 3 and refused.stdout == b""
    assert "lengthen --interval, or shorten --runtime" in refused.stderr.decode()


def test_without_the_right_it_is_refused_or_falls_back() -> None:
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    refused = run(*DEADLINE, "--duration", "1s", **who)
    assert refused.returncode == 3 and "CAP_SYS_NICE" in refused.stderr.decode()
    done = run(*DEADLINE, "--fallback", "--count", "3", **who)
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    assert [lane["obtained"]["policy"] for lane in stream.facts["lanes"]] == ["other"] * len(stream.facts["lanes"])
    assert "deadline" in str(stream.facts["fallback"])
