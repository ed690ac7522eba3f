"""The shell of a console as a connection: over a real terminal, with kernel messages and damage between the lines, logins, and ends."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))

from tty_shell import TtyLink, on_a_tty

from rtassay.boards import console_shell, links
from rtassay.boards.base import LinkLost
from rtassay.boards.console_shell import ConsoleLink
from rtassay.boards.consoles import parse
from rtassay.boards.serial import ConsoleTransport
from rtassay.model.errors import BoardError

ADDRESS = "unix:/nowhere?os=linux"
LOGIN = """while :; do printf '\\r\\nboard login: '; read -r u || exit; [ "$u" ] || continue; printf 'Password: '; read -r p || exit
if [ "$u" = root ] && [ "$p" = 'a b$c' ]; then exec sh; fi; echo 'Login incorrect'; done"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_shell, "_QUIET_S", 0.1)
    monkeypatch.setattr(console_shell, "_ASK_AGAIN_S", 1.0)


def over(
    link: TtyLink,
    work: Callable[[ConsoleTransport], Awaitable[None]],
    monkeypatch: pytest.MonkeyPatch,
    address: str = ADDRESS,
) -> ConsoleTransport:
    """Run `work` with a transport over that console, open; then close it."""
    monkeypatch.setattr(links, "open_link", lambda address: link)
    transport = ConsoleTransport(parse(address))

    async def main() -> None:
        await transport.open()
        try:
            await work(transport)
        finally:
            await transport.close()

    asyncio.run(main())
    return transport


