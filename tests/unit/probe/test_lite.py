"""rtprobe-lite with its POSIX port, compiled with sanitizers and run here: its account, its loads, its answers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtassay.model.events import End, Event, HistogramPart
from rtassay.wire.console import ConsoleParser, Lines

LITE = Path(__file__).parents[3] / "probe" / "lite"
FLAGS = [
    "-std=c11",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
]
PATIENCE_S = 120
MS = 1_000_000


@pytest.fixture(name="lite", scope="module")
def _lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    program = tmp_path_factory.mktemp("lite") / "rtlite"
    sources = [*sorted(LITE.glob("*.c")), LITE / "ports" / "posix.c"]
    lanes = min(2, os.cpu_count() or 1)
    argv = ["gcc", *FLAGS, f"-DRTL_LANES={lanes}", f"-I{LITE}", "-o", str(program), *map(str, sources), "-lpthread"]
    subprocess.run(argv, check=True)
    yield program


def say(program: Path, *commands: str) -> bytes:
    text = "".join(f"{command}\n" for command in (*commands, "quit"))
    done = subprocess.run([program], input=text.encode(), capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def events_of(said: bytes) -> tuple[ConsoleParser, list[Event], dict[str, object]]:
    parser = ConsoleParser()
    events = parser.feed(said) + parser.finish()
    (end,) = [event.data for event in events if isinstance(event, End)]
    return parser, events, end


@pytest.mark.parametrize("load", ["none", "below", "above"])
def test_every_activation_is_accounted_for(lite: Path, load: str) -> None:
    lanes = min(2, os.cpu_count() or 1)
    said = say(lite, f"run count=300 interval_ns={MS} deadline_ns=50000 lanes={lanes} load={load}")
    parser, events, end = events_of(said)
    assert parser.damage == type(parser.damage)() and end["reason"] == "count"
    assert len(end["lanes"]) == lanes  # type: ignore[arg-type]
    for lane in end["lanes"]:  # type: ignore[attr-defined]
        parts = [event for event in events if isinstance(event, HistogramPart) and event.lane == lane["lane"]]
        bins = sorted(
            (int(a), int(w), int(n)) for p in parts for a, w, n in zip(p.lower_ns, p.width_ns, p.counts, strict=True)
        )
        assert lane["due"] == 300 == lane["n"] + lane["missed"] and sum(n for *_, n in bins) == lane["n"]
        assert bins[0][0] <= lane["min_ns"] < bins[0][0] + bins[0][1]
        assert bins[-1][0] <= lane["max_ns"] < bins[-1][0] + bins[-1][1]
        low = sum(n for lower, width, n in bins if lower >= 50_000)
        high = sum(n for lower, width, n in bins if lower + width > 50_000)
        assert low <= lane["exceedances"] <= high


def test_a_stall_is_missed_activations(lite: Path) -> None:
    """The load above the lane is busy for 25 ms: each time some 25 activations of 1 ms are missed, and counted."""
    if os.geteuid() != 0:
        pytest.skip("needs SCHED_FIFO for the load above")
    lanes = min(2, os.cpu_count() or 1)
    _, _, end = events_of(
        say(lite, f"run count=300 interval_ns={MS} lanes={lanes} load=above load_ns=25000000 load_every_ns=100000000")
    )
    assert len(end["lanes"]) == lanes  # type: ignore[arg-type]
    for lane in end["lanes"]:  # type: ignore[attr-defined]
        assert lane["missed"] >= 20 and lane["max_ns"] >= 20 * MS, "each lane has the load beside it"
        assert lane["n"] + lane["missed"] == 300


def test_the_port_keeps_its_promises(lite: Path) -> None:
    told = {line.word("name"): line.number("ok") for line in Lines().feed(say(lite, "check")) if line.kind == "CHECK"}
    assert len(told) == 7 and (told.pop("thread-has-fixed-priority") == 1 or os.geteuid() != 0)
    assert set(told.values()) == {1}


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("fly", "no-such-command"),
        ("run count=0", "no-such-setting-or-value"),
        ("run count", "no-such-setting-or-value"),
        ("run interval_ns=99999999999999999999", "no-such-setting-or-value"),
        ("run load=critical-and-much-longer", "no-such-setting-or-value"),
        ("run count=4000000000 interval_ns=3600000000000", "longer-than-a-week"),
        ("run " + "x" * 100, "no-such-setting-or-value"),
        ("run " + "x" * 400, "command-too-long"),
    ],
)
def test_what_cannot_be_is_refused(lite: Path, command: str, what: str) -> None:
    lines = list(Lines().feed(say(lite, command)))
    assert [line.word("what") for line in lines if line.kind == "ERROR"] == [what]
    assert not any(line.kind == "THREAD" for line in lines)


def test_a_load_that_the_port_lacks_is_named(lite: Path) -> None:
    lines = list(Lines().feed(say(lite, "run count=50 load=storm")))
    assert [(line.word("what"), line.word("about")) for line in lines if line.kind == "ERROR"] == [
        ("no-such-load", "storm")
    ]


def test_ctrl_c_ends_a_run_with_its_account(lite: Path) -> None:
    with subprocess.Popen([lite], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"run count=600000\n")
        process.stdin.flush()
        said = b""
        while b" BEAT " not in said:
            said += process.stdout.readline()
        process.stdin.write(b"\x03quit\n")
        process.stdin.close()
        said += process.stdout.read()
    _, _, end = events_of(said)
    (lane,) = end["lanes"]  # type: ignore[misc]
    assert end["reason"] == "signal" and lane["due"] == lane["n"] + lane["missed"] < 600_000
