"""A virtual board: a real Debian kernel in QEMU (TCG), reached over SSH as any board would be.

Function only. What such a board measures is no latency of any hardware.
"""

from __future__ import annotations

import lzma
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from debian import LabUnavailable, newest, unpacked

BOOT_TIMEOUT_S = 150
SSH_TIMEOUT_S = 120
# Should everything above it die, the guest turns itself off.
LIFETIME_S = 600

KERNELS = {"stock": "linux-image-amd64", "rt": "linux-image-rt-amd64"}
# In the order they are loaded; modprobe is not there to sort them.
MODULES = (
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
)
LIBRARIES = ("lib/x86_64-linux-gnu/*.so*", "usr/lib/x86_64-linux-gnu/*.so*", "lib64/*")
USERLAND = {
    "busybox-static": ("bin/busybox",),
    "dropbear-bin": ("usr/sbin/dropbear", "usr/bin/dropbearkey"),
    "libc6": ("lib/x86_64-linux-gnu/libc.so.6", "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"),
    "libcrypt1": LIBRARIES,
    "libgmp10": LIBRARIES,
    "libtomcrypt1": LIBRARIES,
    "libtommath1": LIBRARIES,
    "zlib1g": LIBRARIES,
}
XZ_MAGIC = b"\xfd7zXZ\0"
LOADER = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"

INIT = """\
#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp
mount -t tracefs nodev /sys/kernel/tracing
chmod 1777 /tmp /dev/shm
for module in {modules}; do insmod /modules/$module.ko; done
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
dropbear -E -s -m -p 22 -r /etc/hostkey
echo LAB-READY
sleep {lifetime}
poweroff -f
"""


@dataclass(frozen=True)
class Setup:
    """What to boot, by a name for people. `append` goes on the kernel's command line."""

    name: str
    kernel: Literal["stock", "rt"]
    cpus: int = 2
    append: str = ""


@dataclass(frozen=True)
class Kit:
    """All that boards are made of: unpacked packages by name, the keys, and the probes to put on the board by name."""

    packages: dict[str, Path]
    kernels: dict[str, Path]
    probes: dict[str, Path]
    key: Path
    host_key: Path
    known_hosts: Path


def make_kit(probes: dict[str, Path], scratch: Path) -> Kit:
    """Download (once) and unpack what boards need, make the keys of this session in `scratch`."""
    names = newest(KERNELS)
    of_kernel = ("boot/vmlinuz-*", *(f"lib/modules/*/kernel/{module}.ko" for module in MODULES))
    packages = unpacked(USERLAND | dict.fromkeys(names.values(), of_kernel))
    kernels = {kind: packages.pop(name) for kind, name in names.items()}
    key, host_key = scratch / "key", scratch / "hostkey"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(key)], check=True)
    public = _make_host_key(packages, host_key, scratch)
    known_hosts = scratch / "known_hosts"
    known_hosts.write_text(f"lab-board {public}\n")
    return Kit(packages, kernels, probes, key, host_key, known_hosts)


def bootable(kernel: Path) -> Path:
    """The kernel of an unpacked package without its compression, kept beside it: under emulation a kernel takes longer to
    unpack itself than to boot. As it is where it is not packed with xz."""
    (packed,) = kernel.glob("boot/vmlinuz-*")
    plain = packed.with_name("unpacked-" + packed.name)
    if not plain.exists():
        image = packed.read_bytes()
        start = image.find(XZ_MAGIC)
        if start < 0:
            return packed
        new = plain.with_name(f".{plain.name}.{os.getpid()}")
        new.write_bytes(lzma.LZMADecompressor().decompress(image[start:]))
        new.rename(plain)
    return plain


