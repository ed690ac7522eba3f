"""`response --by udp` to another board: here a real sshd on 127.0.0.1 is that board; rtassay starts the echo there, and ends it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from flow_support import Marked, assert_account_is_exact, free_port
from sshd import Server, clear, serving

from rtassay.boards.known import resolve
from rtassay.model.errors import UsageError
from rtassay.model.recording import Recording
from rtassay.session.control import RunResult, StopRequest

pytestmark = [pytest.mark.root, pytest.mark.full]
Measure = Callable[..., RunResult]
S = 10**9
MS = 10**6


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    """It has a /run of its own, so that what is left there is seen."""
    with serving() as made:
        monkeypatch.setenv("RTASSAY_SSH", f"ssh -F {made.config}")
        monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
        yield made
        clear(made)


def plan(server: Server) -> dict[str, object]:
    far = f"{server.destination},address=127.0.0.1,port={free_port()}"
    return {
        "probe": "response",
        "settings": {"by": "udp", "far": far},
        "interval_ns": 5 * MS,
        "policy": "other",
        "machine": resolve,
    }


def left(server: Server) -> list[str]:
    words = "ls -d /run/rtassay-* /dev/shm/rtassay-* 2>/dev/null; pgrep -x rtprobe --ns $$ --nslist mnt; true"
    return server.run("sh", "-c", words).split()


def lanes(recording: Recording) -> dict[str, tuple[int, int]]:
    """By measure: samples and missed of all CPUs."""
    found: dict[str, tuple[int, int]] = {}
    for lane in recording.lanes:
        n, missed = found.get(lane.entry.measure, (0, 0))
        found[lane.entry.measure] = (n + lane.entry.n, missed + (lane.entry.missed or 0))
    return found


def test_requests_come_back_and_the_echo_ends_with_the_run(server: Server, measure: Measure, marked: Marked) -> None:
    run = measure(**plan(server), duration_ns=3 * S)
    recording = assert_account_is_exact(run.path)
    by_measure = lanes(recording)
    assert set(by_measure) == {"wake-up", "response:udp-echo"}
    assert by_measure["response:udp-echo"][0] > 0.8 * by_measure["wake-up"][0] > 0
    assert recording.manifest.loads == () and recording.manifest.plan.settings["far"].startswith("127.0.0.1:")
    assert left(server) == []
    marked.wait_gone()


def test_an_echo_that_goes_leaves_requests_missed_and_nothing_else(
    server: Server, measure: Measure, marked: Marked
) -> None:
    """The link to the other board is cut while it runs: its guard ends the echo, and the run ends in time."""

    async def cut(stop: StopRequest) -> None:
        while not left(server):
            await asyncio.sleep(0.2)
        await asyncio.sleep(4)
        server.cut()

    run = measure(**plan(server), duration_ns=12 * S, during=cut)
    by_measure = lanes(assert_account_is_exact(run.path))
    assert by_measure["response:udp-echo"][0] > 0
    marked.wait_gone()


@pytest.mark.parametrize(
    ("far", "why"),
    [("board,port=0", "no number from 1 to 65535"), ("board,speed=1", "names no other board"), ("no-such-host.invalid", "has no address")],
)  # fmt: skip
def test_what_names_no_board_is_refused_before_anything_runs(far: str, why: str, measure: Measure) -> None:
    with pytest.raises(UsageError, match=why):
        measure(probe="response", settings={"by": "udp", "far": far}, duration_ns=S, machine=resolve)
