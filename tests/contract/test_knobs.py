"""Every setting: it is described whole, looks at anything without failing, and never calls fine what it did not see."""

from __future__ import annotations

import errno
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from knob_readings import NAMES as RECORDED
from knob_readings import seen

from rtassay.knobs.base import NotRead, Seen
from rtassay.model import rooms
from rtassay.model.inventory import inventory_of
from rtassay.model.knobs import ABSENT, ACTIONS, EVIDENCE, OK, SCOPES, SEVERITIES, STATES, UNKNOWN, WRONG, Goal, Look
from rtassay.session import examining
from rtassay.session.board_files import Reading

NAMES = list(rooms.table("knobs"))
GOALS = (Goal(), Goal(isolated=(1,), period_ns=1_000_000), Goal(isolated=(0, 1), priority=99))
BOARDS = {name: seen(name) for name in RECORDED}
BASE = {
    "/sys/devices/system/cpu/online": b"0-1\n",
    "/sys/devices/system/cpu/isolated": b"1\n",
    "/proc/cmdline": b"console=ttyS0 isolcpus=1\n",
    "/proc/version": b"Linux version 6.12.1-rt #1 SMP PREEMPT_RT\n",
    "/proc/sys/kernel/osrelease": b"6.12.1-rt\n",
    "/proc/device-tree/model": b"Raspberry Pi 3\0",
    "/proc/1/comm": b"systemd\n",
}
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"", b"0\n", b"1\n", b"-1\n", b"9" * 30, b"0-3\n", b"a [b] c\n", b"ffffffff,ffffffff\n", b"x=1 y\n", b"\xff\0"]
    ),
)


def knob_named(name: str) -> Any:
    return rooms.load("knobs", name)()


def paths_of(name: str) -> list[str]:
    """What it reads, as a board would name it."""
    knob = knob_named(name)
    return [path.replace("[0-9]*", "0").replace("*", "x") for path in (*knob.reads, *knob.counts)]


def look(name: str, at: Seen, goal: Goal) -> Look:
    try:
        found: Look = knob_named(name).look(at, goal)
    except NotRead as missing:
        return Look(missing.state, missing.why)
    return found


def is_sound(found: Look) -> bool:
    actions = all(a.kind in ACTIONS and (a.target or a.value) for a in found.actions)
    severities = [found.severity, *(detail.severity for detail in found.details)]
    known = all(one is None or one in SEVERITIES for one in severities)
    return (
        found.state in STATES and bool(found.now) and known and actions and (found.state != WRONG or bool(found.wanted))
    )


@pytest.mark.parametrize("name", NAMES)
def test_setting_introduces_itself(name: str) -> None:
    knob = knob_named(name)
    assert knob.name == name
    assert knob.scope in SCOPES and knob.evidence in EVIDENCE and knob.severity in SEVERITIES
    assert all((knob.title, knob.why, knob.effect, knob.harm)) and knob.sources
    assert all(path[0] in "/@" for path in (*knob.reads, *knob.counts))
    assert {*knob.needs, *knob.excludes} <= set(NAMES) - {name}


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_read_is_never_fine(name: str) -> None:
    for goal in (Goal(), Goal(isolated=(1,), period_ns=1_000_000)):
        for at in (Seen(), Seen(live=True), Seen(live=True, inventory=inventory_of({"cpus": {"online": [0, 1]}}))):
            assert look(name, at, goal).state in (ABSENT, UNKNOWN)
        assert look(name, Seen(), goal).state == UNKNOWN, "an empty recording cannot tell that a thing is not there"


@pytest.mark.parametrize("name", NAMES)
def test_on_real_boards_the_answer_is_sound_and_an_inventory_never_says_more(name: str) -> None:
    """What is not fine on the board is not called fine by the inventory that was made of it."""
    for at in BOARDS.values():
        for goal in GOALS:
            there, by_inventory = look(name, at, goal), look(name, Seen(inventory=at.inventory), goal)
            assert is_sound(there) and is_sound(by_inventory)
            if by_inventory.state == OK:
                assert there.state == OK, f"{there.now}; by the inventory {by_inventory.now}"


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(contents=st.lists(CONTENTS, min_size=1, max_size=4), goal=st.sampled_from(GOALS))
def test_anything_in_its_files_gives_a_sound_answer(name: str, contents: list[bytes], goal: Goal) -> None:
    changed = {path: contents[at % len(contents)] for at, path in enumerate(paths_of(name))}
    made = Reading({**BASE, **changed}, dict(changed), {}, dict.fromkeys(changed, 10**9))
    assert is_sound(look(name, examining.seen_of(made), goal))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_is_not_fine(name: str) -> None:
    """Permission denied on everything that it reads."""
    errors = dict.fromkeys(paths_of(name), errno.EACCES)
    refused = Seen(inventory=inventory_of({"cpus": {"online": [0, 1]}}), errors=errors, live=True)
    assert look(name, refused, Goal(isolated=(1,))).state in (UNKNOWN, ABSENT)
