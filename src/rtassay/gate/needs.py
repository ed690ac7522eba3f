"""What the gate needs of a kernel, by its configuration, before anything boots."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rtassay.model.errors import InputFileError

ARCH = "amd64"
NEEDED: Mapping[str, str] = {
    "BLK_DEV_INITRD": "initrd support: all that the gate brings comes in an initramfs",
    "BINFMT_ELF": "programs",
    "BINFMT_SCRIPT": "scripts, as which /init starts",
    "PROC_FS": "/proc",
    "DEVTMPFS": "/dev",
    "TMPFS": "tmpfs, where the results lie",
    "TTY": "terminals, over which the results leave",
    "SERIAL_8250_CONSOLE": "the serial line over which the results leave",
    "POSIX_TIMERS": "clock_nanosleep, which rtprobe sleeps with",
    "FUTEX": "futexes",
}
"""Option -> what is missing without it."""
WANTED: Mapping[str, str] = {
    "MODULES": "module support: no driver beyond the built-in ones is gated",
    "HIGH_RES_TIMERS": "high-resolution timers: each wake-up waits for a tick",
    "EVENT_TRACING": "tracing (CONFIG_FTRACE with events): nobody can say who holds the time",
    "STACKTRACE": "stacks of events: a cause gets no function",
    "KALLSYMS": "names of functions",
}
"""Option -> what the gate does without."""
OF_LOADS: Mapping[str, tuple[str, ...]] = {"hackbench": ("NET", "UNIX"), "printk": ("PRINTK",)}
TRACING, NAMES = "EVENT_TRACING", "KALLSYMS"
_SET = re.compile(r"^CONFIG_(\w+)=(.+)$", re.MULTILINE)


def options_of(config: str) -> dict[str, str]:
    """CONFIG_NAME=value lines as NAME -> value; options that are not set are absent."""
    return {match[1]: match[2] for match in _SET.finditer(config)}


def check(name: str, arch: str | None, options: Mapping[str, str] | None) -> None:
    """Raises InputFileError for a kernel that the gate cannot boot, with all that it lacks. `options` None: not known."""
    if arch is None:
        raise InputFileError(
            f"{name} is no image of a kernel", hint="a bzImage, a .deb, a build tree or a Debian package"
        )
    if arch != ARCH:
        raise InputFileError(f"{name} is a kernel for {arch}", f"the gate boots {ARCH}", "build it for x86_64")
    if options is None:
        return
    missing = [f"CONFIG_{option} ({words})" for option, words in NEEDED.items() if options.get(option) != "y"]
    if options.get("SERIAL_8250_NR_UARTS", "4") in ("0", "1"):
        missing.append("CONFIG_SERIAL_8250_NR_UARTS of 2 or more (console and results)")
    if missing:
        raise InputFileError(
            f"{name} lacks {'; '.join(missing)}", "the gate cannot boot it", "set these to y, not m, and build it again"
        )


def lacks(options: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """Options that the gate can do without, and the kernel lacks. None: not known."""
    return None if options is None else tuple(option for option in WANTED if options.get(option) != "y")


def lacked_by(load: str, options: Mapping[str, str] | None) -> str | None:
    """The option without which a load cannot run, if the kernel lacks one."""
    if options is None:
        return None
    return next((option for option in OF_LOADS.get(load, ()) if options.get(option) != "y"), None)
