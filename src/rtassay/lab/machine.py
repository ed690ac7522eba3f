"""A started board: QEMU without KVM, with SSH on a port of 127.0.0.1. A file in the runtime directory describes it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rtassay.lab import places, qmp
from rtassay.lab.arches import ARCHES
from rtassay.lab.disk import DiskImage
from rtassay.lab.keys import HOST_ALIAS, lab_keys
from rtassay.lab.places import Say
from rtassay.lab.quick import QuickImage
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.parsed import json_value

BOOT_TIMEOUT_S = 300.0
LIFETIME_S = 12 * 3600
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,30}")
_STATE = "board.json"
CONSOLE = "console"
_CONFIG = "ssh_config"
_ENDS_WITHIN_S = 10.0
# What a quick board says when all is started.
_READY = "LAB-READY"
# A reset ends QEMU, and a new QEMU starts with the same disk, as after a power cycle. (In the same QEMU the boot loader would copy its
# kernel over pages of translated code, at about 10 kB a second.) A board that powered off stays off.
_POWER = """
while :; do
  setpriv --pdeathsig KILL "$@" || exit $?
  tail -c 400 console.log | grep -q 'reboot: Power down' && exit 0
done
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """A running board. `kernel`: the one it started with. `port`: of its sshd on this machine; 0: it has no network. `pid`: the process to end. `ticks`: when that process started, to tell it
    from a later process with the same number."""

    name: str
    kind: str
    arch: str
    kernel: str
    cpus: int
    port: int
    pid: int
    ticks: int
    directory: str

    @property
    def ssh_options(self) -> tuple[str, ...]:
        """Arguments of ssh; the host that follows them is the board's name."""
        return ("-F", str(Path(self.directory) / _CONFIG))

    @property
    def console_socket(self) -> Path:
        """The serial line of a board without a network."""
        return Path(self.directory) / CONSOLE

    @property
    def running(self) -> bool:
        return _ticks(self.pid) == self.ticks

    @property
    def qmp(self) -> Path:
        """QEMU's control socket."""
        return Path(self.directory) / "qmp"

    def ssh_argv(self, command: str, user: str = "root") -> list[str]:
        """The command that runs a shell line on the board."""
        return ["ssh", *self.ssh_options, "-l", user, self.name, command]

    def ssh(self, command: str, *, user: str = "root", timeout_s: float = 60.0) -> subprocess.CompletedProcess[bytes]:
        """Run a shell line on the board to its end."""
        return subprocess.run(
            self.ssh_argv(command, user),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )

    def console(self) -> str:
        path = Path(self.directory) / "console.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def set_link(self, up: bool) -> None:
        """Pull or plug the network cable."""
        qmp.command(self.qmp, "set_link", name="net0", up=up)

    def reset(self) -> None:
        """Like the reset button: at once, without a shutdown."""
        qmp.command(self.qmp, "system_reset")

    def power_off(self) -> None:
        """Like pulling the power plug."""
        _signal(self, signal.SIGKILL)
        _wait_for_end(self)


def start(
    image: QuickImage | DiskImage,
    say: Say,
    *,
    name: str,
    kernel: str = "stock",
    cpus: int = 2,
    memory_mib: int = 768,
    append: str = "",
    lifetime_s: int = LIFETIME_S,
    with_parent: bool = False,
    boot_timeout_s: float = BOOT_TIMEOUT_S,
    devices: Sequence[str] = (),
    network: bool = True,
) -> Machine:
    """Boot a board and wait until it answers an SSH command. `devices`: more devices, in the syntax of QEMU's -device.

    Without `network` all it has is a shell on its serial line, the socket `Machine.console_socket`.

    The board ends after `lifetime_s`, or with this process (`with_parent`). Raises UsageError for a bad name or one in use,
    and BoardError if QEMU is missing or the board does not come up; then nothing of it stays behind.
    """
    places.need(image.arch.qemu, "ssh", "timeout", "setpriv")
    directory, claim = _place_for(name)
    port = _free_port() if network else 0
    try:
        with claim:
            words = _qemu(image, directory, kernel, cpus, memory_mib, append, port)
            words += [word for device in devices for word in ("-device", device)]
            process = _spawn(words, directory, lifetime_s, with_parent, claim)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    kind = "quick" if isinstance(image, QuickImage) else "disk"
    machine = Machine(
        name, kind, image.arch.name, kernel, cpus, port, process.pid, _ticks(process.pid) or 0, str(directory)
    )
    (directory / _CONFIG).write_text(_ssh_config(machine))
    _write(directory / _STATE, json.dumps(asdict(machine)))
    try:
        say(f"booting {name} ({kind}, {image.arch.name}, {cpus} CPUs, no KVM)")
        _wait_until_ready(machine, process, boot_timeout_s)
    except BaseException:
        stop(machine)
        raise
    return machine


