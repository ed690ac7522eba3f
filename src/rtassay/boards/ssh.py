"""A board at the other end of an SSH connection: nothing is installed there, and nothing of us stays."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rtassay.boards import claims, cleaning, scripts
from rtassay.boards import lease as leases
from rtassay.boards.base import Parting, nothing_to_sync
from rtassay.boards.binaries import probe_path
from rtassay.boards.copying import copy, sha256_of
from rtassay.boards.known import KnownBoard
from rtassay.boards.lease import Lease, Standing
from rtassay.boards.openssh import Link, LinkLost, Target
from rtassay.boards.places import CONTACT_SCRIPT, Contact, contact_of, place_of, place_script
from rtassay.boards.remote_process import RemoteProcess
from rtassay.boards.spooled import SpooledProcess
from rtassay.model.errors import BoardError, RunLost, UsageError

_SMALL_FILE = 4 * 1024 * 1024
_SHORT_S = 30.0
# Starting waits for a board that may be under full load.
_LAUNCH_S = 60.0
_MIB = 1024 * 1024
# How long a lost link may stay lost before the host gives up. The board goes on all the same, and `run --attach` fetches the result.
PATIENCE_S = 900.0
_BACKOFF_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
# What has not arrived when a run ends badly is waited for as long as it comes, and no longer than this in all.
_REST_S = 30.0
_STALLED_S = 5.0


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
        self.parting = Parting.REMOVE
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
        self._spools: list[str] = []
        self._programs: dict[str, str] = {}
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
            return await cleaning.clean(self, self.name, self._uid, self._asked_directory, force=force)
        finally:
            await self.close()

    async def standing(self) -> tuple[str, Standing]:
        """The directory on the board, and what is in it, once open."""
        assert self._directory is not None
        return self._directory, leases.standing_of(await self.shell(leases.standing_script(self._directory)))

    async def probe(self) -> str:
        """Put there once a contact, under a name that holds its hash; the board's own where that is the same, for it may have capabilities."""
        if self._probe is None and self._contact is not None:
            self._probe = self._installed(self._contact)
        if self._probe is None:
            assert self._contact is not None and self._directory is not None
            source = probe_path(self._contact.machine)
            target = f"{self._directory}/rtprobe-{sha256_of(source)[:12]}"
            said = await copy(self, source, target, f"{self._directory}/journal", "--version")
            self._check_runs(said)
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
        self._spools.append(spool)
        try:
            pid = await self._launched(words, argv, spool)
        except LinkLost:
            await self.reach()
            known, code = await self.output(["cat", f"{spool}/pid"])
            # It may have begun before the link was lost.
            pid = int(known.split()[2]) if code == 0 else await self._launched(words, argv, spool)
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
        self._spools.append(spool)
        return process

    async def put(self, source: Path, target: str) -> None:
        await copy(self, source, target, f"{self._directory}/journal" if self._lease is not None else None)

    async def read(self, path: str) -> bytes | None:
        output, code = await self.output(["cat", path])
        return output[:_SMALL_FILE] if code == 0 else None

    async def which(self, program: str) -> str | None:
        if program not in self._programs:
            words = shlex.join([*self._become, "sh", "-c", scripts.WHICH, "sh", program])
            found = (await self._answered(words)).decode(errors="replace").strip()
            if not found:
                return None
            self._programs[program] = found
        return self._programs[program]

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
            self._beating = None
        processes, self._processes = self._processes, []
        await asyncio.gather(*(process.end() for process in processes))
        link = self._link
        if link is None:
            return
        left = self.memory
        try:
            if link.alive and self.parting is not Parting.LEAVE:
                with contextlib.suppress(BoardError):
                    if not await self._end_and_wait(link):
                        left = None
            elif not all(process.over for process in self._spooled.values()):
                self.notice(f"board '{self.name}' goes on without us; `rtassay run --attach` fetches what it measures")
        finally:
            self._link = None
            self._probe = self._directory = self._lease = self._lost_at_s = None
            self._goes_on = left
            self._spooled, self._spools, self._programs = {}, [], {}
            await link.close()

    # ---- what a spooled process needs (spooled.Way) ----

    @property
    def rtprobe(self) -> str:
        assert self._probe is not None
        return self._probe

    async def attached(self, argv: Sequence[str]) -> RemoteProcess:
        """A command over the connection there is. Raises LinkLost."""
        return await RemoteProcess.start(self._opened(), self._become, argv)

    async def shell(self, script: str) -> bytes:
        """What a small shell script writes to stdout, as the user that measures. Raises LinkLost."""
        return await self._opened().ask(self._as_root(script), _SHORT_S)

    async def output(self, argv: Sequence[str]) -> tuple[bytes, int]:
        """stdout and exit code of a short command."""
        output, _, code = await self._finished(argv)
        return output, code

    async def reach(self) -> None:
        """Connected again when this returns: retried for as long as patience lasts."""
        async with self._reaching:
            if self._link is None:
                raise BoardError(f"board '{self.name}' is closed")
            if self._link.alive:
                # Another stream may have connected before us, and to a board that was restarted.
                with contextlib.suppress(LinkLost):
                    await self._check_still_ours()
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
        answer = await link.connect(CONTACT_SCRIPT)
        self._link = link
        try:
            contact = self._contact = contact_of(answer, str(link.target))
            self._become = self._way_to_root(contact)
        except BaseException:
            await self.close()
            raise

    async def _settle(self) -> None:
        """A place to live, the lease of the board, and nothing of earlier contacts that nobody needs."""
        if self._adopted is None:
            where = place_script(self._uid, self._asked_directory)
        else:
            # After a restart of the board it is gone with all that was in it, which `reattach` will say.
            place = shlex.quote(str(self._adopted["directory"]))
            where = f"[ -d {place} ] || mkdir -m 711 {place}; cd {place} || exit; echo place={place}"
        answer = await self.shell(where + leases.STANDING_HERE + claims.LOOK_SCRIPT)
        self._directory, free_kib = place_of(answer, str(self._target))
        self._free_bytes = None if free_kib is None else free_kib * 1024
        standing = leases.standing_of(answer)
        if self._adopted is not None and Path(self._adopted.get("rtprobe") or "").name in standing.files:
            self._probe = self._adopted["rtprobe"]
        self._check_free(standing)
        stale = await self._check_claims(answer, standing.lease)
        await self._take(self._directory, standing, stale)

    def _check_free(self, standing: Standing) -> None:
        if self._adopted is not None:
            if standing.lease is not None and standing.lease.token != self._adopted["token"] and standing.held:
                raise leases.busy(self.name, standing)
        elif standing.running or (
            standing.held and standing.lease is not None and standing.lease.token not in self._let_go
        ):
            raise leases.busy(self.name, standing)

    async def _check_claims(self, answer: bytes, known: Lease | None) -> list[str]:
        """Raises BoardError while somebody else uses the board. Returns the tokens of claims that are to be removed: ours, and of nobody."""
        assert self._contact is not None
        stale = []
        passed_over = {lease.token for lease in (known, self._lease) if lease is not None} | self._let_go
        if self._adopted is not None:
            passed_over.add(str(self._adopted["token"]))
        for claim in claims.claims_of(answer):
            if self._lease is not None and claim.lease.token == self._lease.token:
                continue
            believed = claim.lease.token not in passed_over and claim.counts(self._contact.boot_id)
            if believed and claim.uid == self._uid:
                believed = await self._is_ours(claim)
            if believed:
                raise claims.busy(self.name, claim)
            if self._uid in (0, claim.uid):
                stale.append(claim.lease.token)
        return stale

    async def _is_ours(self, claim: claims.Claim) -> bool:
        """What we said ourselves is true as long as the lease it speaks of is there."""
        place = shlex.quote(f"{claim.directory}/{leases.LEASE}")
        return b"held" in await self.shell(f"grep -qs {claim.lease.token} {place} && echo held")

    async def _take(self, directory: str, standing: Standing, claims_of_nobody: Sequence[str]) -> None:
        """The lease, then a second look: of two users who look, find nothing and take it at once, at least one sees the other here."""
        assert self._contact is not None
        lease = leases.new_lease(self._contact.boot_id)
        if self._adopted is not None:
            lease = leases.adopting(lease, str(self._adopted["run"]), str(self._adopted["token"]))
        stale = self._stale(standing, lease)
        done = [f"{lease.holder} process {lease.pid} took the board for {lease.run}"]
        if stale:
            done.append(f"removed what earlier contacts left: {', '.join(stale)}")
        script = [
            f"{{ {leases.take_script(directory, lease, standing.lease)}\n}} | grep -q taken || exit 0; echo taken",
            claims.renew_script(lease, directory),
            claims.drop_script(claims_of_nobody),
            " ".join(["rm -rf", *(shlex.quote(f"{directory}/{name}") for name in stale)]) if stale else "",
            *(scripts.journal(directory, line) for line in done),
            'read -r up x </proc/uptime; echo "uptime=$up"',
            claims.LOOK_SCRIPT,
        ]
        try:
            answer = await self.shell("\n".join(script))
        except BaseException:
            # It may be ours by now, and we will not say so again: our next contact is not to wait until it goes stale.
            self._let_go.add(lease.token)
            raise
        if b"taken" not in answer:
            _, now = await self.standing()
            raise leases.busy(self.name, now)
        self._lease = lease
        await self._check_claims(answer, None)
        self._tell_what_is_kept(standing, lease)

    def _stale(self, standing: Standing, lease: Lease) -> list[str]:
        """Old probes go at once, runs without a spool too; a measurement that nobody fetched stays until somebody says otherwise."""
        ours = {leases.LEASE, "beat", "journal", lease.run, *(spool.run for spool in standing.spools)}
        if self._adopted is not None:
            ours |= {name for name in standing.files if name.startswith("rtprobe-")}
        return [name for name in standing.files if name not in ours]

    def _tell_what_is_kept(self, standing: Standing, lease: Lease) -> None:
        for run in sorted({spool.run for spool in standing.spools} - {lease.run}):
            size = sum(spool.size for spool in standing.spools if spool.run == run)
            self.notice(
                f"board '{self.name}' holds a measurement that nobody fetched ({run}, {size} bytes): "
                f"`rtassay run --attach` on the host that began it fetches it, `rtassay board clean {self.name}` removes it"
            )

    async def _end_and_wait(self, link: Link) -> bool:
        """End what still runs, fetch what may be missing, and take everything of ours away. Whether something stays to be fetched."""
        if self._directory is None:
            return False
        if self._lease is None:  # refused: what is not ours has something in it
            await link.ask(self._as_root(f"rmdir {shlex.quote(self._directory)}"))
            return False
        keep = False
        answer = await link.ask(self._as_root(leases.standing_script(self._directory)))
        there = leases.standing_of(answer).spools
        # What runs there for us, whether it was launched here or by a host that died.
        ours = [f"{self._directory}/{spool.run}/{spool.name}" for spool in there if spool.run == self._lease.run]
        spools = [spool for spool in dict.fromkeys([*self._spools, *ours]) if not self._is_over(spool)]
        if spools:
            await link.ask(self._as_root(scripts.end_spools(spools)), _SHORT_S)
            if self.parting is Parting.KEEP and not await self._rest_has_come():
                keep = True
                self.notice(
                    f"board '{self.name}' keeps what did not arrive of {self._lease.run}; `rtassay run --attach` fetches it"
                )
            await link.ask(self._as_root(scripts.end_fetchers(spools)))
        others = any(spool.run != self._lease.run for spool in there)
        await self._leave(link, self._directory, self._lease, keep=keep, others=others)
        return keep

    def _is_over(self, spool: str) -> bool:
        return any(process.over for process in self._spooled.values() if process.directory == spool)

    async def _rest_has_come(self) -> bool:
        """Waits while it comes; it is those who read the streams that fetch it. False if they do not, or it takes too long."""
        begun = moved = time.monotonic()
        seen = -1
        while not all(process.over for process in self._spooled.values()):
            now, came = time.monotonic(), sum(process.offset for process in self._spooled.values())
            if came != seen:
                seen, moved = came, now
            if now - moved > _STALLED_S or now - begun > _REST_S:
                return False
            await asyncio.sleep(0.05)
        return True

    async def _leave(self, link: Link, directory: str, lease: Lease, *, keep: bool, others: bool) -> None:
        """Take away what is ours: everything, but for what is still to be fetched of this run (`keep`) or of others."""
        place = shlex.quote(directory)
        gone = place
        if keep or others:
            names = ["rtprobe-*", "beat", leases.LEASE, *([] if keep else [lease.run])]
            gone = " ".join(f"{place}/{name}" for name in names)
        await link.ask(self._as_root(f"{claims.drop_script([lease.token])}; rm -rf {gone}"))

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
        if b"ours" not in await self._link.ask(self._as_root(self._beat_script(self._directory or "", self._lease))):
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
                await link.ask(self._as_root(self._beat_script(self._directory, lease)))

    @staticmethod
    def _beat_script(directory: str, lease: Lease) -> str:
        return f"{leases.beat_script(directory, lease)}; {claims.renew_script(lease, directory)}"

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
        if contact.sudo == "asks" and not contact.real_time and self._installed(contact) is None:
            raise BoardError(
                f"sudo on board '{self.name}' asks for a password",
                f"user {contact.uid} may not use real-time priorities without it, and nobody is there to type",
                "allow it on the board (`USER ALL=(root) NOPASSWD: ALL` in /etc/sudoers.d/rtassay), log in as root, "
                "or measure as that user: rtassay board add NAME ... --sudo never",
            )
        return ()

    @staticmethod
    def _installed(contact: Contact) -> str | None:
        """The board's own rtprobe, if it is the very one that would be put there."""
        if contact.installed is None:
            return None
        path, sha256 = contact.installed
        return path if sha256 == sha256_of(probe_path(contact.machine)) else None

    def _as_root(self, script: str) -> str:
        return shlex.join([*self._become, "sh", "-c", script])

    async def _answered(self, line: str) -> bytes:
        """What a line for the shell writes to stdout, once more over a new connection when the old one is lost."""
        try:
            return await self._opened().ask(line, _SHORT_S)
        except LinkLost:
            if self._lease is None:
                raise
            await self.reach()
            return await self._opened().ask(line, _SHORT_S)

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

    async def _launched(self, words: Sequence[str], argv: Sequence[str], spool: str) -> int:
        line = f"started {shlex.join(argv)}, spooled in {spool}"
        note = scripts.journal(str(self._directory), line, " as process $p:")
        script = f'o=$({shlex.join(words)} 2>&1); c=$?; p=${{o#pid }}; echo "$c"; echo "$o"; [ $c = 0 ] && {note}'
        answer = await self._opened().ask(self._as_root(script), _LAUNCH_S)
        code, _, said = answer.decode(errors="replace").strip().partition("\n")
        told = said.split()
        if code != "0" or len(told) != 2 or not told[1].isdigit():
            why = said.strip().splitlines()
            raise BoardError(f"cannot start {argv[0]} on board '{self.name}'", why[-1] if why else f"exit code {code}")
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

    def _check_runs(self, said: bytes) -> None:
        """The right architecture, and a place that runs programs: it says its version."""
        assert self._contact is not None
        if not said.startswith(b"rtprobe "):
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            raise BoardError(
                f"rtprobe does not run on board '{self.name}'",
                "; ".join([f"it is a {self._contact.machine}", *last]),
                "build one for it: make -C probe CC=..., and name it with RTASSAY_PROBE",
            )
