"""A requirement in events per hour, `--at-most`, at every place that takes one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import rtassay
from rtassay.cli.main import run
from rtassay.experiments.choices import Choices, choose
from rtassay.experiments.files import parse
from rtassay.experiments.lint import lint
from rtassay.experiments.matrix import make_plan
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.units import format_rate, parse_rate_per_h

HISTOGRAM = (
    "# Histogram\n000010 049990\n000300 000010\n# Total: 000050000\n# Min Latencies: 00010\n"
    "# Avg Latencies: 00010\n# Max Latencies: 00300\n# Histogram Overflows: 00000\n"
)
HOURS = 50_000 * 200e-6 / 3600
EXPERIMENT = '[acceptance]\ndeadline = "100us"\n'


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Ten seconds at 200 us, ten late ones in unknown order."""
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    (tmp_path / "made.txt").write_text(HISTOGRAM)
    assert run(["import", str(tmp_path / "made.txt"), "--json", "--interval", "200us"]) == 0
    return str(json.loads(capsys.readouterr().out)["recordings"][0]["id"])


@pytest.mark.parametrize(
    ("text", "per_hour"),
    [("0.1/h", 0.1), ("12 / d", 0.5), ("8766/y", 1.0), ("1e-6/h", 1e-6), ("0/h", 0.0), (".5/H", 0.5)],
)
def test_events_a_time(text: str, per_hour: float) -> None:
    assert parse_rate_per_h(text) == per_hour
    assert parse_rate_per_h(format_rate(per_hour)) == per_hour


@pytest.mark.parametrize("text", ["0.1", "1/m", "-1/h", "1/h/h", "nan/h", "1e9999/h", "/h", "1/0"])
def test_what_is_no_number_of_events(text: str) -> None:
    with pytest.raises(UsageError, match="events a time"):
        parse_rate_per_h(text)


def shown(capsys: pytest.CaptureFixture[str], code: int, *argv: str) -> dict[str, Any]:
    assert run([*argv, "--json"]) == code
    return dict(json.loads(capsys.readouterr().out)["verdict"])


def test_a_recording_is_judged_by_events(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One event at the least where the order is not known, and one for each late activation at the most."""
    bad = shown(capsys, 1, "show", recorded, "--deadline", "100us", "--at-most", "1/h")
    assert (bad["state"], bad["per_hour"]) == ("VIOLATED", 1.0)
    assert bad["rate_lower_per_h"] == pytest.approx(0.051293 / HOURS, rel=1e-4)
    clean = shown(capsys, 4, "show", recorded, "--deadline", "400us", "--at-most", "1/h")
    assert clean["rate_upper_per_h"] == pytest.approx(2.995732 / HOURS, rel=1e-6)
    assert clean["state"] == "NOT DEMONSTRATED"
    assert run(["show", recorded, "--deadline", "400us", "--at-most", "1/h"]) == 4
    assert "at most 1.08e+03 events per hour" in capsys.readouterr().out.replace("1,078", "1.08e+03")


def test_the_report_names_the_events(recorded: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    assert run(["report", recorded, "--deadline", "100us", "--at-most", "1/h", "-o", str(page)]) == 1
    assert "at most 1 events per hour" in page.read_text()


def test_from_python(recorded: str) -> None:
    opened = rtassay.open(recorded)
    for at_most in ("24/d", 1):
        verdict = opened.findings("100us", at_most=at_most).verdict
        assert verdict is not None and (verdict.state, verdict.per_hour) == ("VIOLATED", 1.0)
    with pytest.raises(UsageError, match="both stated"):
        opened.findings("100us", p=1e-6, at_most="1/h")
    with pytest.raises(UsageError, match="both stated"):
        rtassay.run(deadline="100us", p=1e-6, at_most="1/h")


@pytest.mark.parametrize("verb", ["show", "report", "run", "plan"])
def test_p_and_events_are_two_requirements(verb: str, recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--deadline", "1ms", "--p", "1e-6", "--at-most", "1/h"]
    assert run([verb, recorded, *argv]) == 2
    assert "--p and --at-most are both stated" in capsys.readouterr().err


def planned(text: str, choices: Choices | None = None) -> Any:
    source = parse(f'name = "known"\n{EXPERIMENT}{text}'.encode(), Path("known.toml"))
    return make_plan(choose(source, choices or Choices()), scale=Fraction(1))


def test_an_experiment_states_events() -> None:
    plan = planned('at_most = "0.1/h"\n')
    (cell,) = plan.cells
    assert (plan.per_hour, cell.plan.per_hour) == (0.1, 0.1)
    words = " ".join(cell.plan.argv)
    assert "--at-most 0.1/h" in words and "--p " not in words
    (short,) = [doubt for doubt in lint(plan) if doubt.id == "N-TOO-SMALL"]
    assert "0.1 events an hour at most (30 h in all)" in short.message


def test_the_command_line_replaces_what_the_file_requires() -> None:
    chosen = Choices(per_hour=0.5)
    assert planned("p = 1e-4\n", chosen).per_hour == 0.5
    assert chosen.argv == ("--at-most", "0.5/h")
    share = planned('at_most = "0.1/h"\n', Choices(p=1e-3))
    assert (share.per_hour, share.p_target) == (None, 1e-3)
    with pytest.raises(UsageError, match="both stated"):
        planned("", Choices(p=1e-3, per_hour=0.5))


@pytest.mark.parametrize(
    ("text", "said"), [('at_most = "0.1"\n', "0.1/h"), ('p = 1e-4\nat_most = "1/h"\n', "both stated")]
)
def test_a_file_with_a_wrong_requirement_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputFileError, match="acceptance") as caught:
        planned(text)
    assert said in f"{caught.value} {caught.value.hint}"
