"""Settings of this machine that are files of the test's own: applied, held, put back, also after the guard was killed."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rtassay.boards.base import LinuxBoard
from rtassay.boards.local import LocalBoard
from rtassay.knobs import MEMBERS
from rtassay.model import tuning as model
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.inventory import inventory_of
from rtassay.model.knobs import (
    ABSENT,
    BOOT,
    BOOT_WORD,
    OK,
    RUN_TIME,
    SERVICE,
    UNKNOWN,
    WRITE,
    WRONG,
    Action,
    Examination,
    Found,
    Goal,
)
from rtassay.model.tuning import REFUSED, SAME, TOOK, Setting, TuningPlan
from rtassay.session import inventory, tuning
from rtassay.session.tuning_plans import PROFILES, Asked, Link, of_file, of_profile, plan_of, read, safe

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="settings are changed by root")
PATIENCE_S = 60.0
LINK = Link("eth0", "/sys/devices/platform/soc/usb1/1-1/1-1.1/1-1.1:1.0", "smsc95xx")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of what is changed, the test's own: others tune this machine at the same time."""
    place = tmp_path / "tuned"
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(model, "PLACE", str(place))
    for name in ("about", "journal", "result"):
        monkeypatch.setattr(model, name.upper(), f"{place}/{name}")
    yield place
    if (place / "guard").exists():
        asyncio.run(on_this_machine(tuning.revert))


async def on_this_machine(work: Callable[[LinuxBoard], Awaitable[object]]) -> object:
    board = LocalBoard()
    await board.open()
    try:
        return await work(board)
    finally:
        await board.close()


def plan(**values: tuple[Path, str]) -> TuningPlan:
    return TuningPlan(
        tuple(Setting(name, name, (Action(WRITE, str(path), value),)) for name, (path, value) in values.items())
    )


