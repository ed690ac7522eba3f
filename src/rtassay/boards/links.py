"""Links to consoles: a serial line, a terminal server, a socket of QEMU. Bytes go both ways; nobody logs in."""

from __future__ import annotations

import socket
import stat
from pathlib import Path
from typing import Any

from rtassay.boards.consoles import Address, Link
from rtassay.model.errors import BoardError, UsageError

_READ_BYTES = 4096


def open_link(address: Address) -> Link:
    """Raises BoardError where it cannot be opened, or where somebody else has it."""
    if address.kind in ("unix", "telnet"):
        return SocketLink(address)
    return SerialLink(address)


class SocketLink:
    """A stream socket."""

    def __init__(self, address: Address) -> None:
        self._name = address.name
        try:
            self._socket = _connected(address)
        except OSError as error:
            raise BoardError(
                f"cannot open {self._name}", error.strerror or str(error), "is its other end there?"
            ) from error

    def read(self) -> bytes:
        try:
            data = self._socket.recv(_READ_BYTES)
        except TimeoutError:
            return b""
        except OSError as error:
            raise BoardError(f"{self._name} is gone", error.strerror) from error
        if not data:
            raise BoardError(f"{self._name} was closed by its other end")
        return data

    def write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise BoardError(f"cannot write to {self._name}", error.strerror or str(error)) from error

    def close(self) -> None:
        self._socket.close()


def _connected(address: Address) -> socket.socket:
    if address.kind == "unix":
        found = socket.socket(socket.AF_UNIX)
        found.settimeout(5)
        found.connect(address.place)
    else:
        host, _, port = address.place.rpartition(":")
        found = socket.create_connection((host.strip("[]"), int(port)), timeout=10)
    found.settimeout(0.2)
    return found


class SerialLink:
    """A serial line of this machine, or one behind a terminal server that speaks RFC 2217 (pyserial)."""

    def __init__(self, address: Address) -> None:
        import serial

        self._name = address.name
        self._errors = (OSError, serial.SerialException, ValueError)
        if address.kind == "serial":
            _need_device(address.place)
            url, options = address.place, {"exclusive": True, "write_timeout": 5}
        else:
            # Not every server answers about DTR and RTS (ser2net on a line without them); the speed is waited for.
            url, options = f"rfc2217://{address.place}?ign_set_control", {}
        try:
            self._port: Any = serial.serial_for_url(url, baudrate=address.baud, timeout=0.2, **options)
        except self._errors as error:
            raise BoardError(
                f"cannot open {self._name}",
                str(error)[:200],
                "does another program (minicom, a getty) use it? is your user in the group dialout?",
            ) from error

    def read(self) -> bytes:
        try:
            return bytes(self._port.read(max(1, min(self._port.in_waiting, _READ_BYTES))))
        except self._errors as error:
            raise BoardError(f"{self._name} is gone", str(error)[:200]) from error

    def write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except self._errors as error:
            raise BoardError(f"cannot write to {self._name}", str(error)[:200]) from error

    def close(self) -> None:
        self._port.close()


def _need_device(path: str) -> None:
    try:
        mode = Path(path).stat().st_mode
    except OSError as error:
        raise BoardError(f"there is no {path}", error.strerror, "ls /dev/tty* shows the serial lines") from error
    if not stat.S_ISCHR(mode):
        raise UsageError(f"{path} is no serial line", hint="a socket of QEMU is unix:PATH")
