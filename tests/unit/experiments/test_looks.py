"""Planned looks at the repeats of a combination: when they are due, what they end, and that a resume keeps to them."""

from __future__ import annotations

import asyncio
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtassay import store
from rtassay.analysis.judge.lane_verdict import judge_runs
from rtassay.analysis.lane.account import Account, accounts
from rtassay.analysis.lane.claim import Requirement
from rtassay.analysis.many.experiment.grade import with_so_few
from rtassay.cli import experiment_result, experiment_tables
from rtassay.experiments import engine
from rtassay.experiments.choices import Choices, choose
from rtassay.experiments.directory import RECORDINGS, create
from rtassay.experiments.engine import Outcome, Step, Tools, carry_out
from rtassay.experiments.files import parse
from rtassay.experiments.journal import Entry, read_journal
from rtassay.experiments.matrix import ExperimentPlan, make_plan
from rtassay.experiments.status import status_of
from rtassay.importers.base import events_of
from rtassay.importers.cyclictest import CyclictestImporter as Cyclictest
from rtassay.model.errors import BoardError, CorruptRecording, InputFileError, UsageError
from rtassay.session.control import RunResult

from ..analysis.build import MS, US, block_lane, recording
from .test_engine import TWO, FakeBoard, FakeSession, head, no_finish, plan_of

LOOKS = 'repeats = 5\nretries = 0\n[acceptance]\ndeadline = "100us"\np = 1e-3\nper = "combination"\nlooks = 3\n'
ONE_LOAD = '[[loads]]\nname = "cpu"\nrun = ["builtin:cpu"]\n'


class Judging:
    """Stands for the judgement: the state by the number of the look; `seen` has what each look was given."""

    def __init__(self, *states: str | Exception) -> None:
        self.states = states
        self.seen: list[tuple[str, int, int]] = []

    def __call__(self, recordings: Sequence[Path], plan: ExperimentPlan, number: int) -> str:
        load = store.load_manifest(recordings[0]).labels["load"]
        self.seen.append((load, number, len(recordings)))
        state = self.states[number - 1]
        if isinstance(state, Exception):
            raise state
        return state


def carried(
    path: Path, monkeypatch: pytest.MonkeyPatch, session: Any, judging: Any, text: str = LOOKS + TWO
) -> tuple[Outcome, list[Step]]:
    plan = plan_of(text)
    if not path.exists():
        create(path, parse(head(text), Path("x.toml")).text, plan)
    monkeypatch.setattr(engine, "run_session", session)
    steps: list[Step] = []
    tools = Tools(board=lambda name: FakeBoard(), finish=no_finish, look=judging)
    return asyncio.run(carry_out(path, plan, tools, on_step=steps.append)), steps


def events(path: Path, name: str) -> list[Entry]:
    return [entry for entry in read_journal(path) if entry.event == name]


def test_the_looks_are_planned_before_the_first_run() -> None:
    plan = plan_of(LOOKS + TWO)
    assert plan.looks_after == (2, 4, 5)
    assert math.fsum(1 - plan.look(number).confidence for number in (1, 2, 3)) == pytest.approx(0.05)
    assert plan.hash != plan_of(LOOKS.replace("looks = 3", "looks = 2") + TWO).hash
    told = experiment_tables.plan_json(plan)["looks"]
    assert [row["after"] for row in told] == [2, 4, 5]
    assert "2 (97.74 %), 4 (98.45 %), 5 (98.82 %)" in experiment_tables.plan_text(plan)
    plain = plan_of(TWO)
    assert plain.looks_after == () and plain.look(1).confidence == plain.confidence


