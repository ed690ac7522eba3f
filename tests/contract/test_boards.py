"""Every board and every transport keeps the promises of boards.base, whatever it is made of."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))  # pytest's importlib mode has no sibling imports

from sshd import Server, serving
from tty_shell import line_to_a_shell

from rtassay.boards.base import AtClose, Transport
from rtassay.boards.openssh import Target
from rtassay.model import rooms
from rtassay.model.errors import BoardError, UsageError

# Each member as a test can reach it; ssh twice, for a board has the one server or the other. A console takes seconds for what SSH does at once.
NAMES: list[Any] = ["local", "ssh", "ssh to dropbear", pytest.param("serial", marks=pytest.mark.full)]
_servers: dict[str, Server] = {}
_lines: list[str] = []
PATIENCE_S = 300.0


@pytest.fixture(scope="module", autouse=True)
def servers() -> Iterator[None]:
    with serving() as openssh, serving(kind="dropbear") as dropbear:
        _servers.update({"ssh": openssh, "ssh to dropbear": dropbear})
        with line_to_a_shell() as line:
            _lines[:] = [line]
            yield


def make(name: str) -> Any:
    """A board of this machine, over the transport `name`."""
    member = rooms.load("boards", name.split()[0])
    if name == "serial":
        return member(f"serial:{_lines[0]}?os=linux")
    if name not in _servers:
        return member()
    server = _servers[name]
    return member("a board", Target(server.destination, None, server.options))


def make_transport(name: str) -> Any:
    """The transport below the board `name`."""
    transport: Transport = make(name).transport
    return transport


def test_every_member_that_needs_no_machine_of_its_own_is_here() -> None:
    assert set(rooms.table("boards")) - {"qemu"} == {name.split()[0] for name in (*NAMES[:3], "serial")}


def on_board(name: str, work: Callable[[Any], Awaitable[None]]) -> None:
    """Run `work(board)` with the board open, and close it whatever happens."""

    async def main() -> None:
        board = make(name)
        await board.open()
        try:
            await work(board)
        finally:
            await board.close()

    asyncio.run(main())


async def output_of(process: Any) -> bytes:
    return b"".join([chunk async for chunk in process.chunks()])


def alive(pid: int) -> bool:
    """Whether it runs (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


@pytest.mark.parametrize("name", NAMES)
def test_a_transport_runs_copies_and_reads(name: str, tmp_path: Path) -> None:
    """All that a Linux board is built of, without the board."""
    source, target = tmp_path / "source", tmp_path / "with a space"
    source.write_bytes(b"#!/bin/sh\necho ran $1\n")

    async def main() -> None:
        transport = make_transport(name)
        await transport.open()
        try:
            assert transport.connected
            assert await transport.run("echo $((6 * 7)); echo no >&2; exit 3") == b"42\n"
            assert await transport.run("cat; false") == b""
            assert await transport.run("read -r x; printf 'a\\nb'") == b"a\nb"
            assert await transport.put(source, str(target)) == b""
            assert await transport.put(source, str(target), f"'{target}' twice; false") == b"ran twice\n"
            assert await transport.read(str(target)) == source.read_bytes()
            assert await transport.read(str(tmp_path / "missing")) is None
            process = await transport.start(["sh", "-c", "head -c 3; exit 9"])
            await process.write(b"abcdef")
            assert await output_of(process) == b"abc"
            assert await process.wait(PATIENCE_S) == 9
            await process.write(b"nobody reads this")
            await process.end()
            stubborn = await transport.start(["sh", "-c", "trap '' TERM HUP; while :; do sleep 0.1; done"])
            await stubborn.end()
            deadline = asyncio.get_running_loop().time() + PATIENCE_S  # a server of SSH may kill it a moment later
            while alive(stubborn.pid):
                assert asyncio.get_running_loop().time() < deadline
                await asyncio.sleep(0.05)
        finally:
            await transport.close()
            await transport.close()

    asyncio.run(main())


@pytest.mark.parametrize("name", NAMES)
def test_a_transport_does_not_wait_forever_for_a_script(name: str) -> None:
    async def main() -> None:
        transport = make_transport(name)
        await transport.open()
        try:
            with pytest.raises(BoardError):
                await transport.run("sleep 60", 0.5)
        finally:
            await transport.close()

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 55


@pytest.mark.parametrize("name", NAMES)
def test_board_says_what_it_is(name: str) -> None:
    board = make(name)
    assert board.name
    assert isinstance(board.detaches, bool)


@pytest.mark.parametrize("name", NAMES)
def test_output_comes_whole_and_the_exit_code_with_it(name: str) -> None:
    async def work(board: Any) -> None:
        process = await board.start(["sh", "-c", "head -c 20000000 /dev/zero; echo oops >&2; exit 7"])
        assert len(await output_of(process)) == 20_000_000
        assert await process.wait(PATIENCE_S) == 7
        assert await process.errors() == b"oops\n"

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_arguments_see_no_shell(name: str) -> None:
    async def work(board: Any) -> None:
        process = await board.start(["printf", "%s|", "a b", "$HOME", "; exit 3", "'", "ü"])
        assert (await output_of(process)).decode() == "a b|$HOME|; exit 3|'|ü|"
        assert await process.wait(PATIENCE_S) == 0

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_stderr_is_kept_to_its_last_64_kib(name: str) -> None:
    async def work(board: Any) -> None:
        process = await board.start(["sh", "-c", "head -c 300000 /dev/zero >&2; echo last >&2"])
        await output_of(process)
        errors = await process.errors()
        assert len(errors) == 64 * 1024
        assert errors.endswith(b"last\n")

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_end_of_stdin_is_seen_by_the_command(name: str) -> None:
    async def work(board: Any) -> None:
        process = await board.start(["cat"])
        with pytest.raises(TimeoutError):
            await process.wait(0.2)
        await process.close_stdin()
        await process.close_stdin()
        assert await process.wait(PATIENCE_S) == 0

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_signals_reach_the_pid_on_the_board(name: str) -> None:
    async def work(board: Any) -> None:
        process = await board.start(["sleep", "60"])
        async with asyncio.timeout(PATIENCE_S):  # a transport may tell the pid before its shell has become the command
            while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
                await asyncio.sleep(0.01)
        await process.signal(signal.SIGTERM)
        assert await process.wait(PATIENCE_S) == 128 + signal.SIGTERM
        await process.signal(signal.SIGTERM)

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_is_not_there_is_a_board_error(name: str) -> None:
    async def work(board: Any) -> None:
        assert await board.which("no-such-program-anywhere") is None
        assert (await board.which("sh") or "").endswith("/sh")
        with pytest.raises(BoardError) as caught:
            process = await board.start(["/no/such/program"])
            await process.wait(PATIENCE_S)
        assert caught.value.why

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_files_go_there_and_come_back(name: str, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"#!/bin/sh\necho ran\n")

    async def work(board: Any) -> None:
        await board.put(source, str(target))
        assert await board.read(str(target)) == source.read_bytes()
        assert await board.read(str(tmp_path / "missing")) is None
        assert await board.read(str(tmp_path)) is None
        assert await output_of(await board.start([str(target)])) == b"ran\n"
        with pytest.raises(BoardError):
            await board.put(tmp_path / "missing", str(target))

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_close_leaves_nothing_running_even_what_ignores_everything(name: str) -> None:
    pids: list[int] = []

    async def work(board: Any) -> None:
        process = await board.start(["sh", "-c", "trap '' TERM HUP; while :; do sleep 0.1; done"])
        pids.append(process.pid)

    begun = time.monotonic()
    on_board(name, work)
    assert time.monotonic() - begun < PATIENCE_S
    assert not alive(pids[0])


@pytest.mark.parametrize("name", NAMES)
def test_closing_twice_and_opening_again_does_no_harm(name: str) -> None:
    async def main() -> None:
        board = make(name)
        for _ in range(2):
            await board.open()
            process = await board.start(["true"])
            assert await process.wait(PATIENCE_S) == 0
            await board.close()
            await board.close()

    asyncio.run(main())


@pytest.mark.parametrize("name", NAMES)
def test_probe_is_a_program_that_runs_there(name: str) -> None:
    async def work(board: Any) -> None:
        process = await board.start([await board.probe(), "--version"])
        assert (await output_of(process)).startswith(b"rtprobe ")
        assert await process.wait(PATIENCE_S) == 0

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES)
def test_no_descriptor_is_left_behind(name: str) -> None:
    async def use() -> None:
        board = make(name)
        await board.open()
        for _ in range(5):
            process = await board.start(["sh", "-c", "echo x; sleep 0.01"])
            await output_of(process)
            await process.wait(PATIENCE_S)
        await board.close()

    def descriptors() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    async def main() -> None:
        await use()
        await asyncio.sleep(0.05)
        first = descriptors()
        await use()
        await use()
        async with asyncio.timeout(PATIENCE_S):  # the loop closes some of them a moment later
            while descriptors() > first:
                await asyncio.sleep(0.02)

    asyncio.run(main())


