"""`rtassay plan`, through the entry point."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtassay.cli.main import run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def planned(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    assert run(["plan", "--json", *argv]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_the_plan_for_people_ends_with_the_command_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--deadline", "100us", "--p", "1e-6", "--lanes", "4"]) == 0
    told = capsys.readouterr().out
    assert "2,995,731  49.8min             30 %" in told
    assert "Measure 2.15h: with up to 3 late activations in a lane it HOLDS, which has a chance of 97 %." in told
    assert "rtassay run --deadline 100us --p 1e-6 --confidence 0.95 --duration 2h9min" in told


def test_the_plan_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = planned(capsys, "--p", "1e-4", "--theta", "0.2", "--spread", "0.7", "--chance", "0.5")
    assert (data["schema"], data["assumed"]["runs"], data["duration"]) == ("rtassay/plan/1", 8, None)
    assert data["chosen"]["allowed"] == 1 and data["chosen"]["chance"] >= 0.5
    assert data["chosen"]["run_s"] == pytest.approx(data["chosen"]["duration_s"] / 8)
    assert [row["allowed"] for row in data["lengths"]] == [0, 1, 2, 3, 5, 10, 20]


def test_what_a_night_shows(capsys: pytest.CaptureFixture[str]) -> None:
    night = planned(capsys, "--duration", "8h", "--interval", "1ms")["duration"]
    assert (night["n"], night["tolerated"]) == (28_800_000, 19)
    assert night["rows"][0]["p"] == pytest.approx(3 / 28_800_000, rel=0.01)
    assert night["rows"][0]["per_hour"] == pytest.approx(3 / 8, rel=0.01)
    assert run(["plan", "--duration", "1min"]) == 0
    told = capsys.readouterr().out
    assert "Too short to show at most 1e-6 of the activations, even if nothing is late: that takes 49.8min." in told
    assert run(["plan", "--duration", "1min", "--at-most", "0/h"]) == 2
    assert "allow a rare event: --at-most 0.1/h" in capsys.readouterr().err


def test_a_board_that_misses_more_than_is_allowed_is_told_so_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    for more in (["--theta", "0.001"], []):
        assert run(["plan", "--p", "1e-3", "--true-p", "0.28", *more]) == 0
        assert (
            "No length shows it: by what is assumed, 0.001 of the activations or more are late."
            in capsys.readouterr().out
        )
    assert run(["plan", "--at-most", "0.1/h", "--true-p", "0.01", "--theta", "0.1"]) == 0
    assert "No length shows it: by what is assumed, 0.1 events an hour or more are late." in capsys.readouterr().out


def test_a_pilot_gives_lanes_interval_and_the_share_of_late_ones(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    rows = "000010 049990\n000300 000010\n"
    file = home / "pilot.txt"
    file.write_text(
        f"# Histogram\n{rows}# Total: 000050000\n# Min Latencies: 00010\n# Avg Latencies: 00010\n# Max Latencies: 00300\n# Histogram Overflows: 00000\n"
    )
    assert run(["import", str(file), "--json", "--interval", "200us"]) == 0
    name = json.loads(capsys.readouterr().out)["recordings"][0]["id"]
    assumed = planned(capsys, name, "--deadline", "100us", "--p", "1e-3")["assumed"]
    assert (assumed["pilots"], assumed["interval_ns"], assumed["lanes"], assumed["true_p"]) == (
        [name],
        200_000,
        1,
        2e-4,
    )
    assert planned(capsys, name, "--deadline", "1ms")["assumed"]["true_p"] == 1e-7
    assert planned(capsys, name, "--lanes", "3", "--true-p", "0")["assumed"]["lanes"] == 3


def test_pilots_tell_how_late_ones_cluster_and_how_boots_differ(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path
) -> None:
    names = []
    for number, bursts in enumerate((20, 60)):
        rows = np.full(60_000, 10_000)
        for start in np.linspace(100, 59_900, bursts).astype(int):
            rows[start : start + 5] = 50_000
        file = tmp_path / f"{number}.csv"
        file.write_text("latency_ns\n" + "\n".join(map(str, rows)) + "\n")
        assert run(["import", str(file), "--json", "--interval", "1ms"]) == 0
        names.append(json.loads(capsys.readouterr().out)["recordings"][0]["id"])
    assert planned(capsys, names[0])["assumed"]["theta"] == pytest.approx(0.2)
    both = planned(capsys, *names, "--deadline", "100us")["assumed"]
    assert both["theta"] == pytest.approx(0.2) and both["runs"] == 8
    # ln 3 / sqrt(2), less what chance adds to 20 and 60 events
    assert both["spread"] == pytest.approx(math.sqrt(math.log(60.5 / 20.5) ** 2 / 2 - (1 / 60.5 + 1 / 20.5) / 2))
    stated = planned(capsys, *names, "--theta", "1", "--spread", "0")["assumed"]
    assert (stated["theta"], stated["spread"], stated["runs"]) == (1.0, 0.0, 1)


def test_looks_are_planned_with_what_each_may_find(capsys: pytest.CaptureFixture[str]) -> None:
    data = planned(capsys, "--looks", "3", "--interval", "1ms")
    spent = [1 - row["confidence"] for row in data["looks"]]
    assert sum(spent) == pytest.approx(0.05) and data["confidence"] == data["looks"][-1]["confidence"]
    assert [row["n"] for row in data["looks"]] == [data["chosen"]["n"] * look // 3 for look in (1, 2, 3)]
    assert data["looks"][-1]["tolerated"] == data["chosen"]["allowed"]
    assert data["looks"][-1]["chance"] == data["chosen"]["chance"] >= 0.9
    assert data["chosen"]["n"] > planned(capsys, "--interval", "1ms")["chosen"]["n"]
    assert run(["plan", "--looks", "2", "--deadline", "100us"]) == 0
    out = capsys.readouterr().out
    assert "--confidence 0.95" in out and "--looks 2" in out and "All looks together keep 95 %" in out


def test_looks_at_the_runs_of_an_experiment_come_after_whole_runs(capsys: pytest.CaptureFixture[str]) -> None:
    data = planned(capsys, "--looks", "3", "--runs", "8", "--spread", "0.5")
    assert [row["runs"] for row in data["looks"]] == [3, 6, 8]
    assert [row["n"] for row in data["looks"]] == [data["chosen"]["n"] * runs // 8 for runs in (3, 6, 8)]
    assert data["looks"][-1]["chance"] == data["chosen"]["chance"]
    assert run(["plan", "--looks", "3", "--runs", "8"]) == 0
    out = capsys.readouterr().out
    assert "acceptance.looks = 3" in out and "The experiment ends at the first look" in out and "3 runs, " in out
    assert run(["plan", "--looks", "3", "--runs", "2"]) == 2
    assert "3 looks at 2 runs" in capsys.readouterr().err


def test_events_an_hour_are_planned_and_not_beside_p(capsys: pytest.CaptureFixture[str]) -> None:
    data = planned(capsys, "--at-most", "0.1/h", "--interval", "1ms")
    assert data["per_hour"] == 0.1 and data["lengths"][0]["duration_s"] == pytest.approx(29.957 * 3600, rel=1e-4)
    assert data["assumed"]["true_p"] == pytest.approx(0.1 / 3_600_000 / 10)
    assert run(["plan", "--at-most", "0.1/h", "--deadline", "100us"]) == 0
    assert "--at-most 0.1/h" in capsys.readouterr().out
    assert run(["plan", "--at-most", "0.1/h", "--p", "1e-6"]) == 2
    assert "--p and --at-most are both stated" in capsys.readouterr().err


def test_a_true_p_at_the_goal_has_no_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--true-p", "9.9999e-7"]) == 0
    assert "No length reaches 90 %: 1e-06 is too near to 1e-6" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--p", "0"], "never happens"),
        (["--theta", "0"], "above 0"),
        (["--at-most", "0.1"], "0.1/h, 2/d or 1/y"),
        (["--at-most", "1/week"], "0.1/h, 2/d or 1/y"),
        (["--true-p", "nan"], "out of range"),
        (["--chance", "1"], "out of range"),
        (["--duration", "1ms", "--interval", "1s"], "holds no activation"),
        (["nosuch"], "there is no recording 'nosuch'"),
    ],
)
def test_usage_errors(capsys: pytest.CaptureFixture[str], argv: list[str], said: str) -> None:
    assert run(["plan", *argv]) == 2
    assert said in capsys.readouterr().err


def test_a_search_over_unlike_boots_says_that_it_takes_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(["plan", "--deadline", "100us", "--p", "1e-6", "--spread", "0.5"]) == 0
    assert "searching the length" in capsys.readouterr().err
    assert run(["plan", "--deadline", "100us", "--p", "1e-6"]) == 0
    assert not capsys.readouterr().err


def test_a_length_that_no_run_can_have_comes_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--p", "1e-15"]) == 0
    told = capsys.readouterr().out
    assert "a run lasts 365d at most" in told and "rtassay run" not in told


@pytest.mark.parametrize(
    "requirement", [("--p", "1e-19"), ("--p", "5e-324"), ("--at-most", "1e-310/h")], ids=lambda words: "=".join(words)
)
@pytest.mark.parametrize("verb", [("plan",), ("run", "--deadline", "1ms"), ("show", "none.rta", "--deadline", "1ms")])
def test_a_share_or_rate_that_no_measurement_shows_is_refused(
    verb: tuple[str, ...], requirement: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*verb, *requirement]) == 2
    assert "no measurement shows" in capsys.readouterr().err
