"""Rooms: the written, ordered, lazy tables of members, plus entry points `rtassay.<room>` of outsiders."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from rtassay.model.errors import UsageError

ROOMS: Final = ("probes", "boards", "loads", "works", "monitors", "importers", "boot", "knobs", "reports")


def table(room: str) -> dict[str, str]:
    """Members of a room as name -> `module:Class`, ours first, in the order they are written."""
    module = import_module(f"rtassay.{room}")
    members: Mapping[str, str] = module.MEMBERS
    found = dict(members)
    for name, value in _outsiders(room):
        found.setdefault(name, value)
    return found


@functools.cache
def _outsiders(room: str) -> tuple[tuple[str, str], ...]:
    """Kept, since the metadata of every installed package is read for it: 2 ms, and doctor asks for each of 73 settings."""
    from importlib.metadata import entry_points

    return tuple((point.name, point.value) for point in entry_points(group=f"rtassay.{room}"))


def load(room: str, name: str) -> Any:
    """The class of one member, imported now. Raises UsageError with the known names for an unknown one."""
    members = table(room)
    if name not in members:
        close = difflib.get_close_matches(name, members, n=1)
        raise UsageError(
            f"there is no {room.rstrip('s')} '{name}'",
            hint=(f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(members)}",
        )
    module, _, attribute = members[name].partition(":")
    return getattr(import_module(module), attribute)


def member_of(room: str, name: str) -> str | None:
    """The member that NAME or NAME:ARGUMENT names; None if there is none."""
    head = name.partition(":")[0]
    return head if head in table(room) else None
