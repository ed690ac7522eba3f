"""The result of an experiment: computed from its recordings, saved as experiment.json and as a page, shown on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.cli.judging import cached_findings, findings_from, judge, own_requirement, parser_for
from rtassay.cli.options import EXIT_BY_STATE
from rtassay.cli.terminal import echo
from rtassay.model.errors import EXIT_INVALID, EXIT_NOT_DEMONSTRATED, EXIT_OK, BoardError
from rtassay.model.files import read_regular
from rtassay.runs import cache_findings

if TYPE_CHECKING:
    from rtassay.analysis.many.experiment.cells import Design, Measured
    from rtassay.experiments.matrix import ExperimentPlan
    from rtassay.experiments.status import Status
    from rtassay.model.comparison import Comparison
    from rtassay.model.experiment import Compared, ExperimentReport
    from rtassay.model.recording import Recording
    from rtassay.model.throughput import Throughput

REPORT = "report"
SAVED_FORMATS = ("html", "markdown")


def result_of(path: Path, *, save: bool = False) -> dict[str, Any]:
    """The object of schema rtassay/experiment/1, computed now; with `save` also left in experiment.json."""
    return report_of(path, save=save).result


def report_of(path: Path, *, save: bool = False) -> ExperimentReport:
    """All that a report of the experiment at `path` shows, computed now from its recordings."""
    from dataclasses import asdict

    from rtassay.analysis.many.experiment import assess, scorecard_dict
    from rtassay.analysis.many.experiment.grade import LEAST_P, LEAST_RUNS, capped
    from rtassay.experiments import directory, results
    from rtassay.experiments.status import status_of
    from rtassay.model.experiment import ExperimentReport

    status = status_of(path)
    work = _Work()
    result = results.build(status, results.Analysis(judged, work.repeats, work.compare))
    design = _design(status)
    compared = work.compared(result["comparisons"], design)
    costs = _costs(status, work)
    scorecard = assess(_measured(status, work), design, result, compared, costs)
    letter, accepted = scorecard.grade.letter, result["acceptance"]
    if accepted is not None and (state := capped(accepted["state"], scorecard.grade, design.p)) != accepted["state"]:
        few = f"fewer than {LEAST_RUNS} runs of every combination never hold below p = {LEAST_P:g}"
        said = "evidence of grade X never holds" if letter == "X" else few
        accepted |= {"state": state, "why": "; ".join(text for text in (accepted["why"], said) if text)}
        scorecard = assess(_measured(status, work), design, result, compared, costs)
    result |= {"evidence_grade": letter, "scorecard": scorecard_dict(scorecard)}
    result |= {"throughput": [asdict(cost) for cost in costs]}
    if save:
        try:
            results.save(path, result)
        except BoardError as error:
            echo(f"rtassay: {error}", err=True)
    plan = status.plan
    measured = _measured(status, work)
    return ExperimentReport(
        result=result,
        scorecard=scorecard,
        compared=tuple(compared),
        file=read_regular(path / directory.FILE).decode("utf-8", "replace"),
        commands=_commands(plan, design),
        order=plan.order,
        seed=plan.seed,
        levels=_levels(status),
        told={one.recording.manifest.id: _told(one) for one in measured},
        costs=tuple(costs),
        created=max((str(cell.ended) for _, cell in status.cells if cell.ended), default=""),
    )


def look(recordings: Sequence[Path], plan: ExperimentPlan, number: int) -> str:
    """The state of a combination at a planned look over these recordings."""
    from rtassay.analysis.many.experiment.grade import with_so_few

    state: str = _Work().repeats(recordings, plan, number)["state"]
    return with_so_few(state, len(recordings), plan.p_target)


def save_reports(path: Path, report: ExperimentReport) -> Path:
    """report.html, report.md beside experiment.json; the page's path. Raises BoardError."""
    from rtassay import reports
    from rtassay.model.experiment import ExperimentReport

    for name in SAVED_FORMATS:
        write_report(path / f"{REPORT}{reports.load(ExperimentReport, name).suffix}", report, name)
    return path / f"{REPORT}.html"


