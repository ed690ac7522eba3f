"""The name of a kernel as a user types it, to an image that QEMU boots: a file, a Debian package, a build tree."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rtassay.gate import needs
from rtassay.kernels import image
from rtassay.lab.packages import Packages
from rtassay.lab.places import Say, need
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.foreign import one_line
from rtassay.model.gate import GatedKernel

_IN_TREE = ("arch/x86/boot/bzImage", "arch/arm64/boot/Image", "arch/arm/boot/zImage", "arch/riscv/boot/Image")
_AT_TOP = ("bzImage", "vmlinuz", "Image", "zImage")
_FLAVOURS = (
    ("amd64", "amd64"),
    ("arm64", "arm64"),
    ("armmp", "armhf"),
    ("riscv64", "riscv64"),
    ("686-pae", "i386"),
    ("686", "i386"),
)
"""Ends of the names of Debian's kernel packages, and their architectures."""
_HINT = "a bzImage, an Image, a linux-image-*.deb, a build tree, or the name of a Debian package such as linux-image-rt-amd64"
_IMAGE, _CONFIG = ("boot/vmlinuz-*", "boot/config-*")


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """A kernel that the gate can boot. `options`: of its configuration, None if nobody knows it."""

    kernel: GatedKernel
    bootable: bytes
    options: Mapping[str, str] | None

    @property
    def traceable(self) -> bool:
        """False where the configuration says that there are no events."""
        return self.options is None or self.options.get(needs.TRACING) == "y"

    @property
    def named(self) -> bool:
        """False where the configuration says that the kernel does not know the names of its functions."""
        return self.options is None or self.options.get(needs.NAMES) == "y"


def opened(name: str, say: Say) -> Opened:
    """Raises UsageError for a name that is nothing, InputFileError for a kernel that the gate cannot boot, BoardError if a package cannot
    be downloaded."""
    path = Path(name).expanduser()
    if path.is_dir():
        content, config = _of_directory(path)
    elif path.is_file():
        content, config = _of_deb(path) if path.suffix == ".deb" else (_read(path), None)
    elif name.startswith("linux-image-") and "/" not in name:
        content, config = _of_package(name, say)
    else:
        raise UsageError(f"there is no kernel '{name}'", hint=_HINT)
    return _known(name, content, config)


def _known(name: str, content: bytes, config: str | None) -> Opened:
    facts = image.read(content)
    config = config or facts.config
    options = None if config is None else needs.options_of(config)
    needs.check(name, facts.arch, options)
    kernel = GatedKernel(
        name=one_line(name, 200),
        release=facts.release,
        version=None if facts.version is None else one_line(facts.version, 200),
        sha256=hashlib.sha256(facts.bootable).hexdigest(),
        config_sha256=None if config is None else hashlib.sha256(config.encode()).hexdigest(),
        lacks=needs.lacks(options),
        arch=facts.arch or "",
    )
    return Opened(kernel, facts.bootable, options)


def _of_directory(home: Path) -> tuple[bytes, str | None]:
    """A build tree, the result of `make dir-pkg`, or a directory with an image and its `config`."""
    trees = [home / name for name in _IN_TREE if (home / name).is_file()]
    if trees:
        return _read(trees[0]), _text(home / ".config")
    packed = sorted(home.glob(_IMAGE))
    if len(packed) > 1:
        raise UsageError(f"{home} holds {len(packed)} kernels", hint="name the image of one: " + str(packed[0]))
    if packed:
        release = packed[0].name.removeprefix("vmlinuz-")
        return _read(packed[0]), _text(home / "boot" / f"config-{release}")
    found = [home / name for name in _AT_TOP if (home / name).is_file()]
    if not found:
        raise UsageError(
            f"{home} holds no kernel", f"none of {', '.join((*_IN_TREE, _IMAGE, *_AT_TOP))}", "build it first"
        )
    return _read(found[0]), _text(home / "config")


def _of_deb(path: Path) -> tuple[bytes, str | None]:
    need("dpkg-deb")
    kernel: bytes | None = None
    config: str | None = None
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as unpack:
        assert unpack.stdout is not None
        try:
            with tarfile.open(fileobj=unpack.stdout, mode="r|") as archive:
                for member in archive:
                    name = member.name.removeprefix("./")
                    wanted = name.startswith(("boot/vmlinuz-", "boot/config-")) and member.isfile()
                    file = archive.extractfile(member) if wanted else None
                    if file is not None and name.startswith("boot/vmlinuz-"):
                        kernel = file.read()
                    elif file is not None:
                        config = file.read().decode("utf-8", "replace")
        except tarfile.TarError as error:
            raise InputFileError(f"{path} cannot be unpacked", str(error), _HINT) from error
        unpack.stdout.read()
    if kernel is None:
        raise InputFileError(f"{path} holds no kernel", f"no file {_IMAGE}", _HINT)
    return kernel, config


def _of_package(name: str, say: Say) -> tuple[bytes, str | None]:
    """A package of Debian, for the architecture that its name ends with; a metapackage stands for its newest kernel."""
    arch = next((arch for end, arch in _FLAVOURS if name.endswith(f"-{end}")), "amd64")
    needs.check_arch(name, arch)
    packages = Packages(arch)
    behind = packages.kernel_behind(name)
    (home,) = packages.unpacked({behind: (_IMAGE, _CONFIG)}, say).values()
    return _of_directory(home)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error


def _text(path: Path) -> str | None:
    return _read(path).decode("utf-8", "replace") if path.is_file() else None
