"""The lease of a board: one holder at a time. The lease lies on the board. Another host takes it over only when its holder is proven dead."""

from __future__ import annotations

import getpass
import json
import os
import re
import secrets
import shlex
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rtassay.model import foreign
from rtassay.model.errors import BoardError

# The holder renews its lease this often. A holder counts as dead if it is silent for SILENT_S of the board's uptime and runs nothing.
HEARTBEAT_S = 10.0
SILENT_S = 45.0
# By then the board has removed all of a host that went away before it measured: SILENT_S, and the time in which processes end.
CLEARED_S = 75.0
LEASE = "lease"
HEARTBEAT = "heartbeat"
# The limit of files and of spools that are read from the directory of a board.
_MOST = 1000
_NAME = re.compile(r"[0-9A-Za-z-]{1,64}")


@dataclass(frozen=True, slots=True)
class Lease:
    """One holder: `user@host`, its process there, since when (UTC, its own calendar), and the boot of the board."""

    holder: str
    pid: int
    since: str
    boot_id: str
    token: str
    run: str

    def words(self) -> str:
        """For people: who, since when, on which run."""
        return f"{self.holder} (process {self.pid}) since {self.since}"


@dataclass(frozen=True, slots=True)
class Spool:
    """One launched command as the board knows it. `alive`: its spooler runs; `ended`: it left an exit code."""

    run: str
    name: str
    alive: bool
    ended: bool
    size: int


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What is in rtassay's directory of a board."""

    lease: Lease | None
    heard_s: float | None  # seconds since the holder's last heartbeat; None: never, or before this boot
    boot_id: str
    spools: tuple[Spool, ...]
    files: tuple[str, ...]

    @property
    def running(self) -> tuple[Spool, ...]:
        return tuple(spool for spool in self.spools if spool.alive and not spool.ended)

    @property
    def held(self) -> bool:
        """Whether the lease is valid: its holder renewed it lately in this boot, or one of its processes still runs."""
        if self.lease is None or self.lease.boot_id != self.boot_id:
            return False
        fresh = self.heard_s is not None and self.heard_s < SILENT_S
        return fresh or any(spool.run == self.lease.run for spool in self.running)


def new_lease(boot_id: str) -> Lease:
    now = datetime.now(UTC)
    token = secrets.token_hex(8)
    return Lease(
        holder=f"{_user()}@{socket.gethostname()}",
        pid=os.getpid(),
        since=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        boot_id=boot_id,
        token=token,
        run=f"run-{now:%Y%m%dT%H%M%S}-{token[:6]}",
    )


def adopting(lease: Lease, run: str, token: str) -> Lease:
    """A lease that takes over the run of a holder that died."""
    return replace(lease, run=run, token=token)


def occupancy_script(directory: str) -> str:
    """Prints what `occupancy_of` reads."""
    return f"cd {shlex.quote(directory)} 2>/dev/null || {{ echo none=1; exit 0; }}\n{OCCUPANCY_HERE}"


# `kill -0` by root or by the owner: the spoolers are of the user that looks.
OCCUPANCY_HERE = f"""
echo "boot_id=$(cat /proc/sys/kernel/random/boot_id)"
read -r up x </proc/uptime; echo "uptime=$up"
[ -f {HEARTBEAT} ] && echo "heartbeat=$(cat {HEARTBEAT})"
[ -f {LEASE} ] && echo "lease=$(cat {LEASE})"
for f in *; do [ -e "$f" ] && echo "file=$f"; done
for s in run-*/*/; do
  s=${{s%/}}; [ -p "$s/control" ] || continue
  alive=0; ended=0; size=0; pid=; start=; boot=
  read -r pid start x boot <"$s/pid" 2>/dev/null
  if [ -n "$pid" ] && [ "$boot" = "$(cat /proc/sys/kernel/random/boot_id)" ] && kill -0 "$pid" 2>/dev/null; then
    line=$(cat /proc/$pid/stat 2>/dev/null); set -- ${{line##*) }}; shift 19 2>/dev/null && [ "$1" = "$start" ] && alive=1
  fi
  [ -f "$s/exit" ] && ended=1
  for g in "$s"/0*; do [ -f "$g" ] && size=$((size + $(wc -c <"$g"))); done
  echo "spool=$s $alive $ended $size"
done
"""