def start_program(
    argv: Sequence[str], *, name: str, kind: str, arch: str, kernel: str, console: str, lifetime_s: int
) -> Machine:
    """Start a board without SSH, as a QEMU line; its serial line is the socket `console` in the board's directory.

    Raises UsageError for a name that is taken or no name, BoardError when QEMU ends at once; then nothing of it is left.
    """
    places.need("timeout", "setpriv")
    directory, claim = _place_for(name)
    try:
        with claim:
            words = [*argv, "-qmp", f"unix:{directory / 'qmp'},server=on,wait=off"]
            words += ["-serial", f"unix:{directory / console},server=on,wait=off"]
            process = _spawn(words, directory, lifetime_s, False, claim)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    machine = Machine(name, kind, arch, kernel, 1, 0, process.pid, _ticks(process.pid) or 0, str(directory))
    _write(directory / _STATE, json.dumps(asdict(machine)))
    until = time.monotonic() + _ENDS_WITHIN_S
    while not (directory / console).exists():
        if process.poll() is not None or time.monotonic() >= until:
            log = (directory / "qemu.log").read_text(errors="replace").strip().splitlines()
            stop(machine)
            raise BoardError(f"the lab board '{name}' did not come up", log[-1] if log else "QEMU opened no console")
        time.sleep(0.02)
    return machine


def stop(machine: Machine) -> None:
    """End a board and remove all its files. A second call does no harm."""
    _signal(machine, signal.SIGTERM)
    if not _wait_for_end(machine):
        machine.power_off()
    shutil.rmtree(machine.directory, ignore_errors=True)
    _overlay(machine.directory).unlink(missing_ok=True)


def running() -> list[Machine]:
    """Running boards by name. Removes the files of boards that ended by themselves."""
    found = []
    for state in sorted(places.runtime_dir().glob(f"*/{_STATE}")):
        try:
            machine = Machine(**json_value(state.read_text()))
        except (OSError, ValueError, TypeError):
            continue
        if machine.running:
            found.append(machine)
        else:
            stop(machine)
    return found


def find(name: str | None, missing_ok: bool = False) -> Machine | None:
    """The running board of this name (None: the only one). Raises BoardError if there is none, UsageError if there are several."""
    known = {machine.name: machine for machine in running()}
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name is None and known:
        raise UsageError("which board of the lab?", hint=f"running: {', '.join(known)}")
    if name in known or missing_ok:
        return known.get(name or "")
    raise BoardError(
        f"no board '{name}' of the lab runs" if name else "no board of the lab runs",
        f"running: {', '.join(known)}" if known else None,
        "start one: rtassay lab start",
    )


