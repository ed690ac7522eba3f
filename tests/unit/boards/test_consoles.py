"""Addresses of consoles, and links to them: a pty, a socket, and what cannot be opened."""

from __future__ import annotations

import os
import pty
import socket
import threading
import tty
from pathlib import Path

import pytest

from rtassay.boards.consoles import Address, is_console, parse, wait_for
from rtassay.boards.links import SerialLink, open_link
from rtassay.model.errors import BoardError, UsageError


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("serial:/dev/ttyUSB0", Address("serial", "/dev/ttyUSB0", 115200)),
        ("serial:/dev/ttyUSB0?baud=921600", Address("serial", "/dev/ttyUSB0", 921600)),
        ("telnet:host:2001", Address("telnet", "host:2001", None)),
        ("telnet:[::1]:2001", Address("telnet", "[::1]:2001", None)),
        ("rfc2217:host:2001?baud=9600", Address("rfc2217", "host:2001", 9600)),
        ("unix:/run/console", Address("unix", "/run/console", None)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert is_console(text) and parse(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "serial:",
        "serial:/dev/ttyS0?baud=fast",
        "serial:/dev/ttyS0?baud=0",
        "serial:/dev/ttyS0?speed=9600",
        "unix:/x?baud=9600",
        "telnet:host",
        "telnet:host:99999",
        "telnet:-oProxy:22",
        "usb:/dev/x",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


def test_boards_with_other_names_are_no_consoles() -> None:
    assert not any(is_console(word) for word in ("local", "pi", "root@serial", "lab:quick", "ssh://root@x", "serial"))


def test_a_serial_line_carries_bytes_and_belongs_to_one_program() -> None:
    far, near = pty.openpty()
    tty.setraw(far)
    link = SerialLink(parse(f"serial:{os.ttyname(near)}"))
    try:
        os.write(far, b"nsh> ")
        assert wait_for(link, b"nsh> ", seconds=60) == b"nsh> "
        link.write(b"rtlite\n")
        assert os.read(far, 100) == b"rtlite\n"
        with pytest.raises(BoardError, match="cannot open"):
            SerialLink(parse(f"serial:{os.ttyname(near)}"))
    finally:
        link.close()
        os.close(far)
        os.close(near)


def test_a_socket_that_is_closed_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "console"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        link = open_link(parse(f"unix:{path}"))
        other, _ = server.accept()
        threading.Timer(0.1, other.close).start()
        with pytest.raises(BoardError, match="closed by its other end"):
            wait_for(link, b"never", seconds=60)
        link.close()


def test_silence_is_bounded_and_said(tmp_path: Path) -> None:
    path = tmp_path / "console"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        link = open_link(parse(f"unix:{path}"))
        other, _ = server.accept()
        with other:
            other.sendall(b"U-Boot SPL\r\n")
            with pytest.raises(BoardError, match="did not say ' READY'") as caught:
                wait_for(link, b" READY", b"nsh> ", seconds=0.5)
        assert "U-Boot SPL" in (caught.value.why or "")
        link.close()


@pytest.mark.parametrize("text", ["serial:/dev/no-such-tty", "unix:/no/such/socket"])
def test_what_is_not_there_is_named(text: str) -> None:
    with pytest.raises(BoardError, match="no"):
        open_link(parse(text))


def test_a_file_is_no_serial_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="no serial line"):
        open_link(parse(f"serial:{tmp_path / 'file'}"))
