"""Several users of one board see each other under any login; nobody can keep the others out by a false claim. Real servers, real users."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from sshd import Server, serving

from rtassay.boards import claims, lease
from rtassay.boards.openssh import Target
from rtassay.boards.ssh import SshBoard
from rtassay.model.errors import EXIT_BOARD, BoardError

pytestmark = pytest.mark.root

# alice, bob, and a place for each that no other user may look into; what is shared is of this server alone.
WORLD = """
printf 'alice:x:4243:4243::{home}/alice:/bin/sh\\nbob:x:4244:4244::{home}/bob:/bin/sh\\n' | cat /etc/passwd - >{home}/passwd
printf 'alice:*:1::::::\\nbob:*:1::::::\\n' | cat /etc/shadow - >{home}/shadow; chmod 600 {home}/shadow
mount --bind {home}/passwd /etc/passwd; mount --bind {home}/shadow /etc/shadow
mkdir -m 700 {home}/alice {home}/bob; chown 4243:4243 {home}/alice; chown 4244:4244 {home}/bob
mount -t tmpfs -o mode=755 run /run; mkdir -p -m 755 /run/sshd; mkdir -m 1777 /run/lock
for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs -o mode=1777 x $d; done
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(world=WORLD) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_left(server: Server) -> Iterator[None]:
    yield
    left = server.run("sh", "-c", "ls -d /run/lock/* /tmp/* /run/rtassay-* 2>/dev/null; true")
    server.run("sh", "-c", "rm -rf /run/lock/* /tmp/* /run/rtassay-*")
    assert "rtassay" not in left + server.run(
        "find", f"{server.home}/alice", f"{server.home}/bob", "-name", "rtassay-4*", "-printf", "%f"
    )


def board(server: Server, user: str, **fields: Any) -> SshBoard:
    return SshBoard("far", Target(f"{user}@127.0.0.1", None, server.options), sudo="never", **fields)


def together(first: SshBoard, then: Callable[[], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        await first.open()
        try:
            return await then()
        finally:
            await first.close()

    return asyncio.run(main())


async def refused(second: SshBoard) -> BoardError:
    with pytest.raises(BoardError) as caught:
        await second.open()
    assert caught.value.exit_code == EXIT_BOARD
    await second.close()
    return caught.value


async def opens(second: SshBoard) -> None:
    await second.open()
    await second.close()


def as_user(server: Server, user: str, script: str) -> str:
    argv = ["ssh", *server.options, f"{user}@127.0.0.1", script]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=300).stdout


@pytest.mark.parametrize(("first", "second"), [("alice", "bob"), ("alice", "root"), ("root", "bob")])
def test_the_second_user_is_told_who_holds_the_board(server: Server, first: str, second: str) -> None:
    """Each in their own home, where the other cannot look."""

    def home(user: str) -> dict[str, str]:
        return {} if user == "root" else {"directory": f"{server.home}/{user}"}

    error = together(board(server, first, **home(first)), lambda: refused(board(server, second, **home(second))))
    assert "is in use" in str(error)
    assert f"(process {os.getpid()})" in str(error.why) and f"user '{first}' of the board" in str(error.why)
    asyncio.run(opens(board(server, second, **home(second))))


def test_one_user_in_two_directories_is_two(server: Server) -> None:
    other = f"{server.home}/alice"
    error = together(board(server, "alice"), lambda: refused(board(server, "alice", directory=other)))
    assert "is in use" in str(error)


def lie(server: Server, user: str, said: str, boot: str | None = None, token: str = "f00d", **fields: Any) -> None:
    """A claim that `user` makes by hand."""
    boot = boot or Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    held = asdict(lease.new_lease(boot)) | {"token": token, "run": f"run-{token}", **fields, "directory": "/nowhere"}
    text = f"run-{token} {said} {json.dumps(held)}"
    as_user(
        server,
        user,
        f"u=$(cut -d' ' -f1 /proc/uptime); ln -s {json.dumps(text).replace('UPTIME', '$u')} /run/lock/rtassay-held-{token}-1",
    )


def drop_lies(server: Server) -> None:
    server.run("sh", "-c", "rm -f /run/lock/rtassay-held-*")


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ("1.0", {}),  # long ago
        ("99999999999", {}),  # in the future: it would be fresh for years
        ("inf", {}),
        ("nan", {}),
        ("never", {}),
        ("UPTIME", {"boot": "another"}),
        ("UPTIME", {"holder": 7}),
        ("UPTIME", {"token": "f00d", "run": "run-x"}),
    ],
)
def test_what_is_not_said_now_counts_for_nothing(server: Server, said: str, fields: dict[str, Any]) -> None:
    lie(server, "alice", said, **fields)
    asyncio.run(opens(board(server, "bob")))
    drop_lies(server)


