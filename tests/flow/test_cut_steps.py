"""The link to a board is cut at every step of a run's set-up and of its end: over a real sshd, whose connections are killed."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from flow_support import PLAN
from sshd import Server, clear, serving

from rtassay import store
from rtassay.boards import lease, linked
from rtassay.boards.base import LinkLost
from rtassay.boards.openssh import Link, Target
from rtassay.boards.remote_process import RemoteProcess
from rtassay.boards.ssh import SshBoard
from rtassay.boards.tenancy import Tenancy
from rtassay.model.errors import EXIT_BOARD, BoardError
from rtassay.session.control import Progress
from rtassay.session.run import run

pytestmark = pytest.mark.root
SHORT = replace(PLAN, duration_ns=2_000_000_000, load="builtin:cpu")
# What a run does before and after it measures, and the word in its script or command that tells it.
STEPS = {
    "the first contact": "^\necho uid=",
    "a place": r"place=\$d",
    "the lease": "set -C",
    "the probe": "cat >",
    "the inventory": "/proc/cmdline",
    "the clock": "watch --count 1 /proc/uptime",
    "monitors": r"spool --budget \d+ \S*/telemetry ",
    "a load": r"spool --budget \d+ \S*/load-0 ",
    "the streams": "rtprobe-[0-9a-f]* fetch",
    "the start": r"spool --budget \d+ \S*/probe ",
    "the way back": "rm -rf /run/rtassay-0",
}
Cut = Callable[[str], bool]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    # A /tmp of its own: claims of other tests are none of ours.
    with serving(world="mount -t tmpfs -o mode=1777 tmp /tmp\n") as made:
        yield made


@pytest.fixture(autouse=True)
def clean_board(server: Server) -> Iterator[None]:
    yield
    clear(server)


def left(server: Server) -> list[str]:
    return server.run(
        "sh", "-c", "ls -d /run/rtassay-0 /tmp/rtassay-held-* /run/lock/rtassay-held-* 2>/dev/null; true"
    ).split()


def processes(server: Server) -> list[str]:
    """Command lines of all that runs from the board's directory."""
    found = server.run("sh", "-c", "grep -ls /run/rtassay-[0] /proc/[0-9]*/cmdline | xargs -r cat | tr '\\0' ' '")
    return [word for word in found.split() if "rtprobe-" in word]


def wait_until_clear(server: Server) -> None:
    """What a cut connection had started ends by itself, soon or, where the machine stands still, late."""
    deadline = time.monotonic() + 120
    while left(server) or processes(server):
        assert time.monotonic() < deadline, (left(server), processes(server))
        time.sleep(0.2)


def cut_where(cut: Cut, server: Server, monkeypatch: pytest.MonkeyPatch, *, answered: bool) -> None:
    """Cut the link at the steps that `cut` chooses: with the answer lost, else before the step was asked for."""
    ask, start = Link.ask, RemoteProcess.start.__func__  # type: ignore[attr-defined]

    async def cut_ask(self: Link, script: str, *rest: Any) -> bytes:
        chosen = cut(script)
        if chosen and not answered:
            server.cut()
        answer = await ask(self, script, *rest)
        if chosen:
            server.cut()
            raise LinkLost("the answer was lost", cut=True)
        return answer

    async def cut_start(cls: Any, link: Link, become: Any, argv: Any) -> Any:
        chosen = cut(" ".join(argv))
        if chosen and not answered:
            server.cut()
        process = await start(cls, link, become, argv)
        if chosen:
            server.cut()
        return process

    monkeypatch.setattr(lease, "HEARTBEAT_S", 3600.0)
    monkeypatch.setattr(Link, "ask", cut_ask)
    monkeypatch.setattr(RemoteProcess, "start", classmethod(cut_start))


def far(server: Server) -> SshBoard:
    return SshBoard("far", Target(server.destination, None, server.options))


def assert_whole(path: Path) -> None:
    manifest = store.load_manifest(path)
    assert manifest.sealed and not manifest.damage.cut and manifest.damage.lost_frames == 0
    assert manifest.loads[0].exit_code is not None and manifest.monitors["cpu"].readings
    assert all(lane.due == lane.n + lane.missed + lane.dropped + lane.truncated for lane in manifest.lanes)


@pytest.mark.parametrize(
    "answered", [True, pytest.param(False, marks=pytest.mark.full)], ids=["answer-lost", "not-asked"]
)
def test_a_run_goes_on_through_a_cut_at_each_of_its_steps(
    answered: bool, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All cuts in one run: each step is cut the first time it comes."""
    cuts: list[str] = []

    def once(words: str) -> bool:
        step = next((name for name, word in STEPS.items() if re.search(word, words)), None)
        if step is None or step in cuts:
            return False
        cuts.append(step)
        return True

    cut_where(once, server, monkeypatch, answered=answered)
    result = asyncio.run(run(far(server), SHORT, home=tmp_path, labels={}))
    assert set(cuts) == set(STEPS)
    assert_whole(result.path)
    assert left(server) == []
    wait_until_clear(server)


def test_a_cut_while_the_load_warms_up_costs_nothing(server: Server, tmp_path: Path) -> None:
    """The plan's warm-up lies between two steps: nothing is asked of the board when the link goes."""
    phases: list[str] = []

    def cut(told: Progress) -> None:
        if told.phase == "warm-up" and "warm-up" not in phases:
            server.cut()
        phases.append(told.phase)

    plan = replace(SHORT, warm_up_ns=1_000_000_000)
    result = asyncio.run(run(far(server), plan, home=tmp_path, labels={}, on_event=cut))
    assert phases.index("load") < phases.index("warm-up") < phases.index("measure")
    assert_whole(result.path)
    assert left(server) == []
    wait_until_clear(server)


@pytest.mark.full
@pytest.mark.parametrize(
    "step", [step for step in STEPS if step not in ("the first contact", "the start", "the way back")]
)
def test_a_board_whose_link_does_not_come_back_clears_itself(
    step: str, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is measured: the run gives up when its lease is over, and lease, files and processes go away without it."""
    monkeypatch.setattr(lease, "SILENT_S", 2.0)
    monkeypatch.setattr(lease, "CLEARED_S", 8.0)
    monkeypatch.setattr(linked, "SET_UP_PATIENCE_S", 0.5)
    dark: list[str] = []
    connect = Link.connect

    async def no_way(self: Link, first: str = "true") -> bytes:
        if dark:
            raise LinkLost("nobody answers")
        return await connect(self, first)

    def last(words: str) -> bool:
        if dark or not re.search(STEPS[step], words):
            return False
        dark.append(step)
        return True

    with monkeypatch.context() as cutting:
        cutting.setattr(Link, "connect", no_way)
        cut_where(last, server, cutting, answered=True)
        with pytest.raises(BoardError, match="did not come back within") as caught:
            asyncio.run(run(far(server), SHORT, home=tmp_path, labels={}))
    assert caught.value.exit_code == EXIT_BOARD and "clears itself" in (caught.value.hint or "")
    assert list(tmp_path.glob("*.rta")) == []
    wait_until_clear(server)
    Tenancy._unconfirmed.clear()  # the next contact is that of another process

    async def next_contact() -> None:
        board = far(server)
        await board.open()
        await board.close()

    asyncio.run(next_contact())