def test_a_look_that_decides_ends_its_combination_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class ByLoad(Judging):
        def __call__(self, recordings: Sequence[Path], plan: ExperimentPlan, number: int) -> str:
            super().__call__(recordings, plan, number)
            return "HOLDS" if self.seen[-1] == ("idle", 1, 2) else "NOT DEMONSTRATED"

    path, session, judging = tmp_path / "x", FakeSession("duration"), ByLoad(*["NOT DEMONSTRATED"] * 3)
    outcome, steps = carried(path, monkeypatch, session, judging)
    assert (outcome.sealed, outcome.skipped, outcome.complete) == (7, 3, True)
    assert sorted(judging.seen) == [("cpu", 1, 2), ("cpu", 2, 4), ("cpu", 3, 5), ("idle", 1, 2)]
    assert [row["load"] for row in session.labels].count("idle") == 2
    looked = events(path, "looked")
    ended = next(entry.facts for entry in looked if entry.facts["ends"])
    assert (ended["look"], ended["looks"], ended["after"], ended["state"]) == (1, 3, 2, "HOLDS")
    assert (
        len(looked) == 4 and len(ended["recordings"]) == 2 and ended["confidence"] == pytest.approx(0.97736, abs=1e-5)
    )
    assert {e.facts["why"] for e in events(path, "skipped")} == {"decided at look 1 of 3, after 2 runs: HOLDS"}
    assert "look 1 of 3, after 2 runs: HOLDS" in [step.text for step in steps if step.phase == "looked"]
    status = status_of(path)
    assert status.state == "complete" and status.counts["skipped"] == 3 and status.left_ns == 0
    assert "7 of 10 cells done, 3 no longer needed" in experiment_tables.status_text(status)
    told = experiment_tables.status_json(status)
    assert len(told["looks"]) == 4 and told["skipped"] == 3


def test_a_resume_keeps_to_what_a_look_decided_and_takes_none_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text = tmp_path / "x", LOOKS + ONE_LOAD
    carried(
        path, monkeypatch, FakeSession("duration", "duration", BoardError("gone")), Judging("NOT DEMONSTRATED"), text
    )
    assert len(events(path, "looked")) == 1
    again = Judging("HOLDS", "VIOLATED", "HOLDS")
    outcome, _ = carried(path, monkeypatch, session := FakeSession("duration"), again, text)
    assert again.seen == [("cpu", 2, 4)] and len(session.labels) == 2 and outcome.complete
    outcome, _ = carried(path, monkeypatch, session := FakeSession("duration"), again, text)
    assert again.seen == [("cpu", 2, 4)] and not session.labels and (outcome.sealed, outcome.skipped) == (4, 1)