def test_who_goes_on_lying_is_named_by_the_board_and_keeps_root_out_no_longer_than_root_likes(server: Server) -> None:
    lie(server, "alice", "UPTIME", holder="root@the-boss\u001b[31m")
    asyncio.run(opens(board(server, "bob")))
    drop_lies(server)
    lie(server, "alice", "UPTIME", holder="root@the-boss")
    error = asyncio.run(refused(board(server, "bob")))
    assert "user 'alice' of the board" in str(error.why) and "--force" in str(error.hint)
    assert "is in use" in str(asyncio.run(refused(board(server, "root"))))
    asyncio.run(board(server, "bob").clean(force=True))
    assert "is in use" in str(asyncio.run(refused(board(server, "bob"))))
    asyncio.run(board(server, "root").clean(force=True))
    asyncio.run(opens(board(server, "bob")))


def test_what_is_no_claim_neither_blocks_nor_leads_anywhere(server: Server) -> None:
    server.run("sh", "-c", f"echo precious >{server.home}/precious; chmod 644 {server.home}/precious")
    traps = f"""cd /run/lock; mkfifo rtassay-held-a; ln -s {server.home}/precious rtassay-held-b; mkdir rtassay-held-c; ln -s rtassay-held-d rtassay-held-d
echo x >rtassay-held-e; chmod 0 rtassay-held-e; ln -s "$(printf 'x\\nclaim=0 root 1 run-a 1 x')" rtassay-held-f; ln -s '$(touch /tmp/pwned)' 'rtassay-held-`touch /tmp/pwned`'
ln -s x "$(printf 'rtassay-held-\\nclaim=0')"; ln -s "run-'; touch /tmp/pwned;' 1 x" rtassay-held-h; mkdir -m 777 /tmp/rtassay-4244; ln -s {server.home} /tmp/rtassay-0"""
    as_user(server, "alice", traps)
    for user in ("bob", "root"):
        asyncio.run(opens(board(server, user)))
    asyncio.run(board(server, "root").clean(force=True))
    assert server.run("cat", f"{server.home}/precious") == "precious\n"
    assert server.run("sh", "-c", "ls /tmp") == "rtassay-0\nrtassay-4244\n"
    server.run("sh", "-c", "rm -rf /run/lock/rtassay-held-* /tmp/rtassay-*")


def test_a_run_whose_host_is_silent_still_holds_the_board_and_only_root_ends_it(server: Server) -> None:
    """The claim is stale, but what it names runs, as the user who made it."""

    async def begin() -> dict[str, Any]:
        alice = board(server, "alice")
        await alice.open()
        guard = [await alice.probe(), "guard", "--attached", "--max", "60s", "--"]
        await alice.launch([*guard, "sleep", "50"], "probe")
        memory = dict(alice.resume_data or {})
        assert alice._heartbeat is not None
        alice._heartbeat.cancel()
        await alice.transport.close()
        return memory

    memory = asyncio.run(begin())
    run = memory["run"]
    # As if 100 s had gone by.
    as_user(
        server,
        "alice",
        "cd /run/lock; for f in rtassay-held-*; do t=$(readlink $f); r=${t#* }; rm $f; "
        f'ln -s "{run} $(($(cut -d. -f1 /proc/uptime) - 100)) ${{r#* }}" $f; done',
    )
    error = asyncio.run(refused(board(server, "bob")))
    assert "running process" in str(error.why) and "user 'alice'" in str(error.why)
    # bob cannot pass his own process off as hers, nor hers off as his.
    told = asyncio.run(board(server, "root").clean(force=True))
    assert any("ended the run of user alice" in line for line in told)
    asyncio.run(opens(board(server, "bob")))
    assert run in server.run("ls", "/tmp/rtassay-4243")
    asyncio.run(board(server, "alice").clean(force=True))


def test_a_claim_goes_on_being_said_without_a_moment_in_between(server: Server) -> None:
    alice = board(server, "alice")

    async def work() -> None:
        assert alice._tenancy is not None
        first = server.run("ls", "/run/lock")
        for _ in range(3):
            assert await alice._tenancy.renew()
        assert len(server.run("ls", "/run/lock").split()) == 1 and server.run("ls", "/run/lock") != first

    together(alice, work)


def test_claims_are_read_from_text_alone() -> None:
    assert (
        claims.claims_of(b"uptime=1\nclaim=\nclaim=0 root\nclaim=x y 0 run-a 1 {}\nclaim=0 root 0 run-a 1 []\n") == ()
    )
    assert claims.claims_of(b"claim=0 root 0 run-a 1 {}") == ()
