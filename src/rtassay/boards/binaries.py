"""Where the rtprobe binary for a board lies on this host."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from pathlib import Path

from rtassay.boards.places import Contact
from rtassay.model.errors import BoardError

PROBE_VARIABLE = "RTASSAY_PROBE"

# Output of `uname -m` -> suffix of the packaged binary.
ARCHES = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "armv8l": "armv7",
    "armv7l": "armv7",
    "armv7": "armv7",
    "armv6l": "armv6",
    "armv6": "armv6",
    "riscv64": "riscv64",
}
_PACKAGE = Path(__file__).resolve().parent.parent
_PACKAGED = _PACKAGE / "_bin"
_CHECKOUT = _PACKAGE.parent.parent / "probe"
_BUILT = _CHECKOUT / "build" / "rtprobe"
_SOURCES = _CHECKOUT / "src"
# main.c holds it.
_DIGEST = re.compile(rb"rtprobe-sources=([0-9a-f]{16})\0")


def native_arch() -> str:
    """The architecture of this machine, named as packaged binaries are."""
    machine = platform.machine().lower()
    return ARCHES.get(machine, machine)


def probe_path(arch: str | None = None, *, small: bool = False) -> Path:
    """The rtprobe binary for `arch` (None: this machine).

    The order of the search: $RTASSAY_PROBE, the binary that `make` built in a checkout (native only, always of the newest sources), the binary
    packaged with rtassay (`make probes` in a checkout). `small`: the packaged one, a third in size, goes first if it is of the newest sources.
    Raises BoardError when there is none, when $RTASSAY_PROBE names no executable file, and in a checkout when the binary found first is
    not of the sources there.
    """
    wanted = native_arch() if arch is None else ARCHES.get(arch.lower(), arch.lower())
    override = os.environ.get(PROBE_VARIABLE)
    if override:
        path = Path(override)
        if not _executable(path):
            raise BoardError(
                f"{PROBE_VARIABLE} names no rtprobe", f"{override} is not an executable file", f"unset {PROBE_VARIABLE}"
            )
        return path
    packaged = _PACKAGED / f"rtprobe-{wanted}"
    candidates = [packaged]
    if wanted == native_arch() and not (small and _executable(packaged) and _is_of_sources(packaged)):
        candidates.insert(0, _BUILT)
    for path in candidates:
        if _executable(path):
            _check_is_of_sources(path)
            return path
    hint = (
        "run `make setup` in the checkout"
        if wanted == native_arch()
        else "run `make probes` in the checkout, or build it with `make -C probe CC=...`"
    )
    raise BoardError(
        f"there is no rtprobe for {wanted}",
        "looked for " + " and ".join(str(path) for path in candidates),
        f"{hint}, or name one with {PROBE_VARIABLE}",
    )


def sources_digest(sources: Path) -> str:
    """The digest of the probe's sources that a binary made of them holds (probe/Makefile)."""
    found = sorted(path.relative_to(sources).as_posix() for path in sources.rglob("*.[chd]*") if path.is_file())
    lines = (f"{sha256_of(sources / name)}  {name}\n" for name in found if name.endswith((".c", ".h", ".def")))
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


def _is_of_sources(path: Path) -> bool:
    """Installed packages have no sources to compare with."""
    if not _SOURCES.is_dir():
        return True
    found = _DIGEST.search(path.read_bytes())
    return found is not None and found[1].decode() == sources_digest(_SOURCES)


def _check_is_of_sources(path: Path) -> None:
    """A probe older than its sources lacks options that the host uses."""
    if not _is_of_sources(path):
        build = "make -C probe" if path == _BUILT else "make probes"
        raise BoardError(
            f"{path} was not built from the sources of this checkout", f"{_SOURCES} has changed since", f"run `{build}`"
        )


def installed_probe(contact: Contact) -> str | None:
    """Path of the board's own rtprobe, if it is the same file that would be copied there."""
    if contact.installed is None:
        return None
    path, sha256 = contact.installed
    return path if sha256 == sha256_of(probe_path(contact.machine)) else None


def sha256_of(path: Path) -> str:
    """Hash of a local file, as hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _executable(path: Path) -> bool:
    # Decide as exec does: a login may have capabilities that its uid does not have.
    return path.is_file() and os.access(path, os.X_OK, effective_ids=True)
