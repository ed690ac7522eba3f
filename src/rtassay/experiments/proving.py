"""A campaign of `prove` on disk: `prove.json`, then one experiment a stage (`1-unchanged`, `2-together` ...), each with its `stage.json`.

Each stage is an experiment like any other: journaled, resumable, and shown by `rtassay experiment status DIR/2-together`.
"""

from __future__ import annotations

import hashlib
import random
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from rtassay.experiments import directory
from rtassay.experiments.matrix import Cell, ExperimentPlan, estimate_ns
from rtassay.model.errors import CorruptRecording, UsageError
from rtassay.model.files import read_regular
from rtassay.model.manifest import Plan
from rtassay.model.proving import CONFIRM, Arm, Rules, Stage, Subject
from rtassay.model.tuning import TuningPlan
from rtassay.store.disk import explain, write_replacing
from rtassay.store.paths import home, make_directory

SETUP = "prove.json"
STAGE = "stage.json"
T = TypeVar("T")
_SCHEMA = "rtassay/prove-setup/1"
_NOTHING_LOST = "every recording is whole; the campaign can be resumed"


@dataclass(frozen=True, slots=True)
class Setup:
    """What was asked. `plan`: how each run measures, without settings; `tuning`: all settings, with what each does on this board.

    `quantile`: of the response. `goal`: what the board is for, as `--goal` takes it. `kernel`: the entry that is booted afresh for the confirming runs; None: they are made in the running boot.
    `seed`: of the order within each block.
    """

    name: str
    board: str
    plan: Plan
    tuning: TuningPlan
    subjects: tuple[Subject, ...]
    quantile: float
    rules: Rules = field(default_factory=Rules)
    goal: str | None = None
    kernel: str | None = None
    isolated: bool = False
    lanes: int | None = None
    seed: int = 1
    schema: str = _SCHEMA


def default_directory(name: str) -> Path:
    """`proofs/NAME-TIME` beside `recordings`."""
    return home().parent / "proofs" / f"{name}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}"


def is_campaign(path: Path) -> bool:
    """Whether `path` holds a campaign."""
    return (path / SETUP).is_file()


def create(path: Path, setup: Setup) -> None:
    """A new campaign at `path`. Raises UsageError if something is there already."""
    if is_campaign(path):
        raise UsageError(f"there is a campaign in {path} already", hint=f"rtassay prove --resume {path}")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists and is not empty", hint="name a new or empty directory")
    make_directory(path)
    _write(path / SETUP, setup)


def load_setup(path: Path) -> Setup:
    """The campaign at `path`. Raises UsageError if there is none, CorruptRecording if it is damaged."""
    if not is_campaign(path):
        raise UsageError(f"{path} is no campaign of prove", f"it has no {SETUP}", "rtassay prove PLAN BOARD makes one")
    return _read(path / SETUP, Setup)


def stages(path: Path) -> list[tuple[Path, Stage]]:
    """The stages that were begun, in their order."""
    found = [one for one in path.iterdir() if one.name.split("-")[0].isdigit() and (one / STAGE).is_file()]
    ordered = sorted(found, key=lambda one: int(one.name.split("-")[0]))
    return [(one, _read(one / STAGE, Stage)) for one in ordered]


def begin(path: Path, setup: Setup, stage: Stage) -> Path:
    """The directory of the next stage, ready to be carried out. Raises BoardError."""
    plan = plan_of(setup, stage)
    place = path / f"{len(stages(path)) + 1}-{stage.title.replace(' ', '-').replace('/', '-')}"
    text = f"# Stage '{stage.title}' of a campaign of rtassay prove: ../{SETUP} says what was asked.\n"
    if not directory.is_experiment(place):
        directory.create(place, text.encode(), plan)
    _write(place / STAGE, stage)
    return place


def plan_of(setup: Setup, stage: Stage) -> ExperimentPlan:
    """The runs of a stage: every block in an order of its own, which the seed decides."""
    cells: list[Cell] = []
    made: dict[str, int] = {}
    for block in range(1, stage.blocks + 1):
        for place, arm in enumerate(shuffled(stage, block, setup.seed)):
            made[arm.name] = made.get(arm.name, 0) + 1
            identity = [stage.title, arm.name, made[arm.name]]
            cells.append(
                Cell(
                    id=hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:12],
                    order=len(cells) + 1,
                    block=block,
                    repeat=made[arm.name],
                    board=setup.board,
                    kernel=setup.kernel,
                    load=setup.plan.load,
                    probe=setup.plan.probe,
                    scenario=arm.name,
                    plan=replace(setup.plan, tuning=setup.tuning.only(arm.applied) if arm.applied else None),
                    lanes=setup.lanes,
                    isolated=setup.isolated,
                    fresh_boot=stage.name == CONFIRM and setup.kernel is not None and place == 0,
                )
            )
    return ExperimentPlan(
        name=f"{setup.name}-{stage.title}",
        what=f"stage '{stage.title}' of a campaign of rtassay prove",
        cells=tuple(cells),
        deadline_ns=setup.plan.deadline_ns,
        p_target=setup.plan.p_target or 1e-6,
        per_hour=setup.plan.per_hour,
        confidence=setup.plan.confidence,
        per="combination",
        levels={"board": (setup.board,), "scenario": tuple(arm.name for arm in stage.arms)},
        order="random-blocks",
        seed=setup.seed,
    )


def shuffled(stage: Stage, block: int, seed: int) -> list[Arm]:
    """The arms of a block, each as often as it has runs, in the order of this seed."""
    arms = [arm for arm in stage.arms for _ in range(arm.runs)]
    random.Random(f"{seed}:{stage.title}:{block}").shuffle(arms)
    return arms


def length_ns(setup: Setup, runs: int) -> int:
    """Expected time of so many runs, without boots."""
    one = plan_of(setup, Stage("", (Arm("", ()),), 1, 0.0)).cells
    return runs * estimate_ns(one)


def _write(file: Path, data: Setup | Stage) -> None:
    write_replacing(file, msgspec.json.format(msgspec.json.encode(data), indent=1) + b"\n", _NOTHING_LOST)


def _read(file: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(read_regular(file), type=kind)
    except OSError as error:
        raise CorruptRecording(f"{file} cannot be read", explain(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CorruptRecording(f"{file} is damaged", str(error)) from error
