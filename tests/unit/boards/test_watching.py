"""A run of another host is watched by what it writes on its board: real shell scripts on files as a spooler and a fetch leave them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import in_process

from rtassay.boards import claims, known, lease, places, watching
from rtassay.boards.base import LinkLost
from rtassay.boards.watching import Stage, Watching
from rtassay.cli import watch_board
from rtassay.model.errors import BoardError
from rtassay.model.events import Second
from rtassay.wire.stream import StreamParser

STREAM = (Path(__file__).parents[3] / "wire" / "golden" / "v1" / "cyclic.rtw").read_bytes()
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
HELD = lease.Lease("anna@lab7", 99, "2026-11-22T20:00:00Z", BOOT, "abcd", "run-1")


class Shell:
    """A transport whose board is this machine's shell. `cut`: so many of the next commands find the link lost."""

    name, uid, farewell = "pi5", os.getuid(), ""
    notice: Any = None

    def __init__(self) -> None:
        self.cut, self.reached, self.closed = 0, 0, False
        self.contact = SimpleNamespace(boot_id=BOOT)

    async def open(self) -> None: ...

    async def close(self) -> None:
        self.closed = True

    async def reach(self) -> None:
        self.reached += 1

    async def run(self, script: str, timeout_s: float = 0) -> bytes:
        if self.cut:
            self.cut -= 1
            raise LinkLost("cut")
        return subprocess.run(["sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, check=False).stdout


class Spool:
    """What one run leaves below `home` on its board; its spooler is this process."""

    def __init__(self, home: Path) -> None:
        self.place = home / f"rtassay-{os.getuid()}"
        self.probe = self.place / HELD.run / "probe"
        self.place.mkdir()
        self.written = 0
        (self.place / "lease").write_text(json.dumps(asdict(HELD)))
        self.heard()
        (self.place / HELD.run).mkdir()

    def heard(self, seconds_ago: float = 0) -> None:
        up = float(Path("/proc/uptime").read_text().split()[0])
        (self.place / "heartbeat").write_text(f"{up - seconds_ago} 0\n")

    def launch(self, pid: int | str) -> None:
        self.probe.mkdir()
        os.mkfifo(self.probe / "control")
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]
        (self.probe / "pid").write_text(f"{pid} {start} {pid} {BOOT}\n")

    def write(self, data: bytes) -> Path:
        """A segment of its own."""
        segment = self.probe / f"{self.written:020}"
        segment.write_bytes(data)
        self.written += len(data)
        return segment

    def kept(self) -> dict[str, bytes]:
        files = [path for path in self.place.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.place)): path.read_bytes() for path in files}


