"""Pasted cyclictest lines: the sense and the units stay, what has no equal is refused by name."""

from __future__ import annotations

import pytest

from rtassay.cli.cyclictest_letters import translate
from rtassay.cli.run import command
from rtassay.model.cyclictest import equivalent
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan


@pytest.mark.parametrize(
    ("line", "options"),
    [
        (
            "cyclictest -m -S -p90 -i200 -h400 -q",
            ["--priority", "90", "--interval", "200us", "--histogram", "400", "--quiet"],
        ),
        (
            "sudo cyclictest -mSp 98 -D1h",
            ["--priority", "98", "--duration", "1h"],
        ),
        (
            "/usr/bin/cyclictest -l100000000 -m -S -p90 -i200 -h400 -q",
            ["--count", "100000000", "--priority", "90", "--interval", "200us", "--histogram", "400", "--quiet"],
        ),
        ("cyclictest -t3 -p99 -a 1-3", ["--lanes", "3", "--priority", "99", "--cpus", "1-3"]),
        ("cyclictest -t 3 -a -p 80", ["--lanes", "3", "--priority", "80"]),
        ("cyclictest -Sp98 -b 100", ["--priority", "98", "--break-above", "100us"]),
        (
            "cyclictest --mlockall --smp --priority=90 --interval=200 --distance=0",
            ["--priority", "90", "--interval", "200us", "--distance", "0"],
        ),
        ("cyclictest --policy=rr -p5", ["--policy", "rr", "--priority", "5"]),
        ("cyclictest -A0 -N -l0", ["--aligned"]),
        ("cyclictest -D 5m -d1 -b1.5", ["--duration", "5m", "--distance", "1", "--break-above", "1.5us"]),
        ("cyclictest -t -n -p80", ["--priority", "80"]),
        ("cyclictest -m -t -q", ["--quiet"]),
        ("cyclictest -RuMn --resolution --unbuffered", []),
        ("cyclictest -xp80 -c1", ["--sleep=signal", "--priority", "80", "--clock", "realtime"]),
        ("cyclictest --posix_timers --clock=0", ["--sleep=signal", "--clock", "monotonic"]),
        ("cyclictest --default-system", ["--dma-latency", "off"]),
        ("cyclictest --laptop -H 100", ["--dma-latency", "off", "--histogram", "100"]),
        ("cyclictest --latency=20 --histfile=h.txt", ["--dma-latency", "20", "--histfile", "h.txt"]),
        (
            "cyclictest -y rr -p5 --json --deadline 100us",
            ["--policy", "rr", "--priority", "5", "--json", "--deadline", "100us"],
        ),
        ("-h", ["--help"]),
        ("board -p80 -h", ["board", "--priority", "80", "--help"]),
        ("-h 400", ["--histogram", "400"]),
        ("-p 80 --deadline 100us", ["--priority", "80", "--deadline", "100us"]),
        ("local --load none", ["local", "--load", "none"]),
    ],
)
def test_a_line_keeps_its_sense(line: str, options: list[str]) -> None:
    assert translate(line.split()).words == options


@pytest.mark.parametrize("letter", ["v", "r", "s", "U", "k"])
def test_what_has_no_equal_is_refused_by_name(letter: str) -> None:
    with pytest.raises(UsageError, match=f"-{letter[0]} of"):
        translate(["cyclictest", f"-{letter}"])


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("--json=out.json", "--report FILE.json"),
        ("--json out.json", "--report FILE.json"),
        ("--system", "--sleep"),
        ("--verbose", "samples.parquet"),
        ("--clock=3", "1 (realtime)"),
        ("--spike=100", "--deadline"),
        ("--deepest-idle-state=1", "--dma-latency"),
    ],
)
def test_what_is_not_taken_is_named_with_the_reason(option: str, reason: str) -> None:
    with pytest.raises(UsageError) as refused:
        translate(["cyclictest", "-p80", *option.split()])
    assert option.partition("=")[0].split()[0] in str(refused.value) and reason in str(refused.value)


def test_what_is_not_needed_is_said() -> None:
    told = translate(["cyclictest", "-mn", "-p80", "-R", "--unbuffered", "-N"])
    assert told.words == ["--priority", "80"] and told.pasted and told.nanoseconds
    assert [words.partition(":")[0] for words in told.dropped] == ["-n", "-R", "--unbuffered"]
    assert all(len(words) > 20 for words in told.dropped)


@pytest.mark.parametrize("letter", ["p", "i", "l", "D", "b", "d"])
def test_a_missing_value_is_named(letter: str) -> None:
    with pytest.raises(UsageError, match=f"-{letter} needs a value"):
        translate([f"-{letter}"])


def test_the_equivalent_line_translates_back() -> None:
    plan = Plan(interval_ns=200_000, duration_ns=60_000_000_000, priority=90, mlock=True, cpus=(0, 1))
    line = equivalent(plan)
    assert line == "cyclictest -m -t2 -a0-1 -p90 -i200 -d0 -D60 -h400 -q"
    assert translate(line.split()).words == [
        "--lanes", "2", "--cpus", "0-1", "--priority", "90", "--interval", "200us", "--distance", "0",
        "--duration", "60s", "--histogram", "400", "--quiet",
    ]  # fmt: skip


OURS = frozenset({"--because", "--note", "--waive", "--load", "--priority", "--label"})


@pytest.mark.parametrize("value", ["-p 90 is what the product uses", "-p", "-mSp90", "--", "--note", "-n", "-", ""])
@pytest.mark.parametrize("before", [[], ["cyclictest", "-S"]])
def test_a_value_of_an_option_is_no_letter_of_cyclictest(value: str, before: list[str]) -> None:
    after = translate([*before, "--because", value, "-p", "80"], OURS).words
    assert after == ["--because", value, "--priority", "80"]
    assert translate([*before, f"--because={value}", "-p80"], OURS).words == [f"--because={value}", "--priority", "80"]


def test_a_value_that_was_forgotten_is_left_to_click() -> None:
    assert translate(["-p80", "--because"], OURS).words == ["--priority", "80", "--because"]


@pytest.mark.parametrize("given", [["--because", "-p 90 is ours"], ["--because=-p 90 is ours"]])
def test_a_reason_may_begin_with_a_letter_of_cyclictest(given: list[str]) -> None:
    args = ["--waive", "NO-LOAD", *given, "--note", "-m", "--attach", "-p", "7"]
    params = command.make_context("run", args).params
    assert params["because"] == ("-p 90 is ours",)
    assert (params["note"], params["attach"], params["priority"]) == ("-m", "", 7)
    assert params["argv"] == ["rtassay", "run", *args]


def test_every_option_that_needs_a_value_keeps_it_whatever_it_looks_like() -> None:
    needing = command._taking_a_value()
    flags = {o for param in command.params if getattr(param, "is_flag", False) for o in param.opts}
    assert {"--because", "--note", "--load", "--cyclictest-line", "--label"} <= needing
    assert not needing & flags and "--attach" not in needing
