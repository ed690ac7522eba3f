"""Defaults of options come from config.toml; what is wrong in it is named with its line, and a recording tells what came from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import in_process

from rtassay.cli.verbs import VERBS
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan
from rtassay.runs import RunRequest

DATA = Path(__file__).parents[2] / "data" / "cyclictest"
RUN = '[run]\ndeadline = "100us"\np = 1e-3\nduration = "2s"\nload = ["none"]\nboard = "local"\nno-samples = true\n'


def write(home: Path, text: str) -> Path:
    (home / "config.toml").write_text(text)
    return home


@pytest.fixture
def plan_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plan of `rtassay run WORDS` with a configuration file, up to the measurement."""

    def plan(text: str, *words: str) -> Plan:
        monkeypatch.setenv("RTASSAY_HOME", str(write(tmp_path, text)))
        made: list[Plan] = []

        def stop(request: RunRequest, *, quiet: bool) -> None:
            made.append(request.plan)
            raise UsageError("the plan is made")

        monkeypatch.setattr("rtassay.cli.run.new_run", stop)
        done = in_process("run", *words, home=tmp_path)
        assert made, done.stderr
        return made[0]

    return plan


def test_a_run_takes_its_defaults_from_the_file_and_the_recording_tells_which(plan_of: Any) -> None:
    plan = plan_of(RUN, "--interval", "500us")
    assert (plan.deadline_ns, plan.p_target, plan.duration_ns, plan.loads) == (100_000, 1e-3, 2 * 10**9, ("none",))
    assert plan.keep_samples is False and plan.interval_ns == 500_000
    configured = " ".join(plan.configured)
    assert configured == "local --deadline 100us --p 0.001 --load none --duration 2s --no-samples"
    assert plan.argv == ("rtassay", "run", "--interval", "500us", *plan.configured)


def test_what_is_typed_goes_before_the_file(plan_of: Any) -> None:
    plan = plan_of(RUN, "--deadline", "1ms", "--load", "builtin:cpu", "--duration", "3s")
    assert (plan.deadline_ns, plan.duration_ns, plan.loads) == (10**6, 3 * 10**9, ("builtin:cpu",))
    assert "--deadline" not in plan.configured and plan.argv.count("--deadline") == 1


@pytest.mark.parametrize(
    ("words", "field", "value"),
    [
        (["--count", "50"], "duration_ns", None),
        (["--at-most", "1/h"], "per_hour", 1.0),
        (["cyclictest", "-l100", "-i1000"], "duration_ns", None),
    ],
)
def test_a_default_that_contradicts_what_is_typed_is_left_out(
    plan_of: Any, words: list[str], field: str, value: object
) -> None:
    plan = plan_of(RUN, *words)
    assert (getattr(plan, field) == value and "--duration" not in plan.configured) or field == "per_hour"


def test_the_file_cannot_state_both_kinds_of_requirement(tmp_path: Path) -> None:
    write(tmp_path, '[show]\ndeadline = "1ms"\np = 1e-3\nat-most = "1/h"\n')
    done = in_process("show", "x", home=tmp_path)
    assert done.returncode == 2 and "--p and --at-most are both stated" in done.stderr