def _make_host_key(packages: dict[str, Path], path: Path, scratch: Path) -> str:
    """dropbear's own key format, so by dropbear's own tool, run with the libraries of its packages. The public half."""
    libraries = scratch / "lib"
    libraries.mkdir()
    for name, content in _libraries(packages):
        (libraries / name).write_bytes(content)
    loader = packages["libc6"] / LOADER
    tool = packages["dropbear-bin"] / "usr/bin/dropbearkey"
    argv = [str(loader), "--library-path", str(libraries), str(tool), "-t", "ed25519", "-f", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("ssh-ed25519 "):
            return " ".join(line.split()[:2])
    raise LabUnavailable(f"dropbearkey made no key: {done.stderr.strip()}")


def _libraries(packages: dict[str, Path]) -> Iterator[tuple[str, bytes]]:
    """(file name, content) of every shared library; links are followed, as everything goes into one folder."""
    for root in packages.values():
        for path in sorted(root.rglob("*.so*")):
            yield path.name, path.read_bytes()


class Initramfs:
    """A cpio archive in newc format, as the kernel unpacks it; no root needed to make device nodes in it."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._inode = 0

    def directory(self, path: str, mode: int = 0o755, owner: int = 0) -> None:
        self._entry(path, stat.S_IFDIR | mode, b"", owner=owner)

    def file(self, path: str, content: bytes, mode: int = 0o644, owner: int = 0) -> None:
        self._entry(path, stat.S_IFREG | mode, content, owner=owner)

    def link(self, path: str, target: str) -> None:
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        self._entry(path, stat.S_IFCHR | 0o600, b"", device=(major, minor))

    def finish(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"")
        return bytes(self._bytes)

    def _entry(self, path: str, mode: int, content: bytes, *, owner: int = 0, device: tuple[int, int] = (0, 0)) -> None:
        self._inode += 1
        name = path.encode() + b"\0"
        # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        fields = (self._inode, mode, owner, owner, 1, 0, len(content), 0, 0, *device, len(name), 0)
        self._bytes += b"070701" + b"".join(b"%08X" % field for field in fields)
        for part in (name, content):
            self._bytes += part
            self._bytes += bytes(-len(self._bytes) % 4)


def build_initramfs(kit: Kit, kernel: str) -> bytes:
    """The whole userland of a board: busybox, dropbear, the probes, two accounts (root, user) reached with the kit's key."""
    archive = Initramfs()
    for folder in ("bin", "dev", "etc", "lib", "modules", "proc", "sys", "tmp", "home", "root", "lib64", "probe"):
        archive.directory(folder)
    archive.device("dev/console", 5, 1)
    packages = kit.packages
    archive.file("bin/busybox", (packages["busybox-static"] / "bin/busybox").read_bytes(), 0o755)
    archive.file("bin/dropbear", (packages["dropbear-bin"] / "usr/sbin/dropbear").read_bytes(), 0o755)
    for library, content in _libraries(packages):
        archive.file(f"lib/{library}", content, 0o755)
    archive.link("lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-x86-64.so.2")
    for module in MODULES:
        (path,) = kit.kernels[kernel].glob(f"lib/modules/*/kernel/{module}.ko")
        archive.file(f"modules/{path.name}", path.read_bytes())
    for name, path in kit.probes.items():
        archive.file(f"probe/{name}", path.read_bytes(), 0o755)
    archive.file("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n")
    archive.file("etc/group", b"root:x:0:\nuser:x:1000:\n")
    archive.file("etc/hostkey", kit.host_key.read_bytes(), 0o600)
    for home, owner in (("root", 0), ("home/user", 1000)):
        archive.directory(home, 0o700, owner)
        archive.directory(f"{home}/.ssh", 0o700, owner)
        archive.file(f"{home}/.ssh/authorized_keys", kit.key.with_suffix(".pub").read_bytes(), 0o600, owner)
    modules = " ".join(module.rpartition("/")[2] for module in MODULES)
    archive.file("init", INIT.format(modules=modules, lifetime=LIFETIME_S).encode(), 0o755)
    return archive.finish()


class Board:
    """A running virtual board. `stop` it; it ends by itself when this process dies."""

    def __init__(self, kit: Kit, setup: Setup, scratch: Path) -> None:
        self.setup = setup
        self._kit = kit
        self._scratch = scratch
        self._port = _free_port()
        self._process = self._start_qemu()
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def ssh_argv(self, command: str, user: str = "root") -> list[str]:
        """The command line that runs `command` (a shell line) on the board, for a caller with its own pipes."""
        options = (
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            f"UserKnownHostsFile={self._kit.known_hosts}",
            "GlobalKnownHostsFile=/dev/null",
            "HostKeyAlias=lab-board",
            "StrictHostKeyChecking=yes",
            "ConnectTimeout=15",
            "LogLevel=ERROR",
        )
        argv = ["ssh", "-F", "none", "-i", str(self._kit.key), "-p", str(self._port)]
        for option in options:
            argv += ["-o", option]
        return [*argv, f"{user}@127.0.0.1", command]

    def run(
        self, command: str, *, user: str = "root", timeout_s: float = SSH_TIMEOUT_S, stdout: IO[bytes] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a shell line on the board to its end; its exit code, stdout (or into the file `stdout`) and stderr."""
        return subprocess.run(
            self.ssh_argv(command, user),
            stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout_s,
            check=False,
        )

    def text(self, command: str, *, user: str = "root") -> str:
        """Stripped stdout of a shell line that must succeed."""
        done = self.run(command, user=user)
        assert done.returncode == 0, f"`{command}` on the board: exit {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode().strip()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def console(self) -> str:
        return self._console_path.read_text(errors="replace") if self._console_path.exists() else ""

    def power_off(self) -> None:
        """As pulling the plug: at once, nothing on the board is told."""
        self._process.kill()
        self._process.wait(timeout=20)

    def stop(self) -> None:
        """End QEMU; safe to call twice."""
        if self.running:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self.power_off()

    @property
    def _console_path(self) -> Path:
        return self._scratch / "console.log"

    def _start_qemu(self) -> subprocess.Popen[bytes]:
        kernel = bootable(self._kit.kernels[self.setup.kernel])
        initramfs = self._scratch / "initramfs"
        initramfs.write_bytes(build_initramfs(self._kit, self.setup.kernel))
        # setpriv: QEMU dies with this process even if no finalizer gets to run. TCG always: nested KVM can hang.
        argv = ["setpriv", "--pdeathsig", "KILL", "qemu-system-x86_64"]
        argv += ["-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(self.setup.cpus), "-m", "512M"]
        argv += ["-nodefaults", "-display", "none", "-serial", f"file:{self._console_path}", "-no-reboot"]
        argv += ["-kernel", str(kernel), "-initrd", str(initramfs)]
        argv += ["-append", f"console=ttyS0 quiet panic=-1 {self.setup.append}".strip()]
        argv += ["-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{self._port}-:22"]
        argv += ["-device", "virtio-net-pci,netdev=net,romfile="]
        log = (self._scratch / "qemu.err").open("wb")
        with log:
            return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _wait_until_ready(self) -> None:
        """Until an SSH command was answered. A TCP connect would prove nothing: QEMU accepts it for a guest still booting."""
        end = time.monotonic() + BOOT_TIMEOUT_S
        while time.monotonic() < end and self.running:
            if "LAB-READY" in self.console() and self.run("true", timeout_s=30).returncode == 0:
                return
            time.sleep(0.2)
        words = (self._scratch / "qemu.err").read_text(errors="replace").strip()
        state = "did not answer over SSH" if self.running else f"QEMU ended with {self._process.returncode}: {words}"
        raise LabUnavailable(f"{self.setup}: {state}; its console ends with:\n{self.console()[-1500:]}")


class Rack:
    """At most one board at a time: the same one again while the setup stays the same and it still runs."""

    def __init__(self, kit: Kit, scratch: Path) -> None:
        self._kit = kit
        self._scratch = scratch
        self._board: Board | None = None
        self._booted = 0

    def board(self, setup: Setup) -> Board:
        if self._board is not None and (self._board.setup != setup or not self._board.running):
            self.clear()
        if self._board is None:
            self._booted += 1
            scratch = self._scratch / f"board-{self._booted}"
            scratch.mkdir()
            self._board = Board(self._kit, setup, scratch)
        return self._board

    def clear(self) -> None:
        if self._board is not None:
            self._board.stop()
            self._board = None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
