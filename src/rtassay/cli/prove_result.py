"""A campaign from its directory: the stages judged, the next one, and everything that a report shows. Computed anew each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rtassay.cli.experiment_result import judged
from rtassay.cli.judging import findings_from, parser_for
from rtassay.model.proving import (
    CONFIRM,
    ONE,
    TOGETHER,
    UNCHANGED,
    Beside,
    Campaign,
    Counted,
    Foretold,
    Judged,
    Proof,
    Run,
    Side,
)

if TYPE_CHECKING:
    from rtassay.experiments.proving import Setup
    from rtassay.experiments.status import Status
    from rtassay.model.findings import Findings
    from rtassay.model.proving import Stage
    from rtassay.model.recording import Recording

REPORT = "proof"
SAVED = {"html": "html", "markdown": "md", "json": "json", "plan": "toml"}


@dataclass
class _Sealed:
    """A recording of a stage."""

    path: Path
    stage: str
    arm: str
    block: int

    @cached_property
    def findings(self) -> Findings:
        return findings_from(judged(self.path))

    @cached_property
    def opened(self) -> Recording:
        from rtassay import store

        return store.open_recording(self.path, parser_for=parser_for)

    @cached_property
    def temperature_c(self) -> float | None:
        from rtassay.analysis.many.compare.conditions import mean_temperature

        return max(mean_temperature(self.opened).values(), default=None)


@dataclass
class Measured:
    """The state of a campaign: `campaign.next` is None at its end; `unfinished`: the directory of a stage that was begun and has cells left."""

    setup: Setup
    path: Path
    campaign: Campaign
    unfinished: Path | None
    runs: list[Counted] = field(default_factory=list)
    sealed: list[_Sealed] = field(default_factory=list)


def look(path: Path) -> Measured:
    """Judge what was measured so far. Raises UsageError if there is no campaign, CorruptRecording if a file of it is damaged."""
    from rtassay.analysis.many.prove.campaign import decide
    from rtassay.analysis.many.prove.judging import judge
    from rtassay.experiments import proving
    from rtassay.experiments.status import status_of

    setup = proving.load_setup(path)
    done: list[Judged] = []
    rows: list[Counted] = []
    every: list[_Sealed] = []
    unfinished = None
    for place, stage in proving.stages(path):
        status = status_of(place)
        sealed = _sealed(status, stage)
        counted = [_counted(one, setup.quantile) for one in sealed]
        rows += [row for row, _ in counted]
        every += sealed
        if len(sealed) < len(status.cells):
            unfinished = place
            break
        done.append(judge(stage, [run for _, run in counted if run is not None], setup.rules))
    campaign = decide(setup.subjects, setup.rules, done)
    return Measured(setup, path, campaign, unfinished, rows, every)


def _sealed(status: Status, stage: Stage) -> list[_Sealed]:
    from rtassay.experiments.directory import RECORDINGS

    return [
        _Sealed(status.path / RECORDINGS / f"{state.recording}.rta", stage.title, cell.scenario, cell.block)
        for cell, state in status.cells
        if state.state == "sealed"
    ]


def _counted(one: _Sealed, quantile: float) -> tuple[Counted, Run | None]:
    import math

    from rtassay.analysis.many.prove.response import run_of

    told = run_of(one.findings, one.arm, one.block, quantile)
    if isinstance(told, str):
        return Counted(one.findings.id, one.stage, one.arm, one.block, None, left_out=told), None
    star_ns = None if told.star is None else math.exp(told.star)
    value_ns = math.exp(told.response)
    return Counted(told.recording, one.stage, one.arm, one.block, value_ns, star_ns, one.temperature_c), told


def proof_of(path: Path) -> Proof:
    """All that a report of the campaign at `path` shows."""
    from rtassay.experiments import proving

    measured = look(path)
    setup, campaign = measured.setup, measured.campaign
    before, after = _sides(measured)
    first = measured.sealed[0].findings if measured.sealed else None
    following = campaign.next
    return Proof(
        name=setup.name,
        path=str(path),
        board=setup.board,
        kernel=None if first is None else first.kernel,
        load=setup.plan.load,
        deadline_ns=setup.plan.deadline_ns,
        p=setup.plan.p_target,
        per_hour=setup.plan.per_hour,
        confidence=setup.plan.confidence,
        quantile=setup.quantile,
        duration_ns=setup.plan.duration_ns,
        rules=setup.rules,
        goal=setup.goal,
        campaign=campaign,
        runs=tuple(measured.runs),
        tuning=setup.tuning,
        before=None if before is None else _side(before, "without", setup),
        after=None if after is None else _side(after, "with them", setup),
        beside=_beside(before, after),
        causes=_causes(measured),
        left_ns=0 if following is None else proving.length_ns(setup, following.runs),
        created=max((one.findings.created or "" for one in measured.sealed), default=""),
    )


def _sides(measured: Measured) -> tuple[list[_Sealed] | None, list[_Sealed] | None]:
    """Recordings without the settings and with them, of the last stage that compares with none at all."""
    from rtassay.analysis.many.prove.campaign import STOCK

    for name in (CONFIRM, ONE, TOGETHER):
        runs = [one for one in measured.sealed if one.stage == name]
        if runs:
            stock = [one for one in runs if one.arm == STOCK]
            tuned = [one for one in runs if one.arm != STOCK]
            return stock or None, tuned or None
    return [one for one in measured.sealed if one.stage == UNCHANGED] or None, None


def _side(runs: Sequence[_Sealed], title: str, setup: Setup) -> Side:
    from rtassay.analysis.many.compare.conditions import boot_of
    from rtassay.analysis.many.experiment.grade import with_so_few
    from rtassay.analysis.many.repeats import judge_repeats

    plan = setup.plan
    p = plan.p_target or 1e-6
    found = judge_repeats(
        [one.opened for one in runs],
        [check for one in runs for check in one.findings.checks],
        deadline_ns=plan.deadline_ns,
        p=p,
        per_hour=plan.per_hour,
        confidence=plan.confidence,
    )
    state = None if found.state is None else with_so_few(found.state, len(runs), p)
    tuning = runs[0].opened.manifest.plan.tuning
    degrees = [one.temperature_c for one in runs if one.temperature_c is not None]
    return Side(
        title,
        () if tuning is None else tuning.ids,
        len(runs),
        len({boot_of(one.opened.manifest) for one in runs}),
        state,
        found.demonstrated_ns,
        sum(degrees) / len(degrees) if degrees else None,
        found.assumes,
    )


def _causes(measured: Measured) -> tuple[Foretold, ...]:
    """What the traces foretold of each setting that a stage singled out; () where the runs were not traced."""
    from rtassay import rankings

    plan = measured.setup.plan
    if plan.trace_above_ns is None:
        return ()
    found = []
    for worth in measured.campaign.worths:
        stage = next((judged.stage for judged in measured.campaign.stages if judged.stage.title == worth.stage), None)
        arm = None if stage is None else next((arm for arm in stage.arms if arm.asks == worth.id), None)
        if stage is None or arm is None:
            continue
        runs = [
            [one.opened for one in measured.sealed if (one.stage, one.arm) == (stage.title, name)]
            for name in (arm.against, arm.name)
        ]
        without, with_it = runs if arm.adds else reversed(runs)
        gone = rankings.removed(without, with_it, deadline_ns=plan.deadline_ns, p=plan.p_target)
        found.append(Foretold(worth.id, gone, traced=any(one.causes for one in without)))
    return tuple(found)


def _beside(before: Sequence[_Sealed] | None, after: Sequence[_Sealed] | None) -> tuple[Beside, ...]:
    """Work of the loads per second, and power where the board tells it: with the settings over without."""
    from rtassay.analysis.many.compare.conditions import mean_power
    from rtassay.analysis.many.experiment.cells import Measured as Cell
    from rtassay.analysis.many.experiment.effects import ratio_of, throughput

    if not before or not after:
        return ()
    sides = [[Cell("", {}, 1, 1, one.opened, one.findings) for one in runs] for runs in (before, after)]
    power = [[mean_power(one.opened) for one in runs] for runs in (before, after)]
    told = all(value is not None for side in power for value in side)
    power_effect = ratio_of(*[[value or 0.0 for value in side] for side in power]) if told else None
    found = {"work of the loads": throughput(*sides), "power": power_effect}
    return tuple(Beside(name, one.ratio, one.lo, one.hi) for name, one in found.items() if one is not None)


def save(path: Path, proof: Proof) -> Path:
    """proof.html, proof.md, proof.json and, with settings that are left, tuned.toml; the page's path. Raises BoardError."""
    from rtassay import reports
    from rtassay.store.disk import write_replacing

    for name, suffix in SAVED.items():
        if name == "plan" and not proof.campaign.chosen:
            continue
        file = "tuned.toml" if name == "plan" else f"{REPORT}.{suffix}"
        data = reports.load(Proof, name).render(proof)
        write_replacing(path / file, data, "every recording is whole; the report can be made again")
    return path / f"{REPORT}.html"