def write_report(file: Path, report: ExperimentReport, name: str) -> None:
    """One format to one file, whole or not at all. Raises BoardError."""
    from rtassay import reports
    from rtassay.model.experiment import ExperimentReport
    from rtassay.store.disk import write_replacing

    data = reports.load(ExperimentReport, name).render(report)
    write_replacing(file, data, "every recording is whole; the report can be made again")


class _Work:
    """Opens each recording only once."""

    def __init__(self) -> None:
        self._opened: dict[Path, Recording] = {}
        self._comparisons: list[Comparison] = []

    def opened(self, path: Path) -> Recording:
        from rtassay import store

        if path not in self._opened:
            self._opened[path] = store.open_recording(path, parser_for=parser_for)
        return self._opened[path]

    def repeats(self, recordings: Sequence[Path], plan: ExperimentPlan, number: int) -> dict[str, Any]:
        from dataclasses import asdict, replace

        from rtassay.analysis.many.repeats import judge_repeats
        from rtassay.experiments import results

        opened = [self.opened(path) for path in recordings]
        checks = [check for path in recordings for check in findings_from(judged(path)).checks]
        found = judge_repeats(
            opened,
            checks,
            deadline_ns=plan.deadline_ns,
            p=plan.p_target,
            per_hour=plan.per_hour,
            confidence=plan.look(number).confidence,
            answered=results.answered(plan),
        )
        return asdict(replace(found, look=number, looks=plan.looks) if plan.looks > 1 else found)

    def compare(self, a: Sequence[Path], b: Sequence[Path], factor: str, at: float) -> dict[str, Any]:
        from rtassay.analysis.many.compare import compare, comparison_dict

        groups = [[self.opened(path) for path in paths] for paths in (a, b)]
        comparison = compare(groups[0], groups[1], factor=(factor,), at=at)
        self._comparisons.append(comparison)
        return comparison_dict(comparison)

    def compared(self, rows: Sequence[dict[str, Any]], design: Design) -> list[Compared]:
        """The comparisons as made, in the order of the result's rows."""
        from rtassay.model.experiment import Compared

        return [
            Compared(
                row["factor"],
                row["a"],
                row["b"],
                ", ".join(str(row["where"][f]) for f in design.varying if f != row["factor"]),
                comparison,
            )
            for row, comparison in zip(rows, self._comparisons, strict=True)
        ]


def _levels(status: Status) -> tuple[tuple[str, str, str, str], ...]:
    """(factor, level, description, commands) of loads and scenarios, in the file's words."""
    from rtassay.experiments import directory
    from rtassay.experiments.files import read

    file = read(status.path / directory.FILE, corrected=status.plan.corrected).file
    rows = [("load", load.name, load.what, "; ".join(load.run) or "nothing") for load in file.loads]
    for scenario in file.scenarios:
        where = scenario.cyclictest or f"CPUs {scenario.cpus or 'allowed'}" + (
            "" if scenario.lanes is None else f", the first {scenario.lanes}"
        )
        rows.append(("scenario", scenario.name, scenario.what, where))
    return tuple(rows)


def _combinations(plan: ExperimentPlan) -> dict[tuple[str | None, ...], int]:
    """The planned runs of each combination."""
    return dict(Counter(cell.combination for cell in plan.cells if not cell.of_work))


def _costs(status: Status, work: _Work) -> list[Throughput]:
    """Throughput, and D*, of the first kernel against each other one on each board; of one kernel alone where there are no two."""
    from rtassay.analysis.many.throughput import throughput
    from rtassay.experiments.directory import RECORDINGS

    opened: dict[tuple[str, str | None], list[Recording]] = {}
    worked: set[tuple[str, str | None]] = set()
    for cell, state in status.cells:
        if state.state == "sealed":
            recording = work.opened(status.path / RECORDINGS / f"{state.recording}.rta")
            opened.setdefault((cell.board, cell.kernel), []).append(recording)
            if cell.of_work:
                worked.add((cell.board, cell.kernel))
    found = []
    kernels = status.plan.levels.get("kernel", ())
    for board in status.plan.levels.get("board", ()):
        alone: list[tuple[str | None, str | None]] = [(kernels[0] if kernels else None, None)]
        pairs = [(kernels[0], other) for other in kernels[1:]] or alone
        for first, second in pairs:
            if (board, first) in worked and (second is None or (board, second) in worked):
                b = [] if second is None else opened[board, second]
                found.append(throughput(opened[board, first], b, (first or board, second)))
    return found


