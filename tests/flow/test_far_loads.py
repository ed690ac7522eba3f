"""Network loads whose far end runs on another machine: here a real sshd on 127.0.0.1 is that machine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from flow_support import Marked, assert_account_is_exact, free_port
from sshd import Server, clear, serving

from rtassay.analysis.judge import judge
from rtassay.boards.known import resolve
from rtassay.session.control import RunResult, StopRequest

pytestmark = [pytest.mark.root, pytest.mark.full]
Measure = Callable[..., RunResult]
S = 10**9


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """It has a /run of its own, so that what is left there is seen."""
    with serving() as made:
        monkeypatch.setenv("RTASSAY_SSH", f"ssh -F {made.config}")
        monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
        yield made
        clear(made)


def left(server: Server, name: str) -> list[str]:
    words = f"ls -d /run/rtassay-* /dev/shm/rtassay-* 2>/dev/null; pgrep -x {name} --ns $$ --nslist mnt; true"
    return server.run("sh", "-c", words).split()


@pytest.mark.parametrize("name", ["iperf3", "iperf"])
def test_both_ends_count_what_went_both_ways(name: str, server: Server, measure: Measure, marked: Marked) -> None:
    spec = f"{name}:{server.destination},port={free_port()}"
    run = measure(load="", loads=(spec,), duration_ns=4 * S, machine=resolve)
    recording = assert_account_is_exact(run.path)
    (entry,) = recording.manifest.loads
    assert entry.error is None and entry.operations > 0 and entry.operations_unit == "bytes"
    far = [part for part in entry.parts if part.name.endswith(f" by {server.destination}")]
    near = [part for part in entry.parts if part not in far]
    assert far and near and all(part.operations > 0 for part in entry.parts)
    # Each end counts by its own seconds, the last of which is cut: the same to a few seconds' worth.
    sent, received = (sum(part.operations for part in parts) for parts in (near, far))
    assert received > sent / 20
    severity = {found.id: found.severity for found in judge(recording).checks}
    assert severity["LOAD-UNKNOWN"] == severity["LOAD-WINDOW"] == "pass"
    assert "listening" in (run.path / "logs" / "far-0.txt").read_text()
    assert left(server, name) == []


def test_a_cut_link_leaves_nothing_on_either_machine(server: Server, measure: Measure, marked: Marked) -> None:
    """The far end goes on or ends with the link; the run ends in time, and nothing runs on."""

    async def cut(stop: StopRequest) -> None:
        while not left(server, "iperf3"):
            await asyncio.sleep(0.2)
        await asyncio.sleep(3)
        server.cut()

    spec = f"iperf3:{server.destination},port={free_port()}"
    run = measure(load="", loads=(spec,), duration_ns=8 * S, machine=resolve, during=cut)
    (entry,) = assert_account_is_exact(run.path).manifest.loads
    assert entry.operations > 0
    marked.wait_gone()
