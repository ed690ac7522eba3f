"""Where the lab keeps images (cache) and running boards (runtime directory)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from rtassay.model.errors import BoardError

Say = Callable[[str], None]
# Debian package of every program that this and the work on kernels start.
_PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-arm": "qemu-system-arm",
    "qemu-img": "qemu-utils",
    "mmdebstrap": "mmdebstrap",
    "grub-mkimage": "grub-common",
    "grub-editenv": "grub-common",
    "mke2fs": "e2fsprogs",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "dpkg-deb": "dpkg",
    "apt-get": "apt",
    "timeout": "coreutils",
    "setpriv": "util-linux",
    "mcopy": "mtools",
    "mdir": "mtools",
    "mformat": "mtools",
    "debugfs": "e2fsprogs",
    "sfdisk": "fdisk",
    "depmod": "kmod",
    "mkimage": "u-boot-tools",
    "kconfig-conf": "kconfig-frontends",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi",
}


def cache_dir() -> Path:
    """Downloads and images. You may remove it while no board runs."""
    import platformdirs

    path = Path(platformdirs.user_cache_dir("rtassay")) / "lab"
    path.mkdir(parents=True, exist_ok=True)
    return path


def runtime_dir() -> Path:
    """The directory of running boards, one folder each: in XDG_RUNTIME_DIR or where it would be, else a private one in /tmp.

    It does not go by TMPDIR: a board is found from another terminal too. Raises BoardError if another user owns it.
    """
    usual = Path(f"/run/user/{os.getuid()}")
    told = os.environ.get("XDG_RUNTIME_DIR")
    runtime = Path(told) if told else usual if os.access(usual, os.W_OK | os.X_OK) else None
    base = runtime / "rtassay" if runtime else Path("/tmp") / f"rtassay-lab-{os.getuid()}"
    path = base / "lab" if runtime else base
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if base.stat().st_uid != os.getuid() or base.is_symlink():
        raise BoardError(f"{base} belongs to somebody else", hint="set XDG_RUNTIME_DIR to a directory of your own")
    return path


def need(*programs: str) -> None:
    """Raises BoardError with the command that installs what is missing. Looks into /sbin too, which is often not on the PATH of users."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    missing = [program for program in programs if shutil.which(program, path=path) is None]
    if missing:
        packages = sorted({_PACKAGES.get(program, program) for program in missing})
        raise BoardError(
            f"this needs {', '.join(missing)}",
            "not installed",
            f"apt-get install --no-install-recommends {' '.join(packages)}",
        )


def run(argv: Sequence[str], *, what: str, timeout_s: float = 600.0, cwd: Path | None = None) -> str:
    """stdout of a build command. Raises BoardError with its last output."""
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=timeout_s, check=False, cwd=cwd, env=environment
        )
    except OSError as error:
        raise BoardError(f"cannot {what}", f"{argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BoardError(f"cannot {what}", f"{argv[0]} did not end within {timeout_s:.0f} s") from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise BoardError(f"cannot {what}", f"{argv[0]}: {' / '.join(lines[-3:]) or f'exit code {done.returncode}'}")
    return done.stdout


def publish(new: Path, home: Path) -> None:
    """Rename into place. If another process was first, its result stays."""
    try:
        new.rename(home)
    except OSError:
        if not home.exists():
            raise
