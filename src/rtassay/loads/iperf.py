"""iperf (version 2) as the load, for boards that have no iperf3."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtassay.loads import iperf_common as common
from rtassay.loads.base import LoadCommand, LoadSpec, Meter, Rate
from rtassay.loads.tools import inside, repeated

PORT = 5001
_ROW = re.compile(
    r"^\[\s*(?P<id>\*?\d+)\]\s+(?P<begin>\d+\.\d+)-\s*(?P<end>\d+\.\d+)\s+sec\s+(?P<kbytes>\d+(?:\.\d+)?) KBytes"
    r"\s+\d+(?:\.\d+)? Kbits/sec"
)
_TROUBLE = re.compile(
    r"^(?:connect failed|bind failed|(?:tcp )?(?:connect|accept|write\d*) failed|error):?.*$", re.IGNORECASE
)
_LISTENS = "Server listening"


class IperfLoad:
    """Alone: a server and a client on the board's loopback, with two connections for each stream asked for. Its arguments are those of the
    load `iperf3`. Work is the data transferred, in bytes; iperf does not tell the direction if data goes both ways.
    """

    name = "iperf"
    summary = "iperf 2 on the loopback; iperf:MACHINE, iperf:client=HOST, iperf:server or iperf:'-c HOST -P 4' over the network"

    def needs(self, argument: str | None) -> str | None:
        common.parse(self.name, argument)
        return "iperf"

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        asked = common.parse(self.name, spec.argument)
        program = spec.program or "iperf"
        every = ["-i", str(asked.interval_s), "-f", "k"]
        udp = ["-u"] if asked.udp else []

        def to(host: str, port: int) -> list[str]:
            return [program, "-c", host, "-p", str(port), *every]

        if asked.pair:
            port = asked.port or PORT + spec.index
            # Not iperf's own test of both directions: there the server connects back, and fails if the client does not listen yet.
            # On a loopback the direction makes no difference, so more connections are the same work.
            streams = asked.streams if asked.reverse else 2 * asked.streams
            server = [program, "-s", "-B", common.LOOPBACK, "-p", str(port), *every, *udp]
            client = [*to(common.LOOPBACK, port), *_client(asked, spec, streams)]
            return [
                LoadCommand(repeated(spec, server, once=True, more_s=2), common.CLASSES, _LISTENS),
                LoadCommand(repeated(spec, client, once=True, more_s=5), common.CLASSES),
            ]
        if asked.machine:
            # Both ways over one connection (2.1): the far end need not reach the board.
            port = asked.port or PORT + spec.index
            both = [] if asked.reverse else ["--full-duplex"]
            server = [self.name, "-s", "-p", str(port), *every, *udp]
            client = [*to(str(asked.client), port), *_client(asked, spec, asked.streams), *both]
            return [
                LoadCommand(tuple(server), common.CLASSES, _LISTENS, on=asked.machine),
                LoadCommand(repeated(spec, client, once=True), common.CLASSES),
            ]
        if asked.raw:
            argv = [program, *every, *asked.raw]
            if not asked.server and not common.given(asked.raw, "-t", "--time", "-n", "--num"):
                argv += ["-t", str(spec.duration_s)]
        elif asked.server:
            bind = ["-B", asked.bind] if asked.bind else []
            argv = [program, "-s", "-p", str(asked.port or PORT), *bind, *every, *udp]
        else:
            port = asked.port or PORT
            both = ["-d", "-L", str(port + 1)] if asked.both else []
            argv = [*to(str(asked.client), port), *_client(asked, spec, asked.streams), *both]
        ready = _LISTENS if asked.server else None
        return [LoadCommand(repeated(spec, argv, once=True), common.CLASSES, ready)]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter(inside(argv), wrapped=common.wrapped(argv))


def _client(asked: common.Connection, spec: LoadSpec, streams: int) -> list[str]:
    words = ["-t", str(spec.duration_s), "-P", str(streams), *(["-R"] if asked.reverse else [])]
    words += ["-u", "-b", asked.rate or "10G"] if asked.udp else ["-b", asked.rate] if asked.rate else []
    return words + (["-B", asked.bind] if asked.bind and asked.client else [])


class _Meter(common.IntervalMeter):
    def __init__(self, words: Sequence[str], *, wrapped: bool) -> None:
        super().__init__(wrapped=wrapped)
        backwards = common.given(words, "-R", "--reverse")
        if common.given(words, "-d", "--dualtest", "--full-duplex"):
            self._direction = "sent and received"
        elif common.given(words, "-s", "--server"):
            self._direction = "received or sent"
        else:
            self._direction = "received" if backwards else "sent"
        self._trouble: str | None = None

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        if row := _ROW.match(text):
            sent = float(row["kbytes"]) * 1024
            return self.row(mono_ns, self._direction, row["id"], float(row["begin"]), float(row["end"]), sent)
        if self._trouble is None and not self.asked_to_end and _TROUBLE.match(text):
            self._trouble = text.strip()
        return []

    def trouble(self) -> str | None:
        return self._trouble
