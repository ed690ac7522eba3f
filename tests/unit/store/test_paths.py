"""Where recordings live and how they are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rtassay import store
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Manifest, Source
from rtassay.model.units import NS_PER_S
from rtassay.store import paths


def record(home: Path, identity: str) -> Path:
    manifest = Manifest(identity, "2026-11-21T12:00:00Z", Source("rtprobe", None, "rtw", "counted"))
    with store.RecordingWriter.create(home, manifest, "stream.rtw") as writer:
        return writer.path


def test_ids_sort_by_time_within_a_second_and_where_the_clock_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1_790_000_000 * NS_PER_S]
    monkeypatch.setattr(paths.time, "time_ns", lambda: now[0])
    made = [store.new_id()]
    for step_ns in (0, 0, 1, 1_000, 500_000_000, -10, 499_000_000, 1_000_000_000):
        now[0] += step_ns
        made.append(store.new_id())
    assert made == sorted(set(made))
    assert made[0][:15] == made[7][:15] == "20260921T141320" and re.fullmatch(r"[0-9a-f]{6}", made[0][16:])
    now[0] -= 3600 * NS_PER_S
    assert store.new_id() < made[0], "a clock that was set right by an hour is believed"


def test_unwritable_home_is_an_environment_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("RTASSAY_HOME", str(blocked))
    with pytest.raises(BoardError, match=str(blocked)) as caught:
        store.home()
    assert caught.value.exit_code == 3 and "RTASSAY_HOME" in str(caught.value.hint)


def test_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "new"))
    with pytest.raises(UsageError, match="no recording 'x'") as caught:
        store.find("x")
    assert "there are none yet" in str(caught.value.hint) and not (tmp_path / "new").exists()
    home = store.home()
    assert home == tmp_path / "new" / "recordings" and home.is_dir()
    paths = [record(home, name) for name in ("20261121T100000-aaaaaa", "20261121T100000-aabbbb", "20261122T1-c")]
    assert store.find("20261121T100000-aaaaaa") == paths[0] == store.find(str(paths[0]))
    assert store.find("20261122") == paths[2] == store.find(str(paths[2] / "manifest.json"))
    with pytest.raises(UsageError) as caught:
        store.find("20261121")
    assert "aaaaaa" in str(caught.value.hint) and "aabbbb" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no recording ''"):
        store.find("")
    with pytest.raises(UsageError, match="not a recording"):
        store.find(str(tmp_path))
    assert store.find("20261121T100000-aab.rta", home=home) == paths[1]
