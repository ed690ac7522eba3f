"""The script board: one boot of a kernel in virtual time, with everything it needs in its initramfs.

QEMU counts instructions (8 ns each) instead of time, and nothing outside reaches the guest: it has no disk, no network, no input.
So the same inputs give the same bytes, on a busy host too. The board shows path lengths and sections that cannot be preempted,
on one CPU, without caches, DMA or firmware. Its numbers are never latencies of hardware.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import io
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay.lab import places, qmp, virtual_time
from rtassay.lab.arches import ARCHES, Arch
from rtassay.lab.following import Follow, path_in
from rtassay.lab.initramfs import Initramfs
from rtassay.model.errors import BoardError
from rtassay.model.files import naming, write_file

SHIFT = 3
"""One instruction takes 2**SHIFT ns of virtual time: 125 million a second."""
STREAM = "stream.rtw"
LIMIT_S = 300.0
"""Wall time without a step of virtual time after which a guest is ended."""
VIRTUAL_LIMIT_S = 1800
"""Virtual time after which a guest is ended: one that spins for ever makes progress, too."""
_LOOK_S, _STEP_S = 5.0, 0.5
_EXIT = "exit"
_UPTIME = "uptime"
_BARE = ("-nodefaults", "-smp", "1", "-display", "none", "-no-reboot")
_CLOCK = ("-rtc", "base=2024-01-01T00:00:00,clock=vm")
# noirqdebug: a thread serves the interrupts of the results' serial line late, and PREEMPT_RT would take that for a fault and disable them.
_CMDLINE = "quiet panic=-1 noirqdebug"
# The results leave over their own serial line after the script: they cost no virtual time during the measurement.
_INIT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev; mount -t tracefs nodev /sys/kernel/tracing
mkdir -p /dev/shm /tmp /out /run; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp; mount -t tmpfs out /out; mount -t tmpfs run /run
cd /tmp
sh /script
echo $? > /out/{exit}
kill -9 -1
cut -d' ' -f1 /proc/uptime > /out/{uptime}
stty -F /dev/{port} raw -echo
tar -c -C /out . > /dev/{port}
sleep 1
poweroff -f
"""


@dataclass(frozen=True, slots=True)
class _Wiring:
    """How an architecture's board is wired. `port`: the terminal over which the results leave, behind `option` of QEMU; `clock_s`: its hardware
    clock, which runs in virtual time, in seconds of an epoch, read from outside over a control socket."""

    port: str
    options: tuple[str, ...]
    clock_s: Callable[[Path], int]


def _clock_of_a_pc(control: Path) -> int:
    told: dict[str, Any] = qmp.command(control, "qom-get", path="/machine", property="rtc-time")
    day = datetime.datetime(told["tm_year"] + 1900, told["tm_mon"] + 1, told["tm_mday"], tzinfo=datetime.UTC)
    return int(day.timestamp() + told["tm_hour"] * 3600 + told["tm_min"] * 60 + told["tm_sec"])


def _clock_of_virt(control: Path) -> int:
    """The data register of the PL031 of the machine `virt`. A read changes nothing."""
    told: str = qmp.command(control, "human-monitor-command", **{"command-line": f"xp /1wx {_PL031:#x}"})
    return int(told.partition(":")[2], 16)


