"""Looks at all settings of a board: reads everything they ask for in one go, and lets each of them judge. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtassay.boards.base import LinuxBoard
from rtassay.knobs.base import Knob, NotRead, Seen
from rtassay.model import rooms
from rtassay.model.inventory import inventory_of
from rtassay.model.knobs import Examination, Found, Goal, Look, ranked
from rtassay.model.manifest import Manifest
from rtassay.session import inventory, kernel_config
from rtassay.session.board_files import Reading, read_twice

WATCH_NS = 1_000_000_000
# More than any board has of one file, read once: a watch leaves a file out until its period is over.
_ONCE = "1h:"
_CONFIGS = ("/boot/config-*", "/lib/modules/*/config", "/usr/lib/modules/*/config")


@dataclass(frozen=True, slots=True)
class _Member:
    group: str
    knob: Knob


def members() -> list[_Member]:
    """All settings, in the order of the table. The group of one from another package is the name of its module."""
    table = rooms.table("knobs")
    return [
        _Member(module_of.partition(":")[0].split(".")[-2], rooms.load("knobs", name)())
        for name, module_of in table.items()
    ]


def paths(settings: list[_Member]) -> list[str]:
    """What one watch reads: most of it once, what counts twice."""
    twice = dict.fromkeys(path for member in settings for path in member.knob.counts)
    once = dict.fromkeys(
        [*inventory.PATHS, "/proc/uptime", *_CONFIGS, *(path for member in settings for path in member.knob.reads)]
    )
    return [*twice, *(f"{_ONCE}{path}" for path in once if path not in twice)]


async def examine_board(board: LinuxBoard, rtprobe: str, goal: Goal) -> Examination:
    """All settings of an open board. Raises BoardError."""
    settings = members()
    reading = await read_twice(board, rtprobe, paths(settings), WATCH_NS)
    return judge(settings, board.name, "board", seen_of(reading), goal)


def examine_recording(subject: str, manifest: Manifest, goal: Goal) -> Examination:
    """All settings as far as a recording tells them."""
    return examine_inventory(subject, "recording", manifest.inventory, goal)


def examine_inventory(subject: str, kind: str, data: object, goal: Goal) -> Examination:
    """All settings as far as an inventory tells them (`rtassay board inventory --json`)."""
    return judge(members(), subject, kind, Seen(inventory=inventory_of(data)), goal)


def seen_of(reading: Reading) -> Seen:
    """What every setting looks at, from one reading of a board."""
    config = _config(reading.first)
    described = inventory.describe(reading.first, config)
    text = kernel_config.unpack(config)
    return Seen(
        inventory=inventory_of(described),
        files=reading.first,
        later=reading.later,
        errors=reading.errors,
        spans=reading.spans,
        config=None if text is None else kernel_config.symbols(text),
        live=True,
    )


def _config(files: Mapping[str, bytes]) -> bytes | None:
    """The running kernel's configuration, of those that were read."""
    if (own := files.get("/proc/config.gz")) is not None:
        return own
    release = files.get("/proc/sys/kernel/osrelease", b"").decode(errors="replace").strip()
    return next((files[path] for path in inventory.config_paths(release) if release and path in files), None)


def judge(settings: list[_Member], subject: str, kind: str, seen: Seen, goal: Goal) -> Examination:
    """Every setting's look, ranked."""
    found = [_found(member, _look(member.knob, seen, goal)) for member in settings]
    return Examination(
        subject,
        kind,
        seen.inventory.kernel.release,
        goal,
        max(seen.spans.values(), default=0),
        ranked(found),
        None if seen.inventory.tuned is None or seen.inventory.tuned.owner is None else seen.inventory.tuned,
        seen.inventory.virtualisation,
    )


def _look(knob: Knob, seen: Seen, goal: Goal) -> Look:
    try:
        return knob.look(seen, goal)
    except NotRead as missing:
        return Look(missing.state, missing.why)


def _found(member: _Member, look: Look) -> Found:
    knob = member.knob
    described: dict[str, Any] = {
        name: getattr(knob, name)
        for name in ("title", "why", "effect", "harm", "scope", "evidence", "sources", "needs", "excludes")
    }
    return Found(
        id=knob.name,
        group=member.group,
        **described,
        state=look.state,
        severity=look.severity or knob.severity,
        now=look.now,
        wanted=look.wanted,
        actions=look.actions,
        details=look.details,
    )
