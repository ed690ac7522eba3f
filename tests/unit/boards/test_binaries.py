"""Where rtprobe is looked for, and what is said when it is nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.boards import binaries
from rtassay.model.errors import BoardError


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    packaged, built = tmp_path / "_bin", tmp_path / "probe" / "build" / "rtprobe"
    monkeypatch.setattr(binaries, "_PACKAGED", packaged)
    monkeypatch.setattr(binaries, "_BUILT", built)
    monkeypatch.delenv(binaries.PROBE_VARIABLE, raising=False)
    return packaged, built


def test_the_variable_goes_before_all(
    places: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = program(tmp_path / "own")
    program(places[1])
    monkeypatch.setenv(binaries.PROBE_VARIABLE, str(own))
    assert binaries.probe_path() == own


def test_built_goes_before_packaged_which_may_be_older(places: tuple[Path, Path]) -> None:
    packaged, built = places
    mine = program(packaged / f"rtprobe-{binaries.native_arch()}")
    assert binaries.probe_path() == mine
    program(built)
    assert binaries.probe_path() == built


def test_another_architecture_is_never_the_native_build(places: tuple[Path, Path]) -> None:
    packaged, built = places
    program(built)
    foreign = "riscv64" if binaries.native_arch() != "riscv64" else "x86_64"
    with pytest.raises(BoardError):
        binaries.probe_path(foreign)
    assert binaries.probe_path(binaries.native_arch()) == built
    theirs = program(packaged / "rtprobe-armv7")
    assert binaries.probe_path("armv7l") == theirs


def test_nowhere_names_make_setup(places: tuple[Path, Path]) -> None:
    with pytest.raises(BoardError) as caught:
        binaries.probe_path()
    assert "make setup" in (caught.value.hint or "")


def test_a_variable_that_names_nothing_is_an_error_not_ignored(
    places: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(places[1])
    monkeypatch.setenv(binaries.PROBE_VARIABLE, "/no/such/file")
    with pytest.raises(BoardError):
        binaries.probe_path()
