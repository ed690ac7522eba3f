"""Boards with a console and nothing else: their addresses, and what a link to one can do. links.py opens them."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import parse_qsl

from rtassay.model.errors import BoardError, UsageError

BAUD: Final = 115200
_BAUD_MOST = 10_000_000
KINDS: Final = ("serial", "unix", "telnet", "rfc2217")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_HOST_PORT = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^\s:\[\]/-][^\s:\[\]/]*):(?P<port>\d{1,5})")


@dataclass(frozen=True, slots=True)
class Address:
    """`serial:/dev/ttyUSB0?baud=115200`, `unix:PATH`, `telnet:HOST:PORT` (bytes as they are) or `rfc2217:HOST:PORT?baud=N`.

    `baud` is None for a socket, whose speed is nobody's to choose. `linux` (`?os=linux`): a shell of Linux is there, where `user` logs in;
    else rtprobe-lite is.
    """

    kind: str
    place: str
    baud: int | None
    linux: bool = False
    user: str | None = None

    @property
    def name(self) -> str:
        """As a person types it, without the speed."""
        return f"{self.kind}:{self.place}"


def is_console(text: str) -> bool:
    """Whether a word for a board names a console."""
    return text.partition(":")[0] in KINDS and ":" in text


def parse(text: str) -> Address:
    """Raises UsageError for a word that is no address of a console."""
    kind, _, rest = text.partition(":")
    place, _, query = rest.partition("?")
    if kind not in KINDS or not place or "\0" in place:
        raise UsageError(f"'{text}' is no console", hint="serial:/dev/ttyUSB0?baud=115200, telnet:HOST:PORT, unix:PATH")
    if kind in ("telnet", "rfc2217"):
        match = _HOST_PORT.fullmatch(place)
        if match is None or not 0 < int(match["port"]) < 65536:
            raise UsageError(f"'{place}' is not HOST:PORT", hint=f"{kind}:terminal-server:2001")
    told = dict(parse_qsl(query, keep_blank_values=True))
    sockets = kind in ("unix", "telnet")
    if told.keys() - {"os", "user", *(() if sockets else ("baud",))}:
        raise UsageError(
            f"a console of kind {kind} does not take '{query}'",
            hint="os=linux and user=NAME for a shell of Linux; baud=N, of serial and rfc2217",
        )
    if told.get("os", "linux") != "linux" or ("user" in told and "os" not in told):
        raise UsageError(
            f"'{query}' of a console cannot be read",
            "os=linux is the only system that is named; user= goes with it",
            "serial:/dev/ttyUSB0?os=linux&user=root",
        )
    if not _USER.fullmatch(told.get("user", "root")):
        raise UsageError(f"user={told['user']} is no name of a user")
    return Address(kind, place, None if sockets else _baud(told.get("baud", str(BAUD))), "os" in told, told.get("user"))


def _baud(word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 9 and 50 <= int(word) <= _BAUD_MOST):
        raise UsageError(f"baud={word} is no speed", hint=f"50 to {_BAUD_MOST}; most consoles have {BAUD}")
    return int(word)


class Link(Protocol):
    """An open console. Methods block at most a quarter of a second, and raise BoardError when the console is gone."""

    def read(self) -> bytes:
        """What came; empty where nothing did."""
        ...

    def write(self, data: bytes) -> None:
        """Send all of it."""
        ...

    def close(self) -> None:
        """Give it free. Safe to call twice."""
        ...


def wait_for(link: Link, *texts: bytes, seconds: float) -> bytes:
    """Read until one of the texts was seen; returns the one that came last. Raises BoardError, which names the first, where none came in time."""
    until, seen = time.monotonic() + seconds, b""
    while not any(text in seen for text in texts):
        if time.monotonic() >= until:
            last = seen[-60:].decode(errors="replace").strip()
            raise BoardError(
                f"the console did not say '{texts[0].decode(errors='replace')}' within {seconds:.0f} s",
                f"its last words: {last}" if last else "it said nothing at all",
                "check cable, speed (?baud=) and power; --wait and --send start rtprobe-lite from a shell",
            )
        seen += link.read()
    return max(texts, key=seen.rfind)
