"""What the gate needs of a kernel, by its configuration, before anything boots."""

from __future__ import annotations

import re
from collections.abc import Mapping

from rtassay.model.errors import InputFileError

ARCHES = ("amd64", "arm64", "armhf")
FOLLOWED = ("amd64",)
"""Where the functions of a wake-up can be followed: rtprobe has its static tracepoint there, which QEMU's plugin looks for."""
NEEDED: Mapping[str, str] = {
    "BLK_DEV_INITRD": "initrd support: all that the gate brings comes in an initramfs",
    "BINFMT_ELF": "programs",
    "BINFMT_SCRIPT": "scripts, as which /init starts",
    "PROC_FS": "/proc",
    "DEVTMPFS": "/dev",
    "TMPFS": "tmpfs, where the results lie",
    "TTY": "terminals, over which the results leave",
    "POSIX_TIMERS": "clock_nanosleep, which rtprobe sleeps with",
    "FUTEX": "futexes",
}
"""Option -> what is missing without it."""
_OF_VIRT = {
    "SERIAL_AMBA_PL011_CONSOLE": "the console of QEMU's machine virt",
    "PCI_HOST_GENERIC": "PCI of QEMU's machine virt",
    "SERIAL_8250_PCI": "the serial line on PCI over which the results leave",
}
NEEDED_BY_ARCH: Mapping[str, Mapping[str, str]] = {
    "amd64": {"SERIAL_8250_CONSOLE": "the serial line over which the results leave"},
    "arm64": _OF_VIRT,
    "armhf": {**_OF_VIRT, "ARCH_VIRT": "QEMU's machine virt", "ARM_PSCI": "PSCI, which powers the board off"},
}
"""Beside NEEDED, for the machine of that architecture."""
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
            f"{name} is no image of a kernel", hint="a bzImage, an Image, a .deb, a build tree or a Debian package"
        )
    check_arch(name, arch)
    if options is None:
        return
    needed = {**NEEDED, **NEEDED_BY_ARCH[arch]}
    missing = [f"CONFIG_{option} ({words})" for option, words in needed.items() if options.get(option) != "y"]
    if arch == "amd64" and options.get("SERIAL_8250_NR_UARTS", "4") in ("0", "1"):
        missing.append("CONFIG_SERIAL_8250_NR_UARTS of 2 or more (console and results)")
    if missing:
        raise InputFileError(
            f"{name} lacks {'; '.join(missing)}", "the gate cannot boot it", "set these to y, not m, and build it again"
        )


def check_arch(name: str, arch: str) -> None:
    """Raises InputFileError for an architecture that the gate does not boot."""
    if arch in ARCHES:
        return
    known = f"the gate is for {', '.join(ARCHES)}"
    if arch == "riscv64":
        raise InputFileError(f"{name} is a kernel for riscv64", "Debian 12 has no packages for it", known)
    raise InputFileError(f"{name} is a kernel for {arch}", known, "build it for one of these")


def lacks(options: Mapping[str, str] | None) -> tuple[str, ...] | None:
    """Options that the gate can do without, and the kernel lacks. None: not known."""
    return None if options is None else tuple(option for option in WANTED if options.get(option) != "y")


def lacked_by(load: str, options: Mapping[str, str] | None) -> str | None:
    """The option without which a load cannot run, if the kernel lacks one."""
    if options is None:
        return None
    return next((option for option in OF_LOADS.get(load, ()) if options.get(option) != "y"), None)