@pytest.mark.parametrize("name", NAMES)
def test_what_is_launched_brings_all_its_output_and_can_be_let_go(name: str) -> None:
    """A guard with `--attached`, as the session launches it: it goes on until it is let go, here or by another's end."""

    async def work(board: Any) -> None:
        rtprobe = await board.probe()
        guard = [rtprobe, "guard", "--attached", "--max", "60s", "--"]
        beside = await board.launch([*guard, "sleep", "50"], "load-0")
        process = await board.launch(
            [*guard, "sh", "-c", "seq 1 100000; echo oops >&2; exit 4"], "probe", ends=["load-0"]
        )
        assert beside.pid != process.pid
        assert await output_of(process) == "".join(f"{i}\n" for i in range(1, 100_001)).encode()
        assert await process.wait(PATIENCE_S) == 4
        assert await process.errors() == b"oops\n"
        await beside.close_stdin()
        assert await output_of(beside) == b""
        assert await beside.wait(PATIENCE_S) == 128 + signal.SIGTERM
        third = await board.launch([*guard, "sh", "-c", "echo up; exec sleep 50"], "third")
        chunks = third.chunks()
        assert await anext(chunks) == b"up\n"
        await third.signal(signal.SIGTERM)
        assert b"".join([chunk async for chunk in chunks]) == b""
        assert await third.wait(PATIENCE_S) == 128 + signal.SIGTERM
        with pytest.raises(BoardError):
            await (await board.launch(["/no/such/program"], "fourth")).wait(PATIENCE_S)

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES[1:])
def test_what_a_host_asks_is_done_although_one_before_it_had_asked(name: str) -> None:
    async def work(board: Any) -> None:
        script = "trap 'echo usr1' USR1; echo up; while :; do sleep 0.05; done"
        process = await board.launch(["sh", "-c", script], "probe")
        chunks = process.chunks()
        assert await anext(chunks) == b"up\n"
        await process.signal(signal.SIGUSR1)
        assert await anext(chunks) == b"usr1\n"
        await chunks.aclose()
        again = await board.reattach("probe", process.offset)
        await again.signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            assert await output_of(again) == b""
        assert await again.wait(PATIENCE_S) == 128 + signal.SIGTERM

    on_board(name, work)


