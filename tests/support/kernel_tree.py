"""A real tree of the kernel under git, with a tiny configuration that the gate can boot: Debian's source of Linux 6.1, built once and cached."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

from rtassay.lab.packages import Packages
from rtassay.lab.places import cache_dir

PACKAGE = "linux-source-6.1"
_Y = """\
64BIT PREEMPT PRINTK BUG TTY SERIAL_8250 SERIAL_8250_CONSOLE BLK_DEV_INITRD BINFMT_ELF BINFMT_SCRIPT PROC_FS PROC_SYSCTL SYSFS
DEVTMPFS SHMEM TMPFS FUTEX EPOLL EVENTFD SIGNALFD TIMERFD POSIX_TIMERS HIGH_RES_TIMERS NO_HZ_IDLE MULTIUSER SYSVIPC POSIX_MQUEUE
ADVISE_SYSCALLS MEMBARRIER AIO NET UNIX PCI ACPI EXPERT SLUB FTRACE ENABLE_DEFAULT_TRACERS KALLSYMS STACKTRACE UNWINDER_FRAME_POINTER
IKCONFIG KERNEL_GZIP CC_OPTIMIZE_FOR_PERFORMANCE
"""
OPTIONS = tuple(_Y.split())
"""What is y on top of tinyconfig. docs/guides/gate.md has the same list."""
# Sources that no tiny kernel for x86 is built of; the files that Kconfig and make read stay.
_LEFT_OUT = re.compile(
    r"[^/]+/(?:arch/(?!x86/)[^/]+/(?!.*Kconfig)|sound/.*\.[chS]$|tools/(?:testing|perf)/"
    r"|drivers/(?:gpu|net/[^/]+|media|staging|infiniband|scsi|usb|iio|hwmon|mtd|phy|pinctrl|clk|soc)/.*\.[chS]$)"
)
_ENVIRONMENT = {
    "KBUILD_BUILD_TIMESTAMP": "Mon Jan  1 00:00:00 UTC 2024",
    "KBUILD_BUILD_USER": "t",
    "KBUILD_BUILD_HOST": "t",
}


def prepared() -> Path:
    """A work tree at its only commit, configured and built (some minutes, 500 MB; later calls: at once)."""
    home = cache_dir() / "kernel-tree"
    done = home / "done"
    if not done.exists():
        shutil.rmtree(home, ignore_errors=True)
        tree = home / "linux"
        _unpack(home)
        _configure(tree)
        make(tree)
        _under_git(tree)
        done.touch()
    return home / "linux"


def _unpack(home: Path) -> None:
    (packed,) = Packages("amd64").unpacked({PACKAGE: ("usr/src/*.tar.xz",)}, print).values()
    (archive,) = packed.glob("usr/src/*.tar.xz")
    with tarfile.open(archive) as tar:
        for member in tar:
            if not _LEFT_OUT.match(member.name):
                tar.extract(member, home, filter="tar")
    (home / archive.name.removesuffix(".tar.xz")).rename(home / "linux")


def _configure(tree: Path) -> None:
    make(tree, "tinyconfig")
    config = tree / ".config"
    taken = tuple(f"CONFIG_{name}=" for name in OPTIONS) + tuple(f"# CONFIG_{name} " for name in OPTIONS)
    lines = [line for line in config.read_text().splitlines() if not line.startswith(taken)]
    config.write_text("\n".join([*lines, *(f"CONFIG_{name}=y" for name in OPTIONS), ""]))
    make(tree, "olddefconfig")


def _under_git(tree: Path) -> None:
    """Only sources: what the build makes is no part of the tree."""
    git(tree, "init", "--quiet", "--initial-branch=main")
    for key, value in {"user.name": "t", "user.email": "t@example.org", "gc.auto": "0"}.items():
        git(tree, "config", key, value)
    # Debian's .gitignore ignores everything.
    patterns = [f"{folder}/*.{kind}" for folder in ("fs", "init", "ipc", "kernel", "mm") for kind in "ch"]
    git(tree, "add", "--force", "--", *patterns, ":!init/utsversion-tmp.h")  # made by each build, with its time
    git(tree, "commit", "--quiet", "--message", "Linux as Debian has it")


def make(tree: Path, target: str = "bzImage") -> None:
    """Build it, as `gate bisect` does."""
    argv = ["nice", "make", "--silent", f"-j{len(os.sched_getaffinity(0))}", target]
    done = subprocess.run(
        argv,
        cwd=tree,
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def git(tree: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=tree, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(tree: Path, subject: str, file: str, change: Callable[[str], str]) -> str:
    """Change one file and commit it; its hash."""
    path = tree / file
    before = path.read_text()
    after = change(before)
    assert after != before, f"{subject}: nothing changed"
    path.write_text(after)
    git(tree, "commit", "--quiet", "--all", "--message", subject)
    return git(tree, "rev-parse", "HEAD")
