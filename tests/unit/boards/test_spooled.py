"""Many spooled commands over one connection that breaks: real spoolers and a real `rtprobe fetch`, a link that is cut after some bytes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from rtassay.boards import scripts
from rtassay.boards.base import LinkLost, RemoteTransport
from rtassay.boards.binaries import probe_path
from rtassay.boards.spooled import Fetcher, SpooledProcess
from rtassay.model.errors import BoardError, RunLost

RTPROBE = str(probe_path())
PATIENCE_S = 120


class Link:
    """One connection: a `fetch` of this machine. After `bytes_` of its output it is lost."""

    def __init__(self, process: asyncio.subprocess.Process, bytes_: int | None) -> None:
        self._process = process
        self._left = bytes_

    async def chunks(self) -> AsyncIterator[bytes]:
        assert self._process.stdout is not None
        while chunk := await self._process.stdout.read(1000):
            if self._left is not None and len(chunk) >= self._left:
                yield chunk[: self._left]
                self._process.kill()
                return
            self._left = None if self._left is None else self._left - len(chunk)
            yield chunk

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def wait(self, timeout_s: float | None = None) -> int:
        if self._left is not None:
            raise LinkLost("the link was cut")
        return await self._process.wait()

    async def errors(self) -> bytes:
        return b""

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        self._process._transport.close()  # type: ignore[attr-defined]


class Board:
    """What the fetcher needs of its board. `cuts`: after how many bytes each connection is lost; those that follow are not."""

    def __init__(self, *cuts: int, reachable: bool = True) -> None:
        self._cuts = list(cuts)
        self._reachable = reachable
        self.syncs = 0
        self.connections = 0

    async def synced(self) -> None:
        self.syncs += 1

    async def start(self, argv: Sequence[str]) -> Any:
        self.connections += 1
        process = await asyncio.create_subprocess_exec(
            *argv, "--every", "20ms", stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return Link(process, self._cuts.pop(0) if self._cuts else None)

    async def reach(self) -> None:
        if not self._reachable:
            raise BoardError("the board does not come back")


def fetching(board: Board) -> Fetcher:
    return Fetcher(cast(RemoteTransport, board), board.synced, RTPROBE)


@pytest.fixture
def spools(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for file in tmp_path.glob("*/pid"):
        for pid in file.read_text().split()[0:3:2]:
            with contextlib.suppress(OSError):
                os.kill(int(pid), signal.SIGKILL)


def spool(place: Path, script: str) -> int:
    argv = [RTPROBE, "spool", "--segment", "4096", str(place), "--", "sh", "-c", script]
    return int(subprocess.run(argv, capture_output=True, check=True, timeout=PATIENCE_S).stdout.split()[1])


def text_of(name: str) -> bytes:
    return "".join(f"{name} {i}\n" for i in range(1, 4001)).encode()


def writes(name: str) -> str:
    """A script that writes `text_of` in pieces."""
    return f"for i in 0 1 2 3; do seq -f '{name} %.0f' $((i * 1000 + 1)) $((i * 1000 + 1000)); sleep 0.1; done; echo {name} >&2"


async def read(process: SpooledProcess) -> bytes:
    return b"".join([chunk async for chunk in process.chunks()])


def run(work: Any) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return await work

    return asyncio.run(bounded())


def test_every_stream_is_whole_over_connections_that_are_cut(spools: Path) -> None:
    names = ["a", "b", "c"]
    board = Board(0, 5, 8, 3000, 20_001, 1, 40_000)

    async def work() -> None:
        fetcher = fetching(board)
        made = [await fetcher.add(name, f"{spools}/{name}", pids[name]) for name in names[:2]]
        reads = [asyncio.create_task(read(process)) for process in made]
        await asyncio.sleep(0.2)
        made.append(await fetcher.add("c", f"{spools}/c", pids["c"]))  # as the probe, while its load's stream comes
        reads.append(asyncio.create_task(read(made[2])))
        assert await asyncio.gather(*reads) == [text_of(name) for name in names]
        assert [await process.wait() for process in made] == [0, 0, 0]
        assert [await process.errors() for process in made] == [b"a\n", b"b\n", b"c\n"]
        assert all(process.over and process.consumed == process.offset for process in made)
        await fetcher.close()

    pids = {name: spool(spools / name, writes(name)) for name in names}
    run(work())
    assert board.connections == 8


def test_a_signal_is_sent_once_and_the_end_of_stdin_until_it_is_heard(spools: Path) -> None:
    """Both are asked for while a connection is down, and repeated on each that follows."""
    pid = spool(spools / "s", "trap 'echo usr1' USR1; echo up; while read x; do :; done; sleep 0.3; cat; echo end")
    board = Board(8 + 3, 5, 8 + 5)

    async def work() -> bytes:
        fetcher = fetching(board)
        process = await fetcher.add("s", f"{spools}/s", pid)
        chunks = process.chunks()
        assert await anext(chunks) == b"up\n"
        await process.signal(signal.SIGUSR1)
        await process.close_stdin()
        rest = b"".join([chunk async for chunk in chunks])
        await fetcher.close()
        return rest

    assert run(work()) == b"usr1\nend\n"
    assert board.connections == 4


def test_it_is_over_only_when_its_reader_has_taken_the_last_byte(spools: Path) -> None:
    """What the board may delete when a run ends: a reader that failed, since the disk here is full, has taken nothing."""
    pid = spool(spools / "s", "seq 1 1000")
    other = spool(spools / "o", "seq 1 5")

    async def work() -> None:
        fetcher = fetching(Board())
        process, second = await fetcher.add("s", f"{spools}/s", pid), await fetcher.add("o", f"{spools}/o", other)
        chunks = process.chunks()
        first = await anext(chunks)
        assert await process.wait() == 0  # all of it has arrived
        assert first and not process.over
        assert await read(second) == b"1\n2\n3\n4\n5\n" and second.over
        await chunks.aclose()
        assert not process.over and process.consumed == 0
        await fetcher.close()

    run(work())


def test_a_reader_that_fails_leaves_the_rest_on_the_board_and_the_others_go_on(spools: Path) -> None:
    endless = spool(spools / "s", "while :; do seq 1 1000; sleep 0.01; done")
    other = spool(spools / "o", writes("o"))

    async def work() -> None:
        fetcher = fetching(Board())
        process, second = await fetcher.add("s", f"{spools}/s", endless), await fetcher.add("o", f"{spools}/o", other)
        chunks = process.chunks()
        await anext(chunks)
        await chunks.aclose()
        assert await read(second) == text_of("o")
        assert not process.over and not process.wanted
        await fetcher.close()
        with pytest.raises(BoardError):
            await process.wait()

    run(work())


def test_what_was_acknowledged_is_gone_there_and_safe_here(spools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtassay.boards.spooled._ACK_EVERY_S", 0.0)
    pid = spool(spools / "s", writes("s"))
    board = Board()

    async def work() -> None:
        fetcher = fetching(board)
        process = await fetcher.add("s", f"{spools}/s", pid)
        assert await read(process) == text_of("s")
        assert 0 < process.acknowledged <= process.consumed and board.syncs > 0
        await fetcher.close()

    run(work())
    assert min(int(file.name) for file in (spools / "s").iterdir() if file.name.isdigit()) > 0


def test_what_is_lost_is_an_error_after_what_came(spools: Path) -> None:
    pid = spool(spools / "s", "echo here; sleep 60")

    async def work() -> None:
        fetcher = fetching(Board())
        process = await fetcher.add("s", f"{spools}/s", pid)
        chunks = process.chunks()
        assert await anext(chunks) == b"here\n"
        for victim in (spools / "s" / "pid").read_text().split()[0:3:2]:
            os.kill(int(victim), signal.SIGKILL)
        with pytest.raises(RunLost, match="lost a part"):
            await anext(chunks)
        assert process.over
        await fetcher.close()

    run(work())


def test_a_board_that_does_not_come_back_ends_every_reader(spools: Path) -> None:
    pids = [spool(spools / name, "echo x; sleep 60") for name in "ab"]

    async def work() -> None:
        fetcher = fetching(Board(0, reachable=False))
        made = [await fetcher.add(name, f"{spools}/{name}", pid) for name, pid in zip("ab", pids, strict=True)]
        results = await asyncio.gather(*(read(process) for process in made), return_exceptions=True)
        assert [str(result) for result in results] == ["the board does not come back"] * 2
        assert not any(process.over for process in made)
        await fetcher.close()

    run(work())


def test_the_script_that_ends_spools_returns_when_a_deaf_command_is_gone_too(spools: Path) -> None:
    """As for a run that is given up: guards of what ends on SIGTERM, and of what never does."""
    bodies = {"heeds": "echo $$; exec sleep 90", "deaf": "trap '' TERM; echo $$; while :; do sleep 0.2; done"}
    for name, body in bodies.items():
        argv = [RTPROBE, "spool", str(spools / name), "--", RTPROBE, "guard", "--attached", "--", "sh", "-c", body]
        subprocess.run(argv, capture_output=True, check=True, timeout=PATIENCE_S)
    outputs = [spools / name / f"{0:020}" for name in bodies]
    while not all(output.read_bytes() for output in outputs):
        time.sleep(0.02)
    pids = [int(output.read_text()) for output in outputs]
    script = scripts.end_spools([str(spools / name) for name in bodies])
    subprocess.run(["sh", "-c", script], check=True, timeout=PATIENCE_S)
    assert all((spools / name / "exit").exists() for name in bodies)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
