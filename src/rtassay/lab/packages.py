"""Files from Debian packages of any architecture, without installing them. Each package is downloaded once and cached by its checksum."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from rtassay.lab.places import Say, cache_dir, need, publish
from rtassay.model.errors import BoardError

_TIMEOUT_S = 300
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Graphics drivers that a library of stress-ng depends on: 150 MB that no board here loads.
_NOT_FOLLOWED = ("libegl-mesa0", "libgl1-mesa-dri", "libc6")


class Packages:
    """Debian's packages for one architecture (`amd64`, `arm64`, `armhf`), from the mirrors of this machine's apt.

    For a foreign architecture apt keeps its state in our cache, so this machine does not change. So it does for another `suite` of the same
    mirror, such as bookworm-backports, whose packages alone are seen then.
    """

    def __init__(self, arch: str, suite: str | None = None) -> None:
        need("apt-get", "dpkg-deb")
        self.arch = arch
        self._environment = {**os.environ, "LC_ALL": "C"}
        if suite is not None or arch != _run(["dpkg", "--print-architecture"]).stdout.strip():
            self._environment["APT_CONFIG"] = str(_private_state(arch, suite))
        self._fresh = False

    def newest(self, metapackages: Mapping[str, str]) -> dict[str, str]:
        """The kernel packages behind metapackages, under the same keys: linux-image-6.1.0-56-amd64 for linux-image-amd64."""
        found: dict[str, str] = {}
        for package, others in self._depends(*metapackages.values()).items():
            for name in others:
                if name.startswith("linux-image-"):
                    found.setdefault(package, name)
        missing = set(metapackages.values()) - set(found)
        if missing:
            raise BoardError(f"Debian's lists do not say which kernel {', '.join(sorted(missing))} stands for")
        return {key: found[metapackage] for key, metapackage in metapackages.items()}

    def kernel_behind(self, package: str) -> str:
        """The newest kernel package that a metapackage stands for; a kernel package stands for itself."""
        others = self._depends(package).get(package, [])
        return next((name for name in others if name.startswith("linux-image-")), package)

    def libraries_of(self, *packages: str) -> list[str]:
        """Names of all library packages that these depend on, directly or not."""
        found: list[str] = []
        new = list(packages)
        while new:
            needed = {name for others in self._depends(*new).values() for name in others}
            new = sorted(n for n in needed if n.startswith(("lib", "zlib")) and n not in (*found, *_NOT_FOLLOWED))
            found += new
        return [name for name in found if not name.endswith(("-common", "-data"))]

    def unpacked(self, wanted: Mapping[str, Sequence[str]], say: Say) -> dict[str, Path]:
        """For every package a directory with the files that match a pattern (paths as in the package, without
        a leading slash; `*` stays within one folder, `/**` at the end means all below). Downloads the candidate version if the cache lacks it."""
        checksums = self._checksums(*wanted)
        homes = {package: _home(package, checksums[package], patterns) for package, patterns in wanted.items()}
        new = [package for package, home in homes.items() if not home.is_dir()]
        if new:
            say(f"fetching {len(new)} Debian packages for {self.arch}")
            (cache_dir() / "packages").mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".new-") as scratch:
                debs = self._download({package: checksums[package] for package in new}, Path(scratch))
                for package in new:
                    content = Path(scratch) / package
                    _extract(debs[package], wanted[package], content)
                    publish(content, homes[package])
        return homes

    def versions(self, packages: Iterable[str]) -> str:
        """A text that changes when any of these packages does."""
        return "\n".join(f"{name} {checksum}" for name, checksum in sorted(self._checksums(*packages).items()))

    def _depends(self, *packages: str) -> dict[str, list[str]]:
        """First alternatives only."""
        found: dict[str, list[str]] = {}
        of, alternative = "", False
        for line in self._cache("depends", "--no-recommends", "--no-suggests", *packages).splitlines():
            kind, _, name = line.strip().partition(": ")
            if not line.startswith(" "):
                of = line.strip()
                found[of] = []
            elif kind.lstrip("|") in ("Depends", "PreDepends"):
                if not alternative and not name.startswith("<"):
                    found[of].append(name)
                alternative = kind.startswith("|")
        return found

    def _checksums(self, *packages: str) -> dict[str, str]:
        found, package = {}, ""
        for line in self._cache("show", "--no-all-versions", *packages).splitlines():
            key, _, value = line.partition(": ")
            if key == "Package":
                package = value
            elif key == "SHA256":
                found[package] = value
        missing = set(packages) - set(found)
        if missing:
            raise BoardError(f"Debian's package lists hold no {', '.join(sorted(missing))} for {self.arch}")
        return found

    def _cache(self, verb: str, *arguments: str) -> str:
        """Output of apt-cache. Fetches the lists first if a package is unknown: a fresh machine has no lists."""
        done = _run(["apt-cache", verb, *arguments], self._environment)
        if done.returncode or not done.stdout.strip():
            self._update()
            done = _run(["apt-cache", verb, *arguments], self._environment)
        if done.returncode or not done.stdout.strip():
            raise BoardError(f"apt-cache {verb} failed for {self.arch}", _last_words(done), "apt-get update")
        return done.stdout

    def _download(self, checksums: Mapping[str, str], into: Path) -> dict[str, Path]:
        """The .deb files by package name. One call of apt-get for all: its start takes longer than a download."""
        argv = ["apt-get", "download", *checksums]
        done = _run(argv, self._environment, into)
        if done.returncode:  # the lists may be older than the mirror
            self._update()
            done = _run(argv, self._environment, into)
        if done.returncode:
            raise BoardError(
                f"apt-get download failed for {self.arch}", _last_words(done), "is Debian's mirror reachable?"
            )
        debs = {}
        for package, expected in checksums.items():
            (debs[package],) = into.glob(f"{package}_*.deb")
            with debs[package].open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != expected:
                raise BoardError(f"{debs[package].name} came with SHA-256 {found}", f"expected {expected}", "try again")
        return debs

    def _update(self) -> None:
        """Best effort: this machine's own lists need root."""
        if not self._fresh and (os.geteuid() == 0 or "APT_CONFIG" in self._environment):
            _run(["apt-get", "update"], self._environment)
        self._fresh = True


