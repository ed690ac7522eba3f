"""Shared parts of iperf3 and iperf: options of a connection, and work per second from rows of intervals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rtassay.loads.base import LoadResult, Rate
from rtassay.loads.tools import Lines, RepeatMeter, split
from rtassay.model.errors import UsageError
from rtassay.model.events import Output
from rtassay.model.manifest import WorkPart

LOOPBACK = "127.0.0.1"
CLASSES = ("network",)
_VALUES = ("client", "port", "streams", "rate", "bind", "address")
_MACHINE = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9._:@\[\]-]{0,250}")
_FLAGS = ("server", "both", "reverse", "udp")
_PORTS = range(1, 65536)


@dataclass(frozen=True, slots=True)
class Connection:
    """`client`, `server` and `machine` all off: a pair of them on the loopback. `machine`: the server is started there, over SSH, and
    the client connects to `client`. `raw`: the tool's own arguments instead."""

    client: str | None = None
    server: bool = False
    port: int | None = None
    streams: int = 1
    rate: str | None = None
    bind: str | None = None
    both: bool = False
    reverse: bool = False
    udp: bool = False
    raw: tuple[str, ...] = ()
    machine: str | None = None

    @property
    def pair(self) -> bool:
        """A server and a client, both on the board."""
        return not (self.client or self.server or self.raw)

    @property
    def interval_s(self) -> int:
        """Seconds between rows; longer with many streams, because each row then has many lines."""
        return 1 if self.streams <= 8 else 10


def parse(name: str, argument: str | None) -> Connection:
    """`MACHINE,port=5201,streams=4,udp`, `client=HOST,both`, `server`, or arguments of the tool itself. Raises UsageError."""
    if argument is None:
        return Connection()
    if argument.lstrip().startswith("-"):
        return _raw(name, split(name, argument))
    known: dict[str, str] = {}
    flags: set[str] = set()
    first, _, rest = argument.partition(",")
    machine = first.strip()
    if machine in (*_FLAGS, *_VALUES) or not _MACHINE.fullmatch(machine):
        machine, rest = "", argument
    for part in rest.split(",") if rest or not machine else ():
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and key in _VALUES and value:
            known[key] = value
        elif not equals and key in _FLAGS:
            flags.add(key)
        else:
            raise UsageError(
                f"{name} does not know '{part.strip()}'",
                hint=f"known: MACHINE (first), client=HOST, server, port=N, streams=N, rate=10M, bind=ADDRESS, address=ADDRESS, both, reverse, udp; or {name}:'-c HOST ...'",
            )
    found = Connection(
        client=known.get("client") or (_address(machine, known.get("address")) if machine else None),
        server="server" in flags,
        port=_number(name, "port", known.get("port"), _PORTS),
        streams=_number(name, "streams", known.get("streams"), range(1, 129)) or 1,
        rate=known.get("rate"),
        bind=known.get("bind"),
        both="both" in flags,
        reverse="reverse" in flags,
        udp="udp" in flags,
        machine=machine or None,
    )
    if machine and ("client" in known or found.server):
        raise UsageError(f"{name}: {machine} starts the server there", hint="leave client= and server out")
    if "address" in known and not machine:
        raise UsageError(f"{name}: address= belongs to a machine", hint=f"{name}:user@host,address=192.168.1.10")
    if found.client and found.server:
        raise UsageError(f"{name}: client=HOST and server exclude each other", hint=f"ask for {name} twice")
    if found.server and (found.both or found.reverse):
        raise UsageError(
            f"{name}: the client says in which direction data goes", hint="leave 'both' and 'reverse' to the other end"
        )
    if found.both and found.reverse:
        raise UsageError(f"{name}: 'both' and 'reverse' exclude each other")
    return found


