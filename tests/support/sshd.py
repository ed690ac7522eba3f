"""A real sshd (or dropbear) of our own on 127.0.0.1, with keys of its own: this machine as a board at the other end of SSH.

With a `world` it lives in a mount namespace, where /etc/passwd, /tmp, /run ... can be what a test needs.
"""

from __future__ import annotations

import contextlib
import os
import random
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.model.events import Second
from rtassay.wire.stream import StreamParser, read_events

# Of every world: a /run and a /dev/shm of its own, so that what is left on the board is seen, and nobody else's is; and so that
# two tests at once are no two users of one board.
OWN_RUN = "mount -t tmpfs -o mode=755 run /run; mkdir -p /run/sshd; mount -t tmpfs -o mode=1777 tmp /dev/shm\n"
# The first word on a thing counts: `extra` before ours.
_CONFIG = """\
{extra}
Port {port}
ListenAddress 127.0.0.1
HostKey {home}/host
PidFile none
AuthorizedKeysFile {home}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
LogLevel ERROR
MaxStartups 100
"""


@dataclass
class Server:
    """A running server. `config` is the ssh_config of the client that knows its keys; `pid` the listening process."""

    home: Path
    port: int
    pid: int
    user: str = "root"

    @property
    def config(self) -> Path:
        return self.home / "ssh_config"

    @property
    def options(self) -> tuple[str, ...]:
        return ("-F", str(self.config))

    @property
    def destination(self) -> str:
        return f"{self.user}@127.0.0.1"

    def run(self, *words: str) -> str:
        """What a command prints there, by ssh alone."""
        argv = ["ssh", *self.options, self.destination, shlex.join(words)]
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout

    def sessions(self) -> list[int]:
        """The processes that serve connections now: children of the one that listens."""
        return _children(self.pid)

    def cut(self, *, for_good: bool = False) -> None:
        """Every connection is gone at once, as when the board's network fails and comes back (or does not)."""
        sessions = self.sessions()
        for pid in [self.pid, *sessions] if for_good else sessions:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _children(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            text = stat.read_text()
            if int(text.rpartition(")")[2].split()[1]) == parent:
                found.append(int(stat.parent.name))
    return found


def _free_port() -> int:
    """Below those that the kernel gives to outgoing connections, lest one of them has it before the server does."""
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.SystemRandom().randrange(lowest // 2, lowest)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def _make_keys(home: Path, port: int, user: str) -> None:
    for name in ("host", "key", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(home / name)], check=True)
    shutil.copy(home / "key.pub", home / "authorized")
    (home / "authorized").chmod(0o644)
    host = (home / "host.pub").read_text().split()[:2]
    (home / "known").write_text(f"[127.0.0.1]:{port} {' '.join(host)}\n")
    (home / "ssh_config").write_text(
        f"Host *\n Port {port}\n User {user}\n IdentityFile {home}/key\n IdentitiesOnly yes\n IdentityAgent none\n"
        f" UserKnownHostsFile {home}/known\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n"
    )


@contextlib.contextmanager
def serving(
    *,
    kind: str = "openssh",
    extra: str = "",
    user: str = "root",
    world: str = "",
    environ: dict[str, str] | None = None,
) -> Iterator[Server]:
    """`extra`: lines of sshd_config. `world`: a shell script run as root in the server's mount namespace before it starts; in both,
    {home} is the server's own directory."""
    # Not below a place where rtassay may live: a `world` puts other things there.
    home = Path(tempfile.mkdtemp(prefix="rtassay-sshd-", dir="/srv"))
    home.chmod(0o755)
    port = _free_port()
    _make_keys(home, port, user)
    argv = _openssh(home, port, extra.replace("{home}", str(home))) if kind == "openssh" else _dropbear(home, port)
    script = (OWN_RUN + world).replace("{home}", str(home))
    argv = ["unshare", "-m", "sh", "-ec", f"{script}\nexec {shlex.join(argv)}"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environ or _environ()
        )
    server = Server(home, port, process.pid, user)
    try:
        _wait_until_up(server, process)
        yield server
    finally:
        server.cut()
        process.kill()
        process.wait()
        shutil.rmtree(home, ignore_errors=True)


def clear(server: Server) -> None:
    """Ends what still runs on the board and removes what lies there: a test that failed must not fail the next."""
    script = "for s in /run/rtassay-0/run-*/*; do read -r p x <$s/pid && [ ! -f $s/exit ] && kill -9 $p; done; rm -rf /run/rtassay-*"
    server.run("sh", "-c", f"{script} 2>/dev/null; true")


def arrived(recordings: Path) -> bool:
    """Whether a whole second of each CPU has come from the board into the only recording there: then a run is truly under way."""
    streams = list(recordings.glob("*.rta/stream.rtw"))
    events = read_events(streams[0], StreamParser(only={"Second"})) if streams else ()
    return len({event.lane for event in events if isinstance(event, Second)}) == len(os.sched_getaffinity(0))


def _environ() -> dict[str, str]:
    return dict(os.environ)


def _openssh(home: Path, port: int, extra: str) -> Sequence[str]:
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd refuses to start without it
    (home / "sshd_config").write_text(_CONFIG.format(port=port, home=home, extra=extra))
    return ["/usr/sbin/sshd", "-D", "-e", "-f", str(home / "sshd_config")]


def _dropbear(home: Path, port: int) -> Sequence[str]:
    """It has no option for another authorized_keys: root's are in a home of its own, by a mount."""
    subprocess.run(
        ["dropbearconvert", "openssh", "dropbear", str(home / "host"), str(home / "host.db")],
        check=True,
        capture_output=True,
    )
    ssh = home / "root" / ".ssh"
    ssh.mkdir(parents=True)
    (home / "root").chmod(0o700)
    ssh.chmod(0o700)
    shutil.copy(home / "key.pub", ssh / "authorized_keys")
    (ssh / "authorized_keys").chmod(0o600)
    line = shlex.join(["dropbear", "-F", "-E", "-s", "-m", "-p", f"127.0.0.1:{port}", "-r", str(home / "host.db")])
    return ["unshare", "-m", "sh", "-ec", f"mount --bind {shlex.quote(str(home / 'root'))} /root\nexec {line}"]


def _wait_until_up(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 300
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), 1):
            return
        assert process.poll() is None, (server.home / "log").read_text()
        assert time.monotonic() < deadline, "the server does not listen"
        time.sleep(0.02)
