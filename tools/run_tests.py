"""Runs a tier of the tests: pytest on several workers, and beside it lint, types and all that tests the probe's C code.

    .venv/bin/python tools/run_tests.py check|test|all

A test that failed among the others is run again alone: see `look_again`.

What runs beside pytest is kept in build/test/PART.log; a part that fails says so at once and is shown in full at the end, below pytest's own
summary. The last lines are the time of each part, set-up included, also in build/test/times.md (bench/TEST_TIMES.md is a copy of one).
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "test"
LAST_FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
ALONE = "pytest: failed tests, alone"
BIN = str(Path(sys.executable).parent)
NS_PER_S = 10**9
AUTOGROUP_NICE = -10
# Real runs wait for something: more workers than CPUs. Those of `make check` compute, and each worker costs six seconds of CPU time.
WORKERS = {"check": 3, "test": 7, "all": 7}
LOOKED_AT_AGAIN = {"check": 0, "test": 3, "all": 9}  # more failures than these are no accident
TIERS = ("check", "test", "all")
ROOMS = ("unit", "contract", "house")
REAL_ROOMS = ("flow", "lab")
# Of the quick rooms, what talks to real servers and starts real loads for many seconds: not in `make check`.
NOT_IN_CHECK = (
    "tests/contract/test_boards.py",
    "tests/contract/test_loads.py",
    "tests/unit/boards/test_users_of_a_board.py",
    "tests/unit/probe/test_static_probes.py",
)
# Tests that wait for ten seconds and more (a grace, a full disk, a board that stands still), and those that keep a CPU busy for seconds,
# in which the others stand still: not in `make check` either.
LONG = (
    "tests/unit/boards/test_spooled.py::test_the_script_that_ends_spools_returns_when_a_deaf_command_is_gone_too",
    "tests/unit/probe/test_cyclic.py::test_a_hog_across_the_end_cannot_hold_the_run",
    "tests/unit/probe/test_cyclic.py::test_the_histogram_is_sent_as_it_grows_when_samples_are_not",
    "tests/unit/probe/test_guard.py::test_a_machine_that_stands_still_takes_nothing_of_the_grace",
    "tests/unit/probe/test_guard.py::test_max_ends_all_and_says_so[hydra]",
    "tests/unit/probe/test_guard.py::test_real_time_hogs_on_every_cpu_cannot_keep_the_guard_from_its_work",
    "tests/unit/probe/test_load.py::test_work_grows_and_nothing_is_left[cpu]",
    "tests/unit/probe/test_load.py::test_work_grows_and_nothing_is_left[fork]",
    "tests/unit/probe/test_load.py::test_work_grows_and_nothing_is_left[memory]",
    "tests/unit/probe/test_spool.py::test_without_room_samples_go_and_every_number_stays",
)


@dataclass(frozen=True)
class Part:
    """A command whose success is part of the tier's."""

    name: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a part ended. `cpu_ns` is that of all its processes. `unstable`: tests that failed among others and passed alone."""

    part: str
    code: int
    elapsed_ns: int
    cpu_ns: int
    unstable: tuple[str, ...] = ()


def make(*words: str) -> tuple[str, ...]:
    return ("make", "--silent", "-C", "probe", *words)


def parts_beside(tier: str) -> list[Part]:
    """In the order in which they run, one after the other: what fails soonest first."""
    python = ("src", "tests", "bench", "tools")
    parts = [
        Part("lint", (f"{BIN}/ruff", "check", *python)),
        Part("format", (f"{BIN}/ruff", "format", "--check", *python)),
        Part("format of the C code", ("tools/format-c", "--check")),
        Part("types", (f"{BIN}/mypy", "src")),
        Part("C tests", make("test")),
        Part("C tests, address and undefined sanitizers", make("test-asan")),
    ]
    if tier != "check":
        parts.append(Part("C tests, thread sanitizer", make("test-tsan")))
        if platform.machine() == "x86_64":
            parts.append(Part("C tests, 32 bit", make("test-m32")))
        parts.append(Part("fuzzers", make("fuzz", f"FUZZ_SECONDS={60 if tier == 'all' else 5}")))
    return [*parts, Part("formats without a real file", ("tools/formats_without_real_file",))]


def pytest_of(tier: str) -> Part:
    argv = [sys.executable, "-m", "pytest", "-q", "-n", str(WORKERS[tier]), "--no-loadscope-reorder"]
    argv += [f"--junitxml={KEPT / 'junit.xml'}", *(f"tests/{room}" for room in ROOMS)]
    if tier == "check":
        argv += [f"--ignore={path}" for path in NOT_IN_CHECK]
        argv += [f"--deselect={test}" for test in LONG]
        argv.append("--hypothesis-profile=few")  # tests/conftest.py
    else:
        argv += [f"tests/{room}" for room in REAL_ROOMS]
    return Part("pytest", tuple(argv if tier == "all" else [*argv, "-m", "not full"]))


def failed_tests() -> list[str]:
    """As pytest kept them: those of this run, since `main` removes the list before it."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(json.loads(LAST_FAILED.read_text()))
    return []


