"""A board that does not stop talking, or takes nothing: every step has a limit of bytes and of time, and giving up always ends.

`ssh` here is a script that runs the command on this machine, so that a board can be made to misbehave at one step.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from rtassay.boards import clients, linked, local, openssh, remote_process, spooled
from rtassay.boards.base import ANSWER_BYTES, LinkLost, RemoteTransport
from rtassay.boards.local import LocalTransport
from rtassay.boards.openssh import Link, Target, explain
from rtassay.boards.places import contact_of
from rtassay.boards.remote_process import RemoteProcess
from rtassay.boards.spooled import Fetcher
from rtassay.boards.ssh import SshTransport
from rtassay.model.errors import EXIT_BOARD, BoardError

# Far above what any of these takes, far below for ever.
PATIENCE_S = 60.0
HERE = 'for last; do :; done; exec sh -c "$last"'
FLOOD = "exec cat /dev/zero"
DEAF_FLOOD = "trap '' HUP INT TERM PIPE; while :; do cat /dev/zero; done"
TARGET = Target("root@board")


def processes_of(program: Path) -> list[str]:
    return subprocess.run(["pgrep", "-f", str(program)], capture_output=True, text=True).stdout.split()


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes `ssh` this shell script. None of its processes is left at the end."""
    program = tmp_path / "ssh"

    def make(script: str) -> None:
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    make(HERE)
    monkeypatch.setenv("RTASSAY_SSH", str(program))
    yield make
    until = time.monotonic() + PATIENCE_S
    while (
        left := processes_of(program)
    ) and time.monotonic() < until:  # one that was killed may be seen a moment longer
        time.sleep(0.05)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    assert not left