def _qemu(
    image: QuickImage | DiskImage, directory: Path, kernel: str, cpus: int, memory_mib: int, append: str, port: int
) -> list[str]:
    arch = image.arch
    # Always TCG: nested KVM can hang without an error. One thread where it can be: with one for each CPU a CPU may go on running code that
    # another has changed, as switching trace events does, and the board stands still.
    argv = [arch.qemu, *arch.machine, "-accel", f"tcg,thread={arch.threads}", "-smp", str(cpus), "-m", f"{memory_mib}M"]
    argv += ["-nodefaults", "-display", "none", "-no-reboot"]
    log = directory / "console.log"
    if port:
        argv += ["-chardev", f"file,id=console,path={log},append=on", "-serial", "chardev:console"]
        argv += ["-netdev", f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"]
        argv += ["-device", "virtio-net-pci,id=net0,netdev=net,romfile="]
    else:
        line = f"socket,id=console,path={directory / CONSOLE},server=on,wait=off,logfile={log},logappend=on"
        argv += ["-chardev", line, "-serial", "chardev:console"]
    argv += ["-qmp", f"unix:{directory / 'qmp'},server=on,wait=off", "-device", "virtio-rng-pci"]
    if isinstance(image, QuickImage):
        if kernel not in image.kernels:
            raise UsageError(f"a quick board has no kernel '{kernel}'", hint=f"known: {', '.join(image.kernels)}")
        speed = "" if port else ",115200"  # the default of 9600 is that of the emulated line, too
        # On a busy host an emulated timer may not tick while the kernel of a PC tests it, and then it panics.
        timer = "no_timer_check " if arch.console == "ttyS0" else ""
        line = f"console={arch.console}{speed} quiet panic=-1 {timer}{append}".strip()
        argv += ["-kernel", str(image.kernels[kernel]), "-initrd", str(image.initramfs), "-append", line]
        argv += ["-drive", f"file={image.boot},format=raw,if=none,id=boot,readonly=on"]
        return [*argv, "-device", "virtio-blk-pci,drive=boot"]
    overlay = _overlay(directory)
    overlay.parent.mkdir(exist_ok=True)
    places.need("qemu-img")
    base = ["-b", str(image.path), "-F", "qcow2"]
    places.run(["qemu-img", "create", "-q", "-f", "qcow2", *base, str(overlay)], what="make the disk of the board")
    argv += ["-drive", f"file={overlay},format=qcow2,if=none,id=disk,cache=unsafe"]
    return [*argv, "-device", "virtio-blk-pci,drive=disk,bootindex=0"]


def _overlay(directory: str | Path) -> Path:
    """The disk of one board. It is not in the runtime directory, which is memory on many machines."""
    return places.cache_dir() / "overlays" / f"{Path(directory).name}.qcow2"


def _claim(name: str) -> socket.socket | None:
    """Reserve the name across all homes of this user: an address that the board's processes hold until they end. None: the name is in use."""
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0rtassay-lab/{os.getuid()}/{name}")
    except OSError:
        claim.close()
        return None
    return claim


def _place_for(name: str) -> tuple[Path, socket.socket]:
    """A new directory for a board, and the claim to its name. Raises UsageError for a name that is taken, or no name."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name for a board", hint="small letters, digits, . _ -; at most 31")
    directory = places.runtime_dir() / name
    if find(name, missing_ok=True) is not None:
        raise UsageError(f"a board '{name}' runs already", hint=f"rtassay lab stop {name}, or start with --name OTHER")
    claim = _claim(name)
    if claim is None:
        raise UsageError(f"a board '{name}' runs already, of another home of yours", hint="start with --name OTHER")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700, parents=True)
    return directory, claim


def _spawn(
    words: Sequence[str], directory: Path, lifetime_s: int, with_parent: bool, claim: socket.socket
) -> subprocess.Popen[bytes]:
    bound = ["setpriv", "--pdeathsig", "KILL"] if with_parent else ["timeout", "-k", "10", str(lifetime_s)]
    with (directory / "qemu.log").open("wb") as log:
        return subprocess.Popen(
            [*bound, "sh", "-c", _POWER, "sh", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=directory,
            pass_fds=(claim.fileno(),),
        )


def _ssh_config(machine: Machine) -> str:
    keys = lab_keys()
    return (
        f"Host {machine.name}\n  HostName 127.0.0.1\n  Port {machine.port}\n  HostKeyAlias {HOST_ALIAS}\n"
        f"Host *\n  User root\n  IdentityFile {keys.login}\n  IdentitiesOnly yes\n  BatchMode yes\n"
        f"  UserKnownHostsFile {keys.known_hosts}\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n"
        "  ConnectTimeout 15\n  LogLevel ERROR\n"
    )


def _wait_until_ready(machine: Machine, process: subprocess.Popen[bytes], timeout_s: float) -> None:
    """Wait until the board answers an SSH command, or says that it is ready where it has no network. A TCP connect proves nothing: QEMU accepts it while the guest still boots."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end and process.poll() is None:
        if machine.port == 0 and _READY in machine.console():
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            if machine.port and machine.ssh("true", timeout_s=20).returncode == 0:
                return
        time.sleep(0.3)
    log = (Path(machine.directory) / "qemu.log").read_text(errors="replace").strip()
    words = log.splitlines()[-1] if log else f"exit code {process.returncode}"
    how = " over SSH" if machine.port else ""
    state = f"did not answer{how} within {timeout_s:.0f} s" if process.poll() is None else f"QEMU ended: {words}"
    console = " / ".join(machine.console().split("\n")[-6:])[-600:]
    raise BoardError(f"the lab board '{machine.name}' did not come up", f"{state}; its console ends with: {console}")


def _signal(machine: Machine, number: int) -> None:
    """Signal the whole session of the board."""
    if machine.running:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(machine.pid, number)


def _wait_for_end(machine: Machine) -> bool:
    end = time.monotonic() + _ENDS_WITHIN_S
    while machine.running and time.monotonic() < end:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(machine.pid, os.WNOHANG)
        time.sleep(0.05)
    return not machine.running


def _ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot; None if it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _write(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def free_name(kind: str) -> str:
    """`kind`, or `kind-2` and so on if boards of that name run."""
    taken = {machine.name for machine in running()}
    return next(n for n in (kind, *(f"{kind}-{i}" for i in range(2, 100))) if n not in taken and _free(n))


def _free(name: str) -> bool:
    claim = _claim(name)
    if claim is not None:
        claim.close()
    return claim is not None


KNOWN_ARCHES = tuple(ARCHES)
