"""`make run`: it states the requirement that it judges, and why that one. Here with a program in place of rtassay, which tells what it was asked."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import RTASSAY

from rtassay.model.settings import SETTINGS
from rtassay.model.units import parse_duration_ns

ROOT = Path(__file__).parents[2]


def first_run(tmp_path: Path, code: int) -> tuple[int, str, list[str]]:
    """Exit code and words of tools/first-run, and the words that rtassay got; `code` is what rtassay exits with."""
    (tmp_path / "tools").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "first-run", tmp_path / "tools")
    asked = tmp_path / "asked"
    stub = tmp_path / ".venv" / "bin" / Path(RTASSAY).name
    stub.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{asked}\necho VERDICT\nexit {code}\n')
    stub.chmod(0o755)
    done = subprocess.run([tmp_path / "tools" / "first-run"], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, asked.read_text().splitlines()


def test_the_requirement_is_told_before_it_is_judged_and_is_the_one_that_is_judged(tmp_path: Path) -> None:
    _, said, asked = first_run(tmp_path, 0)
    options = dict(zip(asked[1::2], asked[2::2], strict=True))
    before = said[: said.index("VERDICT")]
    assert asked[0] == "run" and f"--deadline {options['--deadline']} --p {options['--p']}" in before
    assert before.startswith("Requirement: every activation runs within 10 ms, but one in a thousand may be later")
    assert parse_duration_ns(options["--deadline"]) == 10_000_000 and float(options["--p"]) == 1e-3


def test_its_reason_is_true(tmp_path: Path) -> None:
    """The fewest activations that can show it, and those that the run has; at the interval and the confidence of a run without options."""
    _, said, asked = first_run(tmp_path, 0)
    options = dict(zip(asked[1::2], asked[2::2], strict=True))
    default = {one.key: one.default for one in SETTINGS}
    needed = math.log(1 - default["confidence"]) / math.log1p(-float(options["--p"]))
    due = parse_duration_ns(options["--duration"]) / default["interval"]
    told = [int(number.replace(",", "")) for number in re.findall(r"\d+,000", said)]
    assert "since 30 s can answer it on any machine" in said
    assert told == [round(needed, -3), round(due, -3)] == [3000, 30000] and due > needed


@pytest.mark.parametrize(("code", "then"), [(0, 0), (1, 0), (4, 0), (5, 0), (2, 2), (3, 3), (70, 70), (130, 130)])
def test_each_verdict_is_an_answer_and_nothing_else_is(code: int, then: int, tmp_path: Path) -> None:
    ended, said, _ = first_run(tmp_path, code)
    assert ended == then and ("Report: " in said) == (then == 0)
