"""`rtassay board clean`: removes everything of rtassay from a board and returns the board's journal."""

from __future__ import annotations

import shlex

from rtassay.boards import claims, scripts
from rtassay.boards import lease as leases
from rtassay.boards.base import RemoteTransport, Transport
from rtassay.boards.places import all_places_script
from rtassay.model import foreign, tuning

# There are fewer places to look at.
_MOST = 32


async def clean(transport: RemoteTransport, asked_directory: str | None, *, force: bool) -> list[str]:
    """Remove it and return lines about it. Raises BoardError while something runs, unless forced. Only root can force other users' runs to end."""
    answer = await transport.run(all_places_script(transport.uid, asked_directory))
    found: list[str] = []
    directories = [text for text in answer.decode(errors="replace").split("\n") if foreign.is_path(text)]
    for directory in directories[:_MOST]:
        found += await _clean_directory(transport, directory, force=force)
    return found + await _clean_claims(transport, force=force) + await _changed(transport)


async def _changed(transport: RemoteTransport) -> list[str]:
    """Settings that are changed there stay so: cleaning is no revert, but says how."""
    files = {
        path: await transport.run(f"cat {path} 2>/dev/null")
        for path in (tuning.ABOUT, tuning.JOURNAL, tuning.RESULT, tuning.BOOT_ID)
    }
    found = tuning.read_tuned(files)
    return [] if found is None else [tuning.offer(transport.name, found.owner, found.since, found.settings)]


async def _clean_directory(transport: Transport, directory: str, *, force: bool) -> list[str]:
    occupancy = leases.occupancy_of(await transport.run(leases.occupancy_script(directory)))
    if (occupancy.held or occupancy.running) and not force:
        raise leases.busy(transport.name, occupancy)
    if occupancy.spools:
        spools = [f"{directory}/{spool.run}/{spool.name}" for spool in occupancy.spools]
        await transport.run(scripts.end_spools(spools), scripts.END_SPOOLS_S)
        await transport.run(scripts.end_fetchers(spools))
    place = shlex.quote(directory)
    journal = await transport.run(f"cat {place}/journal; rm -rf {place}")
    what = [f"removed {directory}: {', '.join(occupancy.files) or 'empty'}"]
    return what + [f"  {line}" for line in journal.decode(errors="replace").splitlines()]


async def _clean_claims(transport: RemoteTransport, *, force: bool) -> list[str]:
    """Remove our own claims that have no lease; root with force also removes those of others, which ends their runs. Their files stay."""
    look = 'echo "boot_id=$(cat /proc/sys/kernel/random/boot_id)"; read -r up x </proc/uptime; echo "uptime=$up"\n'
    answer = await transport.run(look + claims.LOOK_SCRIPT)
    boot_id = leases.occupancy_of(answer).boot_id
    uid, gone, told = transport.uid, [], []
    for claim in claims.claims_of(answer):
        if claim.uid == uid:
            lease = shlex.quote(f"{claim.directory}/{leases.LEASE}")
            if b"held" not in await transport.run(f"grep -qs {claim.lease.token} {lease} && echo held"):
                gone.append(claim.lease.token)
        elif uid == 0 and (force or not claim.counts(boot_id)):
            gone.append(claim.lease.token)
            if claim.spooler:
                await transport.run(f"kill -TERM {claim.spooler}")
                told.append(f"ended the run of user {claim.user or claim.uid}: {claim.lease.words()}")
    await transport.run(claims.drop_script(gone))
    return told
