"""A board at the other end of an SSH connection: nothing is installed there, and nothing of us stays."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rtassay.boards import lease as leases
from rtassay.boards.base import nothing_to_sync
from rtassay.boards.binaries import probe_path
from rtassay.boards.copying import copy, sha256_of
from rtassay.boards.known import KnownBoard
from rtassay.boards.lease import Lease, Standing
from rtassay.boards.openssh import Link, LinkLost, Target
from rtassay.boards.places import CONTACT_SCRIPT, Contact, all_places_script, contact_of, place_of, place_script
from rtassay.boards.remote_process import RemoteProcess
from rtassay.boards.spooled import SpooledProcess
from rtassay.model.errors import BoardError, RunLost, UsageError

_SMALL_FILE = 4 * 1024 * 1024
_SHORT_S = 30.0
_MIB = 1024 * 1024
# How long a lost link may stay lost before the host gives up. The board goes on all the same, and `run --attach` fetches the result.
PATIENCE_S = 900.0
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
# Where programs of root live that a login without a terminal may not have on its PATH.
_WHICH = """p=$1; case $p in */*) [ -x "$p" ] && echo "$p"; exit;; esac
a=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; IFS=:; for d in $a; do
if [ -f "$d/$p" ] && [ -x "$d/$p" ]; then echo "$d/$p"; exit; fi; done"""
# Spoolers that still run are told to let go, then have 8 s; what is left then loses its owner at once.
_END_SPOOLS = """for s in {spools}; do read -r p x <$s/pid && [ ! -f $s/exit ] && kill -TERM $p; done
i=0; while [ $i -lt 8 ]; do left=; for s in {spools}; do [ -d $s ] && [ ! -f $s/exit ] && left="$left $s"; done
[ -n "$left" ] || break; sleep 1; i=$((i + 1)); done
for s in $left; do read -r p x c x <$s/pid && kill -9 $p; done
for s in {spools}; do [ -f $s/fetcher ] && read -r p <$s/fetcher && kill -9 $p; done; true"""


class SshBoard:
    """`user@host`, reached by the OpenSSH of this machine.

    `sudo`: `auto` uses `sudo -n` where the one who logs in is not root and it asks for no password; `never` measures as that user.
    `directory`: a place on the board to use instead of the first that fits.
    """

    name = "ssh"
    detaches = True
    # Tokens of leases this process asked for and did not hear of.
    _let_go: ClassVar[set[str]] = set()

    def __init__(
        self,
        name: str = "ssh",
        target: Target | None = None,
        *,
        directory: str | None = None,
        sudo: str = "auto",
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = name
        self.notice: Callable[[str], None] = lambda sentence: None
        self.synced: Callable[[], Awaitable[None]] = nothing_to_sync
        self._target = target
        self._asked_directory = directory
        self._sudo = sudo
        self._patience_s = patience_s
        self._link: Link | None = None
        self._contact: Contact | None = None
        self._become: tuple[str, ...] = ()
        self._directory: str | None = None
        self._free_bytes: int | None = None
        self._lease: Lease | None = None
        self._adopted: Mapping[str, Any] | None = None
        self._goes_on: dict[str, Any] | None = None
        self._probe: str | None = None
        self._processes: list[RemoteProcess] = []
        self._spooled: dict[str, SpooledProcess] = {}
        self._beating: asyncio.Task[None] | None = None
        self._reaching = asyncio.Lock()
        self._offline_s = 0.0
        self._lost_at_s: float | None = None

    @classmethod
    def known(cls, board: KnownBoard) -> SshBoard:
        """One that a person named."""
        target = Target(board.address, board.port, board.options)
        return cls(board.name, target, directory=board.directory, sudo=board.sudo)

    # ---- contact ----

    @property
    def connected(self) -> bool:
        return self._lost_at_s is None

    @property
    def offline_s(self) -> float:
        """Seconds without a connection since the first one."""
        return self._offline_s + (0.0 if self._lost_at_s is None else time.monotonic() - self._lost_at_s)

    async def open(self) -> None:
        if self._link is not None:
            return
        await self._connect_first()
        try:
            await self._settle()
        except BaseException:
            await self.close()
            raise
        self._beating = asyncio.create_task(self._beat())

    async def clean(self, *, force: bool = False) -> list[str]:
        """Remove all of rtassay from the board and say what there was. Raises BoardError while somebody uses it, unless forced."""
        await self._connect_first()
        try:
            answer = await self._shell(all_places_script(self._uid, self._asked_directory))
            found: list[str] = []
            for directory in answer.decode(errors="replace").split("\n"):
                if directory.startswith("/"):
                    found += await self._clean_directory(directory, force)
            return found
        finally:
            await self.close()

    async def standing(self) -> tuple[str, Standing]:
        """The directory on the board, and what is in it, once open."""
        assert self._directory is not None
        return self._directory, leases.standing_of(await self._shell(leases.standing_script(self._directory)))

    async def probe(self) -> str:
        """Put there once a contact, under a name that holds its hash."""
        if self._probe is None:
            assert self._contact is not None and self._directory is not None
            source = probe_path(self._contact.machine)
            target = f"{self._directory}/rtprobe-{sha256_of(source)[:12]}"
            await self.put(source, target)
            await self._prove(target)
            self._probe = target
        return self._probe

    # ---- commands ----

    async def start(self, argv: Sequence[str]) -> RemoteProcess:
        process = await self._attached(argv)
        self._processes.append(process)
        return process

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> SpooledProcess:
        rtprobe = await self.probe()
        spool = self._spool(name)
        followers = [self._spool(other) for other in ends]
        words = [rtprobe, "spool", "--budget", str(self._budget(name)), spool, *followers, "--", *argv]
        try:
            pid = await self._launched(words, argv[0])
        except LinkLost:
            await self.reach()
            known, code = await self.output(["cat", f"{spool}/pid"])
            # It may have begun before the link was lost.
            pid = int(known.split()[2]) if code == 0 else await self._launched(words, argv[0])
        await self._journal(f"started {shlex.join(argv)} as {pid}, spooled in {spool}")
        process = self._spooled[name] = SpooledProcess(self, name, spool, pid)
        return process

    @property
    def memory(self) -> dict[str, Any] | None:
        """What `recall` needs to find again what was launched, after this process has died; once closed, if something goes on there."""
        if self._lease is None:
            return self._goes_on
        return {
            "directory": self._directory,
            "run": self._lease.run,
            "token": self._lease.token,
            "rtprobe": self._probe,
        }

    def recall(self, memory: Mapping[str, Any]) -> None:
        """Before `open`: take over the run of a host that died."""
        self._adopted = dict(memory)

    async def reattach(self, name: str, offset: int) -> SpooledProcess:
        """After `recall` and `open`: what was launched as `name`, its stream from `offset` on."""
        spool = self._spool(name)
        known, code = await self.output(["cat", f"{spool}/pid"])
        if code != 0:
            raise RunLost(
                f"board '{self.name}' has nothing of '{name}' any more",
                f"{spool} is gone",
                "it was restarted or cleared since; rtassay seal finishes what had arrived",
            )
        process = self._spooled[name] = SpooledProcess(self, name, spool, int(known.split()[2]), offset)
        return process

    async def put(self, source: Path, target: str) -> None:
        await copy(self, source, target)
        await self._journal(f"put {target}")

    async def read(self, path: str) -> bytes | None:
        output, code = await self.output(["cat", path])
        return output[:_SMALL_FILE] if code == 0 else None

    async def which(self, program: str) -> str | None:
        output, _ = await self.output(["sh", "-c", _WHICH, "sh", program])
        return output.decode(errors="replace").strip() or None

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
            self._beating = None
        processes, self._processes = self._processes, []
        await asyncio.gather(*(process.end() for process in processes))
        spooled, self._spooled = self._spooled, {}
        link, self._link = self._link, None
        if link is None:
            return
        left = self.memory
        try:
            if link.alive:
                with contextlib.suppress(BoardError):
                    await self._leave(link, spooled)
                    left = None
            elif not all(process.ended for process in spooled.values()):
                self.notice(f"board '{self.name}' goes on without us; `rtassay run --attach` fetches what it measures")
        finally:
            self._probe = self._directory = self._lease = self._lost_at_s = None
            self._goes_on = left
            await link.close()

    # ---- what a spooled process needs (spooled.Way) ----

    @property
    def rtprobe(self) -> str:
        assert self._probe is not None
        return self._probe

    async def attached(self, argv: Sequence[str]) -> RemoteProcess:
        """A command over the connection there is. Raises LinkLost."""
        return await RemoteProcess.start(self._opened(), self._become, argv)

    async def output(self, argv: Sequence[str]) -> tuple[bytes, int]:
        """stdout and exit code of a short command."""
        output, _, code = await self._finished(argv)
        return output, code

    async def reach(self) -> None:
        """Connected again when this returns: retried for as long as patience lasts."""
        async with self._reaching:
            if self._link is None:
                raise BoardError(f"board '{self.name}' is closed")
            with contextlib.suppress(BoardError):
                if self._link.alive:
                    await self._link.ask("true", 10.0)
                    self._found_again()
                    return
            if self._lost_at_s is None:
                self._lost_at_s = time.monotonic()
                self.notice(f"the link to board '{self.name}' is lost; the board goes on measuring")
            await self._reconnect()
            await self._check_still_ours()
            self._found_again()

    # ---- within ----

    async def _connect_first(self) -> None:
        if self._target is None:
            raise UsageError(
                "ssh to which board?", hint="rtassay run user@host, or name one: rtassay board add NAME user@host"
            )
        link = Link(self._target)
        await link.connect()
        self._link = link
        try:
            contact = self._contact = contact_of(await link.ask(CONTACT_SCRIPT), str(link.target))
            self._become = self._way_to_root(contact)
        except BaseException:
            await self.close()
            raise

    async def _settle(self) -> None:
        """A place to live, the lease of the board, and nothing of earlier contacts that nobody needs."""
        where = str(self._target)
        if self._adopted is None:
            answer = await self._shell(place_script(self._uid, self._asked_directory))
            self._directory, free_kib = place_of(answer, where)
            self._free_bytes = None if free_kib is None else free_kib * 1024
        else:
            self._directory = str(self._adopted["directory"])
            # After a restart of the board it is gone with all that was in it, which `reattach` will say.
            place = shlex.quote(self._directory)
            await self._shell(f"[ -d {place} ] || mkdir -m 711 {place}")
        directory, standing = await self.standing()
        if self._adopted is not None and Path(self._adopted.get("rtprobe") or "").name in standing.files:
            self._probe = self._adopted["rtprobe"]
        self._check_free(standing)
        await self._take(directory, standing)
        await self._tidy(directory, standing)

    def _check_free(self, standing: Standing) -> None:
        if self._adopted is not None:
            if standing.lease is not None and standing.lease.token != self._adopted["token"] and standing.held:
                raise leases.busy(self.name, standing)
        elif standing.running or (
            standing.held and standing.lease is not None and standing.lease.token not in self._let_go
        ):
            raise leases.busy(self.name, standing)

    async def _take(self, directory: str, standing: Standing) -> None:
        assert self._contact is not None
        lease = leases.new_lease(self._contact.boot_id)
        if self._adopted is not None:
            lease = leases.adopting(lease, str(self._adopted["run"]), str(self._adopted["token"]))
        try:
            answer = await self._shell(leases.take_script(directory, lease, standing.lease))
        except BaseException:
            # It may be ours by now, and we will not say so again: our next contact is not to wait until it goes stale.
            self._let_go.add(lease.token)
            raise
        if b"taken" not in answer:
            _, now = await self.standing()
            raise leases.busy(self.name, now)
        self._lease = lease
        await self._journal(f"{lease.holder} process {lease.pid} took the board for {lease.run}")

    async def _tidy(self, directory: str, standing: Standing) -> None:
        """Old probes go at once, runs without a spool too; a measurement that nobody fetched stays until somebody says otherwise."""
        assert self._lease is not None
        kept = {spool.run for spool in standing.spools} | {self._lease.run}
        ours = {leases.LEASE, "beat", "journal", *kept}
        if self._adopted is not None:
            ours |= {name for name in standing.files if name.startswith("rtprobe-")}
        stale = [name for name in standing.files if name not in ours]
        if stale:
            paths = " ".join(shlex.quote(f"{directory}/{name}") for name in stale)
            await self._shell(f"rm -rf {paths}")
            await self._journal(f"removed what earlier contacts left: {', '.join(stale)}")
        for run in sorted(kept - {self._lease.run}):
            size = sum(spool.size for spool in standing.spools if spool.run == run)
            self.notice(
                f"board '{self.name}' holds a measurement that nobody fetched ({run}, {size} bytes): "
                f"`rtassay run --attach` on the host that began it fetches it, `rtassay board clean {self.name}` removes it"
            )

    async def _leave(self, link: Link, spooled: Mapping[str, SpooledProcess]) -> None:
        """End what still runs, and take everything of ours away."""
        directory = self._directory
        if directory is None or self._lease is None:
            return
        if not all(process.ended for process in spooled.values()):
            await self._end_spools(link, [process.directory for process in spooled.values()])
        _, standing = await self.standing_over(link)
        place = shlex.quote(directory)
        if any(spool.run != self._lease.run for spool in standing.spools):
            gone = " ".join(
                [f"{place}/{self._lease.run}", f"{place}/rtprobe-*", f"{place}/beat", f"{place}/{leases.LEASE}"]
            )
        else:
            gone = place
        await link.ask(self._as_root(f"rm -rf {gone}"))

    async def standing_over(self, link: Link) -> tuple[str, Standing]:
        """As `standing`, while closing."""
        assert self._directory is not None
        answer = await link.ask(self._as_root(leases.standing_script(self._directory)))
        return self._directory, leases.standing_of(answer)

    async def _end_spools(self, link: Link, spools: Sequence[str]) -> None:
        script = _END_SPOOLS.format(spools=" ".join(shlex.quote(spool) for spool in spools))
        await link.ask(self._as_root(script), 20.0)

    async def _clean_directory(self, directory: str, force: bool) -> list[str]:
        self._directory = directory
        _, standing = await self.standing()
        if (standing.held or standing.running) and not force:
            raise leases.busy(self.name, standing)
        if standing.spools:
            await self._end_spools(
                self._opened(), [f"{directory}/{spool.run}/{spool.name}" for spool in standing.spools]
            )
        journal = await self.read(f"{directory}/journal") or b""
        await self._shell(f"rm -rf {shlex.quote(directory)}")
        self._directory = None
        what = [f"removed {directory}: {', '.join(standing.files) or 'empty'}"]
        return what + [f"  {line}" for line in journal.decode(errors="replace").splitlines()]

    async def _reconnect(self) -> None:
        assert self._link is not None and self._lost_at_s is not None and self._target is not None
        for attempt in range(10**6):
            try:
                await self._link.connect()
                return
            except LinkLost as error:
                if time.monotonic() - self._lost_at_s > self._patience_s:
                    raise BoardError(
                        f"the link to board '{self.name}' did not come back within {self._patience_s:.0f} s",
                        error.why,
                        "the board goes on measuring: `rtassay run --attach` fetches the result when it can be reached again",
                    ) from error
            await asyncio.sleep(_BACKOFF_S[min(attempt, len(_BACKOFF_S) - 1)])

    async def _check_still_ours(self) -> None:
        assert self._link is not None and self._contact is not None and self._lease is not None
        boot_id = (await self._link.ask("cat /proc/sys/kernel/random/boot_id")).decode(errors="replace").strip()
        if boot_id != self._contact.boot_id:
            raise RunLost(
                f"board '{self.name}' was restarted while it was in use",
                f"its boot_id is now {boot_id}",
                "look at the board's power, its watchdog and its kernel log",
            )
        if b"ours" not in await self._link.ask(self._as_root(leases.beat_script(self._directory or "", self._lease))):
            _, standing = await self.standing()
            raise leases.busy(self.name, standing)

    def _found_again(self) -> None:
        if self._lost_at_s is None:
            return
        away_s = time.monotonic() - self._lost_at_s
        self._offline_s += away_s
        self._lost_at_s = None
        self.notice(f"the link to board '{self.name}' is back after {away_s:.0f} s")

    async def _beat(self) -> None:
        """The lease says that we are still here, as long as we are."""
        while True:
            await asyncio.sleep(leases.BEAT_S)
            link, lease = self._link, self._lease
            if link is None or lease is None or self._directory is None or self._lost_at_s is not None:
                continue
            with contextlib.suppress(BoardError):
                await link.ask(self._as_root(leases.beat_script(self._directory, lease)))

    def _opened(self) -> Link:
        if self._link is None:
            raise BoardError(f"there is no connection to board '{self.name}'", "it was not opened, or is closed")
        return self._link

    @property
    def _uid(self) -> int:
        assert self._contact is not None
        return 0 if self._become else self._contact.uid

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

    def _as_root(self, script: str) -> str:
        return shlex.join([*self._become, "sh", "-c", script])

    async def _shell(self, script: str) -> bytes:
        """What a script writes to stdout, as the user that measures."""
        return await self._opened().ask(self._as_root(script))

    async def _attached(self, argv: Sequence[str]) -> RemoteProcess:
        """As `attached`, once more over a new connection when the old one is lost."""
        try:
            return await self.attached(argv)
        except LinkLost:
            if self._lease is None:
                raise
            await self.reach()
            return await self.attached(argv)

    async def _finished(self, argv: Sequence[str]) -> tuple[bytes, bytes, int]:
        process = await self.attached(argv)
        try:
            await process.close_stdin()
            output = b"".join([chunk async for chunk in process.chunks()])
            return output, await process.errors(), await process.wait(_SHORT_S)
        except TimeoutError as error:
            raise LinkLost(f"board '{self.name}' does not answer", f"{argv[0]} did not end") from error
        finally:
            await process.end()

    async def _launched(self, words: Sequence[str], program: str) -> int:
        output, errors, code = await self._finished(words)
        told = output.split()
        if code != 0 or len(told) != 2 or not told[1].isdigit():
            why = errors.decode(errors="replace").strip().splitlines()
            raise BoardError(f"cannot start {program} on board '{self.name}'", why[-1] if why else f"exit code {code}")
        return int(told[1])

    def _spool(self, name: str) -> str:
        assert self._directory is not None and self._lease is not None
        return f"{self._directory}/{self._lease.run}/{name}"

    def _budget(self, name: str) -> int:
        """What may lie on the board unfetched: never so much that a small board runs out of memory."""
        free = self._free_bytes if self._free_bytes is not None else 64 * _MIB
        memory = self._contact.memory_bytes if self._contact is not None else None
        room = min(free // 2, free if memory is None else memory // 4)
        most, share = (256 * _MIB, 1) if name == "probe" else (16 * _MIB, 8)
        return max(_MIB, min(most, room // share))

    async def _journal(self, line: str) -> None:
        """What was done to the board, kept there as long as anything of it is."""
        if self._directory is None or self._lease is None:
            return
        path = shlex.quote(f"{self._directory}/journal")
        with contextlib.suppress(BoardError):
            await self._shell(f'echo "$(date -u +%FT%TZ)" {shlex.quote(line)} >>{path}')

    async def _prove(self, target: str) -> None:
        """The right architecture, and a place that runs programs: it says its version."""
        assert self._contact is not None
        output, code = await self.output([target, "--version"])
        if code != 0 or not output.startswith(b"rtprobe "):
            raise BoardError(
                f"rtprobe does not run on board '{self.name}'",
                f"it is a {self._contact.machine}; exit code {code}",
                "build one for it: make -C probe CC=..., and name it with RTASSAY_PROBE",
            )
