"""A Debian root in which kernels are compiled: the same compiler on every host. Made by mmdebstrap, run by unshare; no image registry, no root."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.kernels import debian
from rtassay.kernels.arches import Target, target_named
from rtassay.lab.packages import Packages
from rtassay.lab.places import Say, need, publish, run

_INCLUDED = (
    *("make", "gcc", "libc6-dev", "flex", "bison", "bc", "perl", "patch", "tar", "xz-utils", "cpio", "kmod"),
    *("python3-minimal", "libelf-dev", "libssl-dev", "ccache"),
)
_COMPILERS = {"amd64": "gcc-x86-64-linux-gnu", "arm64": "gcc-aarch64-linux-gnu"}
_COMPILERS |= {"armhf": "gcc-arm-linux-gnueabihf", "riscv64": "gcc-riscv64-linux-gnu"}
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_KEPT = 3
# In a new user namespace, where this user is root and sees the host's files as they are. Nothing of it is seen outside, and it ends with the command.
_ENTER = """\
set -e
mount -t tmpfs -o mode=1777 tmp "$ROOT/tmp"
count=$1; shift
while [ "$count" -gt 0 ]; do mkdir -p "$ROOT$1"; mount --rbind "$1" "$ROOT$1"; shift; count=$((count - 1)); done
for one in {devices}; do : > "$ROOT/dev/$one"; mount --bind "/dev/$one" "$ROOT/dev/$one"; done
mount -t proc proc "$ROOT/proc"
exec chroot "$ROOT" "$@"
"""


@dataclass(frozen=True, slots=True)
class Container:
    """`root`: the directory of its system. `name` says which system it is: suite and a hash of its packages."""

    root: Path
    name: str

    def words(self, argv: Sequence[str], places: Sequence[Path], environment: dict[str, str]) -> list[str]:
        """The command line that runs `argv` inside, with these directories of the host at the same paths."""
        inside = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C", **environment}
        script = _ENTER.format(devices=" ".join(_DEVICES))
        outer = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
        command = ["env", "-i", *(f"{key}={value}" for key, value in inside.items()), *argv]
        return [
            "env",
            f"ROOT={self.root}",
            *outer,
            "sh",
            "-c",
            script,
            "sh",
            str(len(places)),
            *map(str, places),
            *command,
        ]


def opened(target: Target, work: Path, say: Say) -> Container:
    """The container for kernels of `target`: from the cache while Debian's packages are the same, else made in a minute or two.

    Raises BoardError when a program, a right or a package is missing.
    """
    need("mmdebstrap", "unshare", "tar")
    host = target_named(None)
    compiler = () if host.name == target.name else (_COMPILERS[target.name],)
    # tuxmake and the kernel's Makefile ask for a compiler with a prefix where it has another architecture.
    packages = (*_INCLUDED, *compiler)
    digest = hashlib.sha256((Path(__file__).read_text() + Packages(host.name).versions(packages)).encode()).hexdigest()
    suite = debian.main_suite()
    home = work / f"root-{suite}-{target.name}-{digest[:16]}"
    if not home.is_dir():
        say(f"making a Debian {suite} with a compiler for {target.name} (mmdebstrap; a minute or two)")
        with tempfile.TemporaryDirectory(dir=work, prefix=".root-", ignore_cleanup_errors=True) as scratch:
            tar, new = Path(scratch) / "root.tar", Path(scratch) / "root"
            debian.root_of(tar, host, packages, say, what=f"making Debian {suite}")
            new.mkdir()
            # All files belong to the user who builds: in the namespace that is root.
            argv = ["tar", "-xf", str(tar), "-C", str(new), "--exclude=./dev/*", "--no-same-owner"]
            run(argv, what="unpack the Debian root", timeout_s=1800)
            publish(new, home)
        for old in sorted(work.glob(f"root-*-{target.name}-*"), key=lambda path: path.stat().st_mtime)[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    os.utime(home)
    return Container(home, f"Debian {suite} {digest[:16]}")
