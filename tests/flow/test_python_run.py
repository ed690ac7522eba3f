"""`rtassay.run` measures for real: the page of the guide runs as it stands, and Ctrl-C leaves a sealed recording."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from flow_support import Marked, assert_account_is_exact

import rtassay
from rtassay.model.errors import RtassayError
from rtassay.session.control import Progress

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "python.md"


@pytest.mark.full
def test_the_code_of_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    done = subprocess.run([sys.executable, "-c", "\n".join(blocks)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    paths = list(tmp_path.glob("**/*.rta"))
    assert len(paths) == 4
    for path in paths:
        assert_account_is_exact(path)
        assert (path / "findings.json").exists()
    assert "100 is out of range" in done.stdout and "exit code 2" in done.stdout
    assert done.stderr == ""


def test_in_a_running_event_loop_and_with_ctrl_c(tmp_path: Path, marked: Marked) -> None:
    """As in a notebook: its loop runs, and the signal arrives in the main thread, where asyncio would only cancel the task."""
    heard: list[Progress] = []

    def progress(told: Progress) -> None:
        heard.append(told)
        if told.phase == "measure" and told.lanes and sum(1 for one in heard if one.lanes) == 1:
            signal.raise_signal(signal.SIGINT)

    async def notebook() -> rtassay.api.OpenRecording:
        return rtassay.run(duration="600s", load="builtin:timer", output=tmp_path, progress=progress)

    recording = asyncio.run(notebook())
    assert recording.stopped and recording.manifest.sealed
    assert {"measure", "collect", "seal"} <= {told.phase for told in heard}
    assert_account_is_exact(recording.path)


@pytest.mark.parametrize("asked", [{"looks": 3}, {"tune": "/no/such/plan"}, {"cpus": "77777", "duration": "1s"}])
def test_a_run_that_is_refused_leaves_nothing(
    asked: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by the plan nor by the board."""
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    with pytest.raises(RtassayError):
        rtassay.run(**asked)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