def look_again(tier: str, tested: Outcome) -> list[Outcome]:
    """Real runs share two CPUs with six workers, and this machine may stand still for seconds. A test that fails among the others fails the tier
    only if it fails alone as well (docs/decisions/2026-11-23-failed-among-others.md). It is named in the last lines in any case."""
    tests = failed_tests()
    if tested.code != 1 or not 0 < len(tests) <= LOOKED_AT_AGAIN[tier]:
        return [tested]
    print(f"\n== {len(tests)} failed among others; again, alone: {' '.join(tests)}", flush=True)
    alone = run(Part(ALONE, (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)), None)
    return [replace(tested, code=0, unstable=tuple(tests)) if alone.code == 0 else tested, alone]


def run(part: Part, log: Path | None) -> Outcome:
    """To its end; its output into a file, or onto the terminal."""
    begun_ns = time.monotonic_ns()
    with contextlib.ExitStack() as stack:
        output = None if log is None else stack.enter_context(log.open("wb"))
        process = subprocess.Popen(
            part.argv,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=None if output is None else subprocess.STDOUT,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu_ns = int((used.ru_utime + used.ru_stime) * NS_PER_S)
    return Outcome(part.name, process.returncode, time.monotonic_ns() - begun_ns, cpu_ns)


def log_of(part: str) -> Path:
    return KEPT / f"{part.replace(',', '').replace(' ', '-')}.log"


def run_beside(parts: Sequence[Part], outcomes: list[Outcome], stop: threading.Event) -> None:
    for part in parts:
        if stop.is_set():
            return
        outcome = run(part, log_of(part.name))
        outcomes.append(outcome)
        if outcome.code and not stop.is_set():
            print(
                f"\n== {part.name} FAILED; its output follows at the end, and is in {log_of(part.name).relative_to(ROOT)}",
                flush=True,
            )


def setup_times() -> Iterator[tuple[str, int]]:
    """(part, ns) of the set-up that came before, as tools/setup left them; `set-up: all` is the last, since parts overlap."""
    with contextlib.suppress(FileNotFoundError):
        for line in (ROOT / "build" / "setup.times").read_text().splitlines():
            part, milliseconds = line.split()
            yield f"set-up: {part}", int(milliseconds) * 1_000_000


def pytest_times() -> Iterator[tuple[str, int, int]]:
    """(room, tests, ns) as pytest counted them; the rooms' times overlap, since several workers run them."""
    tests: Counter[str] = Counter()
    spent_ns: Counter[str] = Counter()
    with contextlib.suppress(FileNotFoundError):
        for case in xml.etree.ElementTree.parse(KEPT / "junit.xml").iter("testcase"):
            room = "/".join(case.get("classname", "").split(".")[1:2])
            tests[room] += 1
            spent_ns[room] += round(float(case.get("time", 0)) * NS_PER_S)
    for room, count in tests.items():
        yield room, count, spent_ns[room]


def table(tier: str, outcomes: Sequence[Outcome], elapsed_ns: int) -> list[str]:
    """Markdown; seconds elapsed and of CPU."""
    rows = [["part", "seconds", "CPU seconds", "result"]]
    before_ns = 0
    for name, spent_ns in setup_times():
        before_ns = spent_ns
        rows.append([name, seconds(spent_ns), "", "done"])
    for outcome in outcomes:
        result = "FAILED" if outcome.code else "unstable" if outcome.unstable else "passed"
        rows.append([outcome.part, seconds(outcome.elapsed_ns), seconds(outcome.cpu_ns), result])
    for room, count, spent_ns in pytest_times():
        rows.append([f"pytest: {count} tests of {room}, of {WORKERS[tier]} workers' time", seconds(spent_ns), "", ""])
    rows.append([f"make {'test-all' if tier == 'all' else tier}", seconds(before_ns + elapsed_ns), "", ""])
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"| {row[0]:<{widths[0]}} | {row[1]:>{widths[1]}} | {row[2]:>{widths[2]}} | {row[3]:<{widths[3]}} |"
        for row in rows
    ]
    rule = f"| {'-' * widths[0]} | {'-' * (widths[1] - 1)}: | {'-' * (widths[2] - 1)}: | {'-' * widths[3]} |"
    return [lines[0], rule, *lines[1:]]


