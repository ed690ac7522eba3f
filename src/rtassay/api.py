"""rtassay from Python: `rtassay.run(...)` measures, `rtassay.open(path_or_id)` gives tables as Arrow and figures as matplotlib's.

Importing this module costs milliseconds; numpy, pyarrow and matplotlib come with the first table or figure.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.model.errors import UsageError, both_stated
from rtassay.model.findings import PRIMARY_Q, lane_words
from rtassay.model.units import format_us, parse_duration_ns

if TYPE_CHECKING:
    from rtassay.boards.base import LinuxBoard
    from rtassay.figures.data import Envelope, Options, Shot
    from rtassay.figures.paper import PaperFigure
    from rtassay.model.comparison import Comparison
    from rtassay.model.events import Parser
    from rtassay.model.extrapolation import Extrapolation
    from rtassay.model.findings import Findings, Sealed, Verdict
    from rtassay.model.manifest import LaneEntry, Manifest
    from rtassay.model.ranking import Ranking
    from rtassay.model.recording import Recording
    from rtassay.model.settings import Setting
    from rtassay.session.control import Progress


def judged(recording: Recording, *, deadline_ns: int | None, **requirement: Any) -> Findings:
    """`analysis.judge.judge` of a recording as the store opened it, with the order of what is late at that deadline.

    Figures and checks that sealing computed are taken from there. If more samples were read for a lower deadline, D* is found anew, and
    the checks are looked at again unless sealing had the tail of every lane in order.
    """
    from rtassay import store
    from rtassay.analysis.judge import judge
    from rtassay.analysis.lane.account import tails_in_order

    ordered = store.with_order(recording, deadline_ns)
    sealed = _sealed(recording)
    if sealed is not None and ordered is not recording:
        sealed = replace(sealed, confidence=None, checks=sealed.checks if tails_in_order(recording) else {})
    return judge(ordered, deadline_ns=deadline_ns, sealed=sealed, **requirement)


def _sealed(recording: Recording) -> Sealed | None:
    from rtassay import store

    manifest = recording.manifest
    return store.load_sealed(Path(recording.path), manifest) if recording.path is not None and manifest.sealed else None


class OpenRecording:
    """One recording. Tables are `pyarrow.Table` (`.to_pandas()`, `polars.from_arrow`); all times in them are integer ns."""

    def __init__(self, path: Path) -> None:
        from rtassay import store

        self.path = path
        self.recording: Recording = store.open_recording(path, parser_for=parser_for)

    @property
    def id(self) -> str:
        """The recording's id."""
        return self.manifest.id

    @property
    def manifest(self) -> Manifest:
        """Plan, facts, inventory, lanes table, labels (wire/RECORDING.md)."""
        return self.recording.manifest

    @property
    def lanes(self) -> tuple[LaneEntry, ...]:
        """The account of every lane: due = n + missed + dropped + truncated."""
        return self.manifest.lanes

    def findings(
        self,
        deadline: str | int | None = None,
        p: float | None = None,
        confidence: float | None = None,
        at_most: str | float | None = None,
    ) -> Findings:
        """What `rtassay show` says of it, judged now.

        `deadline` is text (`"100us"`) or int ns; without one, the run's own requirement is used. `p` is per due activation, 0 <= p < 1;
        `at_most` in its place is a number of events, as text (`"0.1/h"`) or an hour. `confidence` lies between 0 and 1.
        Formulas: docs/method. Raises UsageError for values outside these ranges, and for `p` beside `at_most`.
        """
        from rtassay.model.settings import BY_NAME

        per_hour = _value(BY_NAME["at-most"], at_most)
        if per_hour is not None and p is not None:
            raise both_stated("p", "at_most")
        return judged(self.recording, deadline_ns=_ns(deadline), p_target=p, confidence=confidence, per_hour=per_hour)

    @property
    def verdict(self) -> Verdict | None:
        """The answer to the run's own requirement; None where it had no deadline."""
        return self._findings.verdict

    @property
    def stopped(self) -> bool:
        """Whether the measurement was ended by a signal (Ctrl-C) before its planned end."""
        return self.manifest.end_reason == "signal"

    @cached_property
    def _findings(self) -> Findings:
        return self.findings()

    def histogram(self) -> Any:
        """All samples that lie in bins, as a pyarrow.Table: lane (int16), lower_ns, width_ns, count (int64), one row a bin.

        A bin holds latencies of lower_ns <= L < lower_ns + width_ns. Samples beyond the last bin are counted in `lanes` (`over`).
        """
        import numpy as np
        import pyarrow as pa

        rows = [(lane.entry.index, lane.histogram) for lane in self.recording.lanes]
        index = np.repeat([i for i, _ in rows], [len(h.lower_ns) for _, h in rows]) if rows else np.zeros(0, np.int64)
        columns = [np.concatenate([getattr(h, name) for _, h in rows] or [np.zeros(0, np.int64)]) for name in _BINS]
        schema = pa.schema(
            [("lane", pa.int16()), ("lower_ns", pa.int64()), ("width_ns", pa.int64()), ("count", pa.int64())]
        )
        return pa.table(
            [pa.array(index, pa.int16()), *(pa.array(column, pa.int64()) for column in columns)], schema=schema
        )

    def samples(self, lane: int | str | None = None) -> Any:
        """All samples, as a pyarrow.Table: lane (int16), latency_ns, missed, dropped (int64), one row a sample.

        Each lane is in order of time. `lane` chooses one by index or name. `missed` and `dropped` count activations between this sample
        and the next one of its lane.

        Raises UsageError where the source kept no samples.
        """
        import pyarrow as pa

        from rtassay import store

        if not self.manifest.has_samples:
            raise UsageError(
                f"{self.id} keeps no samples",
                f"{self.manifest.source.tool} as {self.manifest.source.format} holds a histogram only"
                if self.manifest.source.tool != "rtprobe"
                else "it was recorded without them",
                "histogram() has every latency, without its moment",
            )
        chosen = [entry.index for entry in self.lanes] if lane is None else [self._lane(lane)]
        schema = pa.schema(
            [("lane", pa.int16()), ("latency_ns", pa.int64()), ("missed", pa.int64()), ("dropped", pa.int64())]
        )
        batches = []
        for index in chosen:
            for columns in store.iter_samples(self.path, index, parser_for=parser_for):
                arrays = [pa.array([index] * len(columns[0]), pa.int16()), *(pa.array(c, pa.int64()) for c in columns)]
                batches.append(pa.record_batch(arrays, schema=schema))
        return pa.Table.from_batches(batches, schema=schema)

    def seconds(self) -> Any:
        """The one-second rollups, as a pyarrow.Table of int64, one row a lane and second; columns: wire/RECORDING.md.

        Raises UsageError where the source has none.
        """
        import numpy as np
        import pyarrow as pa

        rows = [(lane.entry.index, lane.seconds) for lane in self.recording.lanes if lane.seconds is not None]
        if not rows:
            raise UsageError(f"{self.id} has no rollups per second", "its source tells no time")
        index = np.repeat([i for i, _ in rows], [len(s.second) for _, s in rows])
        columns = {name: np.concatenate([getattr(s, name) for _, s in rows]) for name in _SECONDS}
        return pa.table(
            {"lane": pa.array(index, pa.int16())} | {k: pa.array(v, pa.int64()) for k, v in columns.items()}
        )

    def plot_latency(self, **options: Any) -> PaperFigure:
        """The OSADL latency plot. `options`: width ("column", "page"), scale ("auto", "linear", "log"), title, deadline."""
        return plot("latency", [self], **options)

    def plot_ccdf(self, **options: Any) -> PaperFigure:
        """Share of samples at or above a latency, log-log."""
        return plot("ccdf", [self], **options)

    def plot_time(self, **options: Any) -> PaperFigure:
        """Latency over the time of the run. Raises UsageError where the source keeps no order."""
        return plot("time", [self], **options)

    def plot_tail(self, **options: Any) -> PaperFigure:
        """Bars of average, 99 ... 99.99999 % and maximum with 95 % intervals."""
        return plot("tail", [self], **options)

    def _lane(self, lane: int | str) -> int:
        for entry in self.lanes:
            if lane in (entry.index, entry.name):
                return entry.index
        names = ", ".join(f"{entry.index} ({entry.name})" for entry in self.lanes)
        raise UsageError(f"{self.id} has no lane {lane!r}", hint=f"lanes: {names}")

    def _envelopes(self) -> tuple[Envelope, ...]:
        """Extremes over time: from rollups, else from samples; none where there is no order."""
        from rtassay import store
        from rtassay.figures.data import envelope_of_samples, envelope_of_seconds

        first = [lane.entry.first_due_ns for lane in self.recording.lanes if lane.entry.first_due_ns is not None]
        told = self.manifest.probe_facts.origin_ns
        origin = min(first, default=None) if told is None else told
        found = [envelope_of_seconds(i, lane, origin) for i, lane in enumerate(self.recording.lanes)]
        if not any(found) and self.manifest.has_samples:
            entries = [lane.entry for lane in self.recording.lanes]
            clocked = all(entry.interval_ns for entry in entries)
            for i, entry in enumerate(entries):
                blocks = store.iter_samples(self.path, entry.index, parser_for=parser_for)
                found[i] = envelope_of_samples(i, blocks, entry.interval_ns if clocked else None, entry.n)
        return tuple(envelope for envelope in found if envelope is not None)

    def __repr__(self) -> str:
        source = self.manifest.source
        return (
            f"<recording {self.id}: {source.tool}, {len(self.lanes)} lanes, {sum(e.n for e in self.lanes):,} samples>"
        )

    def _repr_html_(self) -> str:
        from rtassay.reports.recording.answer import answer

        findings = self._findings
        heads = "".join(f"<th>{h}</th>" for h in ("", "n", "min", "avg", "p99", "p99.999", "max [us]", "missed"))
        rows = "".join(_html_row(found) for found in (*findings.lanes, findings.pooled))
        said = escape(answer(findings, self.recording).line)
        bad = [check for check in findings.checks if check.severity in ("invalid", "warning")]
        checks = "".join(
            f"<li>{escape(check.severity)} {escape(check.id)}: {escape(check.message)}"
            + (f" (waived: {escape(check.waived)})" if check.waived is not None else "")
            + "</li>"
            for check in bad
        )
        title = escape(
            " · ".join(str(part) for part in (findings.id, findings.board, findings.kernel, findings.load) if part)
        )
        return f"<div><b>{title}</b><p>{said}</p><table><tr>{heads}</tr>{rows}</table><ul>{checks}</ul></div>"


