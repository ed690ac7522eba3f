"""tools/run_tests.py: what failed among others is run again alone, and decides there."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "run_tests.py"
TESTS = """
from pathlib import Path

def test_passes_alone():
    mark = Path("failed once")
    was = mark.exists()
    mark.touch()
    assert was

def test_fails_always():
    assert False

def test_passes():
    pass
"""


@pytest.fixture(name="tool")
def _tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool with a directory of three tests for its repository."""
    spec = importlib.util.spec_from_file_location("run_tests", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, tool)
    spec.loader.exec_module(tool)
    (tmp_path / "test_three.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "KEPT", tmp_path)
    monkeypatch.setattr(tool, "LAST_FAILED", tmp_path / ".pytest_cache" / "v" / "cache" / "lastfailed")
    return tool


def among_others(tool: ModuleType, *names: str) -> object:
    tests = [f"test_three.py::{name}" for name in names]
    return tool.run(tool.Part("pytest", (sys.executable, "-m", "pytest", "-q", *tests)), None)


def test_what_passes_alone_is_named_and_does_not_fail_the_run(
    tool: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    outcomes = tool.look_again("test", among_others(tool, "test_passes_alone", "test_passes"))
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert outcomes[0].unstable == ("test_three.py::test_passes_alone",)
    assert tool.report("test", outcomes, 0, stopped=False) == 0
    assert "mend it before the issue ends): test_three.py::test_passes_alone\n== all passed" in capfd.readouterr().out


def test_what_fails_alone_fails_the_run(tool: ModuleType) -> None:
    outcomes = tool.look_again("test", among_others(tool, "test_passes_alone", "test_fails_always"))
    assert [outcome.code for outcome in outcomes] == [1, 1] and not outcomes[0].unstable
    assert tool.report("test", outcomes, 0, stopped=False) == 1


@pytest.mark.parametrize(("tier", "failures"), [("check", 1), ("test", 4)])
def test_a_quick_tier_and_many_failures_get_no_second_look(tool: ModuleType, tier: str, failures: int) -> None:
    tool.LAST_FAILED.parent.mkdir(parents=True)
    tool.LAST_FAILED.write_text(json.dumps({f"test_three.py::test_{i}": True for i in range(failures)}))
    failed = tool.Outcome("pytest", 1, 0, 0)
    assert tool.look_again(tier, failed) == [failed]


def test_what_the_quick_tier_leaves_out_exists(tool: ModuleType) -> None:
    root = TOOL.parents[1]
    assert all((root / path).is_file() for path in tool.NOT_IN_CHECK)
    for test in tool.LONG:
        path, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (root / path).read_text(), test