def _address(machine: str, given: str | None) -> str:
    """Where the client connects to: as given, else the host of `user@host:port`."""
    if given is not None:
        return given
    host = machine.rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _raw(name: str, words: list[str]) -> Connection:
    server = any(word in ("-s", "--server") for word in words)
    client = any(word in ("-c", "--client") or word.startswith(("-c", "--client=")) for word in words)
    if server == client:
        raise UsageError(f"{name}:{' '.join(words)} is neither a client nor a server", hint="give -c HOST or -s")
    if any(word in ("-J", "--json", "-D", "--daemon", "--logfile", "-y") for word in words):
        raise UsageError(f"{name} must stay in the foreground and write text", hint="leave -J, -D and --logfile out")
    streams = [after for word, after in pairwise(words) if word in ("-P", "--parallel")]
    number = int(streams[0]) if streams and streams[0].isdigit() else 1
    return Connection(server=server, client=None if server else "as given", streams=number, raw=tuple(words))


def _number(name: str, key: str, text: str | None, allowed: range) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) not in allowed:
        raise UsageError(f"{name}: {key}={text} is not a number from {allowed[0]} to {allowed[-1]}")
    return int(text)


@dataclass(slots=True)
class _Direction:
    bytes: float = 0.0
    seconds: float = 0.0
    streams: int = 0


class IntervalMeter(RepeatMeter):
    """Sums the rows of all connections, by the direction of the data; a row of all streams together is one rate."""

    def __init__(self, *, wrapped: bool = True) -> None:
        super().__init__()
        self._wrapped = wrapped
        self._text = Lines()
        self._directions: dict[str, _Direction] = {}
        self._ends: dict[str, float] = {}
        self._open: tuple[float, float, int, float] | None = None

    def take(self, output: Output) -> list[Rate]:
        """On another machine nothing wraps it: its rows come on stdout."""
        if self._wrapped:
            return super().take(output)
        return [rate for text in self._text.feed(output.data) for rate in self._line(output.mono_ns, text)]

    def failure(self) -> str | None:
        return super().failure() if self._wrapped else None

    def counts_rounds(self) -> bool:
        return False

    def connected(self) -> None:
        """A new connection: intervals begin at 0 again."""
        self._ends.clear()

    def row(self, mono_ns: int, direction: str, stream: str, begin: float, end: float, sent: float) -> list[Rate]:
        """One row of one stream: `sent` bytes from `begin` to `end`, in seconds of the connection. A sum at the end is left out."""
        known = self._ends.get(stream)
        if (known is not None and begin < known - 1e-6) or end <= begin:
            return []
        total = self._directions.setdefault(direction, _Direction())
        if known is None:
            total.streams += 1
        total.bytes += sent
        total.seconds = max(total.seconds, end)
        self._ends[stream] = end
        return self._rate(mono_ns, begin, end, sent)

    def _rate(self, mono_ns: int, begin: float, end: float, sent: float) -> list[Rate]:
        """Rows of one interval come together: its rate is known when the next begins."""
        if self._open is not None and abs(self._open[0] - begin) < 0.1:
            self._open = (begin, max(end, self._open[1]), mono_ns, self._open[3] + sent)
            return []
        done, self._open = self._open, (begin, end, mono_ns, sent)
        if done is None or done[1] - done[0] < 0.5:
            return []
        return [Rate(done[2], done[3] / (done[1] - done[0]), "bytes/s")]

    def summary(self) -> LoadResult:
        parts = tuple(
            WorkPart(direction, total.bytes, "bytes", total.seconds, total.streams)
            for direction, total in self._directions.items()
        )
        done = sum(total.bytes for total in self._directions.values())
        if not done:
            return LoadResult(None, None, self.trouble() or self.failure() or "no data went through", parts)
        return LoadResult(done, "bytes", self.trouble() or self.failure(), parts)

    def trouble(self) -> str | None:
        """The tool's error message, if it wrote one."""
        return None


def wrapped(argv: Sequence[str]) -> bool:
    """Whether `rtprobe repeat` bounds the command."""
    return list(argv[1:2]) == ["repeat"]


def given(words: Iterable[str], *names: str) -> bool:
    """Whether an option is among a person's own arguments, in any spelling."""
    return any(
        word in names or any(word.startswith(f"{name}=" if name.startswith("--") else name) for name in names)
        for word in words
    )