_BINS = ("lower_ns", "width_ns", "counts")
_SECONDS = ("second", "n", "missed", "dropped", "exceedances", "min_ns", "max_ns", "sum_ns", "wall_offset_ns")


def _html_row(found: Any) -> str:
    quantiles = {q.q: q for q in found.quantiles}
    cells = [f"{found.n:,}", format_us(found.min_ns), format_us(found.mean_ns)]
    for q in (0.99, 0.99999):
        quantile = quantiles.get(q)
        mark = "≥ " if quantile is not None and quantile.bound == "at_least" else ""
        cells.append("-" if quantile is None else mark + format_us(quantile.value_ns))
    cells += [format_us(found.max_ns), "-" if found.missed is None else f"{found.missed:,}"]
    return (
        f"<tr><th>{escape(lane_words(found.name, found.cpu))}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    )


def parser_for(manifest: Manifest) -> Parser:
    """The parser of the probe that wrote an unsealed recording's stream."""
    from rtassay.probes.base import find

    parser: Parser = find(manifest.plan.probe).parser(manifest.plan)
    return parser


def open(path_or_id: str | Path) -> OpenRecording:
    """A recording by path, id, unique beginning of an id, or name. Raises UsageError, CorruptRecording."""
    from rtassay import store

    return OpenRecording(store.find(str(path_or_id)))


def run(
    board: str | LinuxBoard = "local",
    *,
    deadline: str | int | None = None,
    p: float | None = None,
    at_most: str | float | None = None,
    confidence: float | None = None,
    load: str | Sequence[str] = "auto",
    duration: str | int | None = None,
    count: int | None = None,
    looks: int | None = None,
    interval: str | int | None = None,
    cpus: str | Iterable[int] | None = None,
    lanes: int | None = None,
    load_cpus: str | Iterable[int] | None = None,
    policy: str | None = None,
    priority: int | None = None,
    sleep: str | None = None,
    clock: str | None = None,
    warm_up: str | int | None = None,
    probe: str = "rtprobe",
    settings: Mapping[str, str] | None = None,
    cyclictest_line: str | None = None,
    break_above: str | int | None = None,
    trace_above: str | int | None = None,
    trace_stacks: bool | None = None,
    dma_latency: str | int | None = None,
    aligned: bool | None = None,
    mlock: bool | None = None,
    samples: bool | None = None,
    tune: str | Path | None = None,
    strict: bool = False,
    waive: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    note: str | None = None,
    name: str | None = None,
    output: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> OpenRecording:
    """Measure once, seal the recording and judge it, as the command `rtassay run` does with options of the same names.

    A time is a text (`"100us"`) or an int in ns, `at_most` a text (`"0.1/h"`) or events per hour, a CPU list a text (`"0-2,5"`, `"isolated"`) or ints. None is the default of the
    command. `tune`: a file of settings that are changed for this run. `waive`: id of a check -> why it does not decide. `board`: what the command takes, or an object of `rtassay.boards`.
    `progress` is called in every phase and once a second while measuring, `notice` with sentences about the board, both in the
    caller's thread.

    Works with and without a running event loop. Ctrl-C (SIGINT, in the main thread) ends the measurement and gives a sealed recording whose
    `stopped` is true; a second one aborts. Prints nothing.
    Raises UsageError (a wrong value; nothing was started), BoardError (board, disk, or what the probe said), Interrupted (stopped
    before anything was measured, or aborted); all are RtassayError, with `what`, `why`, `hint` and the command's `exit_code`.
    """
    from rtassay import runs
    from rtassay.model.settings import SETTINGS

    given = dict(locals())
    if p is not None and at_most is not None:
        raise both_stated("p", "at_most")
    values = {setting.field or setting.key: _value(setting, given[setting.key]) for setting in SETTINGS}
    values |= {
        "probe": probe,
        "load": (load,) if isinstance(load, str) else tuple(load),
        "settings": settings or {},
        "cyclictest_line": cyclictest_line,
        "tune": tune,
        "strict": strict,
        "waivers": waive or {},
        "labels": labels or {},
        "note": note,
        "name": name,
        "output": output,
        "argv": (),
        "configured": (),
    }
    result = runs.measure_blocking(runs.make_request(board, values), progress, notice)
    recording = OpenRecording(result.path)
    runs.cache_findings(result.path, recording._findings)
    return recording


def _value(setting: Setting, given: Any) -> Any:
    """A value of Python as the command line gives it: in the type and range of its row. Raises UsageError."""
    from rtassay.model.settings import CPUS, DURATION, FLAG, INTEGER, NUMBER, RATE

    if given is None:
        return None if setting.filled_in else setting.default
    if isinstance(given, str):
        return setting.parse(given)
    value = given
    try:
        if setting.kind == CPUS:
            return setting.parse(",".join(str(operator.index(cpu)) for cpu in given))
        if setting.kind in (DURATION, INTEGER) and not isinstance(given, bool):
            value = operator.index(given)
        elif setting.kind in (NUMBER, RATE) and not isinstance(given, bool):
            value = float(given)
        elif setting.kind != FLAG or not isinstance(given, bool):
            raise TypeError
    except (TypeError, ValueError):
        unit = " in ns" if setting.kind == DURATION else ""
        raise UsageError(
            f"{setting.option}: {given!r} is no {setting.kind}{unit}", hint=setting.range_words or None
        ) from None
    setting.check(value)
    return value


def compare(
    a: Sequence[OpenRecording | str | Path],
    b: Sequence[OpenRecording | str | Path],
    factor: Sequence[str] = (),
    at: float = PRIMARY_Q,
) -> Comparison:
    """Group A against group B, run by run (`rtassay compare`, docs/method/comparisons.md).

    The result holds the ladder of ratios B / A, the crossover, checks and the conclusion, which rests on the quantile `at`.
    Raises UsageError for an empty group and for an `at` outside 0 .. 1.
    """
    from rtassay.analysis.many.compare import compare as run

    sides = [[_opened(one).recording for one in side] for side in (a, b)]
    return run(sides[0], sides[1], factor=tuple(factor), at=at)


def extrapolate(
    recordings: Sequence[OpenRecording | str | Path],
    levels: Sequence[float] = (1e-6, 1e-7, 1e-8),
    confidence: float = 0.95,
) -> Extrapolation:
    """The latency that one wake-up in 1 / p exceeds, for each p of `levels`, or refusals (`rtassay extrapolate`, docs/method/extrapolation.md).

    Each recording is one run. Raises UsageError without recordings, and for a probability or confidence out of range.
    """
    from rtassay.analysis.tail import extrapolate_recordings

    opened = [_opened(one) for one in recordings]
    failed = {
        one.id: [check.id for check in one.findings().checks if check.severity == "invalid" and check.waived is None]
        for one in opened
    }
    return extrapolate_recordings([one.recording for one in opened], levels, confidence, failed)


def rank_causes(
    recordings: Sequence[OpenRecording | str | Path],
    *,
    deadline: str | int | None = None,
    above: str | int | None = None,
    p: float | None = None,
    confidence: float | None = None,
) -> Ranking:
    """Who owned the late time of traced runs, and what D* becomes without each cause (`rtassay causes`, docs/method/causes.md).

    `deadline`, `above` (only wake-ups as late as this): text (`"200us"`) or int ns; `p` per due activation, 0 <= p < 1; `confidence` between 0 and 1.
    What is not given comes from the runs' own plans, where they agree on it. `causes` of the result is sorted by share of lateness, 0 to 1;
    times are int ns. `answered` is False, and `runs` tells why, where no late wake-up has a known owner.

    Raises UsageError without recordings and for values out of range, CorruptRecording.
    """
    from rtassay import rankings
    from rtassay.model.settings import BY_NAME

    if not recordings:
        raise UsageError("there is no recording to rank the causes of")
    return rankings.rank(
        [_opened(one).recording for one in recordings],
        deadline_ns=_ns(deadline),
        above_ns=_ns(above),
        p=None if p is None else _value(BY_NAME["p"], p),
        confidence=None if confidence is None else _value(BY_NAME["confidence"], confidence),
    )


def plot(
    kind: str,
    recordings: Sequence[OpenRecording | str | Path],
    *,
    width: str = "page",
    scale: str = "auto",
    title: str | None = None,
    deadline: str | int | None = None,
    by: str | None = None,
    panels: str | None = None,
) -> PaperFigure:
    """A figure of one or several recordings; `kind` as in `rtassay figure`."""
    from rtassay.figures import draw
    from rtassay.figures.data import Options

    options: Options = Options(width, scale, title, _ns(deadline))
    return draw(
        kind, shots([_opened(one) for one in recordings], by=by, panels=panels, over_time=kind == "time"), options
    )


def shots(
    recordings: Sequence[OpenRecording], *, by: str | None = None, panels: str | None = None, over_time: bool = False
) -> list[Shot]:
    """Recordings as figures and tables take them. Raises UsageError for a key that no recording has."""
    from rtassay.analysis.lane.measures import of_one_measure
    from rtassay.figures import naming
    from rtassay.figures.data import Shot

    findings = [one._findings for one in recordings]
    for key in (by, panels):
        known = naming.keys(findings)
        if key is not None and key not in known:
            raise UsageError(f"no recording has '{key}'", hint=f"known: {', '.join(known)}")
    titles, colours, places = naming.names(findings), naming.groups(findings, by), naming.panels(findings, panels)
    made = []
    for one, found, name, group, panel in zip(recordings, findings, titles, colours, places, strict=True):
        alike = of_one_measure([lane.entry for lane in one.recording.lanes], range(len(one.recording.lanes)))
        when = one.manifest.labels.get("date") or one.manifest.wall_start
        made.append(
            Shot(
                recording=one.recording,
                findings=found,
                name=name,
                group=group,
                panel=panel,
                alike=tuple(alike),
                envelopes=one._envelopes() if over_time else (),
                when=when or one.manifest.created,
                when_known=when is not None or one.manifest.source.tool == "rtprobe",
            )
        )
    return made


def _opened(one: OpenRecording | str | Path) -> OpenRecording:
    return one if isinstance(one, OpenRecording) else open(one)


def _ns(deadline: str | int | None) -> int | None:
    return parse_duration_ns(deadline) if isinstance(deadline, str) else deadline
