"""Readings of boards for the tests of settings: those in tests/data/knobs, and how one is made.

`python tests/support/knob_readings.py BOARD FILE.json` reads a board as `rtassay doctor` does and keeps the files that decide. Of
processes it keeps the real-time ones and some others, of the kernel's configuration the options that are asked for.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

from rtassay.knobs.base import Seen
from rtassay.knobs.kernel.configuration import options
from rtassay.session.board_files import Reading, read_twice
from rtassay.session.examining import WATCH_NS, members, paths, seen_of

DATA = Path(__file__).parents[1] / "data" / "knobs"
NAMES = tuple(sorted(path.stem for path in DATA.glob("*.json")))
_ASKED = {f"CONFIG_{option['name']}" for option in options()["option"]} | {
    "CONFIG_RT_GROUP_SCHED",
    "CONFIG_RCU_NOCB_CPU_DEFAULT_ALL",
    "CONFIG_HZ",
}
_PROCESS = re.compile(r"/proc/(\d+)/(stat|status)")
_LEFT_OUT = re.compile(r"/lib/modules/|/usr/lib/modules/|/sys/devices/system/cpu/cpu\d+/cpuidle/.*/residency")
_MOST_PROCESSES = 40
# What else a board runs is nobody's business.
_NAMED = re.compile(
    r"init|systemd.*|sshd|dropbear|sh|bash|rtprobe.*|irqbalance|chronyd|tuned|k\w+/.*|.*/\d+.*|rcu\w*|kthreadd|khung.*"
)
_LOG = re.compile(r".*;(Unknown kernel|.*throttl|.*Housekeeping|.*clocksource)", re.IGNORECASE)
_WORD = re.compile(
    r"(mitigations|console|isolcpus|nohz_full|haltpoll\.\w+|tsc|idle)=\S+|quiet|threadirqs|root=\S+|ro|rw"
)


@functools.cache
def _stored(name: str) -> Reading:
    data = json.loads((DATA / f"{name}.json").read_text())
    first, later = ({path: text.encode("latin-1") for path, text in data[part].items()} for part in ("first", "later"))
    return Reading(first, later, data["errors"], data["spans"])


def reading(name: str) -> Reading:
    """One of tests/data/knobs."""
    kept = _stored(name)
    return Reading(dict(kept.first), dict(kept.later), dict(kept.errors), dict(kept.spans))


def seen(name: str) -> Seen:
    """What the settings see of it."""
    return seen_of(reading(name))


async def _read(board_name: str) -> Reading:
    from rtassay.boards.known import resolve

    board = resolve(board_name)
    await board.open()
    try:
        return await read_twice(board, await board.probe(), paths(members()), WATCH_NS)
    finally:
        await board.close()


def _config(content: bytes) -> bytes:
    text = gzip.decompress(content).decode() if content.startswith(b"\x1f\x8b") else content.decode()
    return "".join(f"{line}\n" for line in text.split("\n") if line.partition("=")[0] in _ASKED).encode()


def _anonymous(path: str, content: bytes) -> bytes:
    """Without the names of other programs, and of the log only what is looked at."""
    text = content.decode("latin-1")
    named = re.match(r"(\d+ \(|Name:\s*)([^\n]*?)(\) .*|\n.*)", text, re.DOTALL)
    if _PROCESS.fullmatch(path) and named and not _NAMED.fullmatch(named[2]):
        text = f"{named[1]}program{named[3]}"
    elif path == "@kmsg":
        first = "5,0,0,-;Linux version\n" if text.startswith(("5,0,", "6,0,")) else ""
        text = first + "".join(f"{line}\n" for line in text.split("\n") if _LOG.match(line))
    elif path == "/proc/sys/kernel/hostname":
        text = "board\n"
    elif path == "/proc/cmdline":
        text = " ".join(word for word in text.split() if _WORD.fullmatch(word)) + "\n"
    elif path == "/proc/version":
        text = re.sub(r"^(Linux version \S+) .*(#)", r"\1 \2", text)
    elif path == "/proc/mounts":
        text = "".join(f"{line}\n" for line in text.split("\n") if " cgroup" in line)
    elif path == "/proc/1/comm" and not _NAMED.fullmatch(text.strip()):
        text = "program\n"
    return text.encode("latin-1")


def _kept(found: Reading) -> dict[str, Any]:
    release = found.first["/proc/sys/kernel/osrelease"].decode().strip()
    processes = sorted({int(match[1]) for path in found.first if (match := _PROCESS.fullmatch(path))})
    shown = {*processes[:_MOST_PROCESSES], *processes[-_MOST_PROCESSES // 4 :]}
    first = {}
    for path, content in found.first.items():
        process = _PROCESS.fullmatch(path)
        if (process and int(process[1]) not in shown) or _LEFT_OUT.match(path):
            continue
        if path.startswith("/boot/config-") and not path.endswith(release):
            continue
        is_config = path.startswith("/boot/config-") or path == "/proc/config.gz"
        first[path] = (_config(content) if is_config else _anonymous(path, content)).decode("latin-1")
    later = {path: _anonymous(path, content).decode("latin-1") for path, content in found.later.items()}
    return {"spans": found.spans, "errors": found.errors, "first": first, "later": later}


if __name__ == "__main__":
    kept = _kept(asyncio.run(_read(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(kept, indent=0, sort_keys=True) + "\n")
