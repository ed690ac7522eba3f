"""A whole experiment of known numbers: two kernels x two loads, every run an exponential tail times known factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rtassay.analysis.judge import findings_dict, judge
from rtassay.analysis.many.compare import compare, comparison_dict
from rtassay.analysis.many.experiment import assess, scorecard_dict
from rtassay.analysis.many.experiment.cells import Design, Measured
from rtassay.analysis.many.repeats import judge_repeats
from rtassay.experiments.files import parse
from rtassay.experiments.journal import CellState
from rtassay.experiments.matrix import FACTORS, ExperimentPlan, make_plan
from rtassay.experiments.results import Analysis, answered, build
from rtassay.experiments.status import Status
from rtassay.model.experiment import Compared, ExperimentReport, Scorecard
from rtassay.model.findings import CheckResult
from rtassay.model.manifest import LoadEntry, WorkPart
from rtassay.model.recording import Recording

from ..compare.groups import run, scaled, tail_counts

FILE = """
name = "known"
what = "Two kernels, two loads, known numbers."
kernels = ["stock", "rt"]
repeats = {repeats}
compare = ["kernel"]
[[loads]]
name = "idle"
[[loads]]
name = "<all>"
what = "everything & more"
run = ["builtin:cpu"]
[settings]
interval = "1ms"
duration = "400s"
[acceptance]
deadline = "{deadline}"
p = {p}
per = "combination"
"""
N = 400_000
COST, GAIN = 3.0, 0.5
"""The load makes every latency three times as long; the rt kernel makes it half as long."""
SCATTER = (1.0, 1.03, 0.97, 1.01, 0.99, 1.02, 0.98, 1.0)
COUNTS = tail_counts(N)


@dataclass(frozen=True)
class Made:
    """The plan, what the analysis was given, and what it made of it."""

    plan: ExperimentPlan
    cells: list[Measured]
    design: Design
    result: dict[str, Any]
    compared: list[Compared]
    scorecard: Scorecard
    report: ExperimentReport


Change = Callable[[Recording], Recording]


def make(
    *, deadline: str = "500us", p: str = "1e-5", repeats: int = 5, boots: int | None = None, sealed: int | None = None,
    extra: Sequence[CheckResult] = (), strict: bool = False,
) -> Made:  # fmt: skip
    """`boots`: each run its own unless said; `sealed`: only the first so many cells; `extra`: checks every run fires."""
    text = FILE.format(deadline=deadline, p=p, repeats=repeats)
    plan = make_plan(parse(text.replace("<all>", "all").encode(), Path("known.toml")).file)
    recordings: dict[str, Recording] = {}
    states = []
    for cell in plan.cells:
        state = CellState()
        if sealed is None or cell.order <= sealed:
            recordings[cell.id] = _recording(cell, cell.repeat if boots is None else cell.repeat % boots)
            state = CellState(state="sealed", recording=cell.id, attempts=1)
        elif cell.order == len(plan.cells):
            state = CellState(
                state="failed", attempts=2, why="the board is away", superseded=["20261122T000000-gone00"]
            )
        states.append((cell, state))
    findings = {
        name: judge(one, deadline_ns=plan.deadline_ns, p_target=plan.p_target, strict=strict)
        for name, one in recordings.items()
    }
    findings = {name: replace(one, checks=(*one.checks, *extra)) for name, one in findings.items()}
    gone = tuple(name for _, state in states for name in state.superseded)
    total = "complete" if len(recordings) == len(plan.cells) else "incomplete"
    status = Status(plan, Path("/x"), total, tuple(states), 0, None, gone, 1)
    comparisons = []

    def compared(a: Sequence[Path], b: Sequence[Path], factor: str, at: float) -> dict[str, Any]:
        found = compare([recordings[p.stem] for p in a], [recordings[p.stem] for p in b], factor=(factor,), at=at)
        comparisons.append(found)
        return comparison_dict(found)

    def repeated(paths: Sequence[Path], plan: ExperimentPlan, look: int) -> dict[str, Any]:
        checks = [check for path in paths for check in findings[path.stem].checks]
        opened = [recordings[path.stem] for path in paths]
        told = {"deadline_ns": plan.deadline_ns, "p": plan.p_target, "confidence": 0.95, "answered": answered(plan)}
        return asdict(judge_repeats(opened, checks, **told, strict=strict))

    result = build(status, Analysis(lambda path: findings_dict(findings[path.stem]), repeated, compared))
    counted: dict[tuple[str | None, ...], int] = {}
    for cell in plan.cells:
        counted[cell.combination] = counted.get(cell.combination, 0) + 1
    design = Design(plan.deadline_ns, plan.p_target, 0.95, plan.per, counted, plan.levels, ("idle",))
    cells = [
        Measured(cell.id, {f: getattr(cell, f) for f in FACTORS}, cell.repeat, cell.order, recordings[cell.id], findings[cell.id])
        for cell in plan.cells
        if cell.id in recordings
    ]  # fmt: skip
    pairs = [
        Compared(row["factor"], row["a"], row["b"], row["where"]["load"], found)
        for row, found in zip(result["comparisons"], comparisons, strict=True)
    ]
    scorecard = assess(cells, design, result, pairs)
    result |= {"evidence_grade": scorecard.grade.letter, "scorecard": scorecard_dict(scorecard)}
    report = ExperimentReport(
        result, scorecard, tuple(pairs), text, (("all", "rtassay run </pre>", "rtprobe cyclic"),), "abba", None, "2026-11-22T00:00:00Z",
        (("load", "all", "everything <b>", "builtin:cpu"),),
    )  # fmt: skip
    return Made(plan, cells, design, result, pairs, scorecard, report)


def factor_of(load: str, kernel: str | None, repeat: int) -> float:
    """What every latency of this run is multiplied by."""
    return SCATTER[repeat % len(SCATTER)] * (COST if load == "all" else 1.0) * (GAIN if kernel == "rt" else 1.0)


def _kernel(name: str) -> dict[str, Any]:
    real = name == "rt"
    model = "PREEMPT_RT" if real else "PREEMPT_DYNAMIC"
    told = {"version": f"#1 SMP {model}", "realtime_file": real, "preempt_model": model, "config_rt": real}
    return {"release": f"6.12-{name}", **told}


def _recording(cell: Any, boot: int) -> Recording:
    counts = scaled(COUNTS, factor_of(cell.load, cell.kernel, cell.repeat))
    work = 1e6 if cell.kernel == "stock" else 0.9e6
    loads = (
        LoadEntry("builtin", ("builtin",), started_ns=0, ended_ns=10**18, classes=("cpu",), parts=(WorkPart("cpu", work, "operations", 100.0),)),
    )  # fmt: skip
    return run(
        cell.id,
        [counts, scaled(counts, 1.1)],
        boot=f"{cell.kernel}-{boot}",
        started=f"2026-11-{1 + cell.order // 24:02d}T{cell.order % 24:02d}:00:00Z",
        labels={"kernel": str(cell.kernel), "load": "none" if cell.load == "idle" else cell.load},
        board={"kernel": _kernel(str(cell.kernel))},
        loads=loads if cell.load == "all" else (),
    )