def _design(status: Status) -> Design:
    from rtassay.analysis.many.experiment.cells import Design
    from rtassay.experiments import directory
    from rtassay.experiments.files import read
    from rtassay.experiments.looks import look_of
    from rtassay.experiments.matrix import of_work

    plan = status.plan
    told = read(status.path / directory.FILE).given.preset
    return Design(
        deadline_ns=plan.deadline_ns,
        p=plan.p_target,
        confidence=plan.confidence,
        sure={key: plan.look(look_of(plan, status.looks.get(key, ()))).confidence for key in _combinations(plan)},
        per=plan.per,
        per_hour=plan.per_hour,
        planned=_combinations(plan),
        levels=plan.levels | {"probe": tuple(name for name in plan.levels["probe"] if not of_work(name))},
        idle=tuple(dict.fromkeys(cell.load for cell in plan.cells if not cell.plan.loads)),
        asked_kernels=() if told is None else told.kernels,
    )


def _measured(status: Status, work: _Work) -> list[Measured]:
    from rtassay.analysis.many.experiment.cells import Measured
    from rtassay.experiments.directory import RECORDINGS
    from rtassay.experiments.matrix import FACTORS

    found = []
    for cell, state in status.cells:
        if state.state == "sealed" and not cell.of_work:
            path = status.path / RECORDINGS / f"{state.recording}.rta"
            levels = {factor: getattr(cell, factor) for factor in FACTORS}
            findings = findings_from(judged(path))
            found.append(
                Measured(cell.id, levels, cell.repeat, cell.order, work.opened(path), findings, isolated=cell.isolated)
            )
    return found


def _told(one: Measured) -> tuple[str, str]:
    """The run's worst wake-up and the work of its loads, in the words of its own report."""
    from rtassay.reports.recording import load_work, outliers

    return outliers.worst(one.findings) or "", load_work.in_words(one.recording) or ""


def _commands(plan: ExperimentPlan, design: Design) -> tuple[tuple[str, str, str], ...]:
    """(title, rtassay run, probe's command) of every combination."""
    import shlex

    from rtassay.experiments.matrix import FACTORS, probe_command

    seen = {cell.combination: cell for cell in reversed(plan.cells)}
    return tuple(
        (
            design.title({factor: getattr(cell, factor) for factor in FACTORS}),
            shlex.join(cell.plan.argv),
            probe_command(cell),
        )
        for cell in sorted(seen.values(), key=lambda cell: cell.order)
    )


def judged(recording: Path) -> dict[str, Any]:
    """Findings of a sealed recording as JSON, from the cache or computed and cached."""
    from rtassay import store
    from rtassay.analysis.judge import findings_dict

    data = cached_findings(recording)
    if data is not None:
        return data
    opened = store.open_recording(recording, parser_for=parser_for)
    findings = judge(opened, own_requirement(opened.manifest))
    cache_findings(recording, findings)
    return findings_dict(findings)


def exit_code(result: dict[str, Any]) -> int:
    """The exit code of the acceptance. 4 while cells are missing. Without a deadline: 0, or 5 if a run is not valid."""
    if result["cells_sealed"] + result["cells_skipped"] < result["cells_total"]:
        return EXIT_NOT_DEMONSTRATED
    if result["acceptance"] is not None:
        return EXIT_BY_STATE[result["acceptance"]["state"]]
    return EXIT_INVALID if any(cell.get("invalid") for cell in result["cells"]) else EXIT_OK


def show(result: dict[str, Any]) -> None:
    """One screen on stdout."""
    from rtassay.cli.experiment_tables import result_text

    echo(result_text(result))
