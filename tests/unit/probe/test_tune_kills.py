"""rtprobe tune, its guard and the guard's standby, killed at random moments: whatever is left, everything is put back."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from .board import PATIENCE_S, RTPROBE, run

BOOT = Path("/proc/sys/kernel/random/boot_id")
FILES = 40
SEED = 20261123


@pytest.mark.parametrize("moments", [5, pytest.param(100, marks=pytest.mark.full)])
def test_killed_at_random_moments(moments: int, tmp_path: Path) -> None:
    """While it applies, while it holds, and while it puts back: the standby does it at once, else the next contact."""
    chance = random.Random(SEED)
    for number in range(moments):
        place = tmp_path / f"{number}"
        files = _begun(place)
        outer = int((place / "guard").read_text().split("\t")[0])
        time.sleep(chance.choice((0.0, chance.random() * 0.004, 0.02)))
        if chance.random() < 0.3:
            _kill([outer], signal.SIGTERM)  # it puts back at this moment
            time.sleep(chance.random() * 0.004)
        family = _family(outer)
        victims = family if chance.random() < 0.5 else [chance.choice(family)]
        _kill(victims, signal.SIGKILL)
        whole = len(victims) == len(family) or outer in victims
        _kill(() if whole else [outer], signal.SIGTERM)
        _until(lambda outer=outer, family=family: not any(map(_alive, [outer, *family])))
        assert run("tune", "--revert", str(place)).returncode == 0
        assert [path.read_text() for path in files] == [f"old {i}" for i in range(FILES)], (number, victims, family)
        assert not (place / "journal").exists()


def _begun(place: Path) -> list[Path]:
    (place / "settings").mkdir(parents=True)
    files = [place / "settings" / f"{i}" for i in range(FILES)]
    for i, path in enumerate(files):
        path.write_text(f"old {i}")
    (place / "plan").write_text("".join(f"write\t{path}\tnew\n" for path in files))
    (place / "journal").write_text(f"boot\t{BOOT.read_text()}")
    words = ["guard", "--background", str(place / "guard"), "--max", "60s", "--restore", str(place / "journal")]
    assert run(*words, "--", str(RTPROBE), "tune", str(place)).returncode == 0
    return files


def _family(outer: int) -> list[int]:
    family = [outer]
    for pid in family:
        with contextlib.suppress(OSError):
            family += [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return family


def _kill(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _alive(pid: int) -> bool:
    """A zombie has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def _until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)
