"""Claims: every user who can log in to a board sees that it is in use.

A lease lies in a directory of its holder, and other users of the board may not be able to read it. So the holder also makes a claim: a
symbolic link in a directory with the sticky bit (/run/lock, /tmp), where every user may write and no user can change the files of
another. The text of the link is the claim. Reading it cannot block and cannot lead to another file; the link is there as a whole or
not at all; the kernel knows its owner. Its name is random, so that nobody can make it first. A claim counts only while its owner
renews it or executes the run that it names.
"""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rtassay.boards.lease import SILENT_S, Lease, lease_of
from rtassay.model import foreign
from rtassay.model.errors import BoardError

# /dev/shm later: systemd-logind removes the files of a user there when the last session of that user has ended.
_SHARED = "/run/lock /tmp /dev/shm /var/tmp"
_PREFIX = "rtassay-held-"
# The limit of claims that are read, so that one user cannot slow down the others.
_MOST = 200

# Prints `claim=UID NAME RUNNING TEXT` for each. Another user wrote TEXT, so only its printable characters are kept. RUNNING is
# the pid of a spooler of that run that belongs to the owner of the claim, or 0.
LOOK_SCRIPT = f"""
n=0
for d in {_SHARED}; do for f in "$d"/{_PREFIX}*; do
  [ -L "$f" ] || continue
  n=$((n + 1)); [ $n -le {_MOST} ] || break 2
  u=$(ls -ldn "$f" | {{ read -r x x u x; echo "$u"; }})
  t=$(readlink "$f" | tr -cd '\\40-\\176')
  r=${{t%% *}}; a=0
  case $r in *[!0-9A-Za-z-]*) continue;; run-*) ;; *) continue;; esac
  for p in $(grep -ls "[r]${{r#r}}" /proc/[0-9]*/cmdline); do
    [ "$(tr '\\0' '\\n' <$p | sed -n 2p)" = spool ] || continue
    g=$(sed -n 's/^Uid:[[:space:]]*\\([0-9]*\\).*/\\1/p' "${{p%cmdline}}status")
    [ "$g" = "$u" ] && a=${{p#/proc/}} && a=${{a%/cmdline}} && break
  done
  echo "claim=$u $(sed -n "s/^\\([^:]*\\):[^:]*:$u:.*/\\1/p" /etc/passwd | sed 1q | tr -cd '!-~') $a $t"
done; done
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of one user of a board. `uid`, `user`: its owner; `spooler`: a process of that run, or 0."""

    uid: int
    user: str
    spooler: int
    heard_s: float | None
    lease: Lease
    directory: str

    def counts(self, boot_id: str) -> bool:
        """Whether the claim is valid: renewed lately in this boot, or the run goes on."""
        fresh = self.heard_s is not None and self.heard_s < SILENT_S
        return self.lease.boot_id == boot_id and (fresh or self.spooler > 0)


def claims_of(answer: bytes) -> tuple[Claim, ...]:
    """The claims in an answer that also holds `uptime=SECONDS`. Other lines are skipped."""
    lines = answer.decode(errors="replace").splitlines()
    uptimes = [line.partition("=")[2] for line in lines if line.startswith("uptime=")]
    try:
        uptime_s = float(uptimes[0])
    except (IndexError, ValueError):
        return ()
    told = [line.removeprefix("claim=") for line in lines if line.startswith("claim=")]
    found = (_claim(text, uptime_s) for text in told[:_MOST])
    return tuple(claim for claim in found if claim is not None)


def renew_script(lease: Lease, directory: str) -> str:
    """Makes or renews the claim. The new one exists before the old one is removed."""
    name = f"{_PREFIX}{lease.token}-{secrets.token_hex(8)}"
    text = json.dumps({**asdict(lease), "directory": directory})
    return (
        f"read -r u x </proc/uptime; for d in {_SHARED}; do "
        f'[ -k "$d" ] && [ -w "$d" ] && ln -s "{lease.run} $u "{shlex.quote(text)} "$d/{name}" && break; done; '
        f"for d in {_SHARED}; do for f in $d/{_PREFIX}{lease.token}-*; do "
        f'[ -L "$f" ] && [ "${{f##*/}}" != {name} ] && rm -f "$f"; done; done; true'
    )


def drop_script(tokens: Sequence[str]) -> str:
    """Removes claims that belong to our user."""
    paths = " ".join(f"$d/{_PREFIX}{token}-*" for token in tokens)
    return f"for d in {_SHARED}; do rm -f {paths}; done" if tokens else "true"


def busy(board: str, claim: Claim) -> BoardError:
    """The error for the second user: it says who holds the board."""
    heard = "" if claim.heard_s is None else f", last heard of {claim.heard_s:.0f} s ago"
    running = f", running process {claim.spooler}" if claim.spooler else ""
    whose = f"user '{claim.user}'" if claim.user else f"user {claim.uid}"
    return BoardError(
        f"board '{board}' is in use",
        f"by {claim.lease.words()}, {whose} of the board{running}{heard}",
        "wait for it, or talk to them; root can end it: rtassay board clean root@BOARD --force",
    )


def _claim(text: str, uptime_s: float) -> Claim | None:
    words = text.split(" ", 5)
    if len(words) != 6:
        return None
    owner, user, process, run, said, what = words
    uid, spooler = foreign.number(owner), foreign.number(process)
    if uid is None or spooler is None:
        return None
    lease = lease_of(what)
    if lease is None or lease.run != run:
        return None
    try:
        directory = json.loads(what).get("directory")
        heard_s: float | None = uptime_s - float(said)
    except (ValueError, AttributeError):
        return None
    # A time in the future is not valid: otherwise its owner could keep the claim fresh for any time.
    heard_s = heard_s if heard_s is not None and heard_s > -1.0 else None
    return Claim(uid, user, spooler, heard_s, lease, directory if isinstance(directory, str) else "")
