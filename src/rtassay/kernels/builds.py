"""Kernels that were built here: one directory each, named by the release that `uname -r` will report."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from rtassay.kernels.config import Difference
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.files import read_regular

MANIFEST = "kernel.json"
SCHEMA = "rtassay/kernel-build/1"


class BuiltFile(msgspec.Struct, frozen=True):
    """A file of a build. `path` below its directory."""

    path: str
    bytes: int
    sha256: str


class Named(msgspec.Struct, frozen=True):
    """An input that a person named, and the SHA-256 of its content."""

    name: str
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """All that a build came from and consists of. `made_by`: tuxmake or make, with its version. `difference`: against the stock kernel
    (of a stock kernel: empty), `not_taken`: lines of fragments that kconfig did not keep."""

    release: str
    arch: str
    rt: bool
    source: str
    source_kind: str
    source_sha256: str
    patches: tuple[str, ...]
    base: str
    fragments: tuple[Named, ...]
    config_sha256: str
    not_taken: tuple[str, ...]
    difference: tuple[Difference, ...]
    compiler: str
    made_by: str
    ccache: bool
    timestamp_s: int
    built_in_ns: int
    files: tuple[BuiltFile, ...]
    schema: str = SCHEMA


def home() -> Path:
    """The directory of builds: `kernels` in RTASSAY_HOME or in the XDG data directory. It may not exist."""
    import platformdirs

    base = os.environ.get("RTASSAY_HOME")
    return (Path(base) if base else Path(platformdirs.user_data_dir("rtassay"))) / "kernels"


def every() -> list[tuple[Path, Manifest]]:
    """All builds, the oldest first; directories that hold none are left out."""
    found = [(path.parent, load(path.parent)) for path in home().glob(f"*/{MANIFEST}")]
    return sorted(found, key=lambda pair: (pair[0] / MANIFEST).stat().st_mtime_ns)


def load(path: Path) -> Manifest:
    """The manifest of a build. Raises InputFileError if it cannot be read."""
    try:
        return msgspec.json.decode(read_regular(path / MANIFEST), type=Manifest)
    except (OSError, msgspec.MsgspecError, RecursionError) as error:
        raise InputFileError(f"{path} is no kernel built by rtassay", str(error)) from error


def find(name: str) -> tuple[Path, Manifest]:
    """A build by its directory, release or a unique beginning of it. Raises UsageError that lists what there is."""
    if (Path(name) / MANIFEST).is_file():
        return Path(name), load(Path(name))
    known = every()
    fits = [pair for pair in known if pair[1].release == name] or [p for p in known if p[1].release.startswith(name)]
    if len(fits) == 1:
        return fits[0]
    releases = ", ".join(manifest.release for _, manifest in (fits or known)) or "none"
    what = f"'{name}' fits {len(fits)} builds" if fits else f"there is no kernel build '{name}'"
    raise UsageError(what, hint=f"builds: {releases}; make one with: rtassay kernel build")


def remove(path: Path) -> None:
    """Delete a build. The manifest goes first: what is left of an interrupted removal is no build."""
    (path / MANIFEST).unlink()
    shutil.rmtree(path)