def test_what_a_crash_left_undone_of_a_look_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after the second run, before its look; then after the look, before its cells were skipped."""
    path, text = tmp_path / "x", LOOKS + ONE_LOAD

    def killed(*args: Any) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carried(path, monkeypatch, FakeSession("duration"), killed, text)
    assert not events(path, "looked") and len(events(path, "sealed")) == 2
    real = engine.take

    def cut(*args: Any) -> None:
        monkeypatch.setattr("rtassay.experiments.looks._skip", killed)
        real(*args)

    monkeypatch.setattr(engine, "take", cut)
    with pytest.raises(KeyboardInterrupt):
        carried(path, monkeypatch, FakeSession("duration"), Judging("VIOLATED"), text)
    assert len(events(path, "looked")) == 1 and not events(path, "skipped")
    monkeypatch.undo()
    outcome, _ = carried(path, monkeypatch, session := FakeSession("duration"), Judging(), text)
    assert not session.labels and (outcome.sealed, outcome.skipped) == (2, 3)


def test_a_look_whose_moment_has_passed_is_left_out_so_that_no_run_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, text, judging = tmp_path / "x", LOOKS + ONE_LOAD, Judging(*["NOT DEMONSTRATED"] * 3)
    session = FakeSession("duration", UsageError("no such CPU"), "duration")
    outcome, _ = carried(path, monkeypatch, session, judging, text)
    assert outcome.sealed == 4 and not judging.seen
    carried(path, monkeypatch, FakeSession("duration"), judging, text)
    assert judging.seen == [("cpu", 3, 5)]


def test_a_recording_that_cannot_be_judged_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judging = Judging(CorruptRecording("damaged"), "NOT DEMONSTRATED", "NOT DEMONSTRATED")
    outcome, steps = carried(tmp_path / "x", monkeypatch, FakeSession("duration"), judging, LOOKS + ONE_LOAD)
    assert outcome.sealed == 5
    assert "look 1 was not possible: damaged" in [step.text for step in steps if step.phase == "warning"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('per = "combination"\n', ""), "judges the repeats of a combination together"),
        (("repeats = 5", "repeats = 2"), "3 looks need 3 repeats or more"),
    ],
)
def test_looks_that_cannot_be_planned_are_refused(change: tuple[str, str], why: str) -> None:
    with pytest.raises(InputFileError, match=r"\$\.acceptance\.looks: (a look|3 looks)") as raised:
        parse(head(LOOKS.replace(*change) + TWO), Path("x.toml"))
    assert why in str(raised.value)


def test_looks_by_the_command_line() -> None:
    source = parse(head(LOOKS.replace("looks = 3\n", "") + TWO), Path("x.toml"))
    assert make_plan(choose(source, Choices(looks=2))).looks_after == (3, 5)
    assert Choices(looks=2).argv == ("--looks", "2")
    with pytest.raises(UsageError, match="9 looks"):
        choose(source, Choices(looks=9))
    bare = parse(head('repeats = 5\n[acceptance]\nper = "combination"\nlooks = 3\n' + TWO), Path("x.toml"))
    with pytest.raises(UsageError, match="none is stated"):
        choose(bare, Choices())
    assert choose(bare, Choices(deadline="1ms")).acceptance.looks == 3


def test_fewer_than_five_runs_do_not_end_an_experiment_with_a_HOLDS_that_its_grade_would_take_away() -> None:
    assert with_so_few("HOLDS", 4, 1e-6) == "NOT DEMONSTRATED"
    assert with_so_few("HOLDS", 5, 1e-6) == with_so_few("HOLDS", 4, 1e-5) == "HOLDS"
    assert with_so_few("VIOLATED", 1, 1e-6) == "VIOLATED"


def test_all_looks_at_repeats_together_are_wrong_as_rarely_as_promised() -> None:
    """Five runs whose late ones have exactly the allowed p, judged as an experiment judges them: HOLDS at any look is wrong.

    The same data at 95 % at each look are wrong more often. The seed is fixed, so neither share can vary.
    """
    plan, p, n, rounds = plan_of(LOOKS + ONE_LOAD), 1e-3, 2_000, 2_000
    late_in_runs = np.random.default_rng(11).poisson(p * n, (rounds, 5)).tolist()

    @functools.cache
    def run(late: int) -> Account:
        counts = {10 * US: n - late} | ({1 * MS: late} if late else {})
        return accounts(recording(block_lane(counts)))[0]

    @functools.cache
    def holds(late: tuple[int, ...], sure: float) -> bool:
        return judge_runs([run(one) for one in late], Requirement(100 * US, p, sure)).state == "HOLDS"

    def wrong(confidences: Sequence[float]) -> float:
        looks = list(zip(plan.looks_after, confidences, strict=True))
        held = [any(holds(tuple(sorted(row[:after])), sure) for after, sure in looks) for row in late_in_runs]
        return sum(held) / rounds

    assert 0.01 < wrong([plan.look(number).confidence for number in (1, 2, 3)]) <= 0.05
    assert wrong([0.95] * 3) > 0.05


def test_known_recordings_are_judged_at_a_look_shown_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From files of cyclictest with 40 late of 4,000 each: VIOLATED at the first look, by the judgement of the command itself."""
    text = LOOKS.replace("retries = 0\n", "").replace("looks = 3", "looks = 2") + ONE_LOAD
    file = tmp_path / "hist.txt"
    file.write_text(
        "# /dev/cpu_dma_latency set to 0us\n# Histogram\n000010 003960\n000400 000040\n# Total: 000004000\n# Min Latencies: 00010\n"
        "# Avg Latencies: 00013\n# Max Latencies: 00400\n# Histogram Overflows: 00000\n# Histogram Overflow at cycle number:\n"
        "# Thread 0:\n"
    )
    importer = Cyclictest()

    async def session(board: Any, plan: Any, *, home: Path, labels: dict[str, str], **others: Any) -> RunResult:
        path = store.import_events(
            home, file, importer.source(file), events_of(importer, file), labels=labels, plan=plan
        )
        return RunResult(path, store.load_manifest(path).id, "duration", False)

    path = tmp_path / "x"
    outcome, _ = carried(path, monkeypatch, session, experiment_result.look, text)
    assert (outcome.sealed, outcome.skipped) == (3, 2)
    report = experiment_result.report_of(path)
    (row,) = report.result["combinations"]
    assert (row["state"], row["look"], row["looks"], row["runs"], row["planned"]) == ("VIOLATED", 1, 2, 3, 5)
    assert row["confidence"] == pytest.approx(plan_of(text).look(1).confidence)
    assert report.result["acceptance"] == {**report.result["acceptance"], "state": "VIOLATED", "why": None}
    assert experiment_result.exit_code(report.result) == 1
    experiment_result.show(report.result)
    shown = capsys.readouterr().out
    assert "VIOLATED at look 1 of 2" in shown and "2 no longer needed" in shown
    experiment_result.save_reports(path, report)
    assert all("at look 1 of 2" in (path / name).read_text() for name in ("report.html", "report.md"))
    assert len(list((path / RECORDINGS).glob("*.rta"))) == 3
