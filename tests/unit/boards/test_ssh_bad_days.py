"""What can be wrong with a board at the other end of SSH: each is one sentence, its cause and the next step. Real servers, real causes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from sshd import Server, serving

from rtassay.boards.base import ANSWER_S
from rtassay.boards.linux import DetachedBoard
from rtassay.boards.openssh import Target
from rtassay.boards.places import contact_of
from rtassay.boards.ssh import SshBoard, SshTransport
from rtassay.boards.tenancy import Tenancy
from rtassay.model.errors import EXIT_BOARD, BoardError, UsageError

pytestmark = pytest.mark.root

# A user of that name, who may or may not use sudo.
USER = """
sed '$a tester:x:4242:4242::/tmp:/bin/sh' /etc/passwd >{home}/passwd; mount --bind {home}/passwd /etc/passwd
sed '$a tester:*:1::::::' /etc/shadow >{home}/shadow; chmod 600 {home}/shadow; mount --bind {home}/shadow /etc/shadow
mount -t tmpfs -o mode=1777 tmp /tmp
"""
SUDO = (
    USER
    + "echo 'tester ALL=(ALL) %sALL' >{home}/sudoers; chmod 440 {home}/sudoers; mount --bind {home}/sudoers /etc/sudoers\n"
)
PLACES = ("/run", "/dev/shm", "/tmp", "/var/tmp", "/root", "/mnt")


def mounted_everywhere(options: str) -> str:
    # sshd itself needs /run/sshd.
    return "".join(f"mount -t tmpfs -o {options} x {place}\n" for place in PLACES) + "mkdir -p -m 755 /run/sshd\n"


def board(server: Server, *words: str, **fields: Any) -> SshBoard:
    return SshBoard("far", Target(server.destination, None, (*words, *server.options)), **fields)


async def opened(made: Any, work: Callable[[Any], Awaitable[Any]]) -> Any:
    await made.open()
    try:
        return await work(made)
    finally:
        await made.close()


def use(made: DetachedBoard) -> str:
    """Put the probe there and run it; what it says."""

    async def work(board: Any) -> str:
        process = await board.start([await board.probe(), "--version"])
        output = b"".join([chunk async for chunk in process.chunks()])
        assert await process.wait(60) == 0
        return output.decode()

    said: str = asyncio.run(opened(made, work))
    return said


def refused(made: SshBoard) -> BoardError:
    with pytest.raises(BoardError) as caught:
        use(made)
    assert caught.value.exit_code == EXIT_BOARD
    assert caught.value.why and caught.value.hint
    return caught.value


def test_the_ways_in() -> None:
    with serving() as server:
        wrong = server.home / "wrong_key_config"
        wrong.write_text(server.config.read_text().replace(f"{server.home}/key", f"{server.home}/stranger"))
        stranger = refused(SshBoard("far", Target(server.destination, None, ("-F", str(wrong)))))
        assert "accepts none of your keys" in str(stranger)
        unknown = refused(board(server, "-oUserKnownHostsFile=/dev/null"))
        assert "not known here" in str(unknown) and "by hand" in (unknown.hint or "")
        changed = server.home / "changed"
        key = (server.home / "stranger.pub").read_text().split()[:2]
        changed.write_text(f"[127.0.0.1]:{server.port} {' '.join(key)}\n")
        other = refused(board(server, f"-oUserKnownHostsFile={changed}"))
        assert "differs from the one" in str(other) and "ssh-keygen -R" in (other.hint or "")
        assert use(board(server)).startswith("rtprobe ")
        port = server.port
    gone = refused(SshBoard("far", Target("root@127.0.0.1", port, ("-F", "/dev/null"))))
    assert "nothing listens" in str(gone)
    nowhere = refused(SshBoard("far", Target("root@no-such-host.invalid", None, ("-F", "/dev/null"))))
    assert "no such host" in str(nowhere)


@pytest.mark.parametrize(
    ("config", "options", "said", "next_step"),
    [
        ("Colour red", (), "line 1: Bad configuration option: colour", "ssh_config"),
        ("Port abc", (), "line 1: Bad port 'abc'", "ssh_config"),
        ("Match foo", (), "Bad Match condition", "ssh_config"),
        ("", ("-oCiphers=rot13",), "Bad SSH2 cipher spec 'rot13'", "--ssh-option"),
        ("", ("-oColour=red",), "Bad configuration option: colour", "--ssh-option"),
        (None, (), "Can't open user config file", "ssh_config"),
        ("ProxyCommand /no/such/program", (), "/no/such/program", "by hand"),
        (
            "Host 127.0.0.1\nProxyJump root@no-such-host.invalid",
            (),
            "no such host as no-such-host.invalid",
            "check the name",
        ),
    ],
)
def test_what_ssh_itself_does_not_take(
    tmp_path: Path, config: str | None, options: tuple[str, ...], said: str, next_step: str
) -> None:
    """The line of ssh that says what is wrong, not its last one."""
    file = tmp_path / "config"
    if config is not None:
        file.write_text(f"{config}\n")
    error = refused(SshBoard("far", Target("root@127.0.0.1", 1, ("-F", str(file), *options))))
    assert said in str(error) and next_step in (error.hint or "")


@pytest.mark.parametrize("destination", ["a;b@127.0.0.1", "$(x)@127.0.0.1", "-oProxyCommand=x@127.0.0.1", "root@-x"])
def test_addresses_that_ssh_refuses(destination: str) -> None:
    """Nothing in an address is an option, for no shell and not for ssh."""
    error = refused(SshBoard("far", Target(destination, None, ("-F", "/dev/null"))))
    assert "ssh refuses the address" in str(error)


def test_a_command_line_of_ssh_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTASSAY_SSH", "ssh 'unclosed")
    with pytest.raises(UsageError) as caught:
        use(SshBoard("far", Target("root@127.0.0.1")))
    assert "RTASSAY_SSH" in str(caught.value) and caught.value.hint


def test_a_server_that_never_answers() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        options = ("-F", "/dev/null", "-oConnectTimeout=1")
        error = refused(SshBoard("far", Target("root@127.0.0.1", silent.getsockname()[1], options)))
    assert "cannot be reached" in str(error)


def test_sudo_that_asks_for_a_password() -> None:
    with serving(user="tester", world=SUDO % "") as server:
        error = refused(board(server))
        assert "asks for a password" in str(error) and "NOPASSWD" in (error.hint or "")
        assert use(board(server, sudo="never")).startswith("rtprobe ")


def test_sudo_without_a_password_measures_as_root() -> None:
    async def who(board: SshBoard) -> bytes:
        return await board.transport.run("id -u")

    with serving(user="tester", world=SUDO % "NOPASSWD: ") as server:
        assert asyncio.run(opened(board(server), who)) == b"0\n"
        assert asyncio.run(opened(board(server, sudo="never"), who)) == b"4242\n"
        assert use(board(server)).startswith("rtprobe ")
        assert server.run("sh", "-c", "ls -d /run/rtassay-* /tmp/rtassay-* 2>/dev/null; true") == ""


@pytest.mark.parametrize(
    ("told", "real_time"),
    [
        ("rtprio=99\ncaps=0", True),
        ("rtprio=unlimited", True),
        ("rtprio=0\ncaps=800000", True),
        ("rtprio=0\ncaps=400000", False),
    ],
)
def test_who_may_be_real_time_needs_no_sudo(told: str, real_time: bool) -> None:
    contact = contact_of(f"uid=4242\nmachine=armv7l\nsystem=Linux\nsudo=asks\n{told}\n".encode(), "far")
    assert contact.real_time is real_time


def test_what_is_no_linux_is_refused() -> None:
    with pytest.raises(BoardError):
        contact_of(b"uid=0\nmachine=amd64\nsystem=FreeBSD\n", "far")


def test_an_architecture_without_a_probe() -> None:
    world = """