@pytest.fixture(autouse=True)
def _no_other_run_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests measure here meanwhile, over sshd on this machine: their leases are none of these."""
    monkeypatch.setattr(places, "_ROOT_PLACES", ())
    monkeypatch.setattr(places, "_USER_PLACES", ())


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path)


def looks(watch: Watching, most: int = 50) -> tuple[bytes, list[bool], Stage]:
    """All bytes that are there now, the gaps before them, and the last stage."""

    async def all_of_it() -> tuple[bytes, list[bool], Stage]:
        if watch.lease is None:
            assert await watch.begin(lambda sentence: None) == HELD
        data, gaps = b"", []
        for _ in range(most):
            look = await watch.look()
            data += look.data
            gaps += [look.gap] if look.data else []
            if not look.more:
                return data, gaps, look.stage
        raise AssertionError("it never says that there is nothing more")

    return asyncio.run(all_of_it())


def test_every_byte_is_seen_once_in_order_and_nothing_is_changed(spool: Spool, tmp_path: Path) -> None:
    watch = Watching(Shell(), str(tmp_path))
    assert looks(watch) == (b"", [], Stage.SET_UP)
    spool.launch(os.getpid())
    spool.write(STREAM[:1000])
    grows = spool.write(STREAM[1000:1500])
    before = spool.kept()
    data, gaps, stage = looks(watch)
    assert (data, any(gaps), stage) == (STREAM[:1500], False, Stage.MEASURES)
    assert spool.kept() == before
    grows.write_bytes(STREAM[1000:2000])
    spool.written += 500
    assert looks(watch)[0] == STREAM[1500:2000]
    spool.write(STREAM[2000:])
    (spool.probe / "exit").write_text(f"0 {len(STREAM)} 0\n")
    assert looks(watch) == (STREAM[2000:], [False], Stage.COLLECTS)
    assert looks(watch) == (b"", [], Stage.COLLECTS)
    subprocess.run(["rm", "-r", str(spool.place / HELD.run)], check=True)
    assert looks(watch)[2] is Stage.GONE


def test_a_look_inside_a_segment_of_many_blocks_begins_at_its_next_byte(spool: Spool, tmp_path: Path) -> None:
    data = os.urandom(3 * 65536 + 77)
    spool.launch(os.getpid())
    segment = spool.write(data[:70000])
    watch = Watching(Shell(), str(tmp_path))
    assert looks(watch)[0] == data[:70000]
    segment.write_bytes(data)
    assert looks(watch)[0] == data[70000:]


def test_what_its_host_has_fetched_and_what_is_too_much_is_a_gap(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.launch(os.getpid())
    spool.written = 5000  # the host has fetched what was before
    first = spool.write(b"a" * 100)
    watch = Watching(Shell(), str(tmp_path))
    assert looks(watch) == (b"a" * 100, [True], Stage.MEASURES)
    first.unlink()
    spool.written += 7
    spool.write(b"b" * 100)
    assert looks(watch) == (b"b" * 100, [True], Stage.MEASURES)
    monkeypatch.setattr(watching, "_BEHIND_BYTES", 1000)
    for letter in (b"c", b"d", b"e"):
        spool.write(letter * 600)
    data, gaps, _ = looks(watch)
    assert data == b"c" * 600 + b"e" * 600 and gaps == [False, True]


def test_a_silent_host_whose_processes_are_gone_has_left(spool: Spool, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as spooler:
        spool.launch(spooler.pid)
        watch = Watching(Shell(), str(tmp_path))
        assert looks(watch)[2] is Stage.MEASURES
        spool.heard(seconds_ago=100)
        assert looks(watch)[2] is Stage.MEASURES  # the board goes on without its host
        spooler.kill()
    assert looks(watch)[2] is Stage.LEFT


def test_a_cut_link_is_made_again(spool: Spool, tmp_path: Path) -> None:
    shell = Shell()
    shell.cut = 1
    assert looks(Watching(shell, str(tmp_path)))[2] is Stage.SET_UP
    assert shell.reached == 1


def test_a_board_that_nobody_uses_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "LOOK_SCRIPT", "")
    assert asyncio.run(Watching(Shell(), str(tmp_path)).begin(lambda sentence: None)) is None


def test_a_board_that_answers_nonsense_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, spool: Spool, tmp_path: Path
) -> None:
    spool.launch(os.getpid())
    watch = Watching(Shell(), str(tmp_path))
    looks(watch)
    for answer in (
        b"",
        b"\n\n",
        b"segment=../../etc 5\nsegment=1 x\nsegment=" + b"9" * 20 + b" 1\n\nxx",
        os.urandom(500),
    ):

        async def said(self: Shell, script: str, timeout_s: float = 0, answer: bytes = answer) -> bytes:
            return answer

        monkeypatch.setattr(Shell, "run", said)
        looks(watch)


class Board:
    """What the command line gets for the name of a board."""

    def __init__(self, home: Path) -> None:
        self.shell = Shell()
        self.home = home

    def watching(self) -> Watching:
        return Watching(self.shell, str(self.home))


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, spool: Spool, tmp_path: Path) -> Iterator[list[Any]]:
    """What happens on the board between two looks."""
    planned: list[Any] = []
    board = Board(tmp_path)

    async def sleep(seconds: float) -> None:
        planned.pop(0)()

    monkeypatch.setattr(known, "resolve", lambda name: board)
    monkeypatch.setattr(watch_board, "asyncio", SimpleNamespace(sleep=sleep, run=asyncio.run))
    yield planned
    assert board.shell.closed


def measured(data: bytes) -> dict[int, Second]:
    """The last second that each lane has told."""
    return {event.lane: event for event in StreamParser(only={"Second"}).feed(data) if isinstance(event, Second)}


def fetched(spool: Spool) -> None:
    subprocess.run(["rm", "-r", str(spool.place)], check=True)


def test_the_live_table_of_a_run_that_was_watched_from_its_beginning(
    spool: Spool, steps: list[Any], tmp_path: Path
) -> None:
    spool.launch(os.getpid())
    spool.write(STREAM[: len(STREAM) // 2])
    steps += [lambda: spool.write(STREAM[spool.written :]), lambda: fetched(spool)]
    done = in_process("watch", "root@pi5", "--json", home=tmp_path / "mine")
    assert done.returncode == 0 and "anna@lab7 (process 99)" in done.stderr, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["state"] for one in told] == ["running", "running", "ended"]
    assert {(one["schema"], one["board"], one["run"], one["holder"]) for one in told} == {
        ("rtassay/watch/1", "root@pi5", "run-1", "anna@lab7")
    }
    last = measured(STREAM)
    assert told[1]["counted_from_s"] == 0 and told[1]["elapsed_s"] == max(s.second for s in last.values()) + 1
    assert {lane["lane"]: (lane["n"], lane["max_ns"], lane["p99_ns"]) for lane in told[1]["lanes"]} == {
        lane: (second.total_n, second.max_so_far_ns, second.p99_ns) for lane, second in last.items()
    }
    assert all(lane["cpu"] is not None for lane in told[1]["lanes"])


def test_what_came_before_the_watching_is_said_to_be_unknown(spool: Spool, steps: list[Any], tmp_path: Path) -> None:
    spool.launch(os.getpid())
    spool.written = len(STREAM) // 2
    spool.write(STREAM[len(STREAM) // 2 :])
    steps += [lambda: fetched(spool)]
    done = in_process("watch", "root@pi5", home=tmp_path / "mine")
    assert done.returncode == 0, done.stderr
    first = min(
        e.second for e in StreamParser(only={"Second"}).feed(STREAM[len(STREAM) // 2 :]) if isinstance(e, Second)
    )
    assert f"counted from second {first} of the run on" in done.stderr and "anna@lab7 knows all" in done.stderr
    assert "the run has ended" in done.stdout and "anna@lab7 has what was recorded" in done.stdout


def test_a_tool_that_tells_nothing_while_it_measures(spool: Spool, steps: list[Any], tmp_path: Path) -> None:
    spool.launch(os.getpid())
    steps += [lambda: spool.write(b"# /dev/cpu_dma_latency set to 0us\n")] * 4 + [lambda: fetched(spool)]
    done = in_process("watch", "root@pi5", home=tmp_path / "mine")
    assert done.returncode == 0 and "tells nothing in between" in done.stderr


def test_a_run_that_was_left_on_its_board_is_4(spool: Spool, steps: list[Any], tmp_path: Path) -> None:
    steps += [lambda: spool.heard(seconds_ago=100)]
    done = in_process("watch", "root@pi5", "--json", home=tmp_path / "mine")
    assert done.returncode == 4 and "anna@lab7 has left the run" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "abandoned"


def test_a_run_of_another_user_of_the_board_is_named_and_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = json.dumps({**asdict(HELD), "directory": "/run/rtassay-77"})
    answer = f"boot_id={BOOT}\nuptime=100\nclaim=77 anna 4711 run-1 99 {text}\n"

    class Shared(Shell):
        uid = 4243

        async def run(self, script: str, timeout_s: float = 0) -> bytes:
            return answer.encode() if "claim=" in script else b""

    with pytest.raises(BoardError) as caught:
        asyncio.run(Watching(Shared(), None).begin(lambda sentence: None))
    assert "anna@lab7" in str(caught.value.why) and "only user anna" in str(caught.value.why)
    Shared.uid = 0
    assert asyncio.run(Watching(Shared(), None).begin(lambda sentence: None)) == HELD
