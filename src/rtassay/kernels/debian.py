"""A Debian system made by mmdebstrap from the mirrors of this machine's apt, as one tar file. Neither root nor an image registry is needed."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from rtassay.kernels.arches import Target
from rtassay.lab.packages import debian_sources
from rtassay.lab.places import Say, need
from rtassay.model.errors import BoardError

_TELL_EVERY_S = 10.0
_LOOK_S = 0.2
_ENDS_WITHIN_S = 60.0
_LEFT_OUT = ("/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/man/*")
_EMULATED = {"aarch64": "qemu-aarch64", "armv7l": "qemu-arm", "riscv64": "qemu-riscv64", "x86_64": "qemu-x86_64"}
_REGISTERED = Path("/proc/sys/fs/binfmt_misc")


def main_suite() -> str:
    """The suite of this machine's Debian, as bookworm. Raises BoardError where apt knows no Debian."""
    return next(row[1] for row in debian_sources() if not row[1].endswith(("-updates", "-security", "-backports")))


def root_of(
    tar: Path,
    target: Target,
    packages: Sequence[str],
    say: Say,
    *,
    what: str,
    components: Sequence[str] = (),
    hooks: Sequence[str] = (),
) -> None:
    """Write a Debian root with these packages into `tar`. `components`: beside main. `hooks`: more words for mmdebstrap.

    Raises BoardError when a program, a right, a package or the emulator of a foreign architecture is missing.
    """
    need("mmdebstrap")
    _can_execute(target)
    lines = [
        f"deb {uri} {suite} {' '.join((component, *components)) if component == 'main' else component}"
        for uri, suite, component in debian_sources()
    ]
    mode = "root" if os.geteuid() == 0 else "unshare"
    argv = [
        "mmdebstrap",
        "--quiet",
        f"--mode={mode}",
        "--variant=minbase",
        "--format=tar",
        f"--architectures={target.name}",
    ]
    argv += [f"--dpkgopt=path-exclude={pattern}" for pattern in _LEFT_OUT]
    argv += [f"--include={','.join(packages)}", *hooks, main_suite(), str(tar), *lines]
    followed(argv, what=what, say=say)


def _can_execute(target: Target) -> None:
    """Packages are configured by programs of their own architecture."""
    if platform.machine() == target.machine or (platform.machine(), target.machine) == ("x86_64", "i686"):
        return
    if not (_REGISTERED / _EMULATED[target.machine]).exists():
        raise BoardError(
            f"this machine does not run programs for {target.name}",
            f"{_REGISTERED} names no {_EMULATED[target.machine]}",
            "apt-get install --no-install-recommends qemu-user-static binfmt-support",
        )


def followed(argv: Sequence[str], *, what: str, say: Say) -> None:
    """Run a long command and tell every ten seconds how long it runs. Raises BoardError with its last words."""
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}
    begun = told = time.monotonic()
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        start_new_session=True,
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    words = b""
    try:
        while process.poll() is None:
            words = (words + (process.stdout.read() or b""))[-4000:]
            if time.monotonic() - told > _TELL_EVERY_S:
                told = time.monotonic()
                say(f"{what}: {told - begun:.0f} s")
            time.sleep(_LOOK_S)
    except BaseException:
        _end(process)
        raise
    words = (words + (process.stdout.read() or b""))[-4000:]
    if process.returncode:
        lines = [line for line in words.decode(errors="replace").splitlines() if line.strip()]
        raise BoardError(f"cannot {what}", f"{argv[0]}: {' / '.join(lines[-3:]) or f'exit code {process.returncode}'}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """mmdebstrap takes its mounts away when it is asked to end."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_ENDS_WITHIN_S)
            return
