"""The wheel: holds every file of every room, is the same from a checkout and from the source archive, and measures where no compiler is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from probe_build import build

ROOT = Path(__file__).resolve().parents[2]
ARCHES = ("x86_64", "aarch64", "armv7", "armv6", "riscv64")
PATIENCE_S = 900

pytestmark = pytest.mark.full


def hatchling(tree: Path, into: Path, *targets: str) -> str:
    """Builds; what it said."""
    argv = [sys.executable, "-m", "hatchling", "build", *(f"-t{target}" for target in targets), "-d", str(into)]
    done = subprocess.run(argv, cwd=tree, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def only(directory: Path, pattern: str) -> Path:
    (found,) = directory.glob(pattern)
    return found


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make wheel` builds."""
    build(["tools/build-probes"])
    into = tmp_path_factory.mktemp("dist")
    said = hatchling(ROOT, into, "sdist", "wheel")
    for arch in ARCHES:
        assert f"{arch} (" in said, said
    return into


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin directory of a new environment with the wheel: pip finds no compiler, no make and no zig there."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, timeout=PATIENCE_S)
    bare = {**clean(), "PATH": str(home / "bin")}
    pip = [str(home / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    locked = ["install", "--only-binary=:all:", "--require-hashes", "-r", str(ROOT / "requirements.lock")]
    for words in (locked, ["install", "--no-index", "--no-deps", str(only(dist, "*.whl"))], ["check"]):
        done = subprocess.run([*pip, *words], env=bare, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return home / "bin"


def clean() -> dict[str, str]:
    """The environment without what would lead to this checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("RTASSAY_", "PYTHON", "PIP_"))}


def test_it_holds_every_file_of_every_room_and_all_probes(dist: Path) -> None:
    tracked = subprocess.run(["git", "ls-files", "src/rtassay", "presets"], cwd=ROOT, capture_output=True, text=True)
    names = tracked.stdout.splitlines()
    expected = {re.sub("^(src/|presets/)", lambda at: "" if at[1] == "src/" else "rtassay/_presets/", x) for x in names}
    assert len(expected) > 300
    with zipfile.ZipFile(only(dist, "*.whl")) as archive:
        assert expected <= set(archive.namelist())
        manual = [name for name in archive.namelist() if name.endswith("data/share/man/man1/rtassay.1")]
        assert [archive.read(name) for name in manual] == [(ROOT / "docs/reference/rtassay.1").read_bytes()]
        for arch in ARCHES:
            info = archive.getinfo(f"rtassay/_bin/rtprobe-{arch}")
            assert archive.read(info) == (ROOT / "src/rtassay/_bin" / f"rtprobe-{arch}").read_bytes()
            assert info.external_attr >> 16 & 0o111, "not executable"
    assert only(dist, "*.whl").name.endswith("-py3-none-any.whl")
    assert only(dist, "*.whl").stat().st_size < 3_000_000


def test_the_source_archive_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    tree = only(tmp_path, "rtassay-*")
    assert not (tree / "src" / "rtassay" / "_bin").exists()
    hatchling(tree, tmp_path / "again", "wheel")
    assert only(tmp_path / "again", "*.whl").read_bytes() == only(dist, "*.whl").read_bytes()


def test_without_zig_it_says_what_is_missing_and_builds_nothing(tmp_path: Path) -> None:
    """Not with a cache of probes, and no index to fetch zig from."""
    environment = {**clean(), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PIP_NO_INDEX": "1"}
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode != 0
    assert "could not fetch ziglang" in done.stderr and "RTASSAY_PROBES_FROM=DIR" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("dist/*.whl"))


def test_installed_it_measures_judges_and_reports(installed: Path, tmp_path: Path) -> None:
    def rtassay(*words: str, codes: tuple[int, ...] = (0,)) -> str:
        done = subprocess.run(
            [str(installed / "rtassay"), *words],
            cwd=tmp_path,
            env={**clean(), "RTASSAY_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode in codes, (words, done.returncode, done.stderr)
        return done.stdout

    probe = Path(rtassay("probe", "path").strip())
    assert probe.is_relative_to(installed.parent) and probe.name == f"rtprobe-{os.uname().machine}"
    shown: dict[str, Any] = json.loads(
        rtassay("run", "--duration", "3s", "--load", "builtin", "--json", codes=(0, 1, 4, 5))
    )
    assert sum(lane["n"] for lane in shown["lanes"]) > 0
    assert shown["source"]["tool"] == "rtprobe"
    rtassay("report", shown["id"], "-o", "page.html", codes=(0, 1, 4, 5))
    assert "uPlot" in (tmp_path / "page.html").read_text()
    assert "riva-2018" in rtassay("presets")
    assert rtassay("published", "--json")
