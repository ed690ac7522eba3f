"""A board at the other end of an SSH connection: nothing is installed there, and nothing of us stays."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from rtassay.boards.binaries import probe_path
from rtassay.boards.known import KnownBoard
from rtassay.boards.openssh import Link, Target
from rtassay.boards.places import CONTACT_SCRIPT, Contact, contact_of, place_of, place_script
from rtassay.boards.remote_process import RemoteProcess
from rtassay.model.errors import BoardError, UsageError

_SMALL_FILE = 4 * 1024 * 1024
_CHUNK = 256 * 1024
_COPY_S = 120.0
_SHORT_S = 30.0
# Where programs of root live that a login without a terminal may not have on its PATH.
_WHICH = """p=$1; case $p in */*) [ -x "$p" ] && echo "$p"; exit;; esac
IFS=:; for d in $PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; do
if [ -f "$d/$p" ] && [ -x "$d/$p" ]; then echo "$d/$p"; exit; fi; done"""
_PUT = 'umask 077; t=$1.$$.new; trap \'rm -f "$t"\' EXIT; cat >"$t" && chmod 755 "$t" && mv "$t" "$1"'
_SUM = 'for c in sha256sum md5sum; do if command -v $c >/dev/null; then echo $c $($c <"$1"); exit; fi; done; echo none'


class SshBoard:
    """`user@host`, reached by the OpenSSH of this machine.

    `sudo`: `auto` uses `sudo -n` where the one who logs in is not root and it asks for no password; `never` measures as that user.
    `directory`: a place on the board to use instead of the first that fits.
    """

    detaches = True

    def __init__(
        self,
        name: str = "ssh",
        target: Target | None = None,
        *,
        directory: str | None = None,
        sudo: str = "auto",
    ) -> None:
        self.name = name
        self._target = target
        self._asked_directory = directory
        self._sudo = sudo
        self._link: Link | None = None
        self._contact: Contact | None = None
        self._become: tuple[str, ...] = ()
        self._directory: str | None = None
        self._probe: str | None = None
        self._processes: list[RemoteProcess] = []

    @classmethod
    def known(cls, board: KnownBoard) -> SshBoard:
        """One that a person named."""
        target = Target(board.address, board.port, board.options)
        return cls(board.name, target, directory=board.directory, sudo=board.sudo)

    async def open(self) -> None:
        if self._link is not None and self._link.alive:
            return
        if self._target is None:
            raise UsageError(
                "ssh to which board?", hint="rtassay run user@host, or name one: rtassay board add NAME user@host"
            )
        self._link = Link(self._target)
        await self._link.connect()
        try:
            await self._settle(self._link)
        except BaseException:
            await self.close()
            raise

    async def _settle(self, link: Link) -> None:
        """Find out who we are there, and where we may live."""
        contact = self._contact = contact_of(await link.ask(CONTACT_SCRIPT), str(link.target))
        self._become = self._way_to_root(contact)
        uid = 0 if self._become else contact.uid
        answer = await self._shell(place_script(uid, self._asked_directory))
        self._directory, _ = place_of(answer, str(link.target))

    async def probe(self) -> str:
        """Put there once a contact, under a name that holds its hash."""
        if self._probe is None:
            assert self._contact is not None and self._directory is not None
            source = probe_path(self._contact.machine)
            target = f"{self._directory}/rtprobe-{_sha256(source)[:12]}"
            await self.put(source, target)
            await self._prove(target)
            self._probe = target
        return self._probe

    async def start(self, argv: Sequence[str]) -> RemoteProcess:
        process = await RemoteProcess.start(self._opened(), self._become, argv)
        self._processes.append(process)
        return process

    async def put(self, source: Path, target: str) -> None:
        """Through `cat`, since many boards have no sftp, and aside first; then its hash (or all of it) is read back."""
        try:
            data = await asyncio.to_thread(source.read_bytes)
        except OSError as error:
            raise BoardError(f"cannot read {source}", error.strerror) from error
        process = await RemoteProcess.start(self._opened(), self._become, ["sh", "-c", _PUT, "sh", target])
        try:
            for at in range(0, len(data), _CHUNK):
                await process.write(data[at : at + _CHUNK])
            await process.close_stdin()
            code = await process.wait(_COPY_S)
            words = (await process.errors()).decode(errors="replace").strip()
        except TimeoutError as error:
            raise BoardError(f"cannot copy {source.name} to {self.name}", f"not within {_COPY_S:.0f} s") from error
        finally:
            await process.end()
        if code != 0:
            why = (
                "no space left on the board" if "space" in words.lower() else words.splitlines()[-1] if words else None
            )
            raise BoardError(f"cannot copy {source.name} to {target} on {self.name}", why, _space_hint(words))
        if not await self._arrived(target, data):
            raise BoardError(
                f"{source.name} did not arrive whole on {self.name}", "its hash there is another", "try again"
            )

    async def read(self, path: str) -> bytes | None:
        output, code = await self._output(["cat", path])
        return output[:_SMALL_FILE] if code == 0 else None

    async def which(self, program: str) -> str | None:
        output, _ = await self._output(["sh", "-c", _WHICH, "sh", program])
        return output.decode(errors="replace").strip() or None

    async def close(self) -> None:
        processes, self._processes = self._processes, []
        await asyncio.gather(*(process.end() for process in processes))
        link, self._link = self._link, None
        if link is None:
            return
        try:
            if self._directory is not None and link.alive:
                script = f"rm -rf {shlex.quote(self._directory)}"
                with contextlib.suppress(BoardError):
                    await link.ask(shlex.join([*self._become, "sh", "-c", script]))
        finally:
            self._probe = self._directory = None
            await link.close()

    def _opened(self) -> Link:
        if self._link is None:
            raise BoardError(f"there is no connection to board '{self.name}'", "it was not opened, or is closed")
        return self._link

    def _way_to_root(self, contact: Contact) -> tuple[str, ...]:
        if contact.uid == 0 or self._sudo == "never":
            return ()
        if contact.sudo == "works":
            return ("sudo", "-n")
        if contact.sudo == "asks" and not contact.real_time:
            raise BoardError(
                f"sudo on board '{self.name}' asks for a password",
                f"user {contact.uid} may not use real-time priorities without it, and nobody is there to type",
                "allow it on the board (`USER ALL=(root) NOPASSWD: ALL` in /etc/sudoers.d/rtassay), log in as root, "
                "or measure as that user: rtassay board add NAME ... --sudo never",
            )
        return ()

    async def _shell(self, script: str) -> bytes:
        """What a script writes to stdout, as the user that measures."""
        return await self._opened().ask(shlex.join([*self._become, "sh", "-c", script]))

    async def _output(self, argv: Sequence[str]) -> tuple[bytes, int]:
        process = await RemoteProcess.start(self._opened(), self._become, argv)
        try:
            await process.close_stdin()
            output = b"".join([chunk async for chunk in process.chunks()])
            return output, await process.wait(_SHORT_S)
        except TimeoutError as error:
            raise BoardError(f"board '{self.name}' does not answer", f"{argv[0]} did not end") from error
        finally:
            await process.end()

    async def _arrived(self, target: str, data: bytes) -> bool:
        output, _ = await self._output(["sh", "-c", _SUM, "sh", target])
        words = output.decode(errors="replace").split()
        if len(words) >= 2 and words[0] in ("sha256sum", "md5sum"):
            return words[1] == hashlib.new(words[0].removesuffix("sum"), data).hexdigest()
        back, code = await self._output(["cat", target])
        return code == 0 and back == data

    async def _prove(self, target: str) -> None:
        """The right architecture, and a place that runs programs: it says its version."""
        assert self._contact is not None
        output, code = await self._output([target, "--version"])
        if code != 0 or not output.startswith(b"rtprobe "):
            raise BoardError(
                f"rtprobe does not run on board '{self.name}'",
                f"it is a {self._contact.machine}; exit code {code}",
                "build one for it: make -C probe CC=..., and name it with RTASSAY_PROBE",
            )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _space_hint(words: str) -> str | None:
    if "space" not in words.lower():
        return None
    return "make room there, or name another place: rtassay board add NAME ... --directory DIR"
