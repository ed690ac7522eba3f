"""A look at the run that another host has on a board. Nothing there is changed: no lease, no file, no order to a process."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from rtassay.boards import claims
from rtassay.boards import lease as leases
from rtassay.boards.base import PROBE, LinkLost, RemoteTransport
from rtassay.boards.lease import Lease
from rtassay.boards.places import all_places_script
from rtassay.model import foreign
from rtassay.model.errors import BoardError

T = TypeVar("T")
_BLOCK, _BLOCKS = 65536, 16
# A watcher that is farther behind skips what lies between: each second tells the sums up to it.
_BEHIND_BYTES = 4 * 1024 * 1024
# There are fewer places, and fewer words on a command line of ours.
_MOST = 64
_SEGMENT = 20  # digits of its name


class Stage(Enum):
    """How far a run is, as its board shows it."""

    SET_UP = "set-up"  # the probe has not been launched
    MEASURES = "measures"
    COLLECTS = "collects"  # the probe has ended; its host fetches the rest
    GONE = "gone"  # fetched by its host, or cleared
    LEFT = "left"  # its host is silent, and nothing of it runs


@dataclass(frozen=True, slots=True)
class Look:
    """`data`: the next bytes of the probe's stream; `gap`: bytes before them were not seen; `more`: there are more at once."""

    stage: Stage
    data: bytes = b""
    gap: bool = False
    more: bool = False


@dataclass(frozen=True, slots=True)
class _Answer:
    fields: dict[str, str]
    segments: dict[int, int] = field(default_factory=dict)  # first byte -> size
    body: bytes = b""


