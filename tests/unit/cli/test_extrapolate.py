"""rtassay extrapolate: exit code by the answer, one JSON object, a page, and plain usage errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ...support.command_line import in_process


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings of 20,000 samples with their order, and a histogram that overflows."""
    path = tmp_path_factory.mktemp("home")
    rng = np.random.default_rng(8)
    for name in ("a", "b"):
        file = path / f"{name}.csv"
        np.savetxt(file, rng.gamma(3, 2.0, 20_000) + 5, fmt="%.3f", header="latency_us", comments="")
        done = in_process("import", file, "--interval", "1ms", "--label", "kind=samples", home=path)
        assert done.returncode == 0, done.stderr
    return path


def test_the_answer_names_levels_intervals_and_assumptions(home: Path) -> None:
    done = in_process("extrapolate", "kind=samples", "--level", "1e-5", "--level", "1e-12", home=home)
    assert done.returncode == 0, done.stderr
    assert "1 in 100,000 " in done.stdout and "95 % interval" in done.stdout
    assert "LEVEL-TOO-FAR" in done.stdout and "(3/n) may exist" in done.stdout
    assert "fewer than three were given" in done.stdout


def test_json_is_one_object_and_a_refusal_exits_4(home: Path) -> None:
    done = in_process("extrapolate", "kind=samples", "--level", "1e-12", "--json", home=home)
    data = json.loads(done.stdout)
    assert done.returncode == 4 and data["schema"] == "rtassay/extrapolate/1"
    assert data["lanes"][0]["levels"][0]["refusal"]["code"] == "LEVEL-TOO-FAR"


def test_the_page_is_written_by_its_suffix(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "tail.html"
    done = in_process("extrapolate", "kind=samples", "--level", "1e-5", "-o", page, home=home)
    assert done.returncode == 0 and done.stdout.strip() == str(page)
    assert page.read_text().startswith("<!doctype html>") and "svg" in page.read_text()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["kind=samples", "--level", "2"], "--level"),
        (["nothing-like-this"], "nothing-like-this"),
        (["kind=samples", "-o", "x.doc"], "x.doc"),
        (["kind=samples", "--json", "-o", "-"], "stdout"),
    ],
)
def test_usage_errors_say_what_is_wrong(home: Path, words: list[str], named: str) -> None:
    done = in_process("extrapolate", *words, home=home)
    assert done.returncode == 2 and named in done.stderr and "Traceback" not in done.stderr
