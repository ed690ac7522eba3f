"""What two groups of recordings, with and without a setting, say of the causes that are gone."""

from __future__ import annotations

from pathlib import Path

import pytest
import traced_run

from rtassay import rankings, store
from rtassay.model.ranking import AGREES
from rtassay.model.recording import Recording

MS = 1_000_000


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recording:
    """One wake-up of 900 us: 600 by an interrupt, 300 by a thread."""
    monkeypatch.setattr("rtassay.store.tracing._attribute", traced_run.known)
    return sealed(traced_run.record(tmp_path, traced_run.traced_run()))


def sealed(path: Path) -> Recording:
    store.seal(path)
    return store.open_recording(path)


def test_the_cause_and_its_prediction_by_the_deadline_or_by_the_level_of_the_trace(
    late: Recording, tmp_path: Path
) -> None:
    quiet = sealed(traced_run.record(tmp_path, traced_run.traced_run(hits=())))
    for deadline_ns, before in ((MS // 2, 1), (2 * MS, 1)):
        found = rankings.removed([late], [quiet], deadline_ns=deadline_ns, p=0.01)
        assert found is not None and (found.cause, found.state) == (traced_run.IRQ, AGREES)
        assert (found.exceedances_before, found.exceedances_predicted, found.exceedances_after) == (before, 0, 0)


def test_without_late_wake_ups_nothing_was_removed(late: Recording, tmp_path: Path) -> None:
    quiet = sealed(traced_run.record(tmp_path, traced_run.traced_run(hits=())))
    assert rankings.removed([quiet], [late], deadline_ns=MS // 2, p=0.01) is None
    assert rankings.removed([late], [late], deadline_ns=MS // 2, p=0.01) is None
