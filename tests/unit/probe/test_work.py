"""rtprobe work: fixed amounts of each kind; rtprobe repeat --tell: each round with its times and its output."""

from __future__ import annotations

import re
import time

from .board import run
from .frames import events, whole

KINDS = ("cpu", "memory", "syscall", "switch", "socket", "fork", "fault")


def test_every_kind_does_its_amount_in_the_order_that_was_asked_for():
    done = run("work", ",".join(reversed(KINDS)), "--percent", "1")
    rows = re.findall(rb"^([a-z]+): (\d+) [a-z ]+ in (\d+) ns, (\d+) ns of CPU time$", done.stdout, re.MULTILINE)
    assert done.returncode == 0 and [row[0].decode() for row in rows] == [*reversed(KINDS)]
    assert all(int(row[1]) > 0 and int(row[2]) > 0 for row in rows)


def test_half_the_percent_is_half_the_amount():
    amounts = [int(run("work", "fork", "--percent", str(p)).stdout.split()[1]) for p in (10, 20)]
    assert amounts == [15, 30]


def test_an_unknown_kind_is_refused_before_any_work():
    done = run("work", "cpu,swim")
    assert done.returncode == 2 and done.stdout == b"" and b"'swim'" in done.stderr and b"switch" in done.stderr


def test_rounds_are_told_with_times_and_output():
    done = run("repeat", "--tell", "--rounds", "3", "--duration", "60s", "--", "sh", "-c", "echo out; echo err >&2")
    frames = whole(done.stdout, "repeat")
    told, end = events(frames, "round"), frames[-1].json
    assert (done.returncode, end["reason"], end["cut"]) == (0, "count", False)
    assert [one["output"] for one in told] == ["out\nerr\n"] * 3
    assert all(one["started_ns"] < one["mono_ns"] and one["user_ns"] + one["system_ns"] >= 0 for one in told)
    assert done.stderr == b""


def test_the_round_under_way_at_the_end_may_finish():
    before = time.monotonic_ns()
    done = run("repeat", "--tell", "--duration", "100ms", "--", "sh", "-c", "sleep 0.5; echo whole")
    frames = whole(done.stdout, "repeat")
    (told,) = events(frames, "round")
    assert told["output"] == "whole\n" and told["mono_ns"] - told["started_ns"] >= 500_000_000
    assert frames[-1].json["reason"] == "duration" and frames[-1].json["mono_ns"] - before >= 500_000_000


def test_a_round_that_fails_ends_it_with_its_words():
    done = run("repeat", "--tell", "--duration", "60s", "--", "sh", "-c", "echo broken; exit 7")
    frames = whole(done.stdout, "repeat")
    assert done.returncode == 7 and events(frames, "round") == [] and b"broken" in done.stderr


def test_of_much_output_the_end_is_told():
    done = run("repeat", "--tell", "--rounds", "1", "--duration", "60s", "--", "sh", "-c", "seq 1 100000; echo end")
    (told,) = events(whole(done.stdout, "repeat"), "round")
    assert told["output"].endswith("99999\n100000\nend\n") and len(told["output"]) == 16000
