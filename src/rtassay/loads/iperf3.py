"""iperf3 as the load: data through the network stack, on the loopback or to and from another machine."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtassay.loads import iperf_common as common
from rtassay.loads.base import LoadCommand, LoadSpec, Meter, Rate
from rtassay.loads.tools import repeated

PORT = 5201
_ROW = re.compile(
    r"^\[\s*(?P<id>\d+)\](?:\[(?P<role>[RT])X-[CS]\])?\s+(?P<begin>\d+\.\d+)-(?P<end>\d+\.\d+)\s+sec"
    r"\s+\d+(?:\.\d+)? [KMGT]?Bytes\s+(?P<rate>\d+(?:\.\d+)?) Kbits/sec(?P<rest>.*)$"
)
_TROUBLE = re.compile(r"^iperf3: error - (?P<text>.+?)\s*$")
_LISTENS = "Server listening"


class Iperf3Load:
    """Alone: a server and a client on the board's loopback, data both ways. `iperf3:MACHINE` (user@host, or a board's name) starts the
    server on that machine over SSH, and data goes both ways. `iperf3:client=HOST` sends to a server elsewhere,
    `iperf3:server` waits for clients; with `port=N`, `streams=N`, `rate=10M`, `both`, `reverse`, `udp`, `bind=ADDRESS` beside. `iperf3:'-c HOST
    -w 64K -P 100'` gives it other arguments. Work is the data transferred, in bytes, by direction (sent, received) and by second.
    """

    name = "iperf3"
    summary = "iperf3 on the loopback; iperf3:MACHINE, iperf3:client=HOST, iperf3:server or iperf3:'-c HOST -P 4' over the network"

    def needs(self, argument: str | None) -> str | None:
        common.parse(self.name, argument)
        return "iperf3"

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        asked = common.parse(self.name, spec.argument)
        program = spec.program or "iperf3"
        port = asked.port or PORT + spec.index
        every = ["-i", str(asked.interval_s), "-f", "k", "--forceflush"]

        def to(host: str, port: int) -> list[str]:
            return [program, "-c", host, "-p", str(port), *every]

        if asked.pair:
            server = [program, "-s", "-1", "-B", common.LOOPBACK, "-p", str(port), *every]
            client = [*to(common.LOOPBACK, port), *_client(asked, spec, both=not asked.reverse)]
            return [
                LoadCommand(repeated(spec, server, once=True, more_s=2), common.CLASSES, _LISTENS),
                LoadCommand(repeated(spec, client, once=True, more_s=5), common.CLASSES),
            ]
        if asked.machine:
            server = [self.name, "-s", "-1", "-p", str(port), *every]
            client = [*to(str(asked.client), port), *_client(asked, spec, both=not asked.reverse)]
            return [
                LoadCommand(tuple(server), common.CLASSES, _LISTENS, on=asked.machine),
                LoadCommand(repeated(spec, client, once=True), common.CLASSES),
            ]
        if asked.raw:
            argv = [program, *every, *asked.raw]
            if not asked.server and not common.given(asked.raw, "-t", "--time", "-n", "--bytes", "-k", "--blockcount"):
                argv += ["-t", str(spec.duration_s)]
        elif asked.server:
            bind = ["-B", asked.bind] if asked.bind else []
            argv = [program, "-s", "-p", str(asked.port or PORT), *bind, *every]
        else:
            argv = [*to(str(asked.client), asked.port or PORT), *_client(asked, spec, both=asked.both)]
        ready = _LISTENS if asked.server else None
        return [LoadCommand(repeated(spec, argv, once=True), common.CLASSES, ready)]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter(wrapped=common.wrapped(argv))


def _client(asked: common.Connection, spec: LoadSpec, *, both: bool) -> list[str]:
    words = ["-t", str(spec.duration_s), "-P", str(asked.streams)]
    words += ["--bidir"] if both else ["-R"] if asked.reverse else []
    words += ["-u"] if asked.udp else []
    # UDP is limited to 1 Mbit/s unless told otherwise: no load.
    words += ["-b", asked.rate or "0"] if asked.udp or asked.rate else []
    return words + (["-B", asked.bind] if asked.bind and asked.client else [])


class _Meter(common.IntervalMeter):
    def __init__(self, *, wrapped: bool) -> None:
        super().__init__(wrapped=wrapped)
        self._trouble: str | None = None

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        if row := _ROW.match(text):
            begin, end = float(row["begin"]), float(row["end"])
            sent = float(row["rate"]) * 125 * (end - begin)
            return self.row(mono_ns, _direction(row["role"], row["rest"]), row["id"], begin, end, sent)
        if "] local " in text and " connected to " in text:
            self.connected()
        elif self._trouble is None and not self.asked_to_end and (found := _TROUBLE.match(text)):
            self._trouble = found["text"]
        return []

    def trouble(self) -> str | None:
        return self._trouble


def _direction(role: str | None, rest: str) -> str:
    """Rows name their role only with --bidir; else senders have more columns (TCP: retries; UDP: a count of datagrams)."""
    if role is not None:
        return "sent" if role == "T" else "received"
    return "sent" if rest.strip() and " ms " not in rest and "receiver" not in rest else "received"