printf '#!/bin/sh\\ncase $1 in -m) echo mips64;; *) echo Linux;; esac\\n' >{home}/uname; chmod 755 {home}/uname
mount --bind {home}/uname /usr/bin/uname
"""
    with serving(world=world) as server:
        assert "no rtprobe for mips64" in str(refused(board(server)))


def test_a_probe_of_another_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = tmp_path / "rtprobe"
    foreign.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(100))
    foreign.chmod(0o755)
    monkeypatch.setenv("RTASSAY_PROBE", str(foreign))
    with serving() as server:
        assert "does not run" in str(refused(board(server)))


def test_noexec_everywhere() -> None:
    with serving(world=mounted_everywhere("noexec,mode=1777")) as server:
        error = refused(board(server))
        assert "noexec" in str(error) and "--directory" in (error.hint or "")
        server.run("mkdir", "-m", "777", str(server.home / "room"))
        assert use(board(server, directory=str(server.home / "room"))).startswith("rtprobe ")


def test_noexec_tmp_and_a_read_only_root_leave_run() -> None:
    world = "mount -t tmpfs -o noexec x /tmp; mount -t tmpfs x /run; mkdir -p -m 755 /run/sshd; mount -o remount,bind,ro /\n"
    with serving(world=world) as server:
        assert use(board(server)).startswith("rtprobe ")
        assert "rtassay" not in server.run("ls", "/run")


def test_no_space() -> None:
    with serving(world=mounted_everywhere("size=64k,mode=1777")) as server:
        assert "no space left" in str(refused(board(server)))


def test_no_space_for_the_probe() -> None:
    """df is no promise: here it says nothing, and the disk is full when the probe comes."""
    fake = "printf '#!/bin/sh\\nexit 1\\n' >{home}/df; chmod 755 {home}/df; mount --bind {home}/df /usr/bin/df\n"
    with serving(world=mounted_everywhere("size=64k,mode=1777") + fake) as server:
        error = refused(board(server))
        assert "no space left on the board" in str(error)
        assert server.run("sh", "-c", "ls -d /run/rtassay-* 2>/dev/null; true") == ""


def test_start_up_files_that_talk() -> None:
    """bash reads .bashrc for a command over ssh: what it prints, on both, is nobody's."""
    world = """
mkdir {home}/root; printf 'echo Welcome; printf "no end"; echo oops >&2\\n' >{home}/root/.bashrc
mount --bind {home}/root /root; echo "A banner" >{home}/banner
"""

    async def work(board: SshBoard) -> tuple[bytes, bytes, int]:
        process = await board.start(["sh", "-c", "printf out; printf err >&2; exit 5"])
        output = b"".join([chunk async for chunk in process.chunks()])
        code = await process.wait(60)
        return output, await process.errors(), code

    with serving(world=world, extra="Banner {home}/banner\nPrintMotd yes") as server:
        assert "Welcome" in server.run("true")
        assert asyncio.run(opened(board(server), work)) == (b"out", b"err", 5)
        assert use(board(server)).startswith("rtprobe ")


