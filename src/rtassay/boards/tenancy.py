"""The right to use a board: a directory of our own there, the lease, the claim beside it, and a heartbeat that keeps both."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from rtassay.boards import claims, scripts
from rtassay.boards import lease as leases
from rtassay.boards.base import RemoteTransport
from rtassay.boards.lease import Lease, Occupancy
from rtassay.boards.places import empty_places_script, place_of, place_script
from rtassay.model.errors import BoardError, RunLost


class Tenancy:
    """One stay on a board, from `take` to `leave`. `resumed`: the data of a run whose host died, which this stay takes over."""

    # Tokens of leases that this process requested without an answer.
    _unconfirmed: ClassVar[set[str]] = set()

    def __init__(
        self, transport: RemoteTransport, asked_directory: str | None = None, resumed: Mapping[str, Any] | None = None
    ) -> None:
        self._transport = transport
        self._asked_directory = asked_directory
        self._resumed = resumed
        self._directory: str | None = None
        self.free_bytes: int | None = None
        self.lease: Lease | None = None

    @property
    def directory(self) -> str:
        assert self._directory is not None
        return self._directory

    @property
    def held(self) -> Lease:
        """The lease, after it was taken."""
        assert self.lease is not None
        return self.lease

    @property
    def resume_data(self) -> dict[str, Any]:
        return {"directory": self.directory, "run": self.held.run, "token": self.held.token}

    def spool(self, name: str) -> str:
        """The directory of the command launched as `name`."""
        return f"{self.directory}/{self.held.run}/{name}"

    async def take(self, notice: Callable[[str], None]) -> Occupancy:
        """Find a directory, take the lease, remove old files. Returns what was there before.

        Raises BoardError while somebody else uses the board, or if no directory fits.
        """
        if self._resumed is None:
            where = place_script(self._transport.uid, self._asked_directory)
        else:
            # A restart of the board may have removed it with all its files; `reattach` reports that.
            place = shlex.quote(str(self._resumed["directory"]))
            where = f"[ -d {place} ] || mkdir -m 711 {place}; cd {place} || exit; echo place={place}"
        # From here on there may be an empty directory.
        self._transport.farewell = empty_places_script(self._transport.uid, self._asked_directory)
        answer = await self._transport.run(where + leases.OCCUPANCY_HERE + claims.LOOK_SCRIPT)
        self._directory, free_kib = place_of(answer, self._transport.name)
        self.free_bytes = None if free_kib is None else free_kib * 1024
        before = leases.occupancy_of(answer)
        self._check_free(before)
        stale = await self._check_claims(answer, before.lease)
        await self._take(before, stale, notice)
        return before

    async def occupancy(self) -> Occupancy:
        """The present contents of our directory."""
        return leases.occupancy_of(await self._transport.run(leases.occupancy_script(self.directory)))

    async def keep(self) -> None:
        """Renew lease and claim until cancelled."""
        while True:
            await asyncio.sleep(leases.HEARTBEAT_S)
            if self._transport.connected:
                with contextlib.suppress(BoardError):
                    await self.renew()

    async def renew(self) -> bool:
        """Renew the lease and then the claim. Returns whether the lease is still ours."""
        heartbeat, claim = (
            leases.heartbeat_script(self.directory, self.held),
            claims.renew_script(self.held, self.directory),
        )
        script = f'o=$({heartbeat}); echo "$o"; [ "$o" != ours ] || {{ {claim}; }}'
        return b"ours" in await self._transport.run(script)

    async def check_still_ours(self) -> None:
        """After a new connection. Raises RunLost if the board was restarted, BoardError if somebody else took it."""
        name = self._transport.name
        boot_id = (await self._transport.run("cat /proc/sys/kernel/random/boot_id")).decode(errors="replace").strip()
        if boot_id != self._transport.contact.boot_id:
            raise RunLost(
                f"board '{name}' was restarted while it was in use",
                f"its boot_id is now {boot_id}",
                "look at the board's power, its watchdog and its kernel log",
            )
        if not await self.renew():
            found = await self.occupancy()
            if found.lease is None:
                raise RunLost(
                    f"board '{name}' was cleared while the link was lost",
                    "another contact cleared it, or the link was lost for too long before anything was measured",
                    "begin anew",
                )
            raise leases.busy(name, found)

    async def withdraw(self) -> None:
        """Remove the directory of a board that was refused, if it is empty."""
        if self._directory is not None:
            await self._transport.run(f"rmdir {shlex.quote(self._directory)}")

    async def leave(self, *, keep: bool, others: bool) -> None:
        """Remove our files, except those still to be fetched of this run (`keep`) or of other runs."""
        place = shlex.quote(self.directory)
        gone = place
        if keep or others:
            names = ["rtprobe-*", leases.HEARTBEAT, leases.LEASE, *([] if keep else [self.held.run])]
            gone = " ".join(f"{place}/{name}" for name in names)
        await self._transport.run(f"{claims.drop_script([self.held.token])}; rm -rf {gone}")

    def _check_free(self, before: Occupancy) -> None:
        name, lease = self._transport.name, before.lease
        if self._resumed is not None:
            if lease is not None and lease.token != self._resumed["token"] and before.held:
                raise leases.busy(name, before)
        elif before.running or (before.held and lease is not None and lease.token not in self._unconfirmed):
            raise leases.busy(name, before)

    async def _check_claims(self, answer: bytes, known: Lease | None) -> list[str]:
        """Raises BoardError while somebody else uses the board. Returns the tokens of claims to remove: our own, and stale ones."""
        stale = []
        ignored = {lease.token for lease in (known, self.lease) if lease is not None} | self._unconfirmed
        if self._resumed is not None:
            ignored.add(str(self._resumed["token"]))
        uid = self._transport.uid
        for claim in claims.claims_of(answer):
            if self.lease is not None and claim.lease.token == self.lease.token:
                continue
            believed = claim.lease.token not in ignored and claim.counts(self._transport.contact.boot_id)
            if believed and claim.uid == uid:
                believed = await self._lease_exists(claim)
            if believed:
                raise claims.busy(self._transport.name, claim)
            if uid in (0, claim.uid):
                stale.append(claim.lease.token)
        return stale

    async def _lease_exists(self, claim: claims.Claim) -> bool:
        """A claim of our own user counts as long as its lease is there."""
        place = shlex.quote(f"{claim.directory}/{leases.LEASE}")
        return b"held" in await self._transport.run(f"grep -qs {claim.lease.token} {place} && echo held")

    async def _take(self, before: Occupancy, stale_claims: Sequence[str], notice: Callable[[str], None]) -> None:
        """Take the lease, then look again: if two users take it at the same time, at least one of them sees the other."""
        lease = leases.new_lease(self._transport.contact.boot_id)
        if self._resumed is not None:
            lease = leases.adopting(lease, str(self._resumed["run"]), str(self._resumed["token"]))
        stale = self._stale(before, lease)
        done = [f"{lease.holder} process {lease.pid} took the board for {lease.run}"]
        if stale:
            done.append(f"removed files of earlier contacts: {', '.join(stale)}")
        script = [
            f"{{ {leases.take_script(self.directory, lease, before.lease)}\n}} | grep -q taken || exit 0; echo taken",
            claims.renew_script(lease, self.directory),
            claims.drop_script(stale_claims),
            " ".join(["rm -rf", *(shlex.quote(f"{self.directory}/{name}") for name in stale)]) if stale else "",
            *(scripts.journal(self.directory, line) for line in done),
            'read -r up x </proc/uptime; echo "uptime=$up"',
            claims.LOOK_SCRIPT,
        ]
        gone = claims.drop_script([lease.token])
        self._transport.farewell = f"{leases.farewell_script(self.directory, lease)}\n{gone}"
        try:
            answer = await self._transport.run("\n".join(script))
        except BaseException:
            # The board may have given us the lease. Our next contact must not wait until it is stale.
            self._unconfirmed.add(lease.token)
            raise
        if b"taken" not in answer:
            raise leases.busy(self._transport.name, await self.occupancy())
        self.lease = lease
        await self._check_claims(answer, None)
        self._tell_what_is_kept(before, lease, notice)

    def _stale(self, before: Occupancy, lease: Lease) -> list[str]:
        """Remove old probes and runs without a spool. A measurement that was not fetched stays until somebody removes it."""
        wanted = {leases.LEASE, leases.HEARTBEAT, "journal", lease.run, *(spool.run for spool in before.spools)}
        if self._resumed is not None:
            wanted |= {name for name in before.files if name.startswith("rtprobe-")}
        return [name for name in before.files if name not in wanted]

    def _tell_what_is_kept(self, before: Occupancy, lease: Lease, notice: Callable[[str], None]) -> None:
        name = self._transport.name
        for run in sorted({spool.run for spool in before.spools} - {lease.run}):
            size = sum(spool.size for spool in before.spools if spool.run == run)
            notice(
                f"board '{name}' holds a measurement that nobody fetched ({run}, {size} bytes): "
                f"`rtassay run --attach` on the host that began it fetches it, `rtassay board clean {name}` removes it"
            )
