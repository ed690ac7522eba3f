"""NuttX with rtprobe-lite on QEMU's virt machine (Arm Cortex-A7), built from a tree that the user has: its sources are not part of rtassay.

The tree is a directory with `nuttx` and `apps`, as the project's own guide makes it. It is copied, never written to.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from rtassay.lab import machine, places
from rtassay.lab.places import Say
from rtassay.model.errors import BoardError, UsageError

KIND = "nuttx"
QEMU = "qemu-system-arm"
SOURCE_VARIABLE = "RTASSAY_NUTTX_SOURCE"
WAIT, SEND = "nsh> ", "rtlite\n"
_MACHINE = ("-M", "virt,highmem=off,virtualization=off,gic-version=2", "-cpu", "cortex-a7", "-m", "128M")
_SHIFT = 4
_LITE = Path(__file__).parents[3] / "probe" / "lite"
_BUILD_S = 3600
_COMMON = ("rtlite.c", "rtline.c", "rtload.c", "rtcheck.c", "rtmain.c", "rtlite.h", "rtline.h", "rtlane.h")
# A sleep ends at its time; nothing runs beside the shell, nothing is downloaded (CoreMark), and no Python package is needed (ALLSYMS).
_CONFIG = """CONFIG_SCHED_TICKLESS=y
CONFIG_USEC_PER_TICK=1
CONFIG_DEBUG_ASSERTIONS=n
CONFIG_ALLSYMS=n
CONFIG_BENCHMARK_COREMARK=n
CONFIG_HAVE_CXX=n
CONFIG_MODULE=n
CONFIG_SYSTEM_GPROF=n
CONFIG_SYSTEM_DD=n
CONFIG_TESTING_OSTEST=n
CONFIG_TESTING_GETPRIME=n
CONFIG_RTLITE=y
"""
_KCONFIG = 'config RTLITE\n\tbool "rtprobe-lite"\n\tdefault n\n'
_MAKE_DEFS = "ifneq ($(CONFIG_RTLITE),)\nCONFIGURED_APPS += $(APPDIR)/rtlite\nendif\n"
_MAKEFILE = """include $(APPDIR)/Make.defs
PROGNAME = rtlite
PRIORITY = 50
STACKSIZE = 8192
MODULE = $(CONFIG_RTLITE)
CSRCS = rtlite.c rtline.c rtload.c rtcheck.c rtmain.c
MAINSRC = posix.c
include $(APPDIR)/Application.mk
"""


def start(say: Say, *, name: str, lifetime_s: int, source: Path | None) -> machine.Machine:
    """Build it where it is not built yet, and boot it. Raises UsageError without a source, BoardError where it does not build or start."""
    places.need(QEMU)
    image = build(say, source)
    argv = [QEMU, *_MACHINE, "-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot"]
    argv += ["-accel", "tcg,thread=single", "-icount", f"shift={_SHIFT},sleep=on,align=off", "-kernel", str(image)]
    started = machine.start_program(
        argv, name=name, kind=KIND, arch="cortex-a7", kernel=KIND, console="console", lifetime_s=lifetime_s
    )
    say(f"{name} runs NuttX; its console is unix:{Path(started.directory) / 'console'}")
    return started


def build(say: Say, source: Path | None) -> Path:
    """The image, from the cache if it was built of the same sources. Raises UsageError, BoardError."""
    tree = checked(source)
    if not _LITE.is_dir():
        raise UsageError(
            "NuttX is built with the sources of rtprobe-lite", "an installed rtassay has none", "use a checkout"
        )
    image = places.cache_dir() / f"nuttx-{_digest(tree)}.elf"
    if image.exists():
        return image
    places.need("make", "kconfig-conf", "arm-none-eabi-gcc")
    with tempfile.TemporaryDirectory(prefix=".nuttx-", dir=places.cache_dir()) as scratch:
        work = Path(scratch)
        say(f"copying the tree {tree}")
        for part in ("nuttx", "apps"):
            shutil.copytree(
                tree / part, work / part, symlinks=True, ignore=shutil.ignore_patterns(".git", "Documentation")
            )
        _add_program(work / "apps" / "rtlite")
        say("configuring and compiling NuttX (minutes)")
        kernel = work / "nuttx"
        _make(["make", "distclean"], kernel, may_fail=True)
        _make(["tools/configure.sh", "-l", "qemu-armv7a:nsh"], kernel)
        with (kernel / ".config").open("a") as config:
            config.write(_CONFIG)
        _make(["make", "olddefconfig"], kernel)
        _make(["make", f"-j{os.cpu_count() or 1}"], kernel)
        if not (kernel / "nuttx").is_file():
            raise BoardError("NuttX was built without an image", f"there is no {kernel / 'nuttx'}")
        (kernel / "nuttx").replace(image)
    return image


def checked(source: Path | None) -> Path:
    """The tree that was named, or that of the variable. Raises UsageError for none, and for a directory that is no such tree."""
    named = source or (Path(os.environ[SOURCE_VARIABLE]) if os.environ.get(SOURCE_VARIABLE) else None)
    hint = "git clone https://github.com/apache/nuttx, and apache/nuttx-apps as `apps` beside it; then --source THAT_DIRECTORY"
    if named is None:
        raise UsageError(
            "NuttX is built from a tree of yours, and none is named",
            f"--source DIR names it, or {SOURCE_VARIABLE}",
            hint,
        )
    for part in ("nuttx/tools/configure.sh", "nuttx/sched", "apps/Application.mk"):
        if not (named / part).exists():
            raise UsageError(f"{named} is no tree of NuttX", f"there is no {part}", hint)
    return named.resolve()


def _add_program(place: Path) -> None:
    place.mkdir()
    for name in _COMMON:
        shutil.copyfile(_LITE / name, place / name)
    shutil.copyfile(_LITE / "ports" / "posix.c", place / "posix.c")
    (place / "Kconfig").write_text(_KCONFIG)
    (place / "Make.defs").write_text(_MAKE_DEFS)
    (place / "Makefile").write_text(_MAKEFILE)


def _make(argv: list[str], where: Path, *, may_fail: bool = False) -> None:
    try:
        done = subprocess.run(
            argv, cwd=where, stdin=subprocess.DEVNULL, capture_output=True, timeout=_BUILD_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BoardError(f"NuttX does not build: {' '.join(argv)}", f"not done within {_BUILD_S} s") from error
    if done.returncode != 0 and not may_fail:
        words = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        errors = [line for line in words if "rror" in line] or words
        raise BoardError(f"NuttX does not build: {' '.join(argv)}", errors[0][:300] if errors else None)


def _digest(tree: Path) -> str:
    """Of what decides the image: our program and settings, and each file of the tree by size and time."""
    digest = hashlib.sha256(f"{_CONFIG}{_MAKEFILE}{_KCONFIG}".encode())
    for path in (*(_LITE / name for name in _COMMON), _LITE / "ports" / "posix.c"):
        digest.update(path.read_bytes())
    for part in ("nuttx", "apps"):
        for folder, folders, names in os.walk(tree / part):
            folders[:] = sorted(set(folders) - {".git", "Documentation"})
            for name in sorted(names):
                found = (Path(folder) / name).lstat()
                digest.update(f"{folder}/{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]