def occupancy_of(answer: bytes) -> Occupancy:
    """Raises nothing: lines that cannot be read are left out."""
    lease: Lease | None = None
    values: dict[str, str] = {}
    spools: list[Spool] = []
    files: list[str] = []
    for line in answer.decode(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key == "spool" and len(spools) < _MOST:
            spools += _spool(value)
        elif key == "file" and len(files) < _MOST and foreign.is_name(value):
            files.append(value)
        elif key == "lease":
            lease = lease_of(value)
        else:
            values[key] = value
    return Occupancy(lease, _heard(values), values.get("boot_id", ""), tuple(spools), tuple(files))


def take_script(directory: str, lease: Lease, stale: Lease | None) -> str:
    """Prints `taken` if the lease is now ours. The file is made with O_EXCL. A stale lease is moved away only if it has not changed."""
    text = shlex.quote(json.dumps(asdict(lease)))
    remove = f"grep -q {stale.token} lease && mv lease lease.$$ && rm -f lease.$$" if stale is not None else "true"
    return f"""
cd {shlex.quote(directory)} || exit 1
umask 022
[ -f lease ] && {{ {remove}; }}
(set -C; echo {text} >lease) && cat /proc/uptime >{HEARTBEAT} && mkdir -p -m 700 {lease.run} && grep -q {lease.token} lease && echo taken
"""


def heartbeat_script(directory: str, lease: Lease) -> str:
    """Prints `ours` while nobody took the board from us."""
    place = shlex.quote(directory)
    return (
        f"read -r u x </proc/uptime; echo $u >{place}/{HEARTBEAT}; "
        f"read -r l <{place}/{LEASE}; case $l in *{lease.token}*) echo ours;; esac"
    )


def farewell_script(directory: str, lease: Lease) -> str:
    """For the end of a connection: clears the board if its host does not come back and had not begun to measure.

    A measurement stays until it is fetched. A host that is back has renewed the heartbeat.
    """
    run, place = lease.run, shlex.quote(directory)
    return f"""
cd {place} || exit
unused() {{ [ ! -e {run}/probe ] && grep -qs {lease.token} {LEASE}; }}
unused || exit
before=$(cat {HEARTBEAT}); sleep {SILENT_S:.0f}
unused && [ "$before" = "$(cat {HEARTBEAT})" ] || exit
for s in {run}/*/; do read -r p x <"$s/pid" && [ ! -f "$s/exit" ] && kill -TERM $p && left=1; done
[ -z "$left" ] || sleep {CLEARED_S - SILENT_S - 5:.0f}
unused || exit
for s in {run}/*/; do read -r p x <"$s/pid" && [ ! -f "$s/exit" ] && kill -9 $p; done
cd /; rm -rf {place}
"""


def busy(board: str, occupancy: Occupancy) -> BoardError:
    """The error for the second user: it says who holds the board."""
    who = "by " + occupancy.lease.words() if occupancy.lease is not None else "by nobody who left a name"
    running = ", ".join(spool.name for spool in occupancy.running)
    heard = "" if occupancy.heard_s is None else f"; last heard of {occupancy.heard_s:.0f} s ago"
    return BoardError(
        f"board '{board}' is in use",
        who + (f", running {running}" if running else "") + heard,
        "wait for it; if that run is yours and its host died: rtassay run --attach RECORDING; "
        f"to end it and clear the board: rtassay board clean {board} --force",
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())


def _heard(values: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(values["uptime"]) - float(values["heartbeat"].split()[0]))
    except (KeyError, ValueError, IndexError):
        return None


def lease_of(text: str) -> Lease | None:
    """A lease from its JSON; None if it is not a lease. Another user may have written it, so every field is checked."""
    try:
        data: Any = json.loads(text)
        values = {key: data[key] for key in Lease.__dataclass_fields__}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    words = [value for key, value in values.items() if key != "pid"]
    if not isinstance(values["pid"], int) or not all(isinstance(word, str) for word in words):
        return None
    if not all(_NAME.fullmatch(values[key]) for key in ("token", "run")):
        return None
    if any(not word.isprintable() or len(word) > 256 for word in words):
        return None
    return Lease(**values)


def _spool(text: str) -> list[Spool]:
    words = text.split()
    if len(words) != 4:
        return []
    run, _, name = words[0].partition("/")
    size = foreign.number(words[3])
    if size is None or not (foreign.is_name(run) and foreign.is_name(name)):
        return []
    return [Spool(run, name, words[1] == "1", words[2] == "1", size)]
