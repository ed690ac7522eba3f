"""A shell on the console of a board that runs Linux, as a connection: requests go there in lines, and answers come back, each with its checksum.

Everything is base64, so that neither a terminal's editing nor the kernel's messages on the same console can be taken for data. A piece
that came damaged is asked for once more. What the board needs for it: `_NEEDED`, which BusyBox has.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import hashlib
import os
import re
import secrets
import threading
import time
import zlib
from collections.abc import Callable
from typing import Final

from rtassay.boards.base import ANSWER_BYTES, ANSWER_S, LinkLost, too_much
from rtassay.boards.consoles import Address, Link
from rtassay.model.errors import BoardError
from rtassay.model.foreign import one_line

PASSWORD_VARIABLE = "RTASSAY_CONSOLE_PASSWORD"
# Bytes of a file that one request takes there: two seconds of a line with 115200 baud.
PIECE_BYTES = 16 * 1024
_NEEDED: Final = ("base64", "md5sum", "dd", "sed", "tail", "wc", "cat", "mkfifo", "kill")
# Input of a terminal has room for 4096 characters a line.
_LINE = 400
_LOGIN_S = 40.0
_CONNECT_S = 60.0
_LEAVE_S = 3.0
# Nothing for so long: the question is put again. So often in a row: the link is lost.
_ASK_AGAIN_S = 4.0
_ASKED_MOST = 6
_DAMAGED_MOST = 20
_QUIET_S = 1.0
_CTRL_C, _CTRL_D = b"\x03", b"\x04"
_READY = re.compile(rb"@RTL1 \d+ READY \*")
_LOGIN = re.compile(rb"login: *$", re.IGNORECASE)
_PASSWORD = re.compile(rb"password: *$", re.IGNORECASE)
_REFUSED = re.compile(rb"login incorrect|authentication failure|maximum number of tries", re.IGNORECASE)
# Lines of an answer that come under one checksum; half as many each time that one was wrong.
_PAGE_LINES, _PAGE_LINES_LEAST = 160, 5

# What runs on the board, fed by `cat` from the console. $c: characters of the request so far. r: run it as a script; q: the same at our own
# priority; w: add it to the file w; s: say so many lines of the answer from that byte on. After 60 s without a request nobody is there, and
# all is taken away.
_SHELL = """umask 077; D=; p=$P; unset P; P=$p
for p in /run /dev/shm /tmp /var/tmp; do [ -z "$D" ] && mkdir $p/.rtassay-console-$$ && D=$p/.rtassay-console-$$; done
export D; N=0; echo 0 >$D/n; Z=0; command -v gzip >/dev/null && Z=1
s() {
  [ "$1" = "$N" ] || { echo "@A$1 unknown"; return; }
  [ $T != 0 ] || { echo "@A$1 0 0 0 EMPTY"; echo "@Z$1"; return; }
  dd bs=77 skip=$(($2 / 77)) count=$3 <$D/b >$D/p
  set -- $1 $2 $(md5sum <$D/p); echo "@A$1 $2 $Z $T $3"; sed 's/^/@/' $D/p; echo "@Z$1"
}
sound() { [ "$(printf %s "$c" | md5sum)" = "$2  -" ] || { c=; echo "@A$1 damaged"; false; }; }
q() { Q=$P; P=; r $*; P=$Q; }
r() {
  [ "$1" = "$N" ] && return; sound $* || return
  S=$(printf %s "$c" | base64 -d); c=; N=$1; echo "$N+" >$D/n
  sh -c "$P $S" </dev/null >$D/o; f=$D/o; [ $Z = 0 ] || [ ! -s $D/o ] || { gzip -c <$D/o >$D/z; f=$D/z; }
  T=0; [ ! -s $D/o ] || { base64 <$f >$D/b; T=$(($(wc -c <$D/b))); }; echo $N >$D/n; s $N 0 LINES
}
w() {
  [ "$1" = "$N" ] && return; sound $* || return
  printf %s "$c" | base64 -d >>$D/w; c=; N=$1; echo $N >$D/n; T=0; s $N 0 LINES
}
over() {
  trap - EXIT; F=$(cat $D/farewell); for i in $D/*/pid; do kill -9 $(cat $i); done; for i in $D/*/holder; do kill $(cat $i); done
  rm -rf $D; [ -z "$F" ] || (eval "$F") </dev/null >/dev/null &
}
(k=0; while sleep 5; do n=$(cat $D/n) || exit
case $n in "$l") k=$((k + 1));; *+) k=0;; *) k=0; l=$n;; esac; [ $k -lt 12 ] || { over; kill -9 $$; exit; }; done) </dev/null >/dev/null &
W=$!; trap 'kill $W; over; echo @OVER' EXIT; trap exit HUP INT TERM
""".replace("LINES", str(_PAGE_LINES)).replace("EMPTY", hashlib.md5(b"", usedforsecurity=False).hexdigest())

# Around it: the terminal's settings are put back at its end, be it a Ctrl-C. Where we may, we go before the load, or a board that is busy
# takes minutes for an answer, which is a dozen small programs; $P gives a script the priority that it would have without us (not every
# BusyBox has `nice`).
_HOLD = (
    b'S=$(stty -g); trap "stty $S" EXIT; trap exit INT HUP TERM; stty -echo; P=; '
    b'read -r x </proc/$$/stat; set -- ${x##*) }; renice -20 -p $$ >/dev/null && P="renice ${17} -p \\$\\$ >/dev/null;"; export P; cat | sh'
)


class _Silent(Exception):
    """Nothing came in time."""


class ConsoleLink:
    """One stay at the shell of a console. `open_link` opens the console; `notice` is told what takes long."""

    def __init__(self, address: Address, open_link: Callable[[Address], Link]) -> None:
        self.farewell = ""
        self.address = address
        self._open_link = open_link
        self._link: Link | None = None
        self._seen = b""
        self._number = 0
        self._farewell_there = ""
        self._logged_in = self._started = False
        # Threads of requests that were given up may still be at work.
        self._turn = threading.Lock()

    @property
    def alive(self) -> bool:
        return self._link is not None

    async def connect(self, first: str = "true") -> bytes:
        """Open the console, log in, start the shell. Raises BoardError that says what the console said instead, LinkLost."""
        await self.close()
        self._farewell_there = ""
        try:
            await asyncio.to_thread(self._connect)
            return await self.ask(first, _CONNECT_S)
        except BaseException:
            await self.close()
            raise

    async def ask(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        """Run a small script there and return its stdout. Raises LinkLost when the console is gone or the board does not answer."""
        return await self._run("r", script, timeout_s)

    async def ask_first(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        """As `ask`, before everything of ordinary priority where we may: for a script that starts nothing which stays."""
        return await self._run("q", script, timeout_s)

    async def _run(self, verb: str, script: str, timeout_s: float) -> bytes:
        if self.farewell != self._farewell_there:
            self._farewell_there = self.farewell
            text = base64.b64encode(self.farewell.encode()).decode()
            await self._request("q", f"echo {text} | base64 -d >$D/farewell".encode(), ANSWER_S)
        return await self._request(verb, script.encode(), timeout_s)

    async def add(self, piece: bytes) -> None:
        """Add bytes to the file $D/w there, at most PIECE_BYTES. Raises LinkLost."""
        await self._request("w", piece, ANSWER_S)

    async def close(self) -> None:
        """Leave the shell, and log out where we logged in."""
        if self._link is not None:
            await asyncio.to_thread(self._close)

    async def _request(self, verb: str, content: bytes, timeout_s: float) -> bytes:
        return await asyncio.to_thread(self._transact, verb, content, timeout_s)

    # All below runs in a thread: a console is read and written with blocking calls.

    def _transact(self, verb: str, content: bytes, timeout_s: float) -> bytes:
        with self._turn:
            if self._link is None:
                raise LinkLost(f"there is no connection to {self.address.name}")
            try:
                return self._exchange(verb, content, timeout_s)
            except _Silent as error:
                self._drop()
                raise LinkLost(
                    f"{self.address.name} does not answer",
                    f"no answer within {timeout_s:.0f} s",
                    "is the board on? does another program write to its console?",
                ) from error
            except BoardError as error:
                self._drop()
                raise LinkLost(error.what, error.why, error.hint, cut=True) from error

    def _exchange(self, verb: str, content: bytes, timeout_s: float) -> bytes:
        self._number += 1
        text = base64.b64encode(content)
        request = b"c=\n" + b"".join(b"c=${c}%s\n" % text[at : at + _LINE] for at in range(0, len(text), _LINE))
        request += b"%s %d %s\n" % (verb.encode(), self._number, _md5(text))
        body, packed, damaged, lines = b"", False, 0, _PAGE_LINES
        self._seen = b""
        self._write(request)
        until = time.monotonic() + timeout_s + self._transfer_s(len(request))
        while True:
            page = self._page(len(body), lines, until)
            if page is None:
                damaged += 1
                lines = max(_PAGE_LINES_LEAST, lines // 2)
                if damaged > _DAMAGED_MOST:
                    raise BoardError(
                        f"{self.address.name} damages what passes through it",
                        f"{damaged} damaged pieces in a row",
                        "a lower speed, a shorter cable, or fewer kernel messages on the console (dmesg -n 1)",
                    )
                # Before the first page the request itself may not have arrived. One that was carried out is not carried out again.
                self._write(request if not body else b"")
                self._write(b"s %d %d %d\n" % (self._number, len(body), lines))
                continue
            piece, packed, total = page
            body, damaged = body + piece, 0
            if len(body) >= total:
                return _unpacked(body, packed)
            if len(body) > 2 * ANSWER_BYTES:
                raise too_much(self.address.name, "its shell", ANSWER_BYTES)
            self._seen = b""
            self._write(b"s %d %d %d\n" % (self._number, len(body), lines))
            until = time.monotonic() + ANSWER_S

    def _page(self, at: int, lines: int, until: float) -> tuple[bytes, bool, int] | None:
        """One page of the answer: its bytes, whether it is packed, the bytes of all pages. None: it came damaged, or the request did."""
        head = re.compile(
            rb"@A%d (?:(?P<word>damaged|unknown)|%d ([01]) (\d+) ([0-9a-f]{32}))\r*\n" % (self._number, at)
        )
        end = b"@Z%d" % self._number
        heard = time.monotonic()
        asked = 0
        while True:
            found = head.search(self._seen)
            if found is not None and found["word"]:
                self._seen = self._seen[found.end() :]
                return None
            if found is not None and (stop := self._seen.find(end, found.end())) >= 0:
                page = _lines_of(self._seen[found.end() : stop])
                self._seen = self._seen[stop + len(end) :]
                return (page, found[2] == b"1", int(found[3])) if _md5(page) == found[4] else None
            data = self._read()
            now = time.monotonic()
            if data:
                heard = now
                asked = 0
            elif now - heard > _ASK_AGAIN_S:
                asked += 1
                if now > until and asked > _ASKED_MOST:
                    raise _Silent
                if found is not None:
                    return None  # its end was lost
                self._write(b"\ns %d %d %d\n" % (self._number, at, lines))
                heard = now
            if now > until + _ASK_AGAIN_S * _ASKED_MOST and found is None:
                raise _Silent

    def _transfer_s(self, size: int) -> float:
        return 0.0 if self.address.baud is None else 20.0 * size / self.address.baud

    def _connect(self) -> None:
        with self._turn:
            self._link = self._open_link(self.address)
            try:
                self._reach_shell()
                self._start()
            except _Silent as error:
                said = one_line(self._seen.decode(errors="replace")[-200:])
                self._leave()
                raise BoardError(
                    f"no shell of Linux answers on {self.address.name}",
                    f"its last words: {said}" if said else "it said nothing at all",
                    "check cable, speed (baud=) and power; does the board have a login or a shell on this console?",
                ) from error
            except BaseException:
                self._leave()
                raise

    def _reach_shell(self) -> None:
        """From whatever stands there to a shell's prompt, which is found by its answer and not by its look."""
        self._logged_in = self._started = asked = False
        token = secrets.token_hex(4)
        question = f"\recho rtassay-$((6 * 7))-{token}\r".encode()
        answer = f"rtassay-42-{token}".encode()
        self._seen = b""
        self._write(_CTRL_C + b"\r")
        until = heard = time.monotonic() + _LOGIN_S
        heard -= _LOGIN_S
        while answer not in self._seen:
            now = time.monotonic()
            if now > until:
                raise _Silent
            if self._read():
                heard = now
            elif now - heard > (3 * _QUIET_S if asked else _QUIET_S):
                heard, asked = now, True
                if not self._answer_login():
                    self._write(question)

    def _answer_login(self) -> bool:
        """Whether a login stood there; then it is answered. Raises BoardError where that is not possible."""
        if _READY.search(self._seen):
            raise BoardError(
                f"rtprobe-lite answers on {self.address.name}",
                "it is no shell of Linux",
                "leave os=linux out of the address",
            )
        if self._logged_in and _REFUSED.search(self._seen):
            raise BoardError(
                f"{self.address.name} refuses the login of {self.address.user}",
                None,
                f"user=NAME in the address, its password in {PASSWORD_VARIABLE}",
            )
        if _PASSWORD.search(self._seen):
            password = os.environ.get(PASSWORD_VARIABLE)
            if password is None:
                raise BoardError(
                    f"{self.address.name} asks for a password", None, f"put it into the variable {PASSWORD_VARIABLE}"
                )
            self._write(password.encode() + b"\r")
        elif _LOGIN.search(self._seen):
            if self.address.user is None:
                raise BoardError(
                    f"{self.address.name} asks who logs in", None, "name the user in the address: ?os=linux&user=root"
                )
            self._write(self.address.user.encode() + b"\r")
            self._logged_in = True
        else:
            return False
        return True

    def _start(self) -> None:
        """The shell of `_SHELL`, at the end of a pipe, so that it prints no prompt and edits no lines."""
        self._started = True
        self._write(b" sh -c '%s' 2>/dev/null\r" % _HOLD)
        self._read_for(_QUIET_S)  # a shell that edits lines drops what is typed before it has begun a command
        self._say_until("echo @UP$((6 * 7))", rb"@UP42")
        missing = "; ".join(f"command -v {name} >/dev/null || echo @NO-{name}@" for name in _NEEDED)
        said = self._say_until(f"{missing}; echo @HAS$((6 * 7))", rb"@HAS42")
        if lacking := re.findall(rb"@NO-(\w+)@", said):
            names = ", ".join(name.decode() for name in dict.fromkeys(lacking))
            raise BoardError(
                f"the board at {self.address.name} lacks {names}",
                "a run over a console needs " + ", ".join(_NEEDED),
                "BusyBox has all of them: add them to its configuration",
            )
        text = base64.b64encode(_SHELL.encode())
        lines = b"c=\n" + b"".join(b"c=${c}%s\n" % text[at : at + _LINE] for at in range(0, len(text), _LINE))
        lines += b'[ "$(printf %%s "$c" | md5sum)" = "%s  -" ] && ' % _md5(text)
        lines += b'eval "$(printf %s "$c" | base64 -d)"; c=; [ -n "$D" ] && echo @OPEN$((6 * 7))'
        self._say_until(lines.decode(), rb"@OPEN42")

    def _say_until(self, line: str, pattern: bytes) -> bytes:
        """Write a line until what it prints was seen; returns what came. Raises _Silent."""
        self._seen = b""
        for _ in range(_ASKED_MOST):
            self._write(line.encode() + b"\n")
            until = time.monotonic() + _ASK_AGAIN_S + 2 * self._transfer_s(len(line))
            while time.monotonic() < until:
                self._read()
                if re.search(pattern, self._seen):
                    return self._seen
        raise _Silent

    def _close(self) -> None:
        with self._turn:
            if self._link is None:
                return
            self._leave()

    def _leave(self) -> None:
        """End our shell, log out where we logged in, let the console go."""
        with contextlib.suppress(BoardError):
            if self._started:
                self._seen = b""
                self._write(b"\n" + _CTRL_D)
                self._read_until(b"@OVER")
            if self._logged_in:
                self._write(b"exit\r")
                self._read_until(b"login:")
        self._drop()

    def _read_for(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._read()

    def _read_until(self, text: bytes) -> None:
        until = time.monotonic() + _LEAVE_S
        while text not in self._seen and time.monotonic() < until:
            self._read()

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _read(self) -> bytes:
        assert self._link is not None
        data = self._link.read()
        self._seen += data
        return data

    def _write(self, data: bytes) -> None:
        assert self._link is not None
        if data:
            self._link.write(data)


def _lines_of(text: bytes) -> bytes:
    """The base64 of a page, without the kernel's messages between its lines."""
    lines = re.findall(rb"(?m)^@([A-Za-z0-9+/]+=*)\r*$", text)
    return b"".join(line + b"\n" for line in lines)


def _unpacked(body: bytes, packed: bool) -> bytes:
    try:
        data = base64.b64decode(body)
        if not packed or not data:
            return data
        unpacker = zlib.decompressobj(wbits=31)
        found = unpacker.decompress(data, 2 * ANSWER_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise BoardError("the board's answer cannot be read", str(error)) from error
    if unpacker.unconsumed_tail:
        raise too_much("the console", "its shell", ANSWER_BYTES)
    return found


def _md5(data: bytes) -> bytes:
    """Against damage, not against people; every BusyBox has it, and not every one has `cksum`."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest().encode()
