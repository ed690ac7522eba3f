"""A board that runs Linux and is reached over its console alone: no network, no SSH. What a person would type is typed there."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shlex
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rtassay.boards import copying, links, slim
from rtassay.boards.base import ANSWER_BYTES, LinkLost
from rtassay.boards.console_shell import PIECE_BYTES, ConsoleLink
from rtassay.boards.consoles import Address, parse
from rtassay.boards.known import KnownBoard
from rtassay.boards.linked import PATIENCE_S, LinkTransport
from rtassay.boards.linux import DetachedBoard
from rtassay.model.errors import BoardError, UsageError

_STDERR_KEPT = 64 * 1024
# Output that one look fetches; above the other number the board forgets what was fetched.
_LOOK_BYTES = 128 * 1024
_FETCHED_BYTES = 1024 * 1024
_LOOK_SOONEST_S, _LOOK_LATEST_S = 0.1, 1.0
_TOLD_EVERY_S = 5.0
_ENDS_S = 2.0

# $1 directory, then the command. Its stdin is held open by a sleeper until it is closed; the shell around it keeps its exit code.
_START = """i=$1; shift; mkdir $i && mkfifo $i/in || exit
case $1 in */*) [ -x "$1" ];; *) command -v "$1" >/dev/null;; esac || { echo none; exit; }
sleep 1000000000 >$i/in & echo $! >$i/holder
{ "$@" <$i/in >>$i/out 2>>$i/err & p=$!; echo $p >$i/pid; wait $p; echo $? >$i/exit; kill $(cat $i/holder); } >/dev/null &
while [ ! -s $i/pid ]; do sleep 0.1 || sleep 1; done; cat $i/pid"""
# $1 directory, $2 bytes that are known, $3 1: forget them. The command stands still while its file is shortened.
_LOOK = """i=$1 n=$2; e=$(cat $i/exit); if [ $3 = 1 ]; then read -r p <$i/pid; kill -STOP $p
tail -c +$((n + 1)) $i/out >$i/rest; cat $i/rest >$i/out; rm $i/rest; kill -CONT $p; n=0; fi
echo "$(($(wc -c <$i/out))) ${e:--}"; tail -c +$((n + 1)) $i/out | dd bs=1024 count=KIB""".replace(
    "KIB", str(_LOOK_BYTES // 1024)
)


class ConsoleProcess:
    """A command that runs in the background of the console's shell; its output is looked at. `pid` is the board's."""

    def __init__(self, transport: ConsoleTransport, name: str, directory: str, argv: Sequence[str]) -> None:
        self._transport, self._name, self._directory, self._argv = transport, name, directory, argv
        self._known = 0
        self._code: int | None = None
        self._closed = False
        self._drained = False
        self.pid = 0

    async def begin(self) -> None:
        """Raises BoardError where the program is not there."""
        script = shlex.join(["set", "--", self._directory, *self._argv])
        told = (await self._transport.run(f"{script}\n{_START}")).split()
        if not told or not told[-1].isdigit():
            why = "there is no such program on the board" if b"none" in told else "the shell of its console refused"
            raise BoardError(f"cannot start {self._argv[0]} on {self._transport.name}", why)
        self.pid = int(told[-1])

    async def chunks(self) -> AsyncIterator[bytes]:
        pause_s = _LOOK_SOONEST_S
        while not self._drained:
            data = await self._look()
            if data:
                yield data
            elif not self._drained:
                await asyncio.sleep(pause_s)
            pause_s = _LOOK_SOONEST_S if data else min(2 * pause_s, _LOOK_LATEST_S)

    async def errors(self) -> bytes:
        return await self._transport.look(f"tail -c {_STDERR_KEPT} {shlex.quote(self._directory)}/err")

    async def write(self, data: bytes) -> None:
        """Bytes are lost where the command has ended, as in a pipe."""
        import base64

        pipe = shlex.quote(f"{self._directory}/in")
        for at in range(0, len(data), PIECE_BYTES):
            text = base64.b64encode(data[at : at + PIECE_BYTES]).decode()
            # Opened for both ways, it does not wait for a reader that is gone.
            await self._transport.look(f"[ -f {self._directory}/exit ] || echo {text} | base64 -d 1<>{pipe}")

    async def close_stdin(self) -> None:
        if not self._closed:
            self._closed = True
            await self._transport.look(f"kill $(cat {shlex.quote(self._directory)}/holder)")

    async def signal(self, number: int) -> None:
        if self._code is None:
            await self._transport.look(f"kill -{int(number)} {self.pid}")

    async def wait(self, timeout_s: float | None = None) -> int:
        async with asyncio.timeout(timeout_s):
            while self._code is None:
                told = await self._transport.look(f"cat {shlex.quote(self._directory)}/exit; echo .")
                word = told.split()[0]
                self._code = int(word) if word.isdigit() else None
                if self._code is None:
                    await asyncio.sleep(_LOOK_SOONEST_S)
        return self._code

    async def end(self) -> None:
        """Close stdin, wait a little, then kill it; its files go."""
        with contextlib.suppress(BoardError):
            await self.close_stdin()
            with contextlib.suppress(TimeoutError):
                await self.wait(_ENDS_S)
            if self._code is None:
                await self.signal(9)
            await self._transport.look(f"rm -rf {shlex.quote(self._directory)}")

    async def _look(self) -> bytes:
        forget = self._known >= _FETCHED_BYTES
        words = shlex.join(["set", "--", self._directory, str(self._known), "1" if forget else "0"])
        told = await self._transport.look(f"{words}\n{_LOOK}")
        head, newline, data = told.partition(b"\n")
        numbers = head.split()
        if not newline or len(numbers) != 2 or not numbers[0].isdigit():
            raise LinkLost(f"{self._transport.name} knows nothing of {self._argv[0]} any more", cut=True)
        self._known = (0 if forget else self._known) + len(data)
        if numbers[1].isdigit():
            self._code = int(numbers[1])
            self._drained = self._known >= int(numbers[0])
        return data


class ConsoleTransport(LinkTransport[ConsoleLink]):
    """Commands through the shell of a console, one after the other."""

    def __init__(self, address: Address | None, *, sudo: str = "auto", patience_s: float = PATIENCE_S) -> None:
        super().__init__("serial" if address is None else address.name, sudo=sudo, patience_s=patience_s)
        self._address = address
        self._processes: list[ConsoleProcess] = []
        self._numbers = itertools.count()

    def _new_link(self) -> tuple[ConsoleLink, str]:
        if self._address is None:
            raise UsageError("serial: which line?", hint="rtassay run 'serial:/dev/ttyUSB0?os=linux&user=root'")
        return ConsoleLink(self._address, links.open_link), self._address.name

    async def start(self, argv: Sequence[str]) -> ConsoleProcess:
        """As root where that is possible. Raises BoardError, LinkLost."""
        name = f"p{next(self._numbers)}"
        where = (await self._opened().ask("echo $D")).decode(errors="replace").strip()
        process = ConsoleProcess(self, name, f"{where}/{name}", argv)
        await process.begin()
        self._processes.append(process)
        return process

    async def look(self, script: str) -> bytes:
        """As `run`, of a script that starts nothing: it need not wait for the load. Raises LinkLost."""
        return await self._opened().ask_first(shlex.join([*self._become, "sh", "-c", script]))

    async def read(self, path: str) -> bytes | None:
        told = await self.look(f"[ -f {shlex.quote(path)} ] && echo file; dd bs=65536 count=64 <{shlex.quote(path)}")
        there, newline, content = told.partition(b"\n")
        return content[:ANSWER_BYTES] if newline and there == b"file" else None

    async def put(self, source: Path, target: str, then: str = "") -> bytes:
        """As few bytes as the board can unpack, in pieces with a checksum each; the whole by its hash. Raises BoardError."""
        try:
            data = slim.for_loading(await asyncio.to_thread(source.read_bytes))
        except OSError as error:
            raise BoardError(f"cannot read {source}", error.strerror) from error
        link = self._opened()
        ask = f"rm -f $D/w; for p in {' '.join(slim.UNPACKERS)}; do command -v $p >/dev/null && echo $p; done"
        unpackers = (await link.ask(ask)).decode(errors="replace").split()
        there, unpack = await asyncio.to_thread(slim.packed, data, [one for one in slim.UNPACKERS if one in unpackers])
        await self._send(link, there, source.name)
        copied = shlex.join([*self._become, "sh", "-c", copying.PUT, "sh", target, then])
        script = f"({unpack} <$D/w | {copied}) >$D/y 2>$D/x; c=$?; echo $c"
        ended = "if [ $c = 0 ]; then cat $D/y; else tail -c 400 $D/x; fi; rm -f $D/w $D/x $D/y"
        code, _, said = (await link.ask(f"{script}; {ended}", copying.COPY_S)).partition(b"\n")
        if code != b"0":
            raise copying.refused(self.name, source, target, said.decode(errors="replace").strip())
        sum_there, _, said = said.partition(b"\n")
        same = copying.has_sum(sum_there, data)
        if not (await self.read(target) == data if same is None else same):
            raise copying.damaged(self.name, source)
        return said

    async def close(self) -> None:
        processes, self._processes = self._processes, []
        if self.alive:
            for process in processes:
                await process.end()
        await super().close()

    async def _send(self, link: ConsoleLink, data: bytes, name: str) -> None:
        begun = told = time.monotonic()
        for at in range(0, len(data), PIECE_BYTES):
            await link.add(data[at : at + PIECE_BYTES])
            now = time.monotonic()
            done = at + PIECE_BYTES
            if now - told >= _TOLD_EVERY_S and done < len(data):
                told = now
                left_s = (now - begun) * (len(data) - done) / done
                self.notice(
                    f"copying {name} over {self.name}: {100 * done // len(data)} % of {len(data) // 1024} KiB, {left_s:.0f} s more"
                )


class SerialBoard(DetachedBoard):
    """`serial:/dev/ttyUSB0?os=linux`, also over `unix:`, `telnet:` and `rfc2217:`."""

    name = "serial"
    slow = True
    transport: ConsoleTransport

    def __init__(
        self, text: str | None = None, *, name: str | None = None, directory: str | None = None, sudo: str = "auto"
    ) -> None:
        address = None if text is None else parse(text)
        super().__init__(ConsoleTransport(address, sudo=sudo), directory=directory)
        self.baud = None if address is None else address.baud
        if name is not None:
            self.name = self.transport.name = name

    @classmethod
    def known(cls, board: KnownBoard) -> SerialBoard:
        """A board that a person named."""
        return cls(board.address, name=board.name, directory=board.directory, sudo=board.sudo)
