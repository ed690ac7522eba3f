"""Makes a card for a board: Debian with the kernels that a person names, an SSH key, a serial console, and nothing that disturbs a measurement.

No loop device is needed: mmdebstrap makes a tar file, mke2fs a file system from it, mtools the FAT of a Raspberry Pi.
"""

from __future__ import annotations

import io
import re
import shutil
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.kernels import builds, debian
from rtassay.kernels.arches import Target, target_named
from rtassay.kernels.cards.files import Content, Ext, Fat
from rtassay.kernels.cards.menus.base import New
from rtassay.kernels.cards.menus.raspberry import Raspberry
from rtassay.lab.packages import Packages
from rtassay.lab.places import Say, need, run
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.files import read_regular

BOARDS = ("u-boot", "raspberry-pi")
LABEL = "rtassay"
_INCLUDED = (
    *("openssh-server", "systemd-sysv", "systemd-resolved", "systemd-timesyncd", "udev", "dbus", "iproute2", "kmod"),
    *("procps", "initramfs-tools", "zstd", "kexec-tools", "sudo", "stress-ng", "rt-tests", "iperf3"),
)
_KERNEL = re.compile(r"\./boot/vmlinuz-(\S+)")
_KEY = re.compile(r"(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/=]+( .*)?")
_HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_KEYS = ("id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub")
_MIB, _FIRST_MIB, _FAT_MIB = 1 << 20, 16, 512
"""The first 16 MiB are left to loaders that boards expect there."""
_LEAST_MIB = 1024
_FIRMWARE = "usr/lib/raspi-firmware"
_NETWORK = "[Match]\nName=en* eth*\n[Network]\nDHCP=yes\n[DHCPv4]\nClientIdentifier=mac\n"
# Timers that would run apt and e2scrub in the middle of a measurement.
_MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer")
_WANTED = ("systemd-networkd.service", "systemd-resolved.service", "ssh.service")
_CONFIG_TXT = "arm_64bit={bits}\nenable_uart=1\nupstream_kernel=1\nkernel=vmlinuz-{release}\ninitramfs initrd.img-{release} followkernel\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """What card to make. `kernels`: builds, .deb files or packages of Debian, the default one first. `key`: a public one, as ssh writes it."""

    kernels: tuple[str, ...]
    out: Path
    board: str = "u-boot"
    arch: str | None = None
    key: Path | None = None
    host: str = "board"
    size_mib: int = 3072
    words: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """A card that was made. `kernels`: releases, the default one first."""

    path: Path
    arch: str
    board: str
    kernels: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class _Kernel:
    """`package`: of Debian, or `deb`: a file."""

    release: str
    arch: str | None
    package: str | None = None
    deb: Path | None = None


def make(asked: Asked, say: Say = lambda words: None) -> Card:
    """Make the card; `asked.out` is written whole or not at all.

    Raises UsageError for a wrong request, InputFileError for a kernel or key that cannot be read, BoardError when a tool or a package is missing.
    """
    target = _target(asked)
    key = _key(asked.key)
    need("mmdebstrap", "mke2fs", "sfdisk", "fakeroot", "tar", *(("mformat", "mcopy") if _is_pi(asked) else ()))
    kernels = [_kernel(word, target) for word in asked.kernels]
    for kernel in kernels:
        if kernel.arch not in (None, target.name):
            raise UsageError(f"kernel {kernel.release} is for {kernel.arch}, the card for {target.name}", hint="--arch")
    if asked.out.exists() and not asked.out.is_file():
        raise UsageError(f"{asked.out} is no file", hint="make the image in a file, then copy it onto the card")
    with tempfile.TemporaryDirectory(
        dir=asked.out.absolute().parent, prefix=".card-", ignore_cleanup_errors=True
    ) as scratch:
        home = Path(scratch)
        debian.root_of(
            home / "root.tar",
            target,
            [*_INCLUDED, *(["raspi-firmware"] if _is_pi(asked) else []), *(k.package for k in kernels if k.package)],
            say,
            what=f"installing Debian {debian.main_suite()} for {target.name}",
            components=("non-free-firmware",) if _is_pi(asked) else (),
            hooks=_hooks([kernel.deb for kernel in kernels if kernel.deb]),
        )
        image = home / "card.img"
        say("making the file systems of the card")
        _overlay(home / "overlay.tar", asked, key, [kernel.release for kernel in kernels])
        _assemble(image, home, asked)
        if _is_pi(asked):
            _fill_pi(image, asked, [kernel.release for kernel in kernels])
        _check(image, asked, [kernel.release for kernel in kernels])
        image.replace(asked.out)
    size = asked.out.stat().st_size
    return Card(asked.out, target.name, asked.board, tuple(kernel.release for kernel in kernels), size)


def _is_pi(asked: Asked) -> bool:
    return asked.board == "raspberry-pi"


def _target(asked: Asked) -> Target:
    if asked.board not in BOARDS:
        raise UsageError(f"rtassay makes no cards for '{asked.board}'", hint=f"known: {', '.join(BOARDS)}")
    if not _HOST.fullmatch(asked.host):
        raise UsageError(f"'{asked.host}' is no name of a host", hint="small letters, digits and -")
    if asked.size_mib < _LEAST_MIB:
        raise UsageError(f"a card of {asked.size_mib} MiB is too small", hint=f"--size {_LEAST_MIB}M or more")
    if not asked.kernels:
        raise UsageError(
            "a card needs a kernel", hint="rtassay image linux-image-arm64 linux-image-rt-arm64 -o card.img"
        )
    if not asked.words.isprintable():
        raise UsageError("the words for the kernel's command line are not plain text")
    target = target_named(asked.arch or "arm64")
    if _is_pi(asked) and target.name not in ("arm64", "armhf"):
        raise UsageError(f"a Raspberry Pi does not run {target.name}", hint="--arch arm64 or armhf")
    return target


def _key(path: Path | None) -> str:
    """The line of a public key; without a path that of this user."""
    if path is None:
        found = [place for name in _KEYS if (place := Path("~/.ssh").expanduser() / name).is_file()]
        if not found:
            raise UsageError(
                "no public key for the login was found", "~/.ssh holds none", "ssh-keygen, or --key FILE.pub"
            )
        path = found[0]
    try:
        text = read_regular(path).decode("utf-8", "replace").strip()
    except OSError as error:
        raise InputFileError(f"cannot read the key {path}", error.strerror) from error
    if "PRIVATE KEY" in text:
        raise InputFileError(f"{path} is a private key", "the card gets the public one", f"{path}.pub")
    if not _KEY.fullmatch(text):
        raise InputFileError(
            f"{path} is no public key of SSH", hint="one line as ssh-keygen writes it: ssh-ed25519 AAAA... name"
        )
    return text


def _kernel(word: str, target: Target) -> _Kernel:
    path = Path(word)
    if word.startswith("linux-image-") and "/" not in word and not path.exists():
        package = Packages(target.name).kernel_behind(word)
        return _Kernel(package.removeprefix("linux-image-"), target.name, package=package)
    if path.is_file() and path.suffix == ".deb":
        return _of_deb(path)
    home, manifest = builds.find(word)
    debs = [home / file.path for file in manifest.files if file.path.endswith(".deb")]
    if not debs:
        raise InputFileError(f"{home} holds no Debian package", hint="build it anew: rtassay kernel build")
    return _Kernel(manifest.release, manifest.arch, deb=debs[0].resolve())


def _of_deb(path: Path) -> _Kernel:
    need("dpkg-deb")
    try:
        listed = run(["dpkg-deb", "-c", str(path)], what=f"look into {path.name}")
        arch = run(["dpkg-deb", "-f", str(path), "Architecture"], what=f"look into {path.name}").strip()
    except BoardError as error:
        raise InputFileError(f"{path} is no Debian package", error.why) from error
    releases = _KERNEL.findall(listed)
    if len(releases) != 1:
        raise InputFileError(f"{path} holds {len(releases)} kernels", "one file boot/vmlinuz-RELEASE is needed")
    return _Kernel(releases[0], arch, deb=path.resolve())


def _hooks(debs: Sequence[Path]) -> list[str]:
    """Kernels that are no packages of the mirror are installed after it, as dpkg does it: their initrd is made then, too."""
    hooks = []
    for deb in debs:
        hooks.append(f"--customize-hook=upload {_quoted(str(deb))} /tmp/{deb.name}")
        hooks.append(f'--customize-hook=chroot "$1" dpkg -i /tmp/{deb.name} && rm "$1"/tmp/{deb.name}')
    return hooks


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _overlay(path: Path, asked: Asked, key: str, releases: Sequence[str]) -> None:
    """The files of ours, as a tar file that is unpacked over Debian's."""
    fstab = f"LABEL={LABEL} / ext4 noatime,errors=remount-ro 0 1\n"
    fstab += "LABEL=FIRMWARE /boot/firmware vfat defaults 0 2\n" if _is_pi(asked) else ""
    files = {
        "etc/hostname": f"{asked.host}\n",
        "etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {asked.host}\n::1 localhost\n",
        "etc/fstab": fstab,
        "etc/systemd/network/10-wired.network": _NETWORK,
        "root/.ssh/authorized_keys": f"{key}\n",
    }
    if not _is_pi(asked):
        files["boot/extlinux/extlinux.conf"] = _extlinux(releases, asked.words)
    links = {f"etc/systemd/system/{unit}": "/dev/null" for unit in _MASKED}
    links |= {f"etc/systemd/system/multi-user.target.wants/{unit}": f"/lib/systemd/system/{unit}" for unit in _WANTED}
    links["etc/resolv.conf"] = "/run/systemd/resolve/stub-resolv.conf"
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as archive:
        for name in ("root/.ssh", *(["boot/firmware"] if _is_pi(asked) else [])):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o700 if name.endswith(".ssh") else 0o755
            archive.addfile(folder)
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text.encode()), 0o600 if ".ssh" in name else 0o644
            archive.addfile(info, io.BytesIO(text.encode()))
        for name, to in links.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, to
            archive.addfile(info)