def debian_sources() -> list[tuple[str, str, str]]:
    """(URI, suite, component) of every Debian source of this machine's apt; other sources are left out."""
    form = "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)"
    done = _run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
    if not done.stdout.strip() and os.geteuid() == 0:
        _run(["apt-get", "update"])
        done = _run(["apt-get", "indextargets", "--format", form, "Created-By: Packages"])
    rows = [line.split("|") for line in done.stdout.splitlines()]
    found = [(row[1], row[2], row[3]) for row in rows if row[0] == "Debian" and len(row) == 4]
    if not found:
        raise BoardError(
            "the lab takes its kernels from Debian packages, and this machine's apt knows no Debian source",
            hint="run the lab on Debian, or add a Debian source and `apt-get update`",
        )
    return found


def _private_state(arch: str, only_suite: str | None) -> Path:
    home = cache_dir() / (f"apt-{arch}" if only_suite is None else f"apt-{arch}-{only_suite}")
    for folder in ("lists/partial", "archives/partial", "dpkg"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    (home / "dpkg/status").touch()
    signed = f" signed-by={_KEYRING}" if _KEYRING.exists() else ""
    sources = debian_sources()
    if only_suite is not None:
        uri = next((uri for uri, suite, _ in sources if not suite.endswith("-security")), sources[0][0])
        sources = [(uri, only_suite, "main")]
    lines = [f"deb [arch={arch}{signed}] {uri} {suite} {component}" for uri, suite, component in sources]
    (home / "sources.list").write_text("\n".join(lines) + "\n")
    config = home / "apt.conf"
    config.write_text(
        f'APT::Architecture "{arch}";\n#clear APT::Architectures;\nAPT::Architectures {{ "{arch}"; }};\n'
        f'Dir::State::Lists "{home}/lists";\nDir::State::status "{home}/dpkg/status";\n'
        f'Dir::Etc::SourceList "{home}/sources.list";\nDir::Etc::SourceParts "/nonexistent";\n'
        f'Dir::Cache "{home}";\nDir::Cache::archives "{home}/archives";\nAPT::Sandbox::User "root";\n'
    )
    return config


def _home(package: str, checksum: str, patterns: Sequence[str]) -> Path:
    key = hashlib.sha256("\0".join((checksum, *patterns)).encode()).hexdigest()[:16]
    return cache_dir() / "packages" / f"{package}-{key}"


def _extract(deb: Path, patterns: Sequence[str], into: Path) -> None:
    into.mkdir()
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(deb)], stdout=subprocess.PIPE) as unpack:
        assert unpack.stdout is not None
        with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
            for member in archive:
                path = member.name.removeprefix("./")
                if not any(_fits(path, pattern) for pattern in patterns):
                    continue
                target = into / path
                target.parent.mkdir(parents=True, exist_ok=True)
                if member.issym():
                    target.symlink_to(member.linkname)
                elif (content := archive.extractfile(member)) is not None:
                    with target.open("wb") as file:
                        shutil.copyfileobj(content, file)
                    target.chmod(member.mode)
        unpack.stdout.read()
    if unpack.returncode:
        raise BoardError(f"cannot unpack {deb.name}", f"dpkg-deb: exit code {unpack.returncode}")


def _fits(path: str, pattern: str) -> bool:
    if pattern.endswith("/**"):
        return path.startswith(pattern.removesuffix("**"))
    return path.count("/") == pattern.count("/") and PurePosixPath(path).match(pattern)


def _run(
    argv: Sequence[str], environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=_TIMEOUT_S, cwd=cwd, check=False, env=environment
        )
    except FileNotFoundError as error:
        raise BoardError(
            f"{argv[0]} is missing", "the lab takes its kernels from Debian packages", "run the lab on Debian or Ubuntu"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise BoardError(f"{argv[0]} {argv[1]} did not end within {_TIMEOUT_S} s") from error


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if not line.startswith("W:")]
    return " ".join(lines[-3:]) or f"exit code {done.returncode}"
