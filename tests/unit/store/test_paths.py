"""Where recordings live and how they are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay import store
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Manifest, Source


def record(home: Path, identity: str) -> Path:
    manifest = Manifest(identity, "2026-11-21T12:00:00Z", Source("rtprobe", None, "rtw", "counted"))
    with store.RecordingWriter.create(home, manifest, "stream.rtw") as writer:
        return writer.path


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
