"""FreeRTOS with rtprobe-lite on QEMU's mps2-an385 (Arm Cortex-M3, 25 MHz): a board that has a console and nothing else.

Started as a board of the lab it runs at the pace of this machine's clock. `script` runs a plan in virtual time instead: one instruction
is 32 ns, the plan is in memory before the first instruction, and the same plan gives the same bytes.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.lab import machine, nuttx, places, virtual_time
from rtassay.lab.places import Say
from rtassay.model.errors import BoardError

KIND = "freertos"
# Kinds of boards with rtprobe-lite: what their consoles say, and what starts it then.
PROMPTS = {KIND: (None, None), nuttx.KIND: (nuttx.WAIT, nuttx.SEND)}
QEMU = "qemu-system-arm"
SHIFT = 5
LIMIT_S = 600.0
_IMAGE = Path(__file__).parent / "freertos" / "rtlite-mps2-an385.elf"
_MACHINE = ("-M", "mps2-an385", "-display", "none", "-monitor", "none", "-nodefaults", "-no-reboot")
_PLAN_AT = 0x20200000
_PLAN_MARK = b"RTLPLAN:"
_LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class RtosBoard:
    """One that runs. `console`: the socket of its serial line; `wait`, `send`: what starts rtprobe-lite there."""

    name: str
    console: Path
    wait: str | None
    send: str | None


@dataclass(frozen=True, slots=True)
class ScriptRun:
    """`console`: every byte that it said. `image`: SHA-256 of the program, `qemu` the version: with the plan they decide the bytes."""

    console: bytes
    image: str
    qemu: str
    wall_ns: int


def find(board: str) -> RtosBoard | None:
    """The running board that `lab:NAME` means; None for every other word."""
    if not board.startswith("lab:"):
        return None
    found = {one.name: one for one in machine.running() if one.kind in PROMPTS}.get(board.removeprefix("lab:"))
    return None if found is None else RtosBoard(found.name, Path(found.directory) / "console", *PROMPTS[found.kind])


def start(say: Say, *, name: str, lifetime_s: int) -> machine.Machine:
    """Boot it. Raises what `machine.start_program` raises."""
    places.need(QEMU)
    # The guest sleeps while it idles, so that a board that only waits takes no CPU time.
    argv = [QEMU, *_MACHINE, "-accel", "tcg,thread=single", "-icount", f"shift={SHIFT},sleep=on,align=off"]
    argv += ["-kernel", str(_IMAGE)]
    started = machine.start_program(
        argv,
        name=name,
        kind=KIND,
        arch="cortex-m3",
        kernel=KIND,
        console="console",
        lifetime_s=lifetime_s,
    )
    say(f"{name} runs FreeRTOS with rtprobe-lite; its console is unix:{Path(started.directory) / 'console'}")
    return started


def script(plan: Sequence[str], limit_s: float = LIMIT_S) -> ScriptRun:
    """Run commands of rtprobe-lite in virtual time, until the last of them has ended.

    Raises BoardError where QEMU is missing or fails, or where `limit_s` of wall time pass.
    """
    places.need(QEMU)
    text = _PLAN_MARK + "".join(f"{line}\n" for line in plan).encode() + b"\0"
    with tempfile.TemporaryDirectory(prefix="rtassay-freertos-") as scratch:
        planned, console = Path(scratch) / "plan", Path(scratch) / "console"
        planned.write_bytes(text)
        argv = [QEMU, *_MACHINE, *virtual_time.options(SHIFT), "-kernel", str(_IMAGE)]
        argv += ["-device", f"loader,file={planned},addr={_PLAN_AT:#x},force-raw=on", "-serial", f"file:{console}"]
        begun_ns = time.monotonic_ns()
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            said = _heard(process, console, len(plan), limit_s)
        finally:
            process.kill()
            _, errors = process.communicate()
        if said is None:
            words = errors.decode(errors="replace").strip().splitlines()
            raise BoardError(
                "the run in virtual time did not come to its end",
                f"QEMU ended: {words[-1]}" if words else f"nothing more came within {limit_s:.0f} s",
            )
        image = hashlib.sha256(_IMAGE.read_bytes()).hexdigest()
        return ScriptRun(said, image, _version(), time.monotonic_ns() - begun_ns)


def _heard(process: subprocess.Popen[bytes], console: Path, plans: int, limit_s: float) -> bytes | None:
    """The console's bytes once every plan has its answer: it then says READY for the last time."""
    until = time.monotonic() + limit_s
    while time.monotonic() < until and process.poll() is None:
        said = console.read_bytes() if console.exists() else b""
        if len(re.findall(rb" READY \*[0-9a-f]{8}\r\n", said)) > plans:
            return said
        time.sleep(_LOOK_S)
    return None


def _version() -> str:
    told = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=False).stdout
    return told.splitlines()[0].strip() if told else "unknown"
