"""Where rtprobe is looked for, and what is said when it is nowhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rtassay.boards import binaries
from rtassay.model.errors import EXIT_BOARD, BoardError


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
    monkeypatch.setattr(binaries, "_SOURCES", tmp_path / "probe" / "src")  # as in an installed package: there is none
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


def test_a_probe_that_is_older_than_its_sources_is_refused(places: tuple[Path, Path]) -> None:
    packaged, built = places
    sources = built.parent.parent / "src"
    (sources / "os").mkdir(parents=True)
    (sources / "os" / "clock.c").write_text("int x;\n")
    mark = f"rtprobe-sources={binaries.sources_digest(sources)}\0"
    for path in (built, packaged / "rtprobe-riscv64"):
        program(path).write_bytes(b"\x7fELF\0" + mark.encode())
    assert binaries.probe_path() == built and binaries.probe_path("riscv64").parent == packaged
    (sources / "os" / "clock.c").write_text("long x;\n")
    for arch, remedy in ((None, "make -C probe"), ("riscv64", "make probes")):
        with pytest.raises(BoardError, match="was not built from the sources") as caught:
            binaries.probe_path(arch)
        assert caught.value.exit_code == EXIT_BOARD and remedy in (caught.value.hint or "")
    built.write_bytes(b"\x7fELF\0")  # of a checkout before there was a mark
    with pytest.raises(BoardError, match="was not built from the sources"):
        binaries.probe_path()


def test_make_and_the_host_agree_on_the_digest_of_the_sources() -> None:
    told = subprocess.run([binaries.probe_path(), "--version"], capture_output=True, text=True, check=True).stdout
    sources = Path(__file__).parents[3] / "probe" / "src"
    assert told.splitlines()[1] == f"rtprobe-sources={binaries.sources_digest(sources)}"


def test_a_slow_line_gets_the_packaged_probe_if_it_is_of_the_newest_sources(places: tuple[Path, Path]) -> None:
    packaged, built = places
    sources = built.parent.parent / "src"
    sources.mkdir(parents=True)
    (sources / "main.c").write_text("int x;\n")
    mark = f"rtprobe-sources={binaries.sources_digest(sources)}\0".encode()
    program(built).write_bytes(mark)
    assert binaries.probe_path(small=True) == built
    mine = program(packaged / f"rtprobe-{binaries.native_arch()}")
    mine.write_bytes(mark)
    assert binaries.probe_path(small=True) == mine and binaries.probe_path() == built
    mine.write_bytes(b"of older sources")
    assert binaries.probe_path(small=True) == built
