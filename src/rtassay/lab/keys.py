"""The keys of the lab: one to log in with, and the host key of the boards. They are made once, cached, and used for nothing else."""

from __future__ import annotations

import base64
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from rtassay.lab.places import cache_dir, need, publish, run

HOST_ALIAS = "rtassay-lab"


@dataclass(frozen=True, slots=True)
class Keys:
    """`login` and `login.pub` for the user, `host` in dropbear's own format for the boards, `known_hosts` with its public half."""

    login: Path
    host: Path
    known_hosts: Path

    @property
    def authorized(self) -> bytes:
        """The line of `authorized_keys` for the lab's user."""
        return self.login.with_suffix(".pub").read_bytes()


def lab_keys() -> Keys:
    """The lab's keys. The first use makes them."""
    home = cache_dir() / "keys"
    if not home.is_dir():
        need("ssh-keygen")
        with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".keys-") as scratch:
            new = Path(scratch) / "new"
            new.mkdir(mode=0o700)
            for name in ("login", "openssh"):
                argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rtassay lab", "-f", str(new / name)]
                run(argv, what="make a key for the lab")
            (new / "host").write_bytes(_dropbear((new / "openssh").read_text()))
            (new / "host").chmod(0o600)
            kind, public, *_ = (new / "openssh.pub").read_text().split()
            (new / "known_hosts").write_text(f"{HOST_ALIAS} {kind} {public}\n")
            publish(new, home)
    return Keys(home / "login", home / "host", home / "known_hosts")


def _dropbear(openssh: str) -> bytes:
    """An unencrypted OpenSSH ed25519 key in the format of dropbear: the name of the kind, then seed and public half."""
    lines = [line for line in openssh.splitlines() if line and not line.startswith("-----")]
    rest = base64.b64decode("".join(lines)).removeprefix(b"openssh-key-v1\0")
    for _ in range(3):  # cipher, key derivation, its options
        _, rest = _string(rest)
    _, rest = _string(rest[4:])  # the number of keys (1), the public half
    private, _ = _string(rest)
    kind, rest = _string(private[8:])  # behind two equal check words
    _, rest = _string(rest)
    both, _ = _string(rest)
    return struct.pack(">I", len(kind)) + kind + struct.pack(">I", len(both)) + both


def _string(data: bytes) -> tuple[bytes, bytes]:
    (length,) = struct.unpack_from(">I", data)
    return data[4 : 4 + length], data[4 + length :]