def _command_line(words: str) -> str:
    # The device tree names the serial line, which is the console where no other is named.
    return f"root=LABEL={LABEL} rw rootwait {words}".strip()


def _extlinux(releases: Sequence[str], words: str) -> str:
    labels = [
        f"label {release}\n\tmenu label {release}\n\tlinux /boot/vmlinuz-{release}\n\tinitrd /boot/initrd.img-{release}\n"
        f"\tfdtdir /usr/lib/linux-image-{release}\n\tappend {_command_line(words)}\n"
        for release in releases
    ]
    return "\n".join([f"default {releases[0]}\nmenu title kernels\nprompt 1\ntimeout 30\n", *labels])


def _places(asked: Asked) -> tuple[int, int]:
    """(MiB where the ext4 begins, MiB of it)."""
    at = _FIRST_MIB + (_FAT_MIB if _is_pi(asked) else 0)
    return at, asked.size_mib - at - 1


def _assemble(image: Path, home: Path, asked: Asked) -> None:
    at, size = _places(asked)
    rows = [f"{at}MiB,{size}MiB,83,*"]
    if _is_pi(asked):
        rows = [f"{_FIRST_MIB}MiB,{_FAT_MIB}MiB,c,*", f"{at}MiB,{size}MiB,83"]
    with image.open("wb") as file:
        file.truncate(asked.size_mib * _MIB)
    table = home / "table"
    table.write_text("\n".join(["label: dos", *rows, ""]))
    run(["sh", "-c", 'exec sfdisk -q "$1" < "$2"', "sh", str(image), str(table)], what="write the partition table")
    # fakeroot: the files belong to whom the tar files say, for tar and for mke2fs, whoever makes the card.
    script = (
        'set -e; mkdir "$1/root"; for tar in root overlay; do tar -xf "$1/$tar.tar" -C "$1/root" --numeric-owner; done; '
        'rm "$1/root.tar"; mke2fs -q -F -t ext4 -L "$2" -E "offset=$3" -d "$1/root" "$4" "$5M"'
    )
    argv = ["fakeroot", "sh", "-c", script, "sh", str(home), LABEL, str(at * _MIB), str(image), str(size)]
    run(argv, what="make the file system of the card", timeout_s=3600)
    shutil.rmtree(home / "root", ignore_errors=True)