class Watching:
    """From `begin` to `close`: what a run of another host writes on the board. `lease` tells whose it is."""

    def __init__(self, transport: RemoteTransport, asked_directory: str | None = None) -> None:
        self._transport = transport
        self._asked_directory = asked_directory
        self._place = ""
        self._segment: int | None = None
        self._offset = 0
        self._gap = False
        self.lease: Lease | None = None

    async def begin(self, notice: Callable[[str], None]) -> Lease | None:
        """Connect and find the run. None: nobody uses the board. Raises BoardError if its files may not be read."""
        self._transport.notice = notice
        await self._transport.open()
        uid = self._transport.uid
        places = await self._ask(all_places_script(uid, self._asked_directory))
        directories = [line for line in places.decode(errors="replace").split("\n") if foreign.is_path(line)][:_MOST]
        for directory in directories:
            occupancy = leases.occupancy_of(await self._ask(leases.occupancy_script(directory)))
            if occupancy.held:
                return self._found(directory, occupancy.lease)
        look = 'echo "boot_id=$(cat /proc/sys/kernel/random/boot_id)"; read -r up x </proc/uptime; echo "uptime=$up"\n'
        answer = await self._ask(look + claims.LOOK_SCRIPT)
        boot_id = leases.occupancy_of(answer).boot_id
        for claim in claims.claims_of(answer):
            if not claim.counts(boot_id) or not foreign.is_path(claim.directory):
                continue
            if uid not in (0, claim.uid):
                raise BoardError(
                    f"the run on board '{self._transport.name}' cannot be watched",
                    f"it is by {claim.lease.words()}, and only user {claim.user or claim.uid} of the board and root may read it",
                    "log in as one of them: rtassay watch root@BOARD",
                )
            return self._found(claim.directory, claim.lease)
        return None

    async def command(self) -> tuple[str, ...]:
        """The words of the command that measures; none where they cannot be read."""
        spool = shlex.quote(f"{self._run}/{PROBE}/pid")
        answer = await self._ask(f"read -r x x c x <{spool} && tr '\\0' '\\n' </proc/$c/cmdline")
        return tuple(answer.decode(errors="replace").split("\n")[: _MOST * 4])

    async def look(self) -> Look:
        """What is new. Raises BoardError when the board is not reached any more."""
        answer = _answer_of(await self._ask(self._script()))
        told = answer.fields
        if "gone" in told:
            return Look(Stage.GONE)
        stage = Stage.SET_UP if "probe" not in told else Stage.COLLECTS if "ended" in told else Stage.MEASURES
        if not _heard_lately(told) and "alive" not in told:
            stage = Stage.LEFT
        before = self._segment
        data, gap = self._take(answer)
        behind = any(self._offset < at + size for at, size in answer.segments.items())
        return Look(stage, data, gap, behind and (bool(data) or self._segment != before))

    async def close(self) -> None:
        await self._transport.close()

    def _found(self, directory: str, lease: Lease | None) -> Lease | None:
        self._place, self.lease = directory, lease
        return lease

    @property
    def _run(self) -> str:
        assert self.lease is not None
        return f"{self._place}/{self.lease.run}"

    def _script(self) -> str:
        """Prints KEY=VALUE lines, an empty one, and the bytes of a segment from the block on that holds our next byte."""
        read = ""
        if self._segment is not None:
            skip = (self._offset - self._segment) // _BLOCK
            read = f"dd if={self._segment:0{_SEGMENT}} bs={_BLOCK} skip={skip} count={_BLOCKS} 2>/dev/null"
        place, run = shlex.quote(self._place), shlex.quote(self._run)
        return f"""
read -r up x </proc/uptime; echo "uptime=$up"
read -r heard x <{place}/{leases.HEARTBEAT} && echo "heartbeat=$heard"
[ -d {run} ] || {{ echo gone=1; echo; exit 0; }}
cd {run}/{PROBE} || {{ echo; exit 0; }}
echo probe=1
[ -f exit ] && echo ended=1
read -r pid x <pid && [ ! -f exit ] && kill -0 "$pid" && echo alive=1
ls -ln | while read -r x x x x size x x x name; do case $name in [0-9]*) echo "segment=$name $size";; esac; done
echo
{read}
"""

    def _take(self, answer: _Answer) -> tuple[bytes, bool]:
        """Our next bytes out of an answer, and whether some before them were not seen; sets where the next look begins."""
        segments, data, gap = answer.segments, b"", self._gap
        if self._segment is not None and self._segment in segments:
            data = answer.body[(self._offset - self._segment) % _BLOCK :]
            self._offset += len(data)
        if data:
            self._gap = False
        if not segments:
            return data, gap
        newest = max(segments)
        if newest + segments[newest] - self._offset > _BEHIND_BYTES and self._segment != newest and data:
            self._begin_at(newest)
        elif self._offset in segments:
            self._segment = self._offset
        elif self._segment not in segments:  # not begun yet, or fetched by its host and deleted
            self._begin_at(min((at for at in segments if at >= self._offset), default=newest))
        return data, gap

    def _begin_at(self, segment: int) -> None:
        self._gap = self._gap or segment != self._offset
        self._segment = self._offset = segment

    async def _ask(self, script: str) -> bytes:
        return await _through_cuts(self._transport, lambda: self._transport.run(script))


async def _through_cuts(transport: RemoteTransport, work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    except LinkLost:
        await transport.reach()
    return await work()


def _heard_lately(told: dict[str, str]) -> bool:
    try:
        return float(told["uptime"]) - float(told["heartbeat"]) < leases.SILENT_S
    except (KeyError, ValueError):
        return False


def _answer_of(answer: bytes) -> _Answer:
    """Lines that cannot be read are left out."""
    head, _, body = answer.partition(b"\n\n")
    fields: dict[str, str] = {}
    segments: dict[int, int] = {}
    for line in head.decode(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key != "segment":
            fields[key] = value
            continue
        name, _, size_text = value.partition(" ")
        size = foreign.number(size_text)
        if len(name) == _SEGMENT and name.isdecimal() and name.isascii() and size is not None and size >= 0:
            segments[int(name)] = size
    return _Answer(fields, segments, body)
