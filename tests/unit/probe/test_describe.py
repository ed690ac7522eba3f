"""rtprobe describe and selftest: what is described is what is parsed, and what is promised is looked at."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from .board import RTPROBE, run

ARGUMENTS = {"load": ["cpu"], "watch": ["/proc/uptime"]}


def described() -> dict[str, Any]:
    done = run("describe")
    assert done.returncode == 0 and done.stderr == b""
    found = json.loads(done.stdout)
    assert isinstance(found, dict) and found["schema"] == "rtprobe/describe/1"
    return found


def attempt(kind: dict[str, Any], *bad: str) -> subprocess.CompletedProcess[bytes]:
    """One command line that is right but for `bad`. The guarded command would leave a mark if it ran."""
    argv = [kind["name"], *bad, *ARGUMENTS.get(kind["name"], [])]
    return run(*argv, *(["--", "echo", "it ran"] if kind["takes_command"] else []), timeout=20)


def typed(option: dict[str, Any], value: int) -> str:
    return f"{value}ns" if option["type"] == "duration" else str(value)


def test_every_command_is_there() -> None:
    found = described()
    names = ["cyclic", "guard", "load", "repeat", "watch", "spool", "fetch", "describe", "selftest"]
    assert [k["name"] for k in found["kinds"]] == names
    assert {s["name"] for s in found["sources"]} >= {"@kmsg", "@rt-threads", "@clock", "@msr", "@run"}
    assert all(s["summary"] for s in found["sources"])
    assert [k["name"] for k in found["kinds"] if k["measures"]] == ["cyclic"]
    assert found["version"] in run("--version").stdout.decode()


def test_every_option_is_documented_with_its_unit() -> None:
    for kind in described()["kinds"]:
        help_text = run(kind["name"], "--help").stdout.decode()
        assert kind["summary"]
        for option in kind["options"]:
            assert option["help"] and not option["help"].endswith("."), option
            assert f"--{option['name']}" in help_text
            assert option["type"] != "duration" or option["unit"] == "ns"
            assert option["type"] != "choice" or option["words"]


def ranges() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(k, o) for k in described()["kinds"] for o in k["options"] if o["min"] is not None]


def test_ranges_are_the_ones_that_are_parsed() -> None:
    found = ranges()
    assert {"guard", "watch", "load"} <= {k["name"] for k, _ in found}
    for kind, option in found:
        for value in (option["min"] - 1, option["max"] + 1):
            done = attempt(kind, f"--{option['name']}", typed(option, value))
            assert done.returncode == 2 and done.stdout == b"", (kind["name"], option, value)
            assert option["name"].encode() in done.stderr, (kind["name"], option, value)


def test_the_ends_of_the_ranges_are_inside() -> None:
    """The limit itself is accepted: a second, unknown option is what is complained about."""
    for kind, option in ranges():
        for value in (option["min"], option["max"]):
            done = attempt(kind, f"--{option['name']}", typed(option, value), "--no-such-option")
            assert done.returncode == 2 and b"no-such-option" in done.stderr, (kind["name"], option, value, done.stderr)


def test_defaults_are_accepted_as_written() -> None:
    for kind in described()["kinds"]:
        for option in kind["options"]:
            if option["default"] is not None:
                done = attempt(kind, f"--{option['name']}", option["default"], "--no-such-option")
                assert done.returncode == 2 and b"no-such-option" in done.stderr, (kind["name"], option)


@pytest.mark.parametrize("bad", ["", "x", "1", "10", "-1s", "1e3s", "99999999999999999999s", "1 s", "0x10ms"])
def test_durations_need_a_number_and_a_unit(bad: str) -> None:
    for name, option in (("guard", "--max"), ("watch", "--every"), ("load", "--duration")):
        kind = next(k for k in described()["kinds"] if k["name"] == name)
        done = attempt(kind, option, bad)
        assert done.returncode == 2 and done.stdout == b"" and done.stderr, (name, bad)


def test_selftest_is_ktap_and_its_json_says_the_same() -> None:
    text, as_json = run("selftest"), run("selftest", "--json")
    lines = text.stdout.decode().splitlines()
    checks = json.loads(as_json.stdout)["checks"]
    assert lines[0] == "KTAP version 1" and lines[1] == f"1..{len(checks)}"
    results = [
        re.fullmatch(r"(ok|not ok) (\d+) - ([a-z-]+): (.*?)(?: # SKIP (.+))?", line)
        for line in lines[2:]
        if line[0] != "#"
    ]
    assert all(results) and [int(r[2]) for r in results if r] == list(range(1, len(checks) + 1))
    said = {r[3]: "failed" if r[1] == "not ok" else "skipped" if r[5] else "ok" for r in results if r}
    assert said == {c["id"]: c["result"] for c in checks}
    assert all(c["hint"] for c in checks if c["result"] == "skipped")
    for done in (text, as_json):
        assert done.returncode == (3 if "failed" in said.values() else 0)
    assert json.loads(as_json.stdout)["can_measure"] == ("failed" not in said.values())


def test_selftest_without_permission_says_what_is_missing() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give it up")
    done = subprocess.run(
        [
            "setpriv",
            "--reuid=65534",
            "--clear-groups",
            # One right is kept: to get to the binary, should the checkout lie in a home that is closed to others.
            "--bounding-set=-all,+dac_read_search",
            "--inh-caps=-all,+dac_read_search",
            "--ambient-caps=-all,+dac_read_search",
            "prlimit",
            "--memlock=65536",
            "--rtprio=0",
            RTPROBE,
            "selftest",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert b"not ok 3 - fifo: SCHED_FIFO 90 is refused" in done.stdout and b"# SKIP" in done.stdout
    if b"__asan_init" not in Path(RTPROBE).read_bytes():  # its mlock does nothing, and says it did
        assert b"mlock: memory lock # SKIP" in done.stdout
    assert b"fifo" in done.stderr and b"affinity" not in done.stderr
