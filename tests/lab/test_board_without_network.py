"""A board of the lab that has a serial line and nothing else: measured over its shell, judged as any, left as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtassay import store
from rtassay.boards.consoles import parse
from rtassay.boards.serial import ConsoleTransport
from rtassay.lab import machine, quick
from rtassay.lab.arches import arch_named

pytestmark = pytest.mark.full
NAME = f"test-{os.getpid()}-console"


@pytest.fixture(name="board", scope="module")
def _board() -> Iterator[machine.Machine]:
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    started = machine.start(image, print, name=NAME, kernel="rt", network=False, with_parent=True)
    try:
        yield started
    finally:
        machine.stop(started)


def shell(board: machine.Machine, script: str) -> str:
    import asyncio

    async def main() -> str:
        transport = ConsoleTransport(parse(f"unix:{board.console_socket}?os=linux"))
        await transport.open()
        try:
            return (await transport.run(script)).decode()
        finally:
            await transport.close()

    return asyncio.run(main())


def test_a_board_with_a_console_alone_is_measured_and_left_as_it_was(board: machine.Machine, tmp_path: Path) -> None:
    # Without the directory of the look itself.
    look = 'ls -a /run /tmp /dev/shm /var/tmp 2>/dev/null | grep -vx "${D##*/}"; ls /sys/class/net'
    before = shell(board, look)
    assert before.split()[-1] == "lo", "it has a network"
    done = subprocess.run(
        [sys.executable, "-m", "rtassay", "run", f"lab:{NAME}", "--duration", "5s", "--deadline", "100ms", "--json"],
        env={**os.environ, "RTASSAY_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode in (1, 4, 5), done.stderr
    found = json.loads(done.stdout)
    assert found["sealed"] and found["board"] == f"lab:{NAME}" and found["verdict"]["state"] != "HOLDS"
    for lane in found["lanes"]:
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"] and lane["n"] > 0
    manifest = store.open_recording(Path(found["path"]), verify=True).manifest
    assert not manifest.damage.cut and manifest.probe_facts.kernel.release
    assert shell(board, look) == before