@pytest.fixture(autouse=True)
def short_graces(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a command may take to end in order is no matter here."""
    for module, name in ((remote_process, "_ENDS_S"), (local, "_IN_ORDER_S"), (local, "_AT_ONCE_S")):
        monkeypatch.setattr(module, name, 0.3)


def bounded(work: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(PATIENCE_S):
            return await work()

    return asyncio.run(main())


@pytest.mark.parametrize("script", [FLOOD, DEAF_FLOOD, f"cat /dev/zero >&2 & {FLOOD}"])
def test_a_login_that_floods(ssh: Callable[[str], None], script: str) -> None:
    ssh(script)
    with pytest.raises(BoardError, match="floods the connection"):
        bounded(Link(TARGET).connect)


def test_an_answer_that_does_not_end(ssh: Callable[[str], None]) -> None:
    """The connection is closed, and closing it twice is no harm."""

    async def work() -> None:
        link = Link(TARGET)
        assert await link.connect("echo hello") == b"hello\n"
        try:
            with pytest.raises(BoardError, match="floods the connection"):
                await link.ask("cat /dev/zero")
        finally:
            await link.close()
            await link.close()

    bounded(work)


def test_a_command_whose_output_nobody_reads_is_ended(ssh: Callable[[str], None]) -> None:
    async def work() -> None:
        link = Link(TARGET)
        await link.connect()
        try:
            process = await RemoteProcess.start(link, (), ["sh", "-c", DEAF_FLOOD])
            await process.end()
        finally:
            await link.close()

    bounded(work)


def test_a_command_that_floods_before_it_has_begun(ssh: Callable[[str], None]) -> None:
    ssh('for last; do :; done; case $last in "exec sh") exec sh;; *) exec cat /dev/zero;; esac')

    async def work() -> None:
        link = Link(TARGET)
        await link.connect()
        try:
            with pytest.raises(LinkLost, match="cannot start cat"):
                await RemoteProcess.start(link, (), ["cat", "/proc/version"])
        finally:
            await link.close()

    bounded(work)


def test_a_start_that_was_given_up_leaves_no_client(ssh: Callable[[str], None]) -> None:
    ssh('for last; do :; done; case $last in "exec sh") exec sh;; *) exec sleep 1000;; esac')

    async def work() -> None:
        link = Link(TARGET)
        await link.connect()
        try:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await RemoteProcess.start(link, (), ["cat", "/proc/version"])
        finally:
            await link.close()

    bounded(work)


def test_a_file_without_an_end_and_a_command_that_reads_nothing(
    ssh: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "_HANDED_OVER_S", 0.5)

    async def work() -> None:
        transport = SshTransport("far", TARGET, sudo="never")
        await transport.open()
        try:
            assert await transport.read("/dev/zero") == bytes(ANSWER_BYTES)
            deaf = await transport.start(["sleep", "1000"])
            with pytest.raises(LinkLost, match="takes nothing"):
                await deaf.write(bytes(1_000_000))
            await deaf.end()
            with pytest.raises(BoardError, match="floods the connection"):
                await transport.run("cat /dev/zero")
        finally:
            await transport.close()

    bounded(work)


def test_a_short_script_of_this_machine_has_the_same_limits() -> None:
    async def work() -> None:
        transport = LocalTransport()
        with pytest.raises(BoardError, match="floods the connection"):
            await transport.run("cat /dev/zero")
        with pytest.raises(BoardError, match="does not answer"):
            await transport.run("sleep 1000", timeout_s=0.2)
        await transport.close()

    bounded(work)


def test_a_run_on_a_board_that_floods_ends_with_one_sentence(ssh: Callable[[str], None], tmp_path: Path) -> None:
    ssh(DEAF_FLOOD)
    rtassay = str(Path(sys.executable).with_name("rtassay"))
    environ = {**os.environ, "RTASSAY_HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [rtassay, "run", "root@board"], env=environ, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == EXIT_BOARD and "floods the connection" in done.stderr


class Sends:
    """A `fetch` that sends these bytes and ends; without bytes the connection is lost at once."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def chunks(self) -> AsyncIterator[bytes]:
        if not self._data:
            raise LinkLost("lost")
        yield self._data

    async def write(self, data: bytes) -> None:
        pass

    async def wait(self, timeout_s: float | None = None) -> int:
        return 0

    async def errors(self) -> bytes:
        return b""

    async def end(self) -> None:
        pass


class Board:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.connections = 0

    async def start(self, argv: object) -> Sends:
        self.connections += 1
        return Sends(self._data)

    async def reach(self) -> None:
        pass

    async def synced(self) -> None:
        pass


def fetched(board: Board) -> BoardError:
    async def work() -> BoardError:
        fetcher = Fetcher(cast(RemoteTransport, board), board.synced, "rtprobe")
        process = await fetcher.add("probe", "/run/x", 1)
        try:
            with pytest.raises(BoardError) as caught:
                async for _ in process.chunks():
                    pass
            return caught.value
        finally:
            await fetcher.close()

    error: BoardError = bounded(work)
    return error


@pytest.mark.parametrize(
    "record",
    [
        struct.pack("<BBHI", 1, 0, 0, 0xFFFF_FFFF) + bytes(100),
        struct.pack("<BBHI", 1, 0, 7, 4) + b"data",
        struct.pack("<BBHI", 9, 0, 0, 4) + b"data",
        bytes(1000),
    ],
    ids=["too long", "of nobody", "of no kind", "zeros"],
)
def test_what_is_no_record_of_fetch_ends_the_run(record: bytes) -> None:
    """And is never waited for, or kept."""
    assert "is not rtprobe" in str(fetched(Board(record)))


def test_an_end_with_a_number_of_thousands_of_digits() -> None:
    said = b"0 " + b"9" * 5000 + b" 0\n"
    assert "does not say how the run ended" in str(fetched(Board(struct.pack("<BBHI", 2, 0, 0, len(said)) + said)))


def test_connections_that_bring_nothing_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spooled, "_PAUSE_S", 0.0)
    board = Board(b"")
    assert "sends nothing" in str(fetched(board))
    assert board.connections == spooled._FRUITLESS + 1