_PL031 = 0x0901_0000
# The machine `virt` has one serial line of its own.
_VIRT = _Wiring(
    "ttyS0", ("-chardev", "file,id=results,path={}", "-device", "pci-serial,chardev=results"), _clock_of_virt
)
_WIRING = {"amd64": _Wiring("ttyS1", ("-serial", "file:{}"), _clock_of_a_pc), "arm64": _VIRT, "armhf": _VIRT}


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The results of one boot. `files`: all that the script wrote to /out, by name. `exit_code`: of the script.

    `inputs`: SHA-256 of everything that decides the result, by name; `qemu` the version, `seed` and `command` beside them.
    `path`: what was followed (`lab.following`).
    """

    files: dict[str, bytes]
    exit_code: int
    console: str
    virtual_ns: int
    wall_ns: int
    qemu: str
    seed: int
    inputs: dict[str, str]
    path: bytes | None = None

    @property
    def stream(self) -> bytes:
        """The stream of the probe. Raises BoardError if the script wrote none."""
        if STREAM not in self.files:
            raise BoardError("the script board brought no stream", _last_words(self.console))
        return self.files[STREAM]


@dataclass(frozen=True, slots=True)
class ScriptBoard:
    """`kernel`: an image that QEMU boots. `userland`: an initramfs with BusyBox as /bin/busybox, for `arch` as the kernel.

    `files`: more files by their path on the board (mode 755). `script`: a shell script; what it writes to /out becomes `files`.
    `seed`: of QEMU; it varies the random numbers of the kernel, and so the phases of everything. `follow`: to a wake-up, which changes no result.
    """

    kernel: Path
    userland: bytes
    files: Mapping[str, bytes]
    script: str
    seed: int = 1
    memory_mib: int = 512
    follow: Follow | None = None
    arch: Arch = ARCHES["amd64"]

    def run(
        self, limit_s: float = LIMIT_S, virtual_limit_s: int = VIRTUAL_LIMIT_S, stop: threading.Event | None = None
    ) -> ScriptResult:
        """Boot once and wait for the end. `stop`: ends the guest when another thread sets it. Raises BoardError if QEMU or the kernel is missing, if the guest makes no progress in virtual
        time for `limit_s` of wall time, if it does not end within `virtual_limit_s`, or if its results are incomplete."""
        places.need(self.arch.qemu, "setpriv")
        if not self.kernel.is_file():
            raise BoardError(f"no kernel at {self.kernel}")
        version = qemu_version(self.arch)
        initrd = self.userland + self._own()
        with tempfile.TemporaryDirectory(prefix="rtassay-script-") as scratch:
            home = Path(scratch)
            write_file(home / "initrd", initrd)
            followed = [] if self.follow is None else self.follow.words(home, version)
            begun = time.monotonic_ns()
            _boot([*self._argv(home), *followed], home, _Limits(limit_s, virtual_limit_s, stop, self._wiring.clock_s))
            wall_ns = time.monotonic_ns() - begun
            console = (home / "console").read_bytes().decode(errors="replace").replace("\r", "")
            files = _unpacked((home / "results").read_bytes(), console)
            path = path_in(home)
        return ScriptResult(
            files={name: content for name, content in files.items() if name not in (_EXIT, _UPTIME)},
            exit_code=int(files[_EXIT]),
            console=console,
            virtual_ns=int(files[_UPTIME].replace(b".", b"")) * 10_000_000,
            wall_ns=wall_ns,
            qemu=version,
            seed=self.seed,
            inputs={"kernel": _sha256(self.kernel.read_bytes()), "initrd": _sha256(initrd)},
            path=path,
        )

    def _argv(self, home: Path) -> list[str]:
        argv = [self.arch.qemu, *self.arch.machine, *_BARE, *virtual_time.options(SHIFT), *_CLOCK]
        argv += ["-m", f"{self.memory_mib}M", "-seed", str(self.seed)]
        argv += [
            "-monitor",
            "none",
            "-qmp",
            f"unix:{home / 'qmp'},server=on,wait=off",
            "-serial",
            f"file:{home / 'console'}",
            *(word.format(home / "results") for word in self._wiring.options),
        ]
        append = f"console={self.arch.console} {_CMDLINE}"
        return [*argv, "-kernel", str(self.kernel), "-initrd", str(home / "initrd"), "-append", append]

    @property
    def _wiring(self) -> _Wiring:
        return _WIRING[self.arch.name]

    def _own(self) -> bytes:
        """A second archive after the userland: the kernel unpacks both, and the later file of a name wins."""
        archive = Initramfs()
        init = _INIT.format(exit=_EXIT, uptime=_UPTIME, port=self._wiring.port)
        archive.file("init", init.encode(), 0o755)
        archive.file("script", self.script.encode())
        for path, content in sorted(self.files.items()):
            name = path.lstrip("/")
            if "/" in name:
                archive.directory(name.rpartition("/")[0])
            archive.file(name, content, 0o755)
        return archive.finish()


def qemu_version(arch: Arch) -> str:
    """As QEMU says it. Raises BoardError if there is no QEMU for this architecture."""
    places.need(arch.qemu)
    return places.run([arch.qemu, "--version"], what="ask QEMU for its version").splitlines()[0]


@dataclass(frozen=True, slots=True)
class _Limits:
    """What ends a guest that does not end by itself."""

    wall_s: float
    virtual_s: int
    stop: threading.Event | None
    clock_s: Callable[[Path], int]


def _boot(argv: list[str], home: Path, limits: _Limits) -> None:
    with naming(home / "qemu.log"), (home / "qemu.log").open("wb") as log:
        # It ends with this process in any case.
        bound = ["setpriv", "--pdeathsig", "KILL", *argv]
        qemu = subprocess.Popen(bound, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            code = _end_of(qemu, home, limits)
        finally:
            with contextlib.suppress(ProcessLookupError):
                qemu.kill()
            qemu.wait()
    if code:
        words = (home / "qemu.log").read_text(errors="replace").strip().splitlines()
        raise BoardError("QEMU cannot run the script board", words[-1] if words else f"exit code {code}")


def _end_of(qemu: subprocess.Popen[bytes], home: Path, limits: _Limits) -> int:
    """The exit code of QEMU. Its clock is looked at from outside, which the guest does not notice. Raises BoardError for a guest that hangs."""
    first = last = None
    looked = moved = time.monotonic()
    while True:
        try:
            return qemu.wait(_STEP_S)
        except subprocess.TimeoutExpired:
            wall = time.monotonic()
        if limits.stop is not None and limits.stop.is_set():
            raise BoardError("the script board was stopped")
        if wall - looked >= _LOOK_S:
            looked, now = wall, _virtual_s(home, limits.clock_s)
            # QEMU 7.2 hangs for ever where it was asked for something at its end.
            if now is None and _is_whole(home / "results"):
                return 0
            if now is not None and now != last:
                first, last, moved = now if first is None else first, now, wall
        if first is not None and last is not None and last - first > limits.virtual_s:
            raise BoardError(f"the script board did not end within {limits.virtual_s} virtual seconds", _console(home))
        if wall - moved >= limits.wall_s:
            raise BoardError(
                f"the script board made no progress in virtual time for {limits.wall_s:.0f} s of wall time",
                _console(home),
            )


def _virtual_s(home: Path, clock_s: Callable[[Path], int]) -> int | None:
    """The guest's hardware clock; None if QEMU does not answer."""
    try:
        return clock_s(home / "qmp")
    except (BoardError, KeyError, ValueError):
        return None


def _is_whole(results: Path) -> bool:
    """With the two empty blocks that end an archive."""
    archive = results.read_bytes() if results.exists() else b""
    if not archive.endswith(bytes(2 * tarfile.BLOCKSIZE)):
        return False
    with contextlib.suppress(BoardError):
        _unpacked(archive, "")
        return True
    return False


def _console(home: Path) -> str:
    path = home / "console"
    return _last_words(path.read_text(errors="replace") if path.exists() else "")


def _unpacked(archive: bytes, console: str) -> dict[str, bytes]:
    """The files of /out. Raises BoardError if the boot or the script ended before all of them were sent."""
    files = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is not None:
                    files[member.name.removeprefix("./")] = content.read()
    except (tarfile.TarError, EOFError) as error:
        raise BoardError("the kernel did not boot to its end", _last_words(console)) from error
    if _EXIT not in files or _UPTIME not in files:
        raise BoardError("the results of the script board are not whole", _last_words(console))
    return files


def _last_words(console: str) -> str:
    lines = [line for line in console.splitlines() if line.strip()]
    return "its console ends with: " + " / ".join(lines[-6:])[-600:] if lines else "its console is empty"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
