"""Consoles behind a terminal server: ser2net (Debian) in front of a terminal of this machine, by RFC 2217, telnet and plain TCP."""

from __future__ import annotations

import fcntl
import os
import pty
import socket
import struct
import subprocess
import time
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rtassay.boards.consoles import Link, parse, wait_for
from rtassay.boards.links import open_link
from rtassay.model.errors import BoardError

TCGETS2 = 0x802C542A
ACCEPTERS = {"rfc2217": "telnet(rfc2217=true),tcp", "telnet": "telnet,tcp", "tcp": "tcp"}


@dataclass
class Server:
    """`far`: the board's end of the line, `near`: the server's; `ports`: where it listens."""

    far: int
    near: int
    ports: dict[str, int]

    def baud(self) -> int:
        """The speed of the server's end, which need not be one that POSIX names."""
        return int(struct.unpack_from("I", fcntl.ioctl(self.near, TCGETS2, bytes(44)), 40)[0])

    def hear(self, text: bytes) -> bytes:
        """What the board receives up to that text."""
        seen = b""
        while text not in seen:
            seen += os.read(self.far, 100)
        return seen


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def is_open(port: int) -> bool:
    return any(f":{port:04X} " in line and " 0A " in line for line in Path("/proc/net/tcp").read_text().splitlines())


@pytest.fixture(name="server")
def _server(tmp_path: Path) -> Iterator[Server]:
    far, near = pty.openpty()
    tty.setraw(near)
    ports = dict(zip(ACCEPTERS, free_ports(len(ACCEPTERS)), strict=True))
    lines = ["%YAML 1.1", "---"]
    for name, port in ports.items():
        lines += [
            f"connection: &{name}",
            f"  accepter: {ACCEPTERS[name]},127.0.0.1,{port}",
            f"  connector: serialdev,{os.ttyname(near)},9600n81,local",
        ]
    config = tmp_path / "ser2net.yaml"
    config.write_text("\n".join(lines) + "\n")
    with subprocess.Popen(
        ["ser2net", "-d", "-u", "-c", config], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        until = time.monotonic() + 30
        while not all(map(is_open, ports.values())):
            assert process.poll() is None and time.monotonic() < until
            time.sleep(0.05)
        yield Server(far, near, ports)
        process.terminate()
    os.close(far)
    os.close(near)


def talk(link: Link, server: Server) -> None:
    """Bytes go both ways as they are."""
    os.write(server.far, b"boot\r\n@RTL1 0 READY *0\r\n")
    assert wait_for(link, b"READY *0\r\n", seconds=30)
    for sent in (b"run count=5\n", b"\x03", b"\r\n", b"end"):
        link.write(sent)
    assert server.hear(b"end").endswith(b"run count=5\n\x03\r\nend")


@pytest.mark.parametrize("baud", [57600, 123457, 921600])
def test_rfc_2217_sets_the_speed_of_the_line(baud: int, server: Server) -> None:
    link = open_link(parse(f"rfc2217:127.0.0.1:{server.ports['rfc2217']}?baud={baud}"))
    try:
        assert server.baud() == baud
        talk(link, server)
    finally:
        link.close()


@pytest.mark.parametrize("accepter", ["tcp", "telnet"])
def test_telnet_takes_the_bytes_of_a_terminal_server(accepter: str, server: Server) -> None:
    link = open_link(parse(f"telnet:127.0.0.1:{server.ports[accepter]}"))
    try:
        talk(link, server)
    finally:
        link.close()


def test_a_port_that_somebody_else_has_is_refused(server: Server) -> None:
    first = open_link(parse(f"telnet:127.0.0.1:{server.ports['tcp']}"))
    try:
        first.write(b"x")
        server.hear(b"x")
        with pytest.raises(BoardError):
            second = open_link(parse(f"telnet:127.0.0.1:{server.ports['tcp']}"))
            try:
                wait_for(second, b"READY", seconds=5)
            finally:
                second.close()
    finally:
        first.close()
