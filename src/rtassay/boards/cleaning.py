"""`rtassay board clean`: everything of rtassay goes from a board, told by what its journal says."""

from __future__ import annotations

import shlex
from typing import Protocol

from rtassay.boards import claims, scripts
from rtassay.boards import lease as leases
from rtassay.boards.places import all_places_script


class Asked(Protocol):
    """A board, as far as cleaning needs it."""

    async def shell(self, script: str) -> bytes: ...


async def clean(board: Asked, name: str, uid: int, asked_directory: str | None, *, force: bool) -> list[str]:
    """What was removed. Raises BoardError while something runs, unless forced. What is another user's, root alone ends, by force."""
    answer = await board.shell(all_places_script(uid, asked_directory))
    found: list[str] = []
    for directory in answer.decode(errors="replace").split("\n"):
        if directory.startswith("/"):
            found += await _clean_directory(board, name, directory, force=force)
    return found + await _clean_claims(board, uid, force=force)


async def _clean_directory(board: Asked, name: str, directory: str, *, force: bool) -> list[str]:
    standing = leases.standing_of(await board.shell(leases.standing_script(directory)))
    if (standing.held or standing.running) and not force:
        raise leases.busy(name, standing)
    if standing.spools:
        spools = [f"{directory}/{spool.run}/{spool.name}" for spool in standing.spools]
        await board.shell(scripts.end_spools(spools))
        await board.shell(scripts.end_fetchers(spools))
    place = shlex.quote(directory)
    journal = await board.shell(f"cat {place}/journal; rm -rf {place}")
    what = [f"removed {directory}: {', '.join(standing.files) or 'empty'}"]
    return what + [f"  {line}" for line in journal.decode(errors="replace").splitlines()]


async def _clean_claims(board: Asked, uid: int, *, force: bool) -> list[str]:
    """Our own, of which no lease is left; as root by force those of others too, whose runs then end. Their files stay theirs."""
    look = 'echo "boot_id=$(cat /proc/sys/kernel/random/boot_id)"; read -r up x </proc/uptime; echo "uptime=$up"\n'
    answer = await board.shell(look + claims.LOOK_SCRIPT)
    boot_id = leases.standing_of(answer).boot_id
    gone, told = [], []
    for claim in claims.claims_of(answer):
        if claim.uid == uid:
            lease = shlex.quote(f"{claim.directory}/{leases.LEASE}")
            if b"held" not in await board.shell(f"grep -qs {claim.lease.token} {lease} && echo held"):
                gone.append(claim.lease.token)
        elif uid == 0 and (force or not claim.counts(boot_id)):
            gone.append(claim.lease.token)
            if claim.spooler:
                await board.shell(f"kill -TERM {claim.spooler}")
                told.append(f"ended the run of user {claim.user or claim.uid}: {claim.lease.words()}")
    await board.shell(claims.drop_script(gone))
    return told
