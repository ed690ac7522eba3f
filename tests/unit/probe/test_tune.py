"""rtprobe tune and the typed journal: on files and threads of the test's own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rtassay.model import tuning
from rtassay.model.knobs import PROGRAMS, WRITE, Action
from rtassay.model.tuning import DIFFERS, GONE, REFUSED, SAME, TOOK, Setting, TuningPlan

from .board import RTPROBE, run

BOOT = Path("/proc/sys/kernel/random/boot_id")
HELD_S = 30.0


def begin(tmp_path: Path, *lines: str, boot: str | None = None) -> Path:
    place = tmp_path / "tuned"
    place.mkdir()
    (place / "plan").write_text("".join(f"{line}\n" for line in lines))
    (place / "journal").write_text(f"boot\t{BOOT.read_text().strip() if boot is None else boot}\n")
    return place


def states(place: Path) -> list[str]:
    rows = [line.split("\t") for line in (place / "result").read_text().splitlines()]
    assert rows[-1] == ["done"]
    return [row[1] for row in rows[:-1]]


def test_a_plan_is_applied_read_back_and_put_back(tmp_path: Path) -> None:
    one, chosen, mask, absent = (tmp_path / name for name in ("one", "chosen", "cpumask", "absent"))
    one.write_text("4\t4\t1\t7\n")
    chosen.write_text("always [madvise] never\n")
    mask.write_text("00000000,00000003\n")
    place = begin(
        tmp_path,
        f"write\t{one}\t1 4 1 7",
        f"write\t{chosen}\tnever",
        f"write\t{mask}\t3",
        f"write\t{absent}\t1",
        f"policy\t{os.getpid()}\t1\tfifo\t2",
    )
    assert run("tune", "--once", str(place)).returncode == 0
    assert states(place) == [TOOK, TOOK, SAME, REFUSED, GONE]
    assert one.read_text() == "1 4 1 7" and not absent.exists()
    journal = (place / "journal").read_text().splitlines()
    assert journal[1:] == [f"value\t{one}\t4\\t4\\t1\\t7", f"value\t{chosen}\tmadvise"]
    done = run("tune", "--revert", str(place))
    assert done.returncode == 0 and done.stdout == b"" and not (place / "journal").exists()
    assert one.read_text() == "4\t4\t1\t7" and chosen.read_text() == "madvise"


def test_a_look_changes_nothing_and_tells_the_values_of_before(tmp_path: Path) -> None:
    one, other, plan = tmp_path / "one", tmp_path / "other", tmp_path / "plan"
    one.write_text("1\n")
    other.write_text("a\\b\n")
    wanted = TuningPlan(
        (Setting("x", "x", (Action(WRITE, str(one), "2", (str(tmp_path / "oth*"),)), Action(WRITE, str(one), "1"))),)
    )
    plan.write_text(wanted.text)
    done = run("tune", "--look", str(plan))
    changes, journal = tuning.before(wanted.changes, done.stdout)
    assert done.returncode == 0 and one.read_text() == "1\n"
    assert [(c.before, c.state) for c in changes] == [("1", tuning.PENDING), (None, SAME)]
    assert [tuning.fields_of(line) for line in journal.splitlines()] == [
        ["value", str(other), "a\\b"],
        ["value", str(one), "1"],
    ]


def test_a_journal_of_another_boot_is_forgotten(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("new")
    place = begin(tmp_path, boot="another")
    with (place / "journal").open("a") as journal:
        journal.write(f"value\t{one}\told\n")
    assert run("tune", "--revert", str(place)).returncode == 0
    assert one.read_text() == "new" and not (place / "journal").exists()


def test_what_cannot_be_put_back_is_said_and_kept(tmp_path: Path) -> None:
    one = tmp_path / "one"
    one.write_text("new")
    place = begin(tmp_path)
    with (place / "journal").open("a") as journal:
        journal.write(f"value\t{tmp_path}/gone\t1\nvalue\t{one}\told\nstrange\tline\n")
    done = run("tune", "--revert", str(place))
    assert done.returncode == 3 and one.read_text() == "old"
    assert done.stdout.decode().splitlines() == [
        "strange\tline\tthe journal's line is of no kind that is known",
        f"{tmp_path}/gone\tNo such file or directory",
    ]
    assert (place / "journal").exists(), "the next contact tries again"


def test_a_thread_is_put_back_by_its_start_and_not_by_its_number(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", str(HELD_S)]) as process:
        try:
            cpus = os.sched_getaffinity(process.pid)
            first = min(cpus)
            place = begin(
                tmp_path, f"affinity\t{process.pid}\t=sleep\t{first}", f"affinity\t{process.pid}\t=other\t{first}"
            )
            assert run("tune", "--once", str(place)).returncode == 0
            assert states(place) == [TOOK if len(cpus) > 1 else SAME, GONE]
            assert os.sched_getaffinity(process.pid) == {first}
            assert run("tune", "--revert", str(place)).returncode == 0
            assert os.sched_getaffinity(process.pid) == cpus
            os.sched_setaffinity(process.pid, {first})
            (place / "journal").write_text(f"boot\t{BOOT.read_text()}affinity\t{process.pid}\t1\t0-4000\n")
            assert run("tune", "--revert", str(place)).returncode == 0
            assert os.sched_getaffinity(process.pid) == {first}, "another thread had this number"
        finally:
            process.kill()


def test_of_all_threads_those_are_noted_that_may_be_moved_back(tmp_path: Path) -> None:
    """A worker of the kernel goes to the CPU of its work: it may stand on another one when all is put back, and nobody may move it."""
    (tmp_path / "one").write_text("1")
    with subprocess.Popen(["sleep", str(HELD_S)]) as process:
        try:
            os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(process.pid))})
            place = begin(tmp_path, f"write\t{tmp_path / 'one'}\t2\t@threads")
            assert run("tune", "--once", str(place)).returncode == 0
        finally:
            process.kill()
    rows = [line.split("\t") for line in (place / "journal").read_text().splitlines()]
    noted = {int(row[1]) for row in rows if row[0] == "affinity"}
    kept = {int(path.parent.name) for path in Path("/proc").glob("[0-9]*/stat") if _is_kept(path)}
    assert not noted & kept
    if len(os.sched_getaffinity(0)) > 1:
        assert process.pid in noted and kept


def _is_kept(stat: Path) -> bool:
    """PF_NO_SETAFFINITY."""
    try:
        return bool(int(stat.read_text().rpartition(")")[2].split()[6]) & 0x0400_0000)
    except OSError:
        return False


@pytest.mark.parametrize("killed", ["guard", "both"])
def test_a_guard_in_the_background_holds_what_is_changed(killed: str, tmp_path: Path) -> None:
    """Its standby puts everything back when it is killed; when both are killed the next contact does."""
    one = tmp_path / "one"
    one.write_text("old\n")
    place = begin(tmp_path, f"write\t{one}\tnew")
    words = ["guard", "--background", str(place / "guard"), "--max", "60s", "--restore", str(place / "journal")]
    done = run(*words, "--", str(RTPROBE), "tune", str(place))
    assert done.returncode == 0
    outer = int((place / "guard").read_text().split("\t")[0])
    _until(lambda: (place / "result").exists() and "done" in (place / "result").read_text())
    assert one.read_text() == "new"
    inner = _children(outer)
    for pid in inner if killed == "guard" else [*inner, outer]:
        os.kill(pid, signal.SIGKILL)
    _until(lambda: not Path(f"/proc/{outer}").exists() or killed == "guard")
    if killed == "both":
        assert run("tune", "--revert", str(place)).returncode == 0
    _until(lambda: one.read_text() == "old" and not (place / "journal").exists())


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _until(true: object) -> None:
    assert callable(true)
    for _ in range(int(HELD_S / 0.02)):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def test_programs_are_written_as_one_line() -> None:
    assert tuning.line_of(Action(PROGRAMS, "", "0")) == "programs\t0\n"


def test_states_of_a_result_that_is_cut_short() -> None:
    changes = TuningPlan((Setting("x", "x", (Action(WRITE, "/proc/a", "1"), Action(WRITE, "/proc/b", "1"))),)).changes
    after = tuning.after(changes, b"0\ttook\t1\t\n1\tdiffers\t2\\t3\t\n7\ttook\t\t\nx\n1\tnonsense\t\t\n0\tref")
    assert [(one.state, one.now) for one in after] == [(TOOK, "1"), (DIFFERS, "2\t3")]


def test_threads_are_gathered_in_a_group_and_those_of_the_kernel_stay(tmp_path: Path) -> None:
    group, listed = tmp_path / "tasks", tmp_path / "from"
    group.write_text("")
    listed.write_text(f"2\n{os.getpid()}\n")
    place = begin(tmp_path, f"gather\t{group}\t{listed}")
    assert run("tune", "--once", str(place)).returncode == 0
    assert states(place) == [TOOK] and group.read_text() == str(os.getpid())
    rows = (place / "result").read_text().splitlines()
    assert rows[0].split("\t")[2] == "2 threads moved"  # the same one twice: there may be new ones meanwhile
