"""iperf3: a fixed number of bytes through the loopback of the board."""

from __future__ import annotations

import re

from rtassay.model.errors import UsageError
from rtassay.model.parsed import json_value
from rtassay.works.base import Done, Part, ns_of

_STANDARD_MIB = 256
_PORT = 47_123
_SIZE = re.compile(r"(?P<number>\d{1,6})(?P<unit>[MG])")
# A server for one client, both on the loopback. iperf3 exits with 0 even if it could not connect: only its result tells. Both ends are waited for, so that the CPU time of the round has both.
_SCRIPT = (
    'iperf3 -s -1 -B 127.0.0.1 -p "$1" >/dev/null 2>&1 & n=0; '
    'while out=$(iperf3 -c 127.0.0.1 -p "$1" -n "$2" -i 0 -J 2>&1); case $out in *sum_received*) false;; esac; '
    'do n=$((n + 1)); [ $n -lt 50 ] || { echo "$out"; exit 1; }; sleep 0.1; done; echo "$out"; wait'
)


class Iperf3Work:
    """A server and a client of iperf3 on the loopback, one TCP connection, a fixed number of bytes: goodput is what the receiver got over the receiver's time. `iperf3:1G` sends another amount. The address is
    always 127.0.0.1."""

    name = "iperf3"
    summary = f"iperf3 on the loopback, {_STANDARD_MIB} MiB by TCP; iperf3:1G for another amount"
    program: str | None = "iperf3"

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        return (Part("", _mib(argument) << 20, "bytes"),)

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        return "sh", "-c", _SCRIPT, "sh", str(_PORT), f"{_mib(argument)}M"

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        try:
            told = json_value(text[text.index("{") :])["end"]["sum_received"]
            arrived, seconds = float(told["bytes"]), float(told["seconds"])
        except (ValueError, KeyError, TypeError, OverflowError):
            return ()
        if not 0 < arrived < 2**63 or not 0 < seconds < 1e6:
            return ()
        return (Done("", ns_of(seconds * (_mib(argument) << 20) / arrived)),)


def _mib(argument: str | None) -> int:
    if argument is None:
        return _STANDARD_MIB
    asked = _SIZE.fullmatch(argument.strip())
    if asked is None or not int(asked["number"]):
        raise UsageError(f"iperf3: '{argument}' is no amount of data", hint="iperf3:256M or iperf3:1G")
    return int(asked["number"]) * (1024 if asked["unit"] == "G" else 1)
