"""Files out of Debian packages, without installing them: downloaded once, kept by the checksum of the package."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

APT_TIMEOUT_S = 240


class LabUnavailable(Exception):
    """The lab cannot be set up on this machine: what failed, and what would mend it."""


def cache_dir() -> Path:
    """Where unpacked package files are kept between runs, outside the work tree."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rtassay-lab"


def newest(metapackages: Mapping[str, str]) -> dict[str, str]:
    """The kernel packages that metapackages stand for now, under the same keys: linux-image-6.1.0-56-amd64 for
    linux-image-amd64."""
    found, of = {}, ""
    for line in _apt_cache("depends", *metapackages.values()).splitlines():
        kind, _, name = line.strip().partition(": ")
        if not line.startswith(" "):
            of = line.strip()
        elif kind == "Depends" and name.startswith("linux-image-"):
            found[of] = name
    missing = set(metapackages.values()) - set(found)
    if missing:
        raise LabUnavailable(f"apt-cache does not say which kernel {', '.join(sorted(missing))} depends on")
    return {key: found[metapackage] for key, metapackage in metapackages.items()}


def unpacked(wanted: Mapping[str, tuple[str, ...]]) -> dict[str, Path]:
    """For every package a directory with those of its files whose paths fit one of the patterns (paths as in the package,
    no leading slash). Downloads the candidate version where it is not in the cache yet."""
    checksums = _checksums(*wanted)
    homes = {package: _home(package, checksums[package], patterns) for package, patterns in wanted.items()}
    new = [package for package, home in homes.items() if not home.is_dir()]
    if new:
        cache_dir().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".new-") as scratch:
            debs = _download({package: checksums[package] for package in new}, Path(scratch))
            for package in new:
                content = Path(scratch) / package
                _extract(debs[package], wanted[package], content)
                _publish(content, homes[package])
    return homes


def _home(package: str, checksum: str, patterns: tuple[str, ...]) -> Path:
    key = hashlib.sha256("\0".join((checksum, *patterns)).encode()).hexdigest()[:16]
    return cache_dir() / f"{package}-{key}"


def _publish(content: Path, home: Path) -> None:
    """Rename into place; whoever comes second (another test run) takes what the first one put there."""
    try:
        content.rename(home)
    except OSError:
        if not home.is_dir():
            raise


def _apt_cache(verb: str, *packages: str) -> str:
    """Output of apt-cache; where a package is unknown the lists are fetched first, as a fresh machine has none."""
    done = _run("apt-cache", verb, *packages)
    if done.returncode or not done.stdout.strip():
        _update_lists()
        done = _run("apt-cache", verb, *packages)
    if done.returncode or not done.stdout.strip():
        raise LabUnavailable(f"apt-cache {verb} {' '.join(packages)} failed: {_last_words(done)}")
    return done.stdout


def _checksums(*packages: str) -> dict[str, str]:
    """SHA-256 of the candidate versions, as the signed package lists state them."""
    found, package = {}, ""
    for line in _apt_cache("show", "--no-all-versions", *packages).splitlines():
        key, _, value = line.partition(": ")
        if key == "Package":
            package = value
        elif key == "SHA256":
            found[package] = value
    missing = set(packages) - set(found)
    if missing:
        raise LabUnavailable(f"Debian's package lists hold no {', '.join(sorted(missing))}")
    return found


def _download(checksums: Mapping[str, str], into: Path) -> dict[str, Path]:
    """The .deb files of packages by name, in one call of apt-get: it takes longer to start than to fetch."""
    done = _run("apt-get", "download", *checksums, cwd=into)
    if done.returncode:  # the lists may be older than the mirror
        _update_lists()
        done = _run("apt-get", "download", *checksums, cwd=into)
    if done.returncode:
        names = " ".join(checksums)
        raise LabUnavailable(
            f"the lab needs Debian packages and `apt-get download {names}` failed: {_last_words(done)}"
        )
    debs = {}
    for package, expected in checksums.items():
        (debs[package],) = into.glob(f"{package}_*.deb")
        with debs[package].open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise LabUnavailable(f"{debs[package].name} came with SHA-256 {found}, expected {expected}; run it again")
    return debs


def _update_lists() -> None:
    """Best effort: without root the lists are what they are."""
    if os.geteuid() == 0:
        _run("apt-get", "update")


def _extract(deb: Path, wanted: tuple[str, ...], into: Path) -> None:
    into.mkdir()
    found = 0
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as unpack:
        assert unpack.stdout is not None
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
            for member in archive:
                path = member.name.removeprefix("./")
                if not any(fnmatch.fnmatchcase(path, pattern) for pattern in wanted):
                    continue
                target = into / path
                target.parent.mkdir(parents=True, exist_ok=True)
                if member.issym():
                    target.symlink_to(member.linkname)
                elif (content := archive.extractfile(member)) is not None:
                    with target.open("wb") as file:
                        shutil.copyfileobj(content, file)
                    target.chmod(member.mode)
                found += 1
        unpack.stdout.read()
    if unpack.returncode or not found:
        raise LabUnavailable(f"{deb.name} holds nothing of {', '.join(wanted)}")


def _run(*argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=APT_TIMEOUT_S, cwd=cwd, check=False)
    except FileNotFoundError as error:
        raise LabUnavailable(f"{argv[0]} is missing: the lab takes its kernels from Debian packages") from error
    except subprocess.TimeoutExpired as error:
        raise LabUnavailable(f"{' '.join(argv)} did not end within {APT_TIMEOUT_S} s") from error


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if not line.startswith("W:")]
    return " ".join(lines[-3:]) or f"exit code {done.returncode}"
