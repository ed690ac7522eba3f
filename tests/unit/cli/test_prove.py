"""rtassay prove: whole campaigns with a session that is scripted, resumed ones, exports, and what bad input is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripted_proving import ASKED, PLAN, Session, scripted

from rtassay.model.errors import BoardError
from rtassay.session import tuning
from rtassay.session.control import RunResult

from ...support.command_line import in_process


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    return scripted(monkeypatch)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "three.toml"
    file.write_text(PLAN)
    return file


def told(done: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(done.stdout)
    return data


@pytest.mark.full
def test_a_campaign_from_the_plan_to_the_files_that_it_leaves(session: Session, plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    done = in_process("prove", plan, *ASKED, "-o", out, "--json", home=tmp_path / "recordings")
    # an idle board never holds, and the settings that are left are judged as the board would be
    assert done.returncode == 4, done.stderr
    data = told(done)
    assert data["schema"] == "rtassay/prove/1" and data["next"] is None and data["ended_at"] == "confirm"
    assert [(row["id"], row["word"]) for row in data["worths"]] == [
        ("noisy", "helps"), ("idle", "no effect"), ("worse", "harms"),
    ]  # fmt: skip
    assert data["chosen"] == ["noisy"] and data["confirmed"]["word"] == "helps"
    assert data["before"]["state"] == "VIOLATED" and data["after"]["state"] == "NOT DEMONSTRATED"
    assert data["quantile"] == 0.999 and len(data["runs"]) == 4 + 8 + 10 + 8
    # what is said before the night is spent
    assert "a setting is found in nine of ten if it changes the latency by a factor of" in done.stderr
    assert done.stderr.index("nine of ten") < done.stderr.index("next: together")
    # the settings are those of each run's own arm, and all of them were put back by the same hook
    assert {plan.ids if plan else () for plan in session.held} == {
        (), ("noisy", "idle", "worse"), ("noisy", "idle"), ("noisy", "worse"), ("idle", "worse"), ("noisy",),
    }  # fmt: skip
    assert sorted(file.name for file in out.iterdir()) == [
        "1-unchanged", "2-together", "3-groups", "4-confirm", "proof.html", "proof.json", "proof.md", "prove.json", "tuned.toml",
    ]  # fmt: skip
    assert json.loads((out / "proof.json").read_text()) == data
    shown = in_process("prove", "--show", out, home=tmp_path / "recordings")
    assert shown.returncode == 4 and "noisy" in shown.stdout and "harms by" in shown.stdout
    sysctl = in_process("export", out, "--to", "sysctl", home=tmp_path / "recordings")
    assert sysctl.stdout.splitlines()[-1] == "kernel.printk = 1 4 1 7"
    status = in_process("experiment", "status", out / "3-groups", "--json", home=tmp_path / "recordings")
    assert told(status)["state"] == "complete"


@pytest.mark.full
def test_runs_are_made_in_turns_and_alike_for_a_seed(session: Session, plan: Path, tmp_path: Path) -> None:
    for seed in ("1", "1", "2"):
        in_process("prove", plan, *ASKED, "--seed", seed, "-o", tmp_path / f"{len(session.arms)}", home=tmp_path / "r")
    first, again, other = (session.arms[at : at + 12] for at in (0, 30, 60))
    assert first == again != other
    assert sorted(first[4:8]) == sorted(first[8:12]) == ["all", "all", "stock", "stock"]


@pytest.mark.full
def test_a_campaign_that_was_cut_off_goes_on_where_it_was(session: Session, plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "campaign"
    session.fails_at = 7
    session_of_two = (*ASKED, "-o", out, "--json")
    cut = in_process("prove", plan, *session_of_two, home=tmp_path / "recordings")
    # the failed run was tried again, and the stage went on
    assert told(cut)["next"] is None and len(session.arms) == 31
    again = in_process("prove", "--resume", out, "--json", home=tmp_path / "recordings")
    assert told(again) == told(cut) and len(session.arms) == 31


@pytest.mark.full
def test_a_campaign_ends_early_and_is_resumed(
    session: Session, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "campaign"
    whole = Session.__call__

    async def cut(self: Session, *args: Any, **options: Any) -> RunResult:
        if len(self.arms) >= 6:
            raise BoardError("the board is gone")
        return await whole(self, *args, **options)

    monkeypatch.setattr(Session, "__call__", cut)
    early = in_process("prove", plan, *ASKED, "-o", out, "--json", home=tmp_path / "recordings")
    assert early.returncode == 4 and "rtassay prove --resume" in early.stderr and "the board is gone" in early.stderr
    assert told(early)["next"]["name"] == "together" and len(told(early)["runs"]) == 6
    monkeypatch.setattr(Session, "__call__", whole)
    late = in_process("prove", "--resume", out, "--json", home=tmp_path / "recordings")
    assert told(late)["next"] is None and told(late)["chosen"] == ["noisy"] and len(told(late)["runs"]) == 30
    assert {run["recording"] for run in told(early)["runs"]} <= {run["recording"] for run in told(late)["runs"]}


def test_one_setting_is_one_question(session: Session, tmp_path: Path) -> None:
    done = in_process(
        "prove", "--one", "vmstat-interval", *ASKED, "-o", tmp_path / "one", "--json", home=tmp_path / "r"
    )
    assert done.returncode == 1, done.stderr  # it does nothing, and the board as it is misses its deadline
    data = told(done)
    assert [row["word"] for row in data["worths"]] == ["no effect"] and data["ended_at"] == "one"
    assert len(data["runs"]) == 12 and not (tmp_path / "one" / "tuned.toml").exists()
    refused = in_process("export", tmp_path / "one", "--to", "sysctl", home=tmp_path / "r")
    assert refused.returncode == 2 and "no proven setting" in refused.stderr


def test_a_dry_run_says_what_it_costs_and_measures_nothing(session: Session, plan: Path, tmp_path: Path) -> None:
    done = in_process("prove", plan, "--load", "none", "--dry-run", "--json", home=tmp_path / "r")
    data = told(done)
    assert data["runs"] == {"fewest": 12, "most": 30} and data["quantile"] == 0.9999
    assert data["duration_s"]["most"] == pytest.approx(30 * 304, rel=0.05)
    assert not session.arms and not session.held and not (tmp_path / "proofs").exists()
    shown = in_process("prove", plan, "--load", "none", "--dry-run", home=tmp_path / "r")
    assert "12 to 30 runs" in shown.stdout and "nothing was changed" in shown.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "state PLAN, --one ID, --resume DIR or --show DIR"),
        (("nothing-like-it",), 2, "there is no profile 'nothing-like-it'"),
        (("--one", "nothing-like-it"), 2, "there is no setting 'nothing-like-it'"),
        (("--show", "/no/such"), 2, "is no campaign of prove"),
        (("--resume", "/no/such"), 2, "is no campaign of prove"),
        (("shared", "--resume", "/no/such"), 2, "state PLAN"),
        (("shared", "--duration", "1s", "--interval", "10ms"), 2, "too short to compare tails"),
        (("shared", "--load", "no-such-load"), 2, "no-such-load"),
        (("shared", "no-such-board"), 2, "no-such-board"),
        (("--one", "governor"), 2, "nothing of 'governor' can be changed here"),
    ],
)
def test_bad_input_is_told(session: Session, tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = in_process("prove", *words, home=tmp_path / "r")
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert not session.arms


def test_a_board_whose_settings_are_changed_is_refused(
    session: Session, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def changed(board: Any) -> Any:
        from rtassay.model.tuning import TOOK, Change, Tuned

        return Tuned("you@there", "t", "now", 1, "b", (Change("printk", "write", "/x", "1", TOOK),))

    monkeypatch.setattr(tuning, "status", changed)
    done = in_process("prove", plan, *ASKED, home=tmp_path / "r")
    assert done.returncode == 2 and "by you@there: printk" in done.stderr


def test_a_directory_that_is_taken_is_left_alone(session: Session, plan: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("mine")
    done = in_process("prove", plan, *ASKED, "-o", tmp_path / "taken", home=tmp_path / "r")
    assert done.returncode == 2 and "is not empty" in done.stderr and not session.arms


@pytest.mark.full
def test_a_damaged_campaign_is_named(session: Session, tmp_path: Path) -> None:
    out = tmp_path / "c"
    in_process("prove", "--one", "vmstat-interval", *ASKED, "-o", out, home=tmp_path / "r")
    (out / "2-one" / "stage.json").write_text("{")
    done = in_process("prove", "--show", out, home=tmp_path / "r")
    assert done.returncode == 2 and "2-one/stage.json is damaged" in done.stderr
