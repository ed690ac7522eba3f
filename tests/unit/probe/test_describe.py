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
    assert isinstance(found, dict) and found["schema"] == "rtprobe/describe/2"
    return found


def commands() -> list[dict[str, Any]]:
    """The ways to measure and all other commands."""
    found = described()
    return [*found["methods"], *found["commands"]]


def attempt(command: dict[str, Any], *bad: str) -> subprocess.CompletedProcess[bytes]:
    """One command line that is right but for `bad`. The guarded command would leave a mark if it ran."""
    argv = [command["name"], *bad, *ARGUMENTS.get(command["name"], [])]
    return run(*argv, *(["--", "echo", "it ran"] if command.get("takes_command") else []), timeout=300)


def typed(setting: dict[str, Any], value: int | str) -> str:
    return f"{value}ns" if setting["type"] == "duration" else str(value)


def test_every_command_is_there() -> None:
    found = described()
    names = [
        "guard",
        "load",
        "repeat",
        "work",
        "echo",
        "watch",
        "tune",
        "spool",
        "fetch",
        "follow",
        "describe",
        "selftest",
    ]
    assert [c["name"] for c in found["commands"]] == names
    methods = {(m["name"], m["measure"]) for m in found["methods"]}
    assert {("cyclic", "wake-up"), ("response", "response"), ("timerlat", "timer-thread")} <= methods
    assert {("osnoise", "noise-total"), ("hwlat", "hardware-gap")} <= methods
    assert {s["name"] for s in found["sources"]} >= {"@kmsg", "@rt-threads", "@clock", "@msr", "@run"}
    assert all(s["summary"] for s in found["sources"])
    assert found["version"] in run("--version").stdout.decode()


def test_every_setting_is_documented_with_its_unit() -> None:
    for command in commands():
        help_text = run(command["name"], "--help").stdout.decode()
        assert command["summary"]
        for setting in command["settings"]:
            assert setting["help"] and not setting["help"].endswith("."), setting
            assert f"--{setting['name']}" in help_text
            assert setting["type"] != "duration" or setting["unit"] == "ns"
            assert setting["type"] != "choice" or setting["words"]


def test_every_method_has_the_shared_settings_and_no_name_twice() -> None:
    for method in described()["methods"]:
        names = [setting["name"] for setting in method["settings"]]
        assert len(set(names)) == len(names)
        assert {"cpus", "policy", "priority", "interval", "duration", "count", "deadline", "output"} <= set(names)


def test_what_a_setting_says() -> None:
    (cyclic,) = (method for method in described()["methods"] if method["name"] == "cyclic")
    settings = {setting["name"]: setting for setting in cyclic["settings"]}
    interval = settings["interval"]
    assert (interval["type"], interval["unit"], interval["default"]) == ("duration", "ns", 997_000)
    assert (interval["min"], interval["max"]) == (10_000, 3_600_000_000_000)
    assert (settings["priority"]["default"], settings["policy"]["default"]) == (90, "fifo")
    assert settings["policy"]["words"] == ["fifo", "rr", "other", "deadline"]
    assert (settings["duration"]["default"], settings["aligned"]["default"]) == (None, None)
    assert settings["dma-latency"]["words"] == ["off"] and settings["dma-latency"]["default"] == 0


def ranges() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(c, s) for c in commands() for s in c["settings"] if s["min"] is not None]


def test_ranges_are_the_ones_that_are_parsed() -> None:
    found = ranges()
    assert {"cyclic", "guard", "watch", "load"} <= {c["name"] for c, _ in found}
    for command, setting in found:
        for value in (setting["min"] - 1, setting["max"] + 1):
            done = attempt(command, f"--{setting['name']}", typed(setting, value))
            assert done.returncode == 2 and done.stdout == b"", (command["name"], setting, value)
            assert setting["name"].encode() in done.stderr, (command["name"], setting, value)


def test_the_ends_of_the_ranges_are_inside() -> None:
    """The limit itself is accepted: the error is about a second, unknown option."""
    for command, setting in ranges():
        for value in (setting["min"], setting["max"]):
            done = attempt(command, f"--{setting['name']}", typed(setting, value), "--no-such-option")
            assert done.returncode == 2 and b"no-such-option" in done.stderr, (command["name"], setting, done.stderr)


def test_defaults_are_accepted_as_described() -> None:
    for command in commands():
        for setting in command["settings"]:
            if setting["default"] is not None:
                done = attempt(command, f"--{setting['name']}", typed(setting, setting["default"]), "--no-such-option")
                assert done.returncode == 2 and b"no-such-option" in done.stderr, (command["name"], setting)


@pytest.mark.parametrize("bad", ["", "x", "1", "10", "-1s", "1e3s", "99999999999999999999s", "1 s", "0x10ms"])
def test_durations_need_a_number_and_a_unit(bad: str) -> None:
    for name, option in (("guard", "--max"), ("watch", "--every"), ("load", "--duration")):
        command = next(c for c in commands() if c["name"] == name)
        done = attempt(command, option, bad)
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
        timeout=300,
        check=False,
    )
    assert done.returncode == 3
    assert b"not ok 3 - fifo: SCHED_FIFO 90 is refused" in done.stdout and b"# SKIP" in done.stdout
    if b"__asan_init" not in Path(RTPROBE).read_bytes():  # its mlock does nothing, and says it did
        assert b"mlock: memory lock # SKIP" in done.stdout
    assert b"fifo" in done.stderr and b"affinity" not in done.stderr


@pytest.mark.parametrize("words", [["selftest"], ["describe"], ["--help"], ["--version"], ["cyclic", "--help"]])
def test_what_cannot_be_printed_is_no_success(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([RTPROBE, *words], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 3 and b"cannot write" in done.stderr