@pytest.mark.parametrize("name", NAMES[1:])
def test_close_ends_a_probe_before_its_loads(name: str, tmp_path: Path) -> None:
    """A run that is given up keeps its data, also the last of it, under load."""

    def noting(file: str, takes_s: float) -> str:
        return f"trap 'sleep {takes_s}; echo >{tmp_path / file}; exit' TERM; echo up; while :; do sleep 0.02; done"

    async def work(board: Any) -> None:
        guard = [await board.probe(), "guard", "--attached", "--max", "60s", "--", "sh", "-c"]
        load = await board.launch([*guard, noting("load", 0)], "load-0")
        probe = await board.launch([*guard, noting("probe", 0.5)], "probe", ends=["load-0"])
        for process in (load, probe):
            assert await anext(process.chunks()) == b"up\n"

    on_board(name, work)
    assert (tmp_path / "probe").stat().st_mtime_ns <= (tmp_path / "load").stat().st_mtime_ns


@pytest.mark.parametrize("name", NAMES)
def test_a_board_tells_whether_anything_outlives_us(name: str) -> None:
    async def work(board: Any) -> None:
        assert board.connected and board.offline_s == 0
        assert (board.resume_data is not None) is board.detaches
        if board.resume_data is not None:
            assert json.loads(json.dumps(dict(board.resume_data))) == dict(board.resume_data)

    on_board(name, work)


def test_nothing_is_left_of_a_run_that_ends_with_its_host() -> None:
    async def main() -> None:
        board = make("local")
        with pytest.raises(UsageError):
            board.resume({})
        with pytest.raises(UsageError):
            await board.reattach("probe", 0)
        with pytest.raises(UsageError):
            await board.clean(force=True)

    asyncio.run(main())


@pytest.mark.parametrize("name", NAMES[1:])
def test_what_was_left_running_is_still_known_after_a_second_close(name: str) -> None:
    """A run closes its board twice when it fails; the second time must not forget what goes on there."""

    async def main() -> None:
        board = make(name)
        await board.open()
        guard = [await board.probe(), "guard", "--attached", "--max", "60s", "--"]
        process = await board.launch([*guard, "sleep", "50"], "probe")
        board.at_close = AtClose.LEAVE_RUNNING
        await board.close()
        await board.close()
        left = board.resume_data
        assert left is not None and alive(process.pid)
        again = make(name)
        again.resume(left)
        await again.open()
        assert (await again.reattach("probe", 0)).pid == process.pid
        await again.close()
        assert again.resume_data is None and not alive(process.pid)

    asyncio.run(main())