def seconds(ns: int) -> str:
    return f"{ns / NS_PER_S:.1f}"


@contextlib.contextmanager
def share_before_loads() -> Iterator[None]:
    """The kernel's autogroups give each session the same share of the CPUs, whatever its nice value. A load that a test starts is a session of its
    own, so four of them leave the tests a fifth. This session gets more, where root may say so, and its old value again at the end."""
    group = Path("/proc/self/autogroup")
    try:
        before = group.read_text().split()[-1]
        group.write_text(str(AUTOGROUP_NICE))
    except (OSError, IndexError):
        yield  # no such kernel, or no right to it: the tests take longer
        return
    try:
        yield
    finally:
        group.write_text(before)


def keep_bytecode(tier: str) -> None:
    """All workers import the tests, and pytest rewrites their asserts: it is done once before, by two processes, and kept in __pycache__."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if any((ROOT / "tests" / "__pycache__").glob("conftest.*-pytest-*.pyc")):
        return  # what has changed since is few files
    others = [room for room in (*ROOMS, *(REAL_ROOMS if tier != "check" else ())) if room != "unit"]
    rooms = ("tests/unit",), tuple(f"tests/{room}" for room in others)
    collect = [sys.executable, "-m", "pytest", "-q", "--collect-only"]
    both = [
        subprocess.Popen([*collect, *paths], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for paths in rooms
    ]
    for process in both:
        process.wait()  # what cannot be imported fails again in the run itself, and is shown there


def main(argv: Sequence[str]) -> int:
    if len(argv) != 1 or argv[0] not in TIERS:
        print(f"usage: run_tests.py {'|'.join(TIERS)}", file=sys.stderr)
        return 2
    tier = argv[0]
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in KEPT.iterdir():
        old.unlink()
    LAST_FAILED.unlink(missing_ok=True)
    begun_ns = time.monotonic_ns()
    outcomes: list[Outcome] = []
    stop = threading.Event()
    beside = threading.Thread(target=run_beside, args=(parts_beside(tier), outcomes, stop))
    beside.start()
    # Ctrl-C reaches every process of the terminal, pytest too: it ends them, and their ends are waited for here.
    signal.signal(signal.SIGINT, lambda number, frame: stop.set())
    keep_bytecode(tier)
    pytest = pytest_of(tier)
    print(
        f"== {shlex.join(pytest.argv[1:])}; beside it: {', '.join(part.name for part in parts_beside(tier))}",
        flush=True,
    )
    with share_before_loads():
        tested = run(pytest, None)
        if beside.is_alive() and not stop.is_set():
            print("== pytest has ended; waiting for what runs beside it", flush=True)
        beside.join()
        outcomes += [tested] if stop.is_set() else look_again(tier, tested)
    return report(tier, outcomes, time.monotonic_ns() - begun_ns, stopped=stop.is_set())


def report(tier: str, outcomes: Sequence[Outcome], elapsed_ns: int, *, stopped: bool) -> int:
    failed = [outcome.part for outcome in outcomes if outcome.code]
    for part in failed:
        if log_of(part).exists():
            print(f"\n== {part}:\n{log_of(part).read_text(errors='replace')}", end="")
    lines = table(tier, outcomes, elapsed_ns)
    (KEPT / "times.md").write_text("\n".join(lines) + "\n")
    print("\n== time of each part", *lines, sep="\n")
    if stopped:
        print("== interrupted")
        return 130
    for test in (test for outcome in outcomes for test in outcome.unstable):
        print(f"== unstable (failed among others, passed alone; mend it before the issue ends): {test}")
    print(f"== FAILED: {', '.join(failed)}" if failed else "== all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