def _fill_pi(image: Path, asked: Asked, releases: Sequence[str]) -> None:
    """Firmware, the first kernel as config.txt names it, and each other one in a folder of its own with tryboot.txt."""
    run(
        ["mformat", "-F", "-v", "FIRMWARE", "-i", f"{image}@@{_FIRST_MIB * _MIB}", "-T", str(_FAT_MIB * 2048), "::"],
        what="make the FAT of the card",
    )
    fat = Fat(image, _FIRST_MIB * _MIB, "the card's FAT")
    root = Ext(image, _places(asked)[0] * _MIB, "the card's system")
    first, bits = releases[0], 1 if (asked.arch or "arm64") == "arm64" else 0
    content: dict[str, Content] = {
        f"/{name}": _of(root, f"/{_FIRMWARE}/{name}")
        for name, is_folder in root.names(f"/{_FIRMWARE}").items()
        if not is_folder
    }
    if "/start4.elf" not in content:
        raise BoardError("raspi-firmware brought no start4.elf", f"/{_FIRMWARE} of the card")
    content |= {f"/{name.rpartition('/')[2]}": tree for name, tree in _trees(root, first).items()}
    content[f"/vmlinuz-{first}"] = _of(root, f"/boot/vmlinuz-{first}")
    content[f"/initrd.img-{first}"] = _of(root, f"/boot/initrd.img-{first}")
    content["/cmdline.txt"] = f"{_command_line(asked.words)}\n".encode()
    content["/config.txt"] = _CONFIG_TXT.format(bits=bits, release=first).encode()
    fat.write(content)
    config = content["/config.txt"]
    assert isinstance(config, bytes)
    for release in releases[1:]:
        with tempfile.TemporaryDirectory(prefix="rtassay-card-") as scratch:
            kernel = Path(scratch) / "kernel"
            kernel.write_bytes(_of(root, f"/boot/vmlinuz-{release}"))
            trees = {}
            for name, tree in _trees(root, release).items():
                trees[name] = Path(scratch) / name.replace("/", "-")
                trees[name].write_bytes(tree)
            new = New(release, kernel, _of(root, f"/boot/initrd.img-{release}"), trees)
            for change in Raspberry(fat, config.decode()).add(new, default=False):
                fat.write({change.path: change.content})


def _of(root: Ext, path: str) -> bytes:
    content = root.read(path)
    if content is None:
        raise BoardError(f"the card's system holds no {path}", "its package did not bring it")
    return content


def _trees(root: Ext, release: str) -> Mapping[str, bytes]:
    """The device trees of Raspberry Pis of a kernel: arm64 has them in a folder of their maker."""
    home = f"/usr/lib/linux-image-{release}"
    places = [name for name in ("broadcom/", "") if root.names(f"{home}/{name}")]
    names = [
        f"{place}{name}"
        for place in places
        for name in root.names(f"{home}/{place}")
        if name.startswith(("bcm27", "bcm28"))
    ]
    return {name: _of(root, f"{home}/{name}") for name in names}


def _check(image: Path, asked: Asked, releases: Sequence[str]) -> None:
    """Raises BoardError if the card lacks a file that it boots with."""
    root = Ext(image, _places(asked)[0] * _MIB, "the card's system")
    boot = root.names("/boot")
    for release in releases:
        for name in (f"vmlinuz-{release}", f"initrd.img-{release}"):
            if name not in boot:
                raise BoardError(
                    f"the card holds no /boot/{name}", "its package did not bring it, or its initrd was not made"
                )
