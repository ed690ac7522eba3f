"""A transport over one connection at a time, which is made again when it is lost: what SSH and a console share."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from rtassay.boards.base import ANSWER_S, AttachedProcess, LinkLost, nothing_to_sync
from rtassay.boards.binaries import installed_probe
from rtassay.boards.copying import copy
from rtassay.boards.lease import CLEARED_S, SILENT_S
from rtassay.boards.places import CONTACT_SCRIPT, Contact, contact_of
from rtassay.model.errors import BoardError

_SMALL_FILE = 4 * 1024 * 1024
# The host gives up after the link was lost for this long. The board goes on, and `run --attach` fetches the result.
PATIENCE_S = 900.0
# Before anything is measured it gives up when the board's lease has ended.
SET_UP_PATIENCE_S = SILENT_S
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
# A connection that is cut before the board has said who it is may never come: it is tried again so often.
_FIRST_TRIES = 4


class ShellLink(Protocol):
    """One connection to a shell on the board. `farewell`: a script that the board runs, detached, when it has ended in any way."""

    farewell: str

    @property
    def alive(self) -> bool:
        """Whether a command can be sent at this moment."""
        ...

    async def connect(self, first: str = "true") -> bytes:
        """Connect, anew if need be; returns the answer of the script `first`. Raises LinkLost, or BoardError with the next step."""
        ...

    async def ask(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        """The stdout of a small shell script. Raises LinkLost."""
        ...

    async def close(self) -> None:
        """Disconnect. A second call does no harm."""
        ...


L = TypeVar("L", bound=ShellLink)


class LinkTransport(Generic[L]):
    """One connection at a time, made again when it is lost, for up to `patience_s`. A subclass says what a connection is (`_new_link`), and starts commands.

    `sudo`: `auto` runs commands with `sudo -n` if the user that logs in is not root and sudo asks for no password; `never` runs
    them as that user.
    """

    def __init__(self, name: str, *, sudo: str = "auto", patience_s: float = PATIENCE_S) -> None:
        self.name = name
        self.notice: Callable[[str], None] = lambda sentence: None
        self.verify: Callable[[], Awaitable[None]] = nothing_to_sync
        self.measures: Callable[[], bool] = lambda: False
        self._farewell = ""
        self._sudo = sudo
        self._patience_s = patience_s
        self._link: L | None = None
        self._contact: Contact | None = None
        self._become: tuple[str, ...] = ()
        self._reaching = asyncio.Lock()
        self._offline_s = 0.0
        self._lost_at_s: float | None = None

    @property
    def alive(self) -> bool:
        return self._link is not None and self._link.alive

    @property
    def connected(self) -> bool:
        return self._lost_at_s is None

    @property
    def offline_s(self) -> float:
        return self._offline_s + (0.0 if self._lost_at_s is None else time.monotonic() - self._lost_at_s)

    @property
    def contact(self) -> Contact:
        assert self._contact is not None
        return self._contact

    @property
    def uid(self) -> int:
        return 0 if self._become else self.contact.uid

    def _new_link(self) -> tuple[L, str]:
        """A connection that is not made yet, and its other end's name in messages."""
        raise NotImplementedError

    async def open(self) -> None:
        if self._link is not None:
            return
        link, where = self._new_link()
        self._farewell = ""
        answer = await self._first_contact(link)
        self._link = link
        try:
            contact = self._contact = contact_of(answer, where)
            self._become = self._words_for_root(contact)
        except BaseException:
            await self.close()
            raise

    async def _first_contact(self, link: L) -> bytes:
        """The board's answer. A link that was cut is tried again; one that was refused is not."""
        for pause_s in _BACKOFF_S[: _FIRST_TRIES - 1]:
            try:
                return await link.connect(CONTACT_SCRIPT)
            except LinkLost as error:
                if not error.cut:
                    raise
                self.notice(f"the link to board '{self.name}' was cut at the first contact; trying again")
            await asyncio.sleep(pause_s)
        return await link.connect(CONTACT_SCRIPT)

    @property
    def farewell(self) -> str:
        return self._farewell

    @farewell.setter
    def farewell(self, script: str) -> None:
        """Runs as root where that is possible."""
        self._farewell = script
        if self._link is not None:
            self._link.farewell = shlex.join([*self._become, "sh", "-c", script])

    async def run(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        """As root where that is possible. Raises LinkLost."""
        return await self._opened().ask(shlex.join([*self._become, "sh", "-c", script]), timeout_s)

    async def start(self, argv: Sequence[str]) -> AttachedProcess:
        """As root where that is possible. Raises LinkLost."""
        raise NotImplementedError

    async def put(self, source: Path, target: str, then: str = "") -> bytes:
        return await copy(self, source, target, then)

    async def read(self, path: str) -> bytes | None:
        process = await self.start(["cat", path])
        try:
            await process.close_stdin()
            output = bytearray()
            async with asyncio.timeout(ANSWER_S):
                async for chunk in process.chunks():
                    output += chunk
                    if len(output) >= _SMALL_FILE:
                        return bytes(output[:_SMALL_FILE])
            return bytes(output) if await process.wait(ANSWER_S) == 0 else None
        except TimeoutError as error:
            raise LinkLost(f"board '{self.name}' does not answer", f"reading {path} did not end") from error
        finally:
            await process.end()

    async def reach(self) -> None:
        async with self._reaching:
            if self._link is None:
                raise BoardError(f"board '{self.name}' is closed")
            if self._link.alive:
                # Another stream may have connected before us, and to a board that was restarted.
                with contextlib.suppress(LinkLost):
                    await self.run(":")  # a connection that broke just now still looks alive
                    await self.verify()
                    self._found_again()
                    return
            if self._lost_at_s is None:
                self._lost_at_s = time.monotonic()
                then = "the board goes on measuring" if self.measures() else "trying to reach it again"
                self.notice(f"the link to board '{self.name}' is lost; {then}")
            await self._reconnect(self._link, self._lost_at_s)
            self._found_again()

    async def close(self) -> None:
        link, self._link, self._lost_at_s = self._link, None, None
        self.verify = nothing_to_sync
        if link is not None:
            await link.close()

    def _opened(self) -> L:
        if self._link is None:
            raise BoardError(f"there is no connection to board '{self.name}'", "it was not opened, or is closed")
        return self._link

    async def _reconnect(self, link: L, lost_at_s: float) -> None:
        measures = self.measures()
        patience_s = self._patience_s if measures else min(self._patience_s, SET_UP_PATIENCE_S)
        for attempt in range(10**6):
            try:
                await link.connect()
                await self.verify()  # it may be cut again meanwhile
                return
            except LinkLost as error:
                if time.monotonic() - lost_at_s > patience_s:
                    raise BoardError(
                        f"the link to board '{self.name}' did not come back within {patience_s:.0f} s",
                        error.why,
                        "the board goes on measuring: `rtassay run --attach` fetches the result when it can be reached again"
                        if measures
                        else f"nothing was being measured; the board clears itself within {CLEARED_S:.0f} s. Begin anew",
                    ) from error
            await asyncio.sleep(_BACKOFF_S[min(attempt, len(_BACKOFF_S) - 1)])

    def _found_again(self) -> None:
        if self._lost_at_s is None:
            return
        lost_s = time.monotonic() - self._lost_at_s
        self._offline_s += lost_s
        self._lost_at_s = None
        self.notice(f"the link to board '{self.name}' is back after {lost_s:.0f} s")

    def _words_for_root(self, contact: Contact) -> tuple[str, ...]:
        """The words before a command that make it run as root; none if that is not needed or not possible."""
        if contact.uid == 0 or self._sudo == "never":
            return ()
        if contact.sudo == "works":
            return ("sudo", "-n")
        if contact.sudo == "asks" and not contact.real_time and installed_probe(contact) is None:
            raise BoardError(
                f"sudo on board '{self.name}' asks for a password",
                f"user {contact.uid} may not use real-time priorities without it, and nobody is there to type",
                "allow it on the board (`USER ALL=(root) NOPASSWD: ALL` in /etc/sudoers.d/rtassay), log in as root, "
                "or measure as that user: rtassay board add NAME ... --sudo never",
            )
        return ()