GOOD = {"uid": "0", "machine": "armv7l", "system": "Linux", "boot_id": "x", "memory_kib": "1000", "caps": "0"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("uid", "9" * 5000),
        ("uid", "²"),
        ("machine", "x" * 1_000_000),
        ("machine", "\x1b]0;title\x07armv7l"),
        ("machine", "../../etc/passwd"),
        ("machine", ""),
        ("system", "\x1b[2J" * 10_000),
    ],
)
def test_facts_of_a_board_that_are_none(field: str, value: str) -> None:
    answer = "".join(f"{key}={text}\n" for key, text in {**GOOD, field: value}.items())
    with pytest.raises(BoardError) as caught:
        contact_of(answer.encode(), "far")
    assert len(str(caught.value)) < 5000 and str(caught.value).isprintable()


def test_numbers_of_a_board_that_are_none_are_not_known() -> None:
    answer = "".join(f"{k}={t}\n" for k, t in {**GOOD, "memory_kib": "9" * 5000, "caps": "f" * 5000}.items())
    contact = contact_of(answer.encode(), "far")
    assert contact.memory_bytes is None and contact.real_time is False


def test_an_error_of_ssh_without_a_newline_is_read_at_once() -> None:
    """The patterns for ssh's words would take minutes for it."""
    begun = time.monotonic()
    error = explain(TARGET, "line " * 13_000)
    assert time.monotonic() - begun < PATIENCE_S / 4 and len(str(error)) < 1000


@pytest.mark.parametrize(
    ("said", "good_at", "tried"),
    [
        ("Connection closed by remote host", 3, 3),
        ("kex_exchange_identification: Connection reset by peer", 2, 2),
        ("", 4, 4),
        ("Connection closed by remote host", 9, 4),
        ("Permission denied (publickey)", 2, 1),
        ("connect to host board port 22: Connection refused", 2, 1),
    ],
)
def test_a_first_contact_that_is_cut_is_tried_again_and_one_that_is_refused_is_not(
    ssh: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, good_at: int, tried: int
) -> None:
    monkeypatch.setattr(linked, "_BACKOFF_S", (0.01,) * 6)
    tries = tmp_path / "tries"
    ssh(f"echo x >>{tries}; [ $(wc -l <{tries}) -ge {good_at} ] || {{ echo '{said}' >&2; exit 255; }}\n{HERE}")
    told: list[str] = []

    async def contact() -> int:
        transport = SshTransport("far", TARGET)
        transport.notice = told.append
        await transport.open()
        try:
            return transport.contact.uid
        finally:
            await transport.close()

    if tried == good_at:
        assert bounded(contact) == os.getuid()
    else:
        with pytest.raises(BoardError) as caught:
            bounded(contact)
        assert caught.value.exit_code == EXIT_BOARD and caught.value.hint
    assert len(tries.read_text().split()) == tried
    assert len(told) == tried - 1 and all("first contact" in sentence for sentence in told)


def test_what_a_neighbour_removes_at_the_same_time_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories of sockets whose processes have ended: two hosts find the same ones, and one is faster."""
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    left = [tmp_path / f"rtassay-ssh-{ended.pid}-{at}" for at in "abc"]
    kept = [tmp_path / f"rtassay-ssh-{os.getpid()}-d", tmp_path / "rtassay-ssh-x-e"]
    for directory in (*left, *kept):
        directory.mkdir()
        (directory / "s").touch()
    real, taken = Path.stat, []

    def stat(path: Path, **options: Any) -> os.stat_result:
        if path in left and not taken:  # the neighbour's moment: it was found, and is gone when it is looked at
            taken.append(path)
            shutil.rmtree(path)
        return real(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    openssh._remove_left(tmp_path)
    assert taken and not any(os.path.lexists(directory) for directory in left)
    assert all(directory.is_dir() for directory in kept)