def test_another_verb_takes_its_own_table(tmp_path: Path) -> None:
    assert in_process("import", DATA / "q-H100-t2.txt", "--name", "one", home=tmp_path).returncode == 0
    write(tmp_path, '[show]\ndeadline = "2ms"\np = 0.01\n[list]\nsort = "worst"\n')
    shown = in_process("show", "one", "--json", home=tmp_path)
    assert json.loads(shown.stdout)["verdict"]["deadline_ns"] == 2_000_000 and shown.returncode in (0, 1, 4, 5)
    assert in_process("list", home=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[run\n", "config.toml cannot be read"),
        ("a = " + "[" * 5000, "config.toml cannot be read"),
        ("[run]\ncount = " + "9" * 5000, "config.toml cannot be read"),
        ('[run]\n\ndedline = "1ms"\n', "line 3: rtassay run has no option 'dedline'"),
        ('[run]\ndeadline = "7"\n', "line 2: --deadline: '7' has no unit"),
        ("[run]\npriority = 400\n", "line 2: --priority: 400 is out of range"),
        ("[run]\nno-mlock = 3\n", "line 2: no-mlock is neither true nor false"),
        ('[run]\ndeadline = ["1ms"]\n', "line 2: deadline takes one value"),
        ("[run]\njson = true\n", "line 2: --json of rtassay run cannot have a default"),
        ('# mine\n[rum]\ndeadline = "1ms"\n', "line 2: 'rum' is no verb of rtassay"),
        ("deadline = 3\n", "line 1: 'deadline' is no verb of rtassay"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_before_anything_is_done(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, text)
    done = in_process("run", "--duration", "1h", home=tmp_path)
    assert done.returncode == 2 and said in done.stderr and str(tmp_path / "config.toml") in done.stderr
    assert not list(tmp_path.glob("recordings/*"))
    assert in_process("config", "show", home=tmp_path).returncode == 2
    assert in_process("run", "--help", home=tmp_path).returncode == 0, "help is there also with a broken file"
    assert in_process("config", "path", home=tmp_path).stdout.strip() == str(tmp_path / "config.toml")


def test_a_file_that_is_no_text_is_told_without_numbers_of_errors(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes("[run]".encode("utf-16"))
    assert "cannot be read: byte 0 is no UTF-8" in in_process("list", home=tmp_path).stderr
    file.unlink()
    file.mkdir()
    done = in_process("list", home=tmp_path)
    assert done.returncode == 2 and done.stderr.splitlines()[0].endswith("cannot be read: it is no regular file")


def test_set_and_unset_change_one_line_and_keep_the_others(tmp_path: Path) -> None:
    write(tmp_path, "# my defaults\n\n[run]\np = 1e-3  # enough\n\n[show]\nconfidence = 0.9\n")
    for words in (
        ("run.deadline", "100us"),
        ("run.load", "stress-ng:cpu", "hackbench"),
        ("run.p", "1e-4"),
        ("run.no-mlock", "true"),
        ("experiment.run.quiet", "true"),
        ("show.confidence", "0.99"),
    ):
        done = in_process("config", "set", *words, home=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "config.toml").read_text() == (
        '# my defaults\n\n[run]\np = 1e-4\ndeadline = "100us"\nload = ["stress-ng:cpu", "hackbench"]\nno-mlock = true\n\n'
        "[show]\nconfidence = 0.99\n\n[experiment.run]\nquiet = true\n"
    )
    told = json.loads(in_process("config", "show", "--json", home=tmp_path).stdout)
    values = {row["key"]: row["values"] for row in told["values"]}
    assert values["run.load"] == ["stress-ng:cpu", "hackbench"] and told["schema"] == "rtassay/config/1"
    assert in_process("config", "unset", "run.load", home=tmp_path).returncode == 0
    assert "load" not in (tmp_path / "config.toml").read_text()
    again = in_process("config", "unset", "run.load", home=tmp_path)
    assert again.returncode == 2 and "does not set run.load" in again.stderr


def test_a_wrong_key_or_value_is_not_written(tmp_path: Path) -> None:
    for words, said in (
        (("deadline", "1ms"), "run.deadline"),
        (("run.dedline", "1ms"), "did you mean deadline?"),
        (("run.interval", "5"), "5us or 5ms"),
        (("run.aligned", "yes"), "true or false"),
        (("nosuch.x", "1"), "run.deadline"),
    ):
        done = in_process("config", "set", *words, home=tmp_path)
        assert done.returncode == 2 and said in done.stderr, (words, done.stderr)
    assert not (tmp_path / "config.toml").exists()


def test_a_group_of_commands_has_tables_below_its_own(tmp_path: Path) -> None:
    done = in_process("config", "set", "lab.start.nosuch", "4", home=tmp_path)
    assert done.returncode == 2 and "rtassay lab start has no option 'nosuch'" in done.stderr
    write(tmp_path, "[lab.start]\ncpus = 0\n[lab.nosuch]\nx = 1\n")
    assert in_process("config", "show", home=tmp_path).returncode == 2


def test_the_report_shows_what_came_from_the_file() -> None:
    from rtassay.model.findings import Findings
    from rtassay.reports.recording.conditions import commands

    class Given:
        command = "rtassay run local --p 0.001"
        cyclictest_equivalent = None

    class Recorded:
        class manifest:
            plan = Plan(configured=("--p", "0.001"))

    found: Findings = Given()  # type: ignore[assignment]
    assert ("Of these, from the configuration file", "--p 0.001") in commands(found, Recorded())  # type: ignore[arg-type]


def test_every_verb_can_be_asked_for_its_file(tmp_path: Path) -> None:
    """A file with an empty table for each verb is right, so no verb stumbles over it."""
    write(tmp_path, "".join(f"[{verb}]\n" for verb in VERBS if verb != "config"))
    assert in_process("config", "show", home=tmp_path).returncode == 0