@ROOT
def test_a_plan_lives_until_it_is_reverted(tmp_path: Path, place: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("old\n")
    other.write_text("so already\n")
    wanted = plan(first=(one, "new"), second=(other, "so already"), third=(tmp_path / "absent", "1"))

    async def work(board: LinuxBoard) -> None:
        tuned = await tuning.apply(board, wanted, for_ns=60 * 10**9)
        assert [c.state for c in tuned.changes] == [TOOK, SAME, REFUSED] and tuned.settings == ("first",)
        assert tuned.changes[0].before == "old" and one.read_text() == "new" and tuned.guarded
        with pytest.raises(BoardError, match="changed already") as refused:
            await tuning.apply(board, wanted)
        assert tuned.owner in str(refused.value.why)
        assert one.read_text() == "new", "the second host changed nothing"
        (remembered,) = tuning.remembered("local")
        assert remembered[1] == f"value\t{one}\told\n"
        told = inventory.describe(
            {path: Path(path).read_bytes() for path in (model.ABOUT, model.JOURNAL, model.RESULT, model.BOOT_ID)}
        )
        state = inventory_of(told).tuned
        assert state is not None and [c.setting for c in state.made] == ["first"]
        done = await tuning.revert(board)
        assert done.was is not None and done.was.token == tuned.token and done.left == ()
        assert one.read_text() == "old" and not place.exists() and tuning.remembered("local") == []
        assert (await tuning.revert(board)).was is None

    asyncio.run(on_this_machine(work))


@ROOT
@pytest.mark.parametrize("how", ["both killed", "journal lost", "another boot"])
def test_what_a_dead_guard_left_is_put_back_at_the_next_contact(how: str, tmp_path: Path, place: Path) -> None:
    one = tmp_path / "one"
    one.write_text("old\n")

    async def work(board: LinuxBoard) -> None:
        await tuning.apply(board, plan(first=(one, "new")), for_ns=60 * 10**9)
        _kill_guard(place)
        found = await tuning.status(board)
        assert found is not None and found.guarded is False and one.read_text() == "new"
        if how == "journal lost":
            for path in place.iterdir():
                path.unlink()
            place.rmdir()
        if how == "another boot":
            journal = place / "journal"
            journal.write_text("boot\tof yesterday\n" + journal.read_text().partition("\n")[2])
        done = await tuning.revert(board)
        assert done.left == () and done.forgotten == (how == "another boot")
        assert one.read_text() == ("new" if how == "another boot" else "old") and not place.exists()

    asyncio.run(on_this_machine(work))


@ROOT
def test_files_of_a_killed_host_go_at_the_next_contact_and_those_of_a_living_one_stay(
    tmp_path: Path, place: Path
) -> None:
    old, new = (place.with_name(f"{place.name}.look-{word}") for word in ("old", "new"))
    for file in (old, new):
        file.write_text("write\t/proc/a\t1\n")
    lock = place.with_name(f"{place.name}.lock")
    lock.mkdir()
    for file in (old, lock):
        os.utime(file, (time.time() - 3600,) * 2)
    one = tmp_path / "one"
    one.write_text("old\n")

    async def work(board: LinuxBoard) -> None:
        await tuning.apply(board, plan(first=(one, "new")), for_ns=60 * 10**9)
        assert not old.exists() and new.exists(), "the lock is old, too: its holder is gone"
        await tuning.revert(board)

    asyncio.run(on_this_machine(work))
    assert one.read_text() == "old" and sorted(tmp_path.glob(f"{place.name}*")) == [new]


@pytest.mark.parametrize(
    ("file", "others"),
    [
        ("/proc/sys/kernel/watchdog", ["/proc/sys/kernel/nmi_watchdog", "/proc/sys/kernel/soft_watchdog"]),
        ("/proc/sys/vm/dirty_ratio", ["/proc/sys/vm/dirty_bytes"]),
        ("/sys/kernel/mm/transparent_hugepage/enabled", ["/proc/sys/vm/min_free_kbytes"]),
        ("/proc/sys/vm/swappiness", []),
    ],
)
def test_what_the_kernel_changes_with_a_file_is_put_back_with_it(file: str, others: list[str]) -> None:
    assert model.line_of(Action(WRITE, file, "1")).rstrip("\n").split("\t") == ["write", file, "1", *others]
    assert model.line_of(Action(WRITE, file, "1", tuple(others))) == model.line_of(Action(WRITE, file, "1"))


@ROOT
def test_the_board_puts_it_back_by_itself(tmp_path: Path, place: Path) -> None:
    one = tmp_path / "one"
    one.write_text("old\n")

    async def work(board: LinuxBoard) -> None:
        await tuning.apply(board, plan(first=(one, "new")), for_ns=10**9)

    asyncio.run(on_this_machine(work))
    until = time.monotonic() + PATIENCE_S
    while one.read_text() != "old" and time.monotonic() < until:
        time.sleep(0.05)
    assert one.read_text() == "old"
    assert asyncio.run(on_this_machine(tuning.status)) is None


def _kill_guard(place: Path) -> None:
    """The guard and its standby, and what they started, at once."""
    outer = int((place / "guard").read_text().split("\t")[0])
    family = [outer]
    for pid in family:
        family += [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    for pid in family:
        os.kill(pid, signal.SIGSTOP)
    for pid in reversed(family):
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + PATIENCE_S
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family):
        assert time.monotonic() < until
        time.sleep(0.01)


# ---- plans ----


def found(name: str, state: str, *actions: Action, **fields: object) -> Found:
    plain = Found(
        name,
        "group",
        "title",
        "why",
        "effect",
        "harm",
        RUN_TIME,
        "C",
        (),
        (),
        (),
        state,
        "low",
        "now",
        "wanted",
        actions,
        (),
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


def examined(*rows: Found) -> Examination:
    return Examination("board", "board", "6.12", Goal(), 1, rows)


def test_a_plan_names_why_a_setting_is_left() -> None:
    write = Action(WRITE, "/proc/sys/vm/a", "1")
    seen = examined(
        found("fine", OK),
        found("wrong", WRONG, write),
        found("absent", ABSENT),
        found("boot", WRONG, Action(BOOT_WORD, "", "tsc=reliable"), scope=BOOT),
        found("folklore", UNKNOWN, write),
        found("against", WRONG, write, excludes=("wrong",)),
        found("nothing", WRONG),
    )
    every = tuple(one.id for one in seen.found)
    made = plan_of(seen, Asked(every))
    assert made.ids == every[1:] and [one.id for one in made.settings if one.actions] == ["wrong"]
    left = {one.id: one.left or "" for one in made.settings}
    assert left["wrong"] == "" and "not there" in left["absent"] and "tsc=reliable" in left["boot"]
    assert "--only folklore" in left["folklore"] and "wrong" in left["against"] and "no action" in left["nothing"]
    assert plan_of(seen, Asked(("folklore",), named=True)).settings[0].actions == (write,)
    assert made.only(["wrong"]).ids == ("wrong",) and "wrong" not in made.without(["wrong"]).ids
    with pytest.raises(UsageError, match="no setting 'x'"):
        plan_of(seen, Asked(("x",)))


def test_what_is_left_to_a_person_is_told_in_full() -> None:
    """At most four actions of those that are none at run time."""
    write, words = Action(WRITE, "/p", "1"), [Action(BOOT_WORD, "", f"w{i}") for i in range(5)]
    seen = examined(
        found("part", WRONG, write, *words),
        found("boot", WRONG, *words, scope=BOOT),
        found("bare", WRONG, scope=BOOT),
        found("hand", WRONG, Action(BOOT_WORD, "/f", "x")),
        found("lost", UNKNOWN),
        found("gone", ABSENT, write),
        found("maybe", UNKNOWN, write),
    )
    made = {one.id: one for one in plan_of(seen, Asked(tuple(one.id for one in seen.found))).settings}
    assert {name: one.left for name, one in made.items()} == {
        "part": "the rest by hand: w0; w1; w2; w3",
        "boot": "not at run time (boot): w0; w1; w2; w3",
        "bare": "not at run time (boot)",
        "hand": "by hand: /f x",
        "lost": "unknown: now",
        "gone": "not there: now",
        "maybe": "only a measurement can tell whether it helps: --only maybe (now)",
    }
    assert {name for name, one in made.items() if one.actions} == {"part"} and made["part"].actions == (write,)
    assert (made["part"].title, made["part"].harm) == ("title", "harm")


def test_what_a_setting_needs_comes_first() -> None:
    write = Action(WRITE, "/proc/sys/vm/a", "1")
    seen = examined(found("irq", WRONG, write, needs=("daemon",)), found("daemon", WRONG, write))
    assert plan_of(seen, Asked(("irq", "daemon"))).ids == ("daemon", "irq")


@pytest.mark.parametrize(
    "action",
    [
        Action(SERVICE, "ssh.service", ""),
        Action(WRITE, "/sys/class/net/eth0/queues/rx-0/rps_cpus", "1"),
        Action(WRITE, "/sys/devices/system/cpu/cpu0/online", "0"),
        Action(WRITE, "/proc/sys/net/ipv4/conf/eth0/rp_filter", "1"),
        Action(WRITE, "/sys/module/smsc95xx/parameters/turbo_mode", "0"),
        Action(WRITE, "/sys/bus/usb/devices/1-1.1/power/control", "on"),
        Action(WRITE, "/sys/bus/usb/devices/usb1/power/control", "on"),
        Action(WRITE, "/sys/devices/platform/soc/usb1/1-1/authorized", "0"),
        Action(WRITE, "/sys/devices/platform/soc/usb1/1-1/1-1.1/1-1.1:1.0/net/eth0/mtu", "9000"),
    ],
)
def test_the_way_to_the_board_is_left_alone(action: Action) -> None:
    (kept,) = safe(TuningPlan((Setting("x", "x", (action,)),)), [LINK]).settings
    assert kept.actions == () and kept.left


@pytest.mark.parametrize(
    "file",
    [
        "/sys/class/net/eth1/queues/rx-0/rps_cpus",
        "/sys/bus/usb/devices/1-1.2/power/control",
        "/sys/devices/platform/soc/usb1/1-1/1-1.2/power/control",
        "/sys/devices/system/cpu/cpu1/online",
        "/sys/devices/virtual/workqueue/cpumask",
        "/proc/sys/net/core/busy_poll",
        "/proc/irq/24/smp_affinity_list",
    ],
)
def test_what_is_not_the_way_to_the_board_may_be_changed(file: str) -> None:
    plan = TuningPlan((Setting("x", "x", (Action(WRITE, file, "1"),)),))
    assert safe(plan, [LINK]) == plan == safe(plan, [Link("wg0")])


@pytest.mark.parametrize("client", ["127.0.0.1", "fe80::1%lo"])
def test_the_device_of_the_connection_is_found_by_its_route(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", f"{client} 40000 127.0.0.1 22")
    assert asyncio.run(on_this_machine(tuning.links_of)) == (Link("lo"),)
    monkeypatch.delenv("SSH_CONNECTION")
    assert asyncio.run(on_this_machine(tuning.links_of)) == ()


def test_where_the_route_is_not_known_every_device_may_be_the_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "fe80::1%nosuch 40000 fe80::2 22")
    found = asyncio.run(on_this_machine(tuning.links_of))
    assert isinstance(found, tuple)
    assert {one.device for one in found} == {path.name for path in Path("/sys/class/net").iterdir()} - {"lo"}


def test_profiles_name_settings_that_there_are() -> None:
    assert {name for ids in PROFILES.values() for name in ids} <= set(MEMBERS)
    with pytest.raises(UsageError, match="no profile"):
        of_profile("fast")


def test_a_plan_file() -> None:
    text = 'for = "isolated=1"\nprofile = "audio"\nsettings = ["irq-affinity"]\n[[write]]\nfile = "/proc/sys/vm/a"\nvalue = 7\n'
    asked = of_file("x.toml", text)
    assert asked.ids == (*PROFILES["audio"], "irq-affinity") and asked.goal == Goal(isolated=(1,))
    assert asked.writes[0].actions == (Action(WRITE, "/proc/sys/vm/a", "7"),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "no TOML"),
        ("a = " + "[" * 5000, "no TOML"),
        ("", "asks for nothing"),
        ("setting = 1", "no 'setting'"),
        ("settings = 1", "no list of names"),
        ("for = 1\nsettings = ['a']", "for is no text"),
        ("[[write]]\nfile = '/etc/passwd'\nvalue = 1", "no file of /proc or /sys"),
        ("[[write]]\nfile = '/proc/../etc/passwd'\nvalue = 1", "no file of /proc or /sys"),
        ("[[write]]\nfile = '/proc/a'", "no value"),
        ("[[write]]\nfile = '/proc/a'\nvalue = true", "no value"),
        ("[[write]]\nfile = '/proc/a'\nvalue = 1\nalso = 'b'", "no list of files"),
        ("write = 1", "no list"),
        ("write = [1]", "no file of /proc or /sys"),
    ],
)
def test_a_plan_file_that_is_wrong(text: str, said: str) -> None:
    with pytest.raises(InputFileError, match=said):
        of_file("x.toml", text)


def test_a_plan_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name, said in (("absent", "cannot read"), ("binary", "no text")):
        with pytest.raises(InputFileError, match=said):
            read(str(tmp_path / name))