def refused(argv: tuple[str, ...], address: str = ADDRESS) -> BoardError:
    """What is said where no shell can be reached."""
    with on_a_tty(*argv) as link:
        connection = ConsoleLink(parse(address), lambda address: link)
        with pytest.raises(BoardError) as caught:
            asyncio.run(connection.connect())
        assert not connection.alive
    return caught.value


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_transport_runs_copies_and_reads(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tests/contract/test_boards.py has it of the others."""
    places: list[Path] = []
    source, target = tmp_path / "source", tmp_path / "with a space"
    source.write_bytes(b"#!/bin/sh\necho ran $1\n" + random.Random(1).randbytes(30_000))
    short = tmp_path / "short"
    short.write_bytes(b"#!/bin/sh\necho ran $1; echo no >&2\n")

    async def work(transport: Any) -> None:
        assert transport.connected and transport.uid == transport.contact.uid
        places.append(Path((await transport.run("printf %s $D")).decode()))
        assert places[0].is_dir()
        assert await transport.run("echo $((6 * 7)); echo no >&2; exit 3") == b"42\n"
        assert await transport.run("cat; false") == b""
        assert await transport.run("read -r x; printf 'a\\nb'") == b"a\nb"
        assert await transport.run("printf '\\000\\377@Z1 @A1\\n'") == b"\0\xff@Z1 @A1\n"
        assert await transport.put(source, str(target)) == b""
        assert await transport.read(str(target)) == source.read_bytes()
        assert await transport.put(short, str(target), f"'{target}' twice; false") == b"ran twice\n"
        assert await transport.read(str(tmp_path / "missing")) is None
        assert await transport.read(str(tmp_path)) is None
        process = await transport.start(
            ["sh", "-c", "head -c 3; printf '%s' \"$1\"; echo oops >&2; exit 9", "sh", "a 'b' $c"]
        )
        await process.write(b"abcdef")
        assert b"".join([chunk async for chunk in process.chunks()]) == b"abca 'b' $c"
        assert (await process.wait(30), await process.errors()) == (9, b"oops\n")
        await process.write(b"nobody reads this")
        await process.end()
        cat = await transport.start(["cat"])
        await cat.write(b"x" * 20_000)
        await cat.close_stdin()
        assert b"".join([chunk async for chunk in cat.chunks()]) == b"x" * 20_000 and await cat.wait(30) == 0
        stubborn = await transport.start(["sh", "-c", "trap '' TERM HUP; while :; do sleep 0.1; done"])
        monkeypatch.setattr("rtassay.boards.serial._ENDS_S", 0.1)
        await stubborn.end()
        killed = await transport.start(["sleep", "60"])
        await killed.signal(15)
        assert await killed.wait(30) == 128 + 15
        with pytest.raises(BoardError, match="no/such/program"):
            await transport.start(["/no/such/program"])
        with pytest.raises(BoardError) as caught:
            await transport.put(short, "/proc/nothing/there")
        assert caught.value.why

    with on_a_tty(shell, *(["--norc"] if shell == "bash" else [])) as link:
        over(link, work, monkeypatch)
    assert not places[0].exists()


@pytest.mark.parametrize("programs", ["of Debian", "of BusyBox"])
def test_its_own_work_goes_before_the_load_and_a_script_has_the_priority_of_the_login(
    programs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nice = "read -r x </proc/self/stat; set -- ${x##*) }; echo ${17}"
    ours = os.nice(0)
    if programs == "of BusyBox":
        subprocess.run(["busybox", "--install", "-s", tmp_path], check=True)
        monkeypatch.setenv("PATH", str(tmp_path))

    async def work(transport: Any) -> None:
        for _ in range(2):
            assert int(await transport.look(nice)) == (-20 if os.geteuid() == 0 else ours)
            assert await transport.run(f"{nice}; echo $P") == b"%d\n\n" % ours
        process = await transport.start(["sh", "-c", nice])
        assert int(b"".join([chunk async for chunk in process.chunks()])) == ours

    with on_a_tty("/bin/sh") as link:
        over(link, work, monkeypatch)


def test_output_is_forgotten_there_as_it_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run must not fill the memory of a board."""
    monkeypatch.setattr("rtassay.boards.serial._FETCHED_BYTES", 20_000)
    found: list[int] = []

    async def work(transport: Any) -> None:
        script = "for i in 1 2 3 4 5; do head -c 30000 /dev/zero; sleep 0.3; done"
        process = await transport.start(["sh", "-c", script])
        said = b""
        async for chunk in process.chunks():
            said += chunk
            found.append(int(await transport.run(f"wc -c <{process._directory}/out")))
        assert said == bytes(150_000)

    with on_a_tty("sh") as link:
        over(link, work, monkeypatch)
    assert max(found) < 150_000


class Noise:
    """Kernel messages anywhere in what comes, and characters that are others; the same each time."""

    def __init__(self, seed: int, messages: float, damage: float) -> None:
        self.random, self.messages, self.damage, self.on = random.Random(seed), messages, damage, False

    def __call__(self, data: bytes) -> bytes:
        if not self.on:
            return data
        out = bytearray()
        for byte in data:
            if self.random.random() < self.messages:
                out += b"[   12.345678] usb 1-1: new device @A7\r\n"
            out.append(byte ^ 1 if self.random.random() < self.damage else byte)
        return bytes(out)


@pytest.mark.parametrize(("messages", "damage"), [(5e-4, 0.0), (0.0, 2e-4)], ids=["messages", "damage"])
def test_damage_on_the_way_is_never_taken_for_data(
    messages: float, damage: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = Noise(3, messages, damage)

    async def work(transport: Any) -> None:
        noise.on = True
        for size in (10, 3000):
            made = f"i=0; while [ $i -lt {size} ]; do echo line $i; i=$((i+1)); done"
            assert await transport.run(made) == b"".join(b"line %d\n" % i for i in range(size))
        assert await transport.run("echo one >>$D/once; cat $D/once") == b"one\n", "nothing is carried out twice"
        noise.on = False

    with on_a_tty("sh", spoil=noise) as link:
        over(link, work, monkeypatch)


def test_a_request_that_came_damaged_is_not_carried_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(random.Random(5).randbytes(50_000))

    async def work(transport: Any) -> None:
        whole, count = link.write, [0]

        def write(data: bytes) -> None:
            count[0] += 1
            whole(data.replace(b"c=${c}", b"c=${c}A", 1) if count[0] in (2, 5, 6) else data)

        monkeypatch.setattr(link, "write", write)
        assert await transport.run("echo right") == b"right\n"
        await transport.put(source, str(target))
        assert target.read_bytes() == source.read_bytes() and count[0] > 6

    with on_a_tty("sh") as link:
        over(link, work, monkeypatch)


def test_it_logs_in_and_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTASSAY_CONSOLE_PASSWORD", "a b$c")

    async def work(transport: Any) -> None:
        assert await transport.run("echo in") == b"in\n"

    with on_a_tty("sh", "-c", LOGIN) as link:
        over(link, work, monkeypatch, ADDRESS + "&user=root")
        with pytest.raises(BoardError):  # the shell that was logged in to has ended
            while True:
                link.read()


@pytest.mark.parametrize(
    ("password", "user", "what"),
    [
        (None, "", "asks who logs in"),
        (None, "&user=root", "asks for a password"),
        ("wrong", "&user=root", "refuses the login of root"),
    ],
)
def test_a_login_that_fails_says_why(
    password: str | None, user: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RTASSAY_CONSOLE_PASSWORD", raising=False)
    if password is not None:
        monkeypatch.setenv("RTASSAY_CONSOLE_PASSWORD", password)
    error = refused(("sh", "-c", LOGIN), ADDRESS + user)
    assert what in error.what and error.hint
    assert "wrong" not in f"{error.what} {error.why} {error.hint}", "no password is ever shown"


def test_rtprobe_lite_is_no_shell() -> None:
    error = refused(("sh", "-c", "while read -r x; do echo '@RTL1 0 READY *00000000'; done"))
    assert "rtprobe-lite answers" in error.what and "os=linux" in (error.hint or "")


def test_a_console_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_shell, "_LOGIN_S", 1.0)
    error = refused(("sh", "-c", "trap '' INT; sleep 60"))
    assert "no shell of Linux answers" in error.what and error.why


def test_what_the_board_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import shutil

    for name in ("sh", "cat", "stty", "md5sum", "dd", "sed", "tail", "wc", "kill"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refused(("sh",))
    assert "lacks base64, mkfifo" in error.what and "BusyBox" in (error.hint or "")


def test_a_console_that_is_gone_is_a_lost_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(transport: Any) -> None:
        await transport.run("true")
        link.open = False
        with pytest.raises(LinkLost):
            await transport.run("true")
        assert not transport.alive

    with on_a_tty("sh") as link:
        over(link, work, monkeypatch)


def test_a_script_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console_shell, "_ASK_AGAIN_S", 0.1)

    async def work(transport: Any) -> None:
        with pytest.raises(LinkLost, match="does not answer"):
            await transport.run("sleep 5", 0.2)

    with on_a_tty("sh") as link:
        over(link, work, monkeypatch)


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_the_terminal_is_as_it_was(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after a host that died: the next one begins with a Ctrl-C."""
    import termios

    def echoes() -> bool:
        return bool(termios.tcgetattr(link.fd)[3] & termios.ECHO)

    async def work(transport: Any) -> None:
        assert not echoes()

    with on_a_tty("sh") as link:
        assert echoes()
        if how == "closed":
            over(link, work, monkeypatch)
        else:
            connection = ConsoleLink(parse(ADDRESS), lambda address: link)
            asyncio.run(connection.connect())
            link.write(b"\x03")
        until = time.monotonic() + 30
        while not echoes():
            assert time.monotonic() < until
            link.read()