@pytest.mark.parametrize("shell", ["bash", "busybox"])
def test_a_board_with_nothing_but_busybox(shell: str) -> None:
    """Its programs, its shell as the login shell or not; no hash program either for one of them: then the file is read back."""
    drop = "rm {home}/bin/sha256sum {home}/bin/md5sum;" if shell == "busybox" else ""
    world = f"""
mkdir {{home}}/bin; /bin/busybox --install -s {{home}}/bin; {drop}
sed 's,^root:\\(.*\\):[^:]*$,root:\\1:{"/bin/bash" if shell == "bash" else "{home}/bin/sh"},' /etc/passwd >{{home}}/passwd
mount --bind {{home}}/passwd /etc/passwd
"""
    if not shutil.which("busybox"):
        subprocess.run(["apt-get", "install", "-y", "busybox-static"], check=True)
    with serving(world=world, extra="SetEnv PATH={home}/bin") as server:
        assert "BusyBox" in server.run("sh", "-c", "sh --help 2>&1")
        assert use(board(server)).startswith("rtprobe ")


def test_the_board_runs_out_while_it_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection dies for good: after its patience the host says what the board still does."""

    async def main(server: Server) -> tuple[list[str], BoardError]:
        notices: list[str] = []
        made = board(server, patience_s=1.0)
        made.notice = notices.append
        await made.open()
        try:
            process = await made.launch(["sleep", "120"], "probe")
            server.cut(for_good=True)
            with pytest.raises(BoardError) as caught:
                async for _ in process.chunks():
                    pass
            with pytest.raises(BoardError):
                await process.wait(1)
            return notices, caught.value
        finally:
            await made.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGTERM)

    with serving(world="mount -t tmpfs run /run; mkdir -p -m 755 /run/sshd\n") as server:
        notices, error = asyncio.run(main(server))
    assert "did not come back" in str(error) and "--attach" in (error.hint or "")
    assert "goes on measuring" in notices[0] and "goes on without us" in notices[-1]


def test_a_contact_cut_off_while_it_took_the_board_does_not_keep_the_next_one_out() -> None:
    class CutOff(SshTransport):
        async def run(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
            answer = await super().run(script, timeout_s)
            if b"taken" in answer:
                raise BoardError("the link is lost")
            return answer

    with serving(world=mounted_everywhere("mode=755")) as server:
        target = Target(server.destination, None, server.options)
        with pytest.raises(BoardError, match="the link is lost"):
            use(DetachedBoard(CutOff("far", target)))
        assert use(board(server)).startswith("rtprobe")
        # Of another process the same words are a reason to stay away.
        with pytest.raises(BoardError, match="the link is lost"):
            use(DetachedBoard(CutOff("far", target)))
        Tenancy._unconfirmed.clear()
        with pytest.raises(BoardError, match="is in use"):
            use(board(server))
