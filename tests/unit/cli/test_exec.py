"""rtassay exec is rtassay run with another probe, and the job after `--`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from rtassay.cli.exec import command
from rtassay.model.errors import UsageError

from ...support.command_line import in_process


def values(line: str) -> click.Context:
    return command.make_context("exec", shlex.split(line))


def test_a_job_becomes_a_setting_of_the_probe() -> None:
    made = values("pi@board --repeat 7 --deadline 5ms -- ./job --count 'two words'")
    assert made.params["board"] == "pi@board" and made.params["probe"] == "exec"
    assert made.params["settings"] == ("command=./job --count 'two words'",)
    assert made.params["count"] == 7 and made.params["deadline_ns"] == 5_000_000
    assert made.params["cpus"] == (0,) and made.params["interval_ns"] == 100_000_000
    assert made.params["argv"][:2] == ["rtassay", "run"] and "--repeat" not in made.params["argv"]


@pytest.mark.parametrize(
    "given", ["--cpus 2,3 --interval 20ms", "--cpus=2,3 --interval=20ms", "-a 2,3 -i 20000", "-a2,3 -i20000"]
)
def test_what_is_given_is_no_default(given: str) -> None:
    made = values(f"--repeat=3 {given} -- job")
    assert (made.params["cpus"], made.params["interval_ns"], made.params["count"]) == ((2, 3), 20_000_000, 3)


def test_the_program_true_is_no_flag() -> None:
    """`--set NAME=true` would be."""
    assert values("-- true").params["settings"] == ("command='true'",)


@pytest.mark.parametrize(("line", "words"), [("", "is missing"), ("./job", "is missing"), ("--repeat 3 --", "no job")])
def test_without_a_job_nothing_starts(line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        values(line)


def test_help_is_its_own(tmp_path: Path) -> None:
    done = in_process("exec", "--help", home=tmp_path)
    assert done.returncode == 0 and "rtassay exec" in done.stdout and "--repeat" in done.stdout


def test_a_program_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    """A mistyped name left an unsealed recording of no activation."""
    done = in_process("exec", "--load", "none", "--duration", "1s", "--", "/nonexistent/job", home=tmp_path)
    assert done.returncode == 3 and "cannot start '/nonexistent/job'" in done.stderr and "seal" not in done.stderr
    assert not list((tmp_path / "recordings").iterdir())
