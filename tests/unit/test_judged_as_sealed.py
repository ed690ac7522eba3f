"""A later judgement takes from sealing what no requirement changes, and says the same as one that computes everything anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtassay import store
from rtassay.analysis.checks import CHECKS
from rtassay.analysis.checks.context import Context
from rtassay.analysis.judge import findings_dict, judge
from rtassay.analysis.lane.account import accounts
from rtassay.api import judged
from rtassay.model.events import End, Facts, Samples
from rtassay.model.manifest import Source
from rtassay.model.recording import Recording
from rtassay.runs import cache_findings
from rtassay.store import order

US = 1_000


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Two lanes of 30,000 samples, some late in bursts, sealed and judged once."""
    random = np.random.default_rng(20261123)
    zero = np.zeros(30_000, np.int64)
    events: list[Any] = [Facts({"interval_ns": 1_000_000, "lanes": [{"lane": i, "cpu": i} for i in (0, 1)]})]
    for lane in (0, 1):
        latency = (random.lognormal(8.3, 0.25, zero.size)).astype(np.int64)
        for begin in random.choice(zero.size - 9, 12):
            latency[begin : begin + 6] += random.integers(20, 90) * US
        events.append(Samples(lane, 0, latency, zero, zero))
    original = tmp_path / "a.rtw"
    original.write_bytes(b"made by the test\n")
    path = store.import_events(
        tmp_path, original, Source("rtprobe", "test", "rtw", "counted"), iter([*events, End({})])
    )
    cache_findings(path, judge(store.open_recording(path)))
    return path


DEADLINES = (3 * US, 9 * US, 40 * US, 200 * US)
"""Most are late; more than sealing keeps in order; some; none."""


@pytest.mark.parametrize("rows", [20, 1000])
def test_a_judgement_after_sealing_is_that_without_its_findings(
    made: Path, rows: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    recording = store.open_recording(made)
    if rows < order.LEAST_ROWS:  # the tail of a long run is not all in order
        recording = _fewer(recording, rows)
    for deadline in DEADLINES:
        for asked in ({}, {"p_target": 1e-3}, {"confidence": 0.8}, {"per_hour": 5.0}, {"strict": True}):
            kept = findings_dict(judged(recording, deadline_ns=deadline, **asked))
            anew = findings_dict(judge(store.with_order(recording, deadline), deadline_ns=deadline, **asked))
            assert kept == anew


def _fewer(recording: Recording, rows: int) -> Recording:
    """With the findings that sealing makes if it keeps only so many samples in order."""
    from dataclasses import replace

    lanes = []
    for lane in recording.lanes:
        assert lane.spills is not None
        level = np.sort(lane.spills.latency_ns)[-rows]
        lanes.append(replace(lane, spills=lane.spills.at(lane.spills.latency_ns >= level)))
    fewer = replace(recording, lanes=tuple(lanes))
    cache_findings(Path(str(recording.path)), judge(fewer))
    return fewer


def test_figures_and_slow_checks_are_those_of_sealing(made: Path) -> None:
    """What stands in findings.json is told again; that of another version of the analysis is not."""
    recording, data = store.open_recording(made), store.load_findings(made)
    assert data is not None
    slow = next(check for check in data["checks"] if check["id"] == "PERIODIC-OUTLIERS")
    slow["message"], data["lanes"][1]["sd_ns"], data["pooled"]["sd_ns"] = "kept", 17.0, 18.0
    store.save_findings(made, data)
    found = judged(recording, deadline_ns=40 * US)
    assert next(check.message for check in found.checks if check.id == "PERIODIC-OUTLIERS") == "kept"
    assert (found.lanes[1].sd_ns, found.pooled.sd_ns) == (17.0, 18.0)
    for unusable in (
        {**data, "analysis_version": -1},
        {**data, "checks": [{}]},
        {"analysis_version": data["analysis_version"]},
    ):
        store.save_findings(made, unusable)
        assert judged(recording, deadline_ns=40 * US).lanes[1].sd_ns != 17.0


class _Unasked:
    """A context in which whoever reads the requirement is caught."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        assert name not in ("deadline_ns", "p_target", "confidence", "per_hour", "lanes"), f"it reads {name}"
        return getattr(self._context, name)


def test_checks_that_sealing_keeps_read_no_requirement(made: Path) -> None:
    recording = store.open_recording(made)
    lanes, findings = accounts(recording), judge(recording)
    context: Any = _Unasked(Context(recording, lanes, findings.lanes, 40 * US, 1e-6, 0.95))
    kept = [check for check in CHECKS if check.kept]
    assert {"CLUSTERED", "PERIODIC-OUTLIERS"} < {check.id for check in kept}
    for check in kept:
        assert check.run(context).message == next(one.message for one in findings.checks if one.id == check.id)
